"""The harness that forces interleavings finds what it must, and says where."""

import _thread
import sys
import threading

import pytest
from tests import interleaving
from tests.interleaving import check_linearizable, run_every_interleaving


class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        before = self.value
        self.value = before + 1
        return self.value


class LockedCounter(Counter):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def add(self):
        with self.lock:
            return super().add()


class ForeignLockCounter(LockedCounter):
    """Its lock is made where the harness does not see it."""

    def __init__(self):
        super().__init__()
        self.lock = _thread.allocate_lock()


def ignore(*_):
    pass


def test_a_lost_update_is_found_and_the_message_says_where():
    with pytest.raises(AssertionError, match="one after the other they get") as caught:
        check_linearizable(Counter, [Counter.add], [Counter.add], lambda counter: counter.value)
    (note,) = caught.value.__notes__
    assert "the first thread stopped before its bytecode" in note
    assert "test_interleaving_harness.py" in note
    assert "(add); the other ran to its end" in note


def test_a_lock_that_holds_is_seen_to_hold():
    schedules = check_linearizable(
        LockedCounter, [LockedCounter.add], [LockedCounter.add], lambda subject: subject.value
    )
    assert {schedule.blocked for schedule in schedules} == {True, False}
    assert {schedule.frozen for schedule in schedules} == {"first", "second"}


def test_waiting_for_a_lock_made_elsewhere_is_noticed_by_time(monkeypatch):
    monkeypatch.setattr(interleaving, "_UNSEEN_LOCK_SECONDS", 0.005)
    values = set()
    schedules = run_every_interleaving(
        ForeignLockCounter, ForeignLockCounter.add, ForeignLockCounter.add, lambda c, *_: values.add(c.value)
    )
    assert values == {2}
    assert any(schedule.blocked for schedule in schedules)


def test_every_step_is_tried_from_before_the_first_to_before_the_last_bytecode():
    orders = []

    def trail(mark):
        def run(subject):
            subject.append(mark)
            subject.append(mark)
            subject.append(mark)

        return run

    run_every_interleaving(list, trail("a"), trail("b"), lambda subject, *_: orders.append("".join(subject)))
    assert set(orders) == {"bbbaaa", "abbbaa", "aabbba", "aaabbb", "baaabb", "bbaaab"}


@pytest.mark.slow
def test_a_deadlock_is_an_error_and_not_a_hang(monkeypatch):
    class Pair:
        def __init__(self):
            self.left, self.right = threading.Lock(), threading.Lock()

        def left_first(self):
            with self.left, self.right:
                pass

        def right_first(self):
            with self.right, self.left:
                pass

    monkeypatch.setattr(interleaving, "_STUCK_SECONDS", 1.5)
    with pytest.raises(AssertionError, match="deadlock: the first thread stopped"):
        run_every_interleaving(Pair, Pair.left_first, Pair.right_first, ignore)


def test_nothing_is_left_behind():
    lock, rlock, trace, threads = threading.Lock, threading.RLock, sys.gettrace(), threading.active_count()
    run_every_interleaving(LockedCounter, LockedCounter.add, LockedCounter.add, ignore)
    assert (threading.Lock, threading.RLock, sys.gettrace()) == (lock, rlock, trace)
    assert threading.active_count() == threads
