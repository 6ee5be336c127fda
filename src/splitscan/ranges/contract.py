"""Contract of range trackers, the state that splitscan's own share, and the tracker of byte offsets.

A tracker guards one range ``[start, stop)`` while it is being read. The reader asks it before it returns a record;
anybody else may ask it to give the unread rest away. A **record belongs to the range that holds its first byte**,
``start <= first_byte < stop``; a record that cannot be addressed on its own (the second record of a compressed
block) belongs to the range of the split point before it.

*Consumed* is everything up to and including the start of the last record returned or promised. Only what is not
consumed can be split off, so no record is ever read twice and none is lost.

A block of a file has one reader, and nobody splits it while it is read: :mod:`splitscan.reading.block_reader` compares
starts with its stop itself. Trackers are for ranges that others may take from: what a partition has not claimed yet.
"""

# Over 400 lines: more than half of them say what every tracker promises.

from __future__ import annotations

import math
import operator
import threading
from fractions import Fraction
from numbers import Rational, Real
from typing import ClassVar, NoReturn, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from splitscan.blocks import ByteRange
from splitscan.errors import UsageError, quote_bytes

PositionT = TypeVar("PositionT")

_SPLIT_POINT_FIRST = "make the split point that the record follows known with try_return_record_at(True, position)"
OFFSET_INFINITY = 2**63 - 1
"""Stop of a range whose end is not known. Such a range cannot be split and has no progress."""

_FORWARD = "claim records in file order, each split point once; to read again, make a new tracker"


@runtime_checkable
class RangeTracker(Protocol[PositionT]):
    """Tracker of the range a reader owns, for positions of any ordered type.

    An implementation is checked by :func:`splitscan.testing.range_laws.check_tracker_law`.

    Thread safety: every method may be called from any thread at any time; each takes effect at one instant.
    """

    @property
    def start_position(self) -> PositionT:
        """First position of the range; never changes."""

    @property
    def stop_position(self) -> PositionT:
        """First position after the range; only a successful split changes it, and only downwards."""

    @property
    def done(self) -> bool:
        """True if the reader has met the end of the range. Never becomes false again."""

    @property
    def split_points_consumed(self) -> int:
        """How many split points are dealt with entirely."""

    def try_return_record_at(self, is_at_split_point: bool, record_start: PositionT) -> bool:
        """Claim one record.

        A split point is claimed if it lies before ``stop_position``; otherwise the tracker is done. A record that is
        no split point belongs to the split point before it, wherever it starts. Once done, nothing is claimed.

        Args:
            is_at_split_point: Whether a reader could start at this record.
            record_start: Position of its first byte. Offsets of split points strictly increase, no position goes back.

        Returns:
            Whether the record may be returned. ``False`` ends the range: the record belongs to another one.

        Raises:
            UsageError: If the order is broken, the position lies before the range, or the first record is not a split
                point. Nothing has changed then.
        """

    def try_split_at_position(self, split_position: PositionT) -> bool:
        """Give ``[split_position, stop_position)`` away, if nothing of it is consumed.

        Returns:
            Whether this range now stops at *split_position*, the first position of the residual. ``False`` changes
            nothing, and is the answer before the first record, when done, on a range of offsets to infinity, at or
            before the last record, and outside the range (also at ``stop_position``: a residual is never empty).

        Raises:
            UsageError: If *split_position* is not an integer, or of keys not bytes.
        """

    def fraction_consumed(self) -> float:
        """Progress, from 0.0 to 1.0.

        Returns:
            0.0 before the first record and on a range of offsets to infinity, 1.0 when done; else how far into the
            declared range the last record starts. Jumps up at a split, and otherwise never decreases.
        """

    def mark_done(self) -> bool:
        """Say that no record follows. Returns ``False``, so that a reader can return what this returns."""


class LockedTracker(RangeTracker[PositionT]):
    """The state of splitscan's trackers, behind one lock that is held for a few comparisons.

    The start is *not* moved to the first record: ``start_position`` stays what was declared, so that a progress
    query is relative to the range that the plan knows.

    Thread safety: every public method may be called from any thread. Nothing is awaited and no I/O is done under
    the lock, so a split never waits for a slow read. It is not reentrant: do not call it from a signal handler.
    Pickling: refused. A copy in another process would hand out records that this one hands out as well.
    """

    def __init__(self, start: PositionT, stop: PositionT) -> None:
        self._lock = threading.Lock()
        self._start = start
        self._stop = stop
        self._last: PositionT | None = None  # start of the last record returned, or of the claim that met the end
        self._done = False
        self._split_points_returned = 0

    @property
    def start_position(self) -> PositionT:
        return self._start

    @property
    def stop_position(self) -> PositionT:
        return self._stop

    @property
    def done(self) -> bool:
        return self._done

    @property
    def split_points_consumed(self) -> int:
        with self._lock:  # the last one is still being read, for records may follow it, so it counts only once done
            return self._split_points_returned if self._done else max(0, self._split_points_returned - 1)

    def mark_done(self) -> bool:
        with self._lock:
            self._done = True
        return False

    def _first_must_be_split_point(self, is_at_split_point: bool, record_start: PositionT) -> None:
        if not is_at_split_point and self._split_points_returned == 0:
            self._refuse("the first record of a range must be at a split point", record_start, _SPLIT_POINT_FIRST)

    def _refuse(self, rule: str, record_start: object, fix: str) -> NoReturn:
        """Raise for a reader that broke the protocol; the caller must not have changed anything yet."""
        start, stop, last = quote(self._start), quote(self._stop), quote(self._last)
        seen = f"record start {quote(record_start)} in range [{start}, {stop}), last {last}"
        raise UsageError(rule, seen=seen, fix=fix, code="tracker-protocol")

    def __repr__(self) -> str:
        with self._lock:
            state = "done" if self._done else "started" if self._split_points_returned else "unstarted"
            bounds = f"{quote(self._start)}, {quote(self._stop)}"
            return f"{type(self).__name__}({bounds}) <{state}, last {quote(self._last)}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise UsageError(
            f"a {type(self).__name__} cannot be copied or pickled",
            seen="a tracker in a closure, a copy or a message to another process",
            fix="ship (start_position, stop_position) and make a new tracker where the range is read",
            code="tracker-pickled",
        )


def quote(position: object) -> str:
    """Render a position, or what was passed for one, for a message: never a long key in full.

    Example:
        >>> quote(12), quote(b"k"), quote(b"k" * 1000)[-12:]
        ('12', "b'k'", '(1000 bytes)')
    """
    return quote_bytes(position) if isinstance(position, bytes) else repr(position)[:80]


def exact_fraction(fraction: float | Fraction) -> Fraction:
    """Turn a fraction of a range into an exact number.

    A float means the decimal that it prints as: ``0.3`` of 100 positions is 30, not the 29 that the binary value
    just below 0.3 would give.

    Raises:
        UsageError: If *fraction* is not a number from 0 to 1.

    Example:
        >>> exact_fraction(0.3)
        Fraction(3, 10)
    """
    exact = Fraction(-1)
    number: object = fraction  # whatever was passed; numpy's numbers are Rational or Real, too
    if isinstance(number, Rational):
        exact = Fraction(int(number.numerator), int(number.denominator))
    elif isinstance(number, Real) and math.isfinite(number):
        exact = Fraction(repr(float(number)))
    if not 0 <= exact <= 1:
        raise UsageError(
            "a fraction of a range lies between 0 and 1", seen=quote(fraction), fix="pass 0 <= fraction <= 1",
            code="bad-fraction",
        )  # fmt: skip
    return exact


class OffsetRangeTracker(LockedTracker[int]):
    """Guards the offsets ``[start, stop)`` while they are read.

    Guarantees, for any calls from any threads: a split point is claimed if and only if it lies in
    ``[start, stop)`` at the instant of the claim; no claimed record lies in a residual; *stop* never grows.

    Args:
        start: First offset, 0 or more.
        stop: First offset after the range, or :data:`OFFSET_INFINITY`. ``start == stop`` is an empty range.

    Raises:
        UsageError: If these are not integers with ``0 <= start <= stop <= OFFSET_INFINITY``.

    Thread safety: all methods, from any thread.
    Pickling: refused; ship ``(start, stop)``.

    Example:
        >>> tracker = OffsetRangeTracker(100, 200)
        >>> tracker.try_return_record_at(True, 110)
        True
        >>> tracker.try_split_at_position(150)
        True
        >>> tracker.try_return_record_at(True, 150), tracker.done
        (False, True)
    """

    OFFSET_INFINITY: ClassVar[int] = OFFSET_INFINITY

    def __init__(self, start: int, stop: int) -> None:
        first, behind = _as_offset(start), _as_offset(stop)
        if not 0 <= first <= behind <= OFFSET_INFINITY:
            raise UsageError(
                "a range of offsets must have 0 <= start <= stop <= OFFSET_INFINITY", seen=f"[{first}, {behind})",
                fix="pass the first offset and the first one after the range", code="bad-range",
            )  # fmt: skip
        super().__init__(first, behind)
        self._last_split_point: int | None = None

    def try_return_record_at(self, is_at_split_point: bool, record_start: int) -> bool:
        position = _as_offset(record_start)
        with self._lock:
            self._first_must_be_split_point(is_at_split_point, position)
            self._must_move_forward(position)
            if not is_at_split_point:
                self._last = position
                return True
            self._split_points_strictly_increase(position)
            self._last = position
            if position >= self._stop:
                self._done = True
                return False
            self._last_split_point = position
            self._split_points_returned += 1
            return True

    def claim_chunk(self, record_starts: npt.NDArray[np.int64]) -> int:
        """Claim many split points at one instant: those before ``stop_position``.

        Exactly like ``try_return_record_at(True, p)`` for each *p* until the first ``False``, except that no split
        can come in between, and the cost is O(log n).

        Args:
            record_starts: Offsets of split points, strictly increasing. Only the two ends are looked at to check
                that: framing guarantees the order, and looking at all would cost more than the claim.

        Returns:
            How many, from the front, may be returned. Fewer than all: the tracker is done. An empty array
            gives 0 and changes nothing.

        Raises:
            UsageError: If the array is not one-dimensional, integral and increasing, or its first offset breaks
                the order. Nothing has changed then.

        Example:
            >>> tracker = OffsetRangeTracker(0, 100)
            >>> tracker.claim_chunk(np.array([0, 40, 99, 100, 120])), tracker.done
            (3, True)
        """
        starts = _as_offsets(record_starts)
        if starts.size == 0:
            return 0
        first = int(starts[0])
        with self._lock:
            self._must_move_forward(first)
            self._split_points_strictly_increase(first)
            claimed = int(starts.searchsorted(self._stop))
            self._last = int(starts[min(claimed, starts.size - 1)])
            if claimed > 0:
                self._last_split_point = int(starts[claimed - 1])
                self._split_points_returned += claimed
            if claimed < starts.size:
                self._done = True
            return claimed

    def try_split_at_position(self, split_position: int) -> bool:
        return self.try_split_off(split_position) is not None

    def try_split_off(self, split_position: int) -> ByteRange | None:
        """Like :meth:`try_split_at_position`, but returns the residual, as of the instant of the split.

        Reading ``stop_position`` before the split and trusting it would be wrong where several threads split.

        Returns:
            The residual, which this tracker will never claim a record of, or ``None`` if refused.

        Raises:
            UsageError: If *split_position* is not an integer.

        Example:
            >>> tracker = OffsetRangeTracker(0, 100)
            >>> tracker.try_split_off(50) is None
            True
            >>> tracker.try_return_record_at(True, 0), tracker.try_split_off(50)
            (True, ByteRange(start=50, stop=100))
        """
        position = _as_offset(split_position)
        with self._lock:
            if self._stop == OFFSET_INFINITY or self._done or self._last is None:
                return None
            if not self._last < position < self._stop:
                return None
            residual = ByteRange(position, self._stop)
            self._stop = position
            return residual

    def fraction_consumed(self) -> float:
        with self._lock:
            last, stop, done = self._last, self._stop, self._done
        if done:
            return 1.0
        if last is None or stop == OFFSET_INFINITY:
            return 0.0
        if last >= stop:
            return 1.0
        return (last - self._start) / (stop - self._start)

    def position_at_fraction(self, fraction: float | Fraction) -> int:
        """Find the offset that lies a fraction into the range, rounded down, computed exactly.

        Returns:
            An offset from ``start_position`` to ``stop_position``.

        Raises:
            UsageError: If the range goes to infinity, or *fraction* is not between 0 and 1.

        Example:
            >>> OffsetRangeTracker(100, 200).position_at_fraction(0.3)
            130
        """
        exact = exact_fraction(fraction)
        stop = self._stop
        if stop == OFFSET_INFINITY:
            raise UsageError(
                "a range to infinity has no position at a fraction",
                seen=f"fraction {fraction!r} of [{self._start}, OFFSET_INFINITY)",
                fix="declare where the range stops",
                code="bad-fraction",
            )
        return self._start + int(exact * (stop - self._start))

    def _must_move_forward(self, position: int) -> None:
        if position < self._start:
            self._refuse("a record must not start before its range", position, "skip records before start_position")
        if self._last is not None and position < self._last:
            self._refuse("record starts must not go back", position, _FORWARD)

    def _split_points_strictly_increase(self, position: int) -> None:
        if position == self._last_split_point:
            self._refuse("split points must strictly increase", position, _FORWARD)


def _as_offset(position: int) -> int:
    """Any true integer (also numpy's) as ``int``; a float or a bool is a mistake of the caller."""
    try:
        if isinstance(position, bool):
            raise TypeError
        return operator.index(position)
    except TypeError:
        raise UsageError(
            "an offset must be an integer", seen=quote(position), fix="pass an int (OFFSET_INFINITY for no end)",
            code="bad-position",
        ) from None  # fmt: skip


def _as_offsets(record_starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Check what can be checked without looking at every element."""
    starts = np.asarray(record_starts)
    if starts.ndim == 1 and starts.size == 0:
        return np.empty(0, dtype=np.int64)
    if starts.ndim != 1 or not np.issubdtype(starts.dtype, np.integer) or not np.can_cast(starts.dtype, np.int64):
        raise UsageError(
            "a chunk of record starts must be a one-dimensional array of int64",
            seen=f"{starts.ndim} dimensions of {starts.dtype}", fix="pass np.array(starts, dtype=np.int64)",
            code="bad-position",
        )  # fmt: skip
    first, last = int(starts[0]), int(starts[-1])
    if last - first < starts.size - 1:  # that many different integers do not fit in between
        raise UsageError(
            "a chunk of record starts must strictly increase",
            seen=f"{starts.size} starts from {first} to {last}", fix=_FORWARD, code="tracker-protocol",
        )  # fmt: skip
    return starts.astype(np.int64, copy=False)
