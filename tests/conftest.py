"""Fixtures that every test may ask for; each is started only then. And how much hypothesis tries."""

import atexit
import gc
import os
import random
import signal
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from . import cuts  # before all that check the laws
from .java import QUICK_START
from .postgresql import postgresql
from .s3 import s3_endpoint, s3_options, s3_root

# New inputs with each run, and a failure prints how to get its own again. A busy machine is no failure, and neither
# are inputs that happen to be large or not to fit.
_FRESH = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
settings.register_profile("quick", _FRESH, max_examples=12)  # make check
settings.register_profile("full", _FRESH)  # make test
settings.register_profile("long", _FRESH, max_examples=5_000)  # pytest --hypothesis-profile=long
settings.load_profile("full")

__all__ = ["cuts", "postgresql", "s3_endpoint", "s3_options", "s3_root"]


@pytest.fixture(params=["kernel", "reference"])
def engine(request, monkeypatch):
    """Reads with one engine, and then with the other."""
    if request.param == "kernel":
        pytest.importorskip("splitscan_kernel", reason="the kernel was not built")
    monkeypatch.setenv("SPLITSCAN_ENGINE", request.param)
    return request.param


@pytest.fixture(scope="session", autouse=True)
def _interruptible():
    """A shell starts what it runs in the background deaf to Ctrl-C, and so would be all that tests start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Tests neither read nor write the indexes of the person who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPLITSCAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _fast_disk():
    """No power fails while tests run: waiting for the disk would be most of the time of some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_java():
    """Every session of Spark and every command that starts one; tests/clusters says it to executors and daemons."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS"):
            patch.setenv(name, " ".join(filter(None, [os.environ.get(name), QUICK_START])))
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_workers():
    """Python workers of Spark are forked with their imports done; tests/workers says how."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(_ROOT / "tests" / "workers"), prepend=os.pathsep)
        patch.setenv("OPENBLAS_NUM_THREADS", "1")  # numpy starts threads that wait for work, and nobody has any
        yield


@pytest.fixture(scope="session", autouse=True)
def _clean_checkout():
    """A test that writes into the working directory writes files that somebody commits by accident."""
    before = _root_names()
    yield
    assert not (left := _root_names() - before), f"tests wrote {sorted(left)} into the checkout: use tmp_path"


def _root_names():
    return {path.name for path in _ROOT.iterdir() if not path.name.startswith((".", "__"))} - _LEFT_BY_TOOLS


_LEFT_BY_TOOLS = {"build", "demo-data", "derby.log", "dist", "metastore_db", "site", "spark-warehouse"}
_MOST_CASES = 100  # of a test that is not marked slow, large or thin
_WORKER_BYTES = 3 << 30  # a session of Spark with its Python workers, and beside it a cluster or a database
_ROOT = Path(__file__).resolve().parents[1]

# Files whose tests run on one worker, so that they share what takes long to start. Of others each is a group.
_GROUPS = {
    "cluster": {
        "tests/fault/test_connector_on_a_cluster.py", "tests/fault/test_stream_on_a_cluster.py",
        "tests/fault/test_tasks_that_fail.py",
        "tests/fault/rebalance/test_command_line.py", "tests/fault/rebalance/test_coordinators_that_fail.py",
        "tests/fault/rebalance/test_ends.py", "tests/fault/rebalance/test_lost_outputs.py",
    },
    "local_driver": {
        "tests/fault/test_tables.py", "tests/fault/rebalance/test_coordination.py",
        "tests/fault/rebalance/test_frames_used_again.py", "tests/fault/rebalance/test_ingests.py",
        "tests/fault/rebalance/test_inputs.py", "tests/fault/rebalance/test_tasks_that_fail.py",
    },
}  # fmt: skip
# A test that says where it runs goes there, whatever its file: a second cluster costs more than all that it would run.
_PLACES = (
    ("cluster", "cluster_driver"),
    ("cluster", "test_a_task_and_its_copy_of_which_one_hangs"),
    ("local_driver", "local_driver"),
    ("local_driver", "test_frames_outlive_the_process_that_planned_them"),
)
_DRIVERS = {"cluster_driver": "cluster", "small_cluster_driver": "cluster", "local_driver": "local_driver"}
_LONGEST_FIRST = ("cluster", "local_driver", "tests/fault/", "tests/spark/", "tests/unit/tables/", "tests/property/")


# Collecting makes a hundred thousand objects that stay: to look through them again and again takes seconds.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """A file of tests has no examples in docstrings: to look for them in each takes seconds."""
    found = yield
    return [each for each in found if not (isinstance(each, DoctestModule) and file_path.name.startswith("test_"))]


@pytest.hookimpl(tryfirst=True)  # before the marks are read
def pytest_collection_modifyitems(items):
    for item in items:
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        wanted = {value for value in params if isinstance(value, str)} | set(item.fixturenames)
        # to start an object store or a database takes seconds
        if {"s3_endpoint", "postgresql", "s3", "s3a"} & wanted:
            item.add_marker(pytest.mark.slow)
    _thin(items)
    _check_groups(items)
    items.sort(key=lambda item: _rank(_group(item.nodeid)))  # what takes minutes must not come last


def pytest_configure():
    os.environ.setdefault("SPLITSCAN_TESTS_DRAW", datetime.now(UTC).date().isoformat())  # one for all workers


def _thin(items):
    """Of the cases of a test that is marked so, `make check` runs some, others each day, and `make test` all."""
    cases, drawn_by = defaultdict(list), os.environ["SPLITSCAN_TESTS_DRAW"]
    for item in items:
        if not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for test, found in cases.items():
        mark = found[0].get_closest_marker("thin")
        if mark and drawn_by != "all":
            draw = random.Random(drawn_by + test)
            for item in draw.sample(found, max(0, len(found) - mark.args[0])):
                item.add_marker(pytest.mark.slow)
        elif not mark and len(found) > _MOST_CASES:
            raise pytest.UsageError(f"{test} has {len(found)} cases: mark it thin(n), for n of them in `make check`")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than cores where tests start Spark, which they wait for; as many as find 3 GiB each."""
    if "not slow" in config.option.markexpr:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores + 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _WORKER_BYTES))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A worker takes a group of tests after the other, in order. Groups of xdist are lost with pytest 9.2."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return _group(nodeid)

    return ByGroup(config, log)


def pytest_collection_finish():
    """The tests themselves are never garbage."""
    gc.freeze()
    atexit.register(gc.unfreeze)  # only then: pytest looks for garbage twice before
    gc.set_threshold(20_000, 20)  # to look for garbage more often costs some percent of the time
    gc.enable()


def _group(nodeid):
    file, _, test = nodeid.partition("::")
    place = next((place for place, param in _PLACES if file.startswith("tests/fault/") and param in test), None)
    return place or next((group for group, files in _GROUPS.items() if file in files), file)


def _check_groups(items):
    """Names that nothing has any more, and tests that would start a second driver beside that of their group."""
    named = [file for files in _GROUPS.values() for file in files]
    stale = [file for file in named if not Path(_ROOT, file).exists()]
    texts = "".join(path.read_text("utf-8") for path in Path(_ROOT, "tests", "fault").rglob("*.py"))
    stale += [name for _, name in _PLACES if f"def {name}(" not in texts]
    if stale:
        raise pytest.UsageError(f"_GROUPS and _PLACES of tests/conftest.py name what is not there: {', '.join(stale)}")
    for item in items:
        where = {item.callspec.params.get("where")} if hasattr(item, "callspec") else set()
        wanted = {_DRIVERS[name] for name in _DRIVERS.keys() & (where | set(item.fixturenames))}
        if wanted and wanted != {_group(item.nodeid)}:
            raise pytest.UsageError(
                f"{item.nodeid} asks for what runs on worker {', '.join(wanted)}, and would run in the group "
                f"{_group(item.nodeid)}: name it in _GROUPS or _PLACES of tests/conftest.py"
            )


def _rank(group):
    ranks = [rank for rank, start in enumerate(_LONGEST_FIRST) if group.startswith(start)]
    return ranks[0] if ranks else len(_LONGEST_FIRST)
