"""What every range tracker promises, and the state that splitscan's own trackers share.

A tracker guards one range ``[start, stop)`` while it is being read. The reader asks it before it returns a record;
anybody else may ask it to give the unread rest away. A **record belongs to the range that holds its first byte**,
``start <= first_byte < stop``; a record that cannot be addressed on its own (the second record of a compressed
block) belongs to the range of the split point before it.

*Consumed* is everything up to and including the start of the last record returned or promised. Only what is not
consumed can be split off, so no record is ever read twice and none is lost.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from numbers import Rational, Real
from typing import Generic, NoReturn, Protocol, TypeVar, runtime_checkable

from splitscan.errors import UsageError, quote_bytes

PositionT = TypeVar("PositionT")

_SPLIT_POINT_FIRST = "make the split point that the record follows known with try_return_record_at(True, position)"


@runtime_checkable
class RangeTracker(Protocol[PositionT]):
    """Who may read what, for positions of any ordered type.

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
        """Whether the reader has met the end of the range."""

    @property
    def split_points_consumed(self) -> int:
        """How many split points are dealt with entirely."""

    def try_return_record_at(self, is_at_split_point: bool, record_start: PositionT) -> bool:
        """Claim one record: ``True`` makes it this range's, ``False`` says it belongs to another."""

    def try_split_at_position(self, split_position: PositionT) -> bool:
        """Give ``[split_position, stop)`` away: ``False`` says that this is impossible, and changes nothing."""

    def fraction_consumed(self) -> float:
        """Progress, from 0.0 (no record yet) to 1.0 (done)."""

    def mark_done(self) -> bool:
        """Say that no record follows. Returns ``False``."""


class LockedTracker(Generic[PositionT]):
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
        """First position of the range, as declared; never changes."""
        return self._start

    @property
    def stop_position(self) -> PositionT:
        """First position after the range. Only shrinks, by successful splits."""
        return self._stop

    @property
    def done(self) -> bool:
        """Whether a claim met the end of the range or :meth:`mark_done` was called. Never becomes false again."""
        return self._done

    @property
    def split_points_consumed(self) -> int:
        """Split points that are dealt with entirely.

        The last split point returned is still being read (records may follow it), so it counts only once *done*.
        """
        with self._lock:
            if self._done:
                return self._split_points_returned
            return max(0, self._split_points_returned - 1)

    def mark_done(self) -> bool:
        """Say that no record follows, as at the end of a file.

        Returns:
            ``False``, so that a reader can write ``return found and tracker.try_return_record_at(...) or
            tracker.mark_done()``.
        """
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

    Args:
        fraction: From 0 to 1; a :class:`~fractions.Fraction` is taken as it is.

    Returns:
        The exact fraction.

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
