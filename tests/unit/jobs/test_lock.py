import fcntl
import os
import signal
import subprocess
import sys

import pytest

from splitscan.errors import IngestError
from splitscan.jobs.workplace import lock_destination

HOLDER = """
import sys, time
from pathlib import Path
from splitscan.jobs.workplace import lock_destination
with lock_destination(Path(sys.argv[1]), "/out"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "work/lock")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.slow
def test_the_second_of_two_fails_and_is_told_who_holds_the_lock(tmp_path, holder):
    with pytest.raises(IngestError) as caught, lock_destination(tmp_path / "work/lock", "/out"):
        pass
    assert caught.value.reason_code == "destination-busy"
    assert f"process {holder.pid} on " in str(caught.value)
    assert "where: /out" in str(caught.value)


@pytest.mark.slow
def test_a_dead_holder_does_not_block(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "work/lock").exists()
    with lock_destination(tmp_path / "work/lock", "/out"):
        pass


def test_two_locks_in_one_process_exclude_each_other_too(tmp_path):
    with lock_destination(tmp_path / "lock", "/out"):
        with pytest.raises(IngestError, match="destination-busy"), lock_destination(tmp_path / "lock", "/out"):
            pass
        assert (tmp_path / "lock").exists()  # whoever was refused took nothing away


def test_whoever_is_refused_is_told_the_holder_whatever_was_in_the_file(tmp_path):
    (tmp_path / "lock").write_text("left by a power failure" * 20)
    with (
        lock_destination(tmp_path / "lock", "/out"),
        pytest.raises(IngestError, match=f"process {os.getpid()} on "),
        lock_destination(tmp_path / "lock", "/out"),
    ):
        pass


def test_a_lock_leaves_no_file_open(tmp_path):
    before = os.dup(0)
    os.close(before)
    for _ in range(2):
        with lock_destination(tmp_path / "lock", "/out"):
            pass
    after = os.dup(0)
    os.close(after)
    assert after == before


def test_the_file_goes_away_with_the_lock_and_so_does_its_folder_if_it_is_empty(tmp_path):
    with lock_destination(tmp_path / "work/lock", "/out"):
        pass
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "work").mkdir()
    (tmp_path / "work/kept").touch()
    with lock_destination(tmp_path / "work/lock", "/out"):
        pass
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["kept"]


def test_a_lock_file_that_was_deleted_before_it_was_locked_is_not_the_lock(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    real, opened = fcntl.flock, []

    def deleting(descriptor, operation):
        if not opened:
            path.unlink()  # its last holder was leaving
        opened.append(descriptor)
        return real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", deleting)
    with lock_destination(path, "/out"):
        assert path.exists()
    assert len(opened) == 2


def test_a_lock_in_a_place_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(IngestError, match="destination-failed"), lock_destination(tmp_path / "file/lock", "/out"):
        pass


def test_a_lock_in_a_place_that_takes_no_folder_fails_instead_of_trying_for_ever(tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise FileNotFoundError(2, "No such file or directory")  # as /proc does

    monkeypatch.setattr(type(tmp_path), "mkdir", refuse)
    with pytest.raises(IngestError, match="destination-failed"), lock_destination(tmp_path / "none/lock", "/out"):
        pass


def test_a_lock_whose_folder_always_vanishes_gives_up_at_last(tmp_path, monkeypatch):
    monkeypatch.setattr(type(tmp_path), "mkdir", lambda self, *args, **kwargs: None)
    with pytest.raises(IngestError, match="vanishes again and again"), lock_destination(tmp_path / "none/lock", "/out"):
        pass


def test_a_lock_outlives_a_folder_that_vanishes_while_it_is_made(tmp_path, monkeypatch):
    make, calls = type(tmp_path).mkdir, []

    def racing(self, *args, **kwargs):
        calls.append(self)
        if len(calls) == 1:
            raise FileExistsError(17, "File exists")  # and then its last holder removed it
        return make(self, *args, **kwargs)

    monkeypatch.setattr(type(tmp_path), "mkdir", racing)
    with lock_destination(tmp_path / "made/lock", "/out"):
        assert (tmp_path / "made/lock").exists()
