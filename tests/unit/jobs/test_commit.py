"""A commit that dies before any of its changes to the file system leaves the destination as before or as after."""

import os
import shutil
import stat

import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.content.storage import open_storage
from splitscan.errors import IngestError
from splitscan.jobs import folder, verify, workplace
from splitscan.jobs.ledger import WrittenFile
from splitscan.jobs.ledger_files import list_ledgers, read_ledgers
from splitscan.jobs.settings import Layout
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import open_destination_storage

CHANGES = ["mkdir", "link", "replace", "rename", "unlink", "rmdir", "fsync"]


class Death(BaseException):
    """What happens to a process that is killed: nothing of it runs any more."""


class Doom:
    """Kills this process, as far as the file system can tell, just before its n-th change."""

    def __init__(self, monkeypatch, survives):
        self.changes = 0
        self._survives = survives
        self._armed = False
        for name in CHANGES:
            monkeypatch.setattr(os, name, self._mortal(getattr(os, name)))
        monkeypatch.setattr(shutil, "copyfile", self._mortal(shutil.copyfile))

    def _mortal(self, call):
        def wrapped(*args, **kwargs):
            if self._armed:
                if self.changes >= self._survives:
                    raise Death
                self.changes += 1
            return call(*args, **kwargs)

        return wrapped

    def arm(self, phase):
        self._armed = True

    def revive(self):
        self._armed = False


def rows_by_reader(folder):
    """What a reader of plain Parquet sees."""
    return sorted(
        (row["id"], row["text"])
        for path in [*folder.glob("*.parquet"), *folder.glob("splitscan_job=*/*.parquet")]
        for row in pq.read_table(path).to_pylist()
    )  # fmt: skip


def ledgers(folder):
    return len(list_ledgers(open_storage(folder)))


@pytest.fixture(params=Layout, ids=[layout.value for layout in Layout])
def layout(request):
    """How the destination of a test is laid out."""
    return request.param


@pytest.fixture
def make_scan(make_scan):
    """Small files in few blocks: every change to the file system is a case."""
    return lambda names: make_scan(names, rows=16, block="200")


@pytest.fixture
def first_job(make_scan, run, tmp_path, layout):
    """A destination with one committed job."""
    run(make_scan(["a"]), tmp_path / "out", layout=layout)
    return rows_by_reader(tmp_path / "out")


def publish_dying(monkeypatch, make_scan, run, tmp_path, survives, layout):
    """Run a job that dies in the middle of its publication. Tells whether it did."""
    with monkeypatch.context() as patched:
        doom = Doom(patched, survives)
        original = folder.FolderDestination.commit

        def committing(*args):
            doom.arm(None)
            return original(*args)

        patched.setattr(folder.FolderDestination, "commit", committing)
        try:
            run(make_scan(["a", "b"]), tmp_path / "out", layout=layout)
        except Death:
            return True
        finally:
            doom.revive()
    return False


def expected_rows(make_scan):
    return sorted((row["id"], row["text"]) for row in make_scan(["a", "b"]).to_arrow().to_pylist())


@pytest.mark.slow
def test_wherever_the_first_commit_dies_a_reader_sees_all_of_it_or_nothing(
    monkeypatch, make_scan, run, tmp_path, layout
):
    before = []
    after = expected_rows(make_scan)
    outcomes = set()
    for survives in range(1000):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        shutil.rmtree(tmp_path / ".out.splitscan", ignore_errors=True)
        died = publish_dying(monkeypatch, make_scan, run, tmp_path, survives, layout)
        now = rows_by_reader(tmp_path / "out")
        assert now in (before, after), survives
        assert ledgers(tmp_path / "out") == (now == after), survives
        outcomes.add((died, now == after))
        run(make_scan(["a", "b"]), tmp_path / "out", layout=layout)
        assert rows_by_reader(tmp_path / "out") == after
        assert verify(tmp_path / "out", deep=True).problems == ()
        assert not (tmp_path / ".out.splitscan").exists()
        if not died:
            break
    assert outcomes == {(True, False), (True, True), (False, True)}
    assert survives > 10


@pytest.mark.slow
@pytest.mark.parametrize("exists", [False, True], ids=["into nothing", "into a destination"])
@pytest.mark.parametrize("finish", ["run again", "verify"])
def test_wherever_a_later_commit_dies_the_ledger_tells_before_from_after_and_the_rest_is_rolled_forward(
    monkeypatch, make_scan, run, tmp_path, exists, finish, request, layout
):
    before = request.getfixturevalue("first_job") if exists else []
    start = shutil.copytree(tmp_path / "out", tmp_path / "start") if exists else None
    after = expected_rows(make_scan)
    if not exists:
        monkeypatch.setattr(workplace, "_can_work_beside", lambda _: False)
    outcomes = set()
    for survives in range(1000):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        shutil.rmtree(tmp_path / ".out.splitscan", ignore_errors=True)
        if start is not None:
            shutil.copytree(start, tmp_path / "out")
        died = publish_dying(monkeypatch, make_scan, run, tmp_path, survives, layout)
        committed = ledgers(tmp_path / "out") == exists + 1
        if not committed:
            assert rows_by_reader(tmp_path / "out") == before
        elif layout is Layout.JOBS:
            assert rows_by_reader(tmp_path / "out") == after
        outcomes.add((died, committed))
        if committed and finish == "verify":
            assert verify(tmp_path / "out").problems == ()
            assert rows_by_reader(tmp_path / "out") == after
        run(make_scan(["a", "b"]), tmp_path / "out", layout=layout)
        assert rows_by_reader(tmp_path / "out") == after
        assert verify(tmp_path / "out", deep=True).problems == ()
        assert len(list((tmp_path / "out/_splitscan/ledger").glob("0*.jsonl"))) == exists + 1
        if not died:
            break
    assert outcomes == {(True, False), (True, True), (False, True)}
    assert survives > 10


def test_files_are_copied_where_they_cannot_be_linked(tmp_path, make_scan, run, monkeypatch, layout):
    def refuse(*args, **kwargs):
        raise OSError(95, "Operation not supported")

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refuse)
        run(make_scan(["a"]), tmp_path / "out", layout=layout)
        assert verify(tmp_path / "out", deep=True).ok
        run(make_scan(["b"]), tmp_path / "out")
    assert rows_by_reader(tmp_path / "out") == expected_rows(make_scan)
    assert verify(tmp_path / "out", deep=True).ok


@pytest.mark.parametrize("layout", list(Layout))
def test_the_permissions_of_a_destination_stay_and_its_folders_have_its_group(tmp_path, make_scan, run, layout):
    groups = [group for group in os.getgroups() if group != os.getgid()]
    group = 4321 if os.geteuid() == 0 else (groups or [os.getgid()])[0]
    (tmp_path / "out").mkdir()
    os.chown(tmp_path / "out", -1, group)
    (tmp_path / "out").chmod(0o2750)
    for name in ("a", "b"):
        run(make_scan([name]), tmp_path / "out", layout=layout)
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o2750
        folders = [tmp_path / "out", *(tmp_path / "out").glob("**/")]
        assert {folder.stat().st_gid for folder in folders} == {group}
        assert all(folder.stat().st_mode & stat.S_ISGID for folder in folders)
    assert len(list((tmp_path / "out").glob("splitscan_job=*"))) == (2 if layout is Layout.JOBS else 0)


def test_a_destination_behind_a_link_stays_behind_it(tmp_path, make_scan, run):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    run(make_scan(["a"]), tmp_path / "out")
    run(make_scan(["b"]), tmp_path / "out")
    assert (tmp_path / "out").is_symlink()
    assert rows_by_reader(tmp_path / "real") == expected_rows(make_scan)


def test_a_file_that_is_not_where_the_ledger_says_stops_the_commit(tmp_path, make_scan, run, runner):
    def losing(reports):
        next(iter((tmp_path / ".out.splitscan").glob("*/files/*.parquet"))).unlink()
        return reports

    with pytest.raises(IngestError, match="data-file-missing") as caught:
        run(make_scan(["a", "b"]), tmp_path / "out", runner(spoil=losing))
    assert "that all of them share" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_full_disk_while_publishing_is_told_and_leaves_everything_as_before(tmp_path, make_scan, run, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(folder, "_sync_folders", full)
        with pytest.raises(IngestError, match="No space left"):
            run(make_scan(["a", "b"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert run(make_scan(["a", "b"]), tmp_path / "out").blocks_resumed > 0


def test_a_second_job_takes_the_next_number(tmp_path, make_scan, run):
    run(make_scan(["a"]), tmp_path / "out")
    run(make_scan(["a", "b"]), tmp_path / "out")
    ledgers = read_ledgers(open_destination_storage(tmp_path / "out").destination)
    assert [(ledger.sequence, len(ledger.files)) for ledger in ledgers] == [(1, 1), (2, 1)]


def test_a_name_that_is_taken_stops_the_commit_and_what_is_published_stays(tmp_path, make_scan, run, monkeypatch):
    run(make_scan(["a"]), tmp_path / "out")
    first_job = rows_by_reader(tmp_path / "out")
    names = iter(sorted(path.name for path in (tmp_path / "out").glob("*.parquet")))
    monkeypatch.setattr("splitscan.jobs.part_writing.parquet_name", lambda *_: next(names, "another.parquet"))
    with pytest.raises(IngestError, match=r"\[destination-failed\]"):
        run(make_scan(["a", "b"]), tmp_path / "out")
    assert rows_by_reader(tmp_path / "out") == first_job
    assert verify(tmp_path / "out", deep=True).ok


def test_nothing_is_moved_through_a_link_that_leads_out_of_the_destination(tmp_path, run, monkeypatch):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "out/_splitscan").mkdir(parents=True)
    (tmp_path / "out/_splitscan/rejects").symlink_to(outside)
    monkeypatch.setattr(workplace, "_can_work_beside", lambda _: False)
    (tmp_path / "broken.csv").write_text("1,a\noops\n")
    scan = Scan.of(str(tmp_path / "broken.csv"), "csv", "id long, text string", {})
    with pytest.raises(IngestError, match=r"leads out of it.*\[destination-failed\]"):
        run(scan, tmp_path / "out")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["../part.parquet", "_splitscan/ledger/00000001.jsonl"])
def test_a_name_that_no_job_writes_is_never_moved(tmp_path, name):
    """However it came into a ledger that is in memory: the move itself looks at it once more."""
    place = open_destination_storage(tmp_path / "out")
    with pytest.raises(IngestError, match="ledger-damaged"):
        workplace.move_in(place, Staging(place.staging, "job"), [WrittenFile(name, 1, 1, "0" * 64)])
