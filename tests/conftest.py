"""Fixtures that every test may ask for; each is started only then. And how much hypothesis tries."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

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

__all__ = ["postgresql", "s3_endpoint", "s3_options", "s3_root"]


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


_CLUSTER = {"cluster", "cluster_driver", "small_cluster_driver", "local_driver"}
_LONGEST_FIRST = ("cluster", "tests/fault/", "tests/spark/", "tests/property/")


@pytest.hookimpl(tryfirst=True)  # before the marks are read
def pytest_collection_modifyitems(items):
    """Say which tests run on one worker, in order: those of a cluster, and those of a file with its fixtures."""
    for item in items:
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        chosen = {value for value in params if isinstance(value, str)}
        # to start an object store or a database takes seconds
        if {"s3_endpoint", "postgresql"} & set(item.fixturenames) or {"s3", "s3a"} & chosen:
            item.add_marker(pytest.mark.slow)
        on_cluster = _CLUSTER & (set(item.fixturenames) | chosen)
        item.add_marker(pytest.mark.xdist_group("cluster" if on_cluster else _file(item)))
    items.sort(key=_rank)  # workers take groups as they come, and what takes minutes must not come last


def pytest_collection_finish():
    """The tests themselves are never garbage: to look through all of them again and again takes seconds."""
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()


def _file(item):
    return item.path.relative_to(item.config.rootpath).as_posix()


def _rank(item):
    group = item.get_closest_marker("xdist_group").args[0]
    ranks = [rank for rank, start in enumerate(_LONGEST_FIRST) if group.startswith(start)]
    return ranks[0] if ranks else len(_LONGEST_FIRST)
