"""Run two threads in every order that one interruption can make. Deterministic: no sleeping, no luck.

One thread is frozen right before its k-th bytecode, the other runs to its end (or until it waits for a lock that
the frozen one holds), then the first goes on. Doing so for every k, and with the roles exchanged, covers every
schedule with one preemption, which is what nearly every race needs.
"""

from __future__ import annotations

import gc
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Generic, NamedTuple, TypeVar
from unittest import mock

SubjectT = TypeVar("SubjectT")

_STUCK_SECONDS = 30.0  # far beyond any bytecode; only a deadlock gets there
_UNSEEN_LOCK_SECONDS = 2.0  # how long to wait for a thread that may wait for a lock made elsewhere
_Message = tuple[str, str]  # (thread, "frozen" | "blocked" | "finished")


class Outcome(NamedTuple):
    """What one thread got.

    Attributes:
        value: What its function returned, ``None`` if it raised.
        error: What it raised, or ``None``.
    """

    value: Any
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which interruption was forced.

    Attributes:
        frozen: The thread that was stopped, ``"first"`` or ``"second"``.
        step: How many of its bytecodes had run.
        place: File, line and function where it stood.
        blocked: Whether the other thread had to wait for it.
    """

    frozen: str
    step: int
    place: str
    blocked: bool

    def __str__(self) -> str:
        other = "the other waited for it" if self.blocked else "the other ran to its end"
        return f"the {self.frozen} thread stopped before its bytecode {self.step} at {self.place}; {other}"


@contextmanager
def _without_collection() -> Iterator[None]:
    """No garbage is collected meanwhile: what others call for each collection would be steps of the race."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def run_every_interleaving(
    make: Callable[[], SubjectT],
    first: Callable[[SubjectT], object],
    second: Callable[[SubjectT], object],
    judge: Callable[[SubjectT, Outcome, Outcome], None],
) -> list[Schedule]:
    """Run *first* and *second* on a new subject under every schedule with one preemption.

    Only Python bytecode is interrupted; a call into C is one step. Locks that *make* creates through
    ``threading.Lock`` or ``threading.RLock`` are watched, so that waiting for one is noticed at once; waiting for any
    other lock is noticed by a timeout, which is slow.

    Args:
        make: Makes a subject in the state that the race starts from. Runs once per schedule.
        first: What one thread does with it.
        second: What the other thread does with it.
        judge: Called after both have ended; raises when what they got, or what the subject became, is wrong.

    Returns:
        The schedules that were run, in order.

    Raises:
        AssertionError: If the threads block each other for good, or one blocks itself.
        Exception: Whatever *judge* raised, with the schedule added as a note.

    Example:
        >>> class Counter:
        ...     value = 0
        ...
        ...     def add(self):
        ...         before = self.value
        ...         self.value = before + 1
        >>> seen = set()
        >>> schedules = run_every_interleaving(
        ...     Counter, Counter.add, Counter.add, lambda counter, a, b: seen.add(counter.value)
        ... )
        >>> sorted(seen)
        [1, 2]
    """
    schedules: list[Schedule] = []
    for frozen in ("first", "second"):
        step = 0
        while True:
            race = _Race(make, {"first": first, "second": second}, frozen, step)
            with _without_collection():
                schedule = race.run()
            if schedule is None:  # it has no such bytecode: every one was tried
                break
            schedules.append(schedule)
            try:
                judge(race.subject, race.outcomes["first"], race.outcomes["second"])
            except Exception as error:
                error.add_note(f"in this schedule: {schedule}")
                raise
            step += 1
    return schedules


def check_linearizable(
    make: Callable[[], SubjectT],
    first: Sequence[Callable[[SubjectT], object]],
    second: Sequence[Callable[[SubjectT], object]],
    observe: Callable[[SubjectT], object],
) -> list[Schedule]:
    """Check that two threads' calls look as if each took effect at one instant.

    Every way to merge the two sequences of calls is run in one thread. What the calls returned (or raised), and what
    *observe* says afterwards, must under every interleaving be what some merge gives.

    Args:
        make: Makes a subject; see :func:`run_every_interleaving`.
        first: The calls of one thread, in order.
        second: The calls of the other.
        observe: Describes the subject afterwards by a value with ``==``.

    Returns:
        The schedules that were run.

    Raises:
        AssertionError: If an interleaving gave what no order of the calls gives.

    Example:
        >>> class Counter:
        ...     def __init__(self):
        ...         self.value, self.lock = 0, threading.Lock()
        ...
        ...     def add(self):
        ...         with self.lock:
        ...             self.value += 1
        >>> len(check_linearizable(Counter, [Counter.add], [Counter.add], lambda counter: counter.value)) > 10
        True
    """
    allowed = []
    for turns in _merges(len(first), len(second)):
        subject = make()
        calls = {"first": iter(first), "second": iter(second)}
        results: dict[str, list[str]] = {"first": [], "second": []}
        for turn in turns:
            results[turn].append(_result_of(next(calls[turn]), subject))
        allowed.append((results["first"], results["second"], observe(subject)))

    def all_of(calls: Sequence[Callable[[SubjectT], object]]) -> Callable[[SubjectT], list[str]]:
        return lambda subject: [_result_of(call, subject) for call in calls]

    def judge(subject: SubjectT, one: Outcome, other: Outcome) -> None:
        got = (one.value, other.value, observe(subject))
        if got not in allowed:
            possible = "\n  ".join(dict.fromkeys(map(str, allowed)))
            raise AssertionError(f"two threads got\n  {got}\nbut one after the other they get\n  {possible}")

    return run_every_interleaving(make, all_of(first), all_of(second), judge)


def _result_of(call: Callable[[SubjectT], object], subject: SubjectT) -> str:
    """What a call gave, comparable: errors by their type, as their text may tell what only the other thread did."""
    try:
        return repr(call(subject))
    except Exception as error:
        return f"raised {type(error).__name__}"


def _merges(first: int, second: int) -> Iterator[list[str]]:
    """Every order in which two sequences of calls can be run."""
    if first == 0 and second == 0:
        yield []
    if first > 0:
        yield from (["first", *rest] for rest in _merges(first - 1, second))
    if second > 0:
        yield from (["second", *rest] for rest in _merges(first, second - 1))


class _Race(Generic[SubjectT]):
    """One schedule: *frozen* is stopped before its bytecode number *step*."""

    def __init__(
        self,
        make: Callable[[], SubjectT],
        functions: dict[str, Callable[[SubjectT], object]],
        frozen: str,
        step: int,
    ) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self._functions = functions
        self._frozen = frozen
        self._other = "second" if frozen == "first" else "first"
        self._step = step
        self._messages: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._release = threading.Event()
        self._place = ""
        with _watched_locks(self._messages):
            self.subject = make()

    def run(self) -> Schedule | None:
        """Force the schedule; ``None`` if the frozen thread ends before it gets that far."""
        runner = threading.Thread(target=self._run, args=(self._frozen, self._freeze_at_step()), name=self._frozen)
        runner.daemon = True
        runner.start()
        reached = self._wait_for(self._frozen, ("frozen", "finished"), _STUCK_SECONDS)
        if reached is None:
            self._release.set()
            raise AssertionError(f"stuck: the {self._frozen} thread, alone, did not reach its bytecode {self._step}")
        if reached == "finished":
            runner.join()
            return None
        other = threading.Thread(target=self._run, args=(self._other, None), name=self._other, daemon=True)
        other.start()
        seen = self._wait_for(self._other, ("blocked", "finished"), _UNSEEN_LOCK_SECONDS)
        self._release.set()
        schedule = Schedule(self._frozen, self._step, self._place, blocked=seen != "finished")
        for thread in (runner, other):
            thread.join(_STUCK_SECONDS)
            if thread.is_alive():
                raise AssertionError(f"deadlock: {schedule}, and then the {thread.name} one never ended")
        return schedule

    def _run(self, name: str, trace: Callable[[FrameType, str, object], Any] | None) -> None:
        function = self._functions[name]
        try:
            if trace is not None:
                sys.settrace(trace)
            try:
                value = function(self.subject)
            finally:
                sys.settrace(None)
            self.outcomes[name] = Outcome(value)
        except Exception as error:
            self.outcomes[name] = Outcome(None, error)
        self._messages.put((name, "finished"))

    def _freeze_at_step(self) -> Callable[[FrameType, str, object], Any]:
        remaining = self._step

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal remaining
            if frame.f_code.co_filename == __file__:
                return None  # our own locks and loops are not what is being tested
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            if event == "opcode":
                remaining -= 1
                if remaining == -1:
                    self._place = f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"
                    self._messages.put((self._frozen, "frozen"))
                    self._release.wait()
            return trace

        return trace

    def _wait_for(self, thread: str, states: tuple[str, ...], seconds: float) -> str | None:
        """The next of *states* that *thread* reports; ``None`` if it does not within the time."""
        try:
            while True:
                name, state = self._messages.get(timeout=seconds)
                if name == thread and state in states:
                    return state
        except queue.Empty:
            return None


class _WatchedLock:
    """A lock that says so before it makes a thread wait."""

    def __init__(self, lock: Any, messages: queue.SimpleQueue[_Message]) -> None:
        self._lock = lock
        self._messages = messages

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._lock.acquire(blocking=False):
            return True
        if not blocking:
            return False
        self._messages.put((threading.current_thread().name, "blocked"))
        return bool(self._lock.acquire(blocking, timeout))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


@contextmanager
def _watched_locks(messages: queue.SimpleQueue[_Message]) -> Iterator[None]:
    def watched(make_lock: Callable[[], Any]) -> Callable[[], _WatchedLock]:
        return lambda: _WatchedLock(make_lock(), messages)

    with (
        mock.patch.object(threading, "Lock", watched(threading.Lock)),
        mock.patch.object(threading, "RLock", watched(threading.RLock)),
    ):
        yield
