import threading
import time

import pytest

from splitscan.errors import SourceError
from splitscan.streaming.directory import DirectoryScanner

PATIENCE_SECONDS = 120  # a busy machine is no failure


class Lister:
    """Counts its calls; each waits for permission if asked to."""

    def __init__(self):
        self.calls = 0
        self.gate = threading.Event()
        self.gate.set()
        self.failure = None

    def __call__(self):
        self.calls += 1
        call = self.calls
        assert self.gate.wait(PATIENCE_SECONDS)
        if self.failure is not None:
            raise self.failure
        return [call]

    def wait_for_call(self, number):
        while self.calls < number:
            time.sleep(0.001)


@pytest.fixture
def lister():
    return Lister()


@pytest.fixture
def scanner(lister):
    scanner = DirectoryScanner(lister, interval_seconds=0)
    yield scanner
    lister.gate.set()
    scanner.stop()


def test_nothing_is_listed_before_somebody_asks(lister):
    scanner = DirectoryScanner(lister, 0)
    time.sleep(0.01)
    assert lister.calls == 0
    scanner.stop()


def test_the_first_listing_is_waited_for_and_later_ones_are_fresh(scanner):
    assert scanner.latest().files == [1]
    assert scanner.latest(PATIENCE_SECONDS).files == [2]
    assert scanner.latest(PATIENCE_SECONDS).serial == 3


def test_within_the_interval_the_last_listing_serves(lister):
    scanner = DirectoryScanner(lister, interval_seconds=1000)
    assert [scanner.latest().serial for _ in range(5)] == [1] * 5
    assert scanner.rescan().serial == 2
    assert scanner.latest().serial == 2
    time.sleep(0.05)  # no other one is on its way either
    scanner.stop()
    assert lister.calls == 2


def test_a_slow_listing_does_not_hold_planning_up(lister, scanner):
    scanner.latest()
    lister.gate.clear()
    assert scanner.latest(0.05).serial == 1  # and only below is the second one let through
    assert scanner.latest(0.05).serial == 1
    lister.wait_for_call(2)
    assert scanner.latest(0.05).serial == 1
    assert lister.calls == 2  # it is on its way, and no other is begun meanwhile
    lister.gate.set()
    assert scanner.latest(PATIENCE_SECONDS).serial >= 2


def test_a_rescan_begins_after_it_was_asked_for(lister, scanner):
    scanner.latest()
    lister.gate.clear()
    scanner.latest(0)
    lister.wait_for_call(2)
    threading.Timer(0.05, lister.gate.set).start()
    assert scanner.rescan().files == [3]  # the second had begun before


def test_a_failure_is_raised_once_where_somebody_asks(lister, scanner):
    lister.failure = SourceError("cannot list")
    with pytest.raises(SourceError, match="cannot list"):
        scanner.latest()
    lister.failure = None
    assert scanner.latest().files == [2]
    lister.failure = SourceError("cannot list again")
    with pytest.raises(SourceError, match="again"):
        scanner.rescan()
    lister.failure = None
    assert scanner.latest(PATIENCE_SECONDS).files == [4]


def test_a_stopped_scanner_leaves_no_thread(lister):
    before = set(threading.enumerate())
    scanner = DirectoryScanner(lister, 0)
    scanner.latest()
    (thread,) = set(threading.enumerate()) - before
    scanner.stop()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
