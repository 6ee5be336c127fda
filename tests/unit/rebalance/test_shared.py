"""One coordinator per process: found, started, started again, and gone with the process."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from splitscan.errors import RebalanceError
from splitscan.rebalance.claim_values import Segment
from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.coordinator_process import ListenAddress, shared_coordinator

pytestmark = pytest.mark.slow  # each starts processes


@pytest.fixture
def owner(tmp_path, monkeypatch):
    """A process that coordinators end with, and a place for their files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def files(tmp_path):
    return list(tmp_path.glob("splitscan-*/*"))


def wait_for(condition):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_all_who_ask_get_the_same_one_and_it_ends_with_the_process(owner, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: shared_coordinator(owner.pid, ListenAddress), range(4)))
    assert len(set(found)) == 1
    near = Coordinator(found[0].near)
    assert near.create("a", [Segment(10, "x", False)], [(0, 10)])
    assert near.scans() == ["a"]
    (path,) = files(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    owner.kill()
    wait_for(lambda: not files(tmp_path))
    with pytest.raises(RebalanceError, match="coordinator-lost"):
        Coordinator(found[0].near, 0.5).ping()


def test_one_that_is_gone_is_replaced_and_what_others_left_is_removed(owner, tmp_path):
    first = shared_coordinator(owner.pid, ListenAddress)
    (path,) = files(tmp_path)
    path.write_text("{")  # of a planner that was killed while it wrote
    (path.parent / "coordinator-999999999-1").write_text("{}")  # of a coordinator that was killed
    (path.parent / "something else").write_text("stays")
    second = shared_coordinator(owner.pid, ListenAddress)
    assert first != second
    assert sorted(file.name for file in files(tmp_path)) == [path.name, "something else"]


def test_readers_are_told_another_host_than_planners(owner):
    found = shared_coordinator(owner.pid, lambda: ListenAddress("0.0.0.0", "driver.example"))
    assert (found.near.host, found.far.host) == ("127.0.0.1", "driver.example")
    assert found.near.port == found.far.port
    Coordinator(found.near).ping()


def test_a_folder_that_others_can_read_is_refused(owner, tmp_path):
    (tmp_path / f"splitscan-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(RebalanceError, match=r"belongs to its user alone(?s:.)*mode 755(?s:.)*TMPDIR"):
        shared_coordinator(owner.pid, ListenAddress)


def test_where_none_can_listen_there_is_none(owner):
    with pytest.raises(RebalanceError, match="coordinator-failed"):
        shared_coordinator(owner.pid, lambda: ListenAddress("203.0.113.1", "203.0.113.1"))
