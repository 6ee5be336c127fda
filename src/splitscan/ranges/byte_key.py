"""Ranges of byte keys, the exact arithmetic of where a key lies in one, and the tracker for them (sorted tables)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from splitscan.errors import UsageError, quote_bytes
from splitscan.ranges.contract import LockedTracker, exact_fraction, quote

# A key found at a fraction of a range is chosen among at least 2**64 candidates, so that fractions which differ
# as floats give keys that differ.
_RESOLUTION_BITS = 64
_FORWARD = "claim records in key order; to read again, make a new tracker"


def as_key(key: object) -> bytes:
    """Refuse keys that are not ``bytes``: a ``bytearray`` may change under the tracker."""
    if not isinstance(key, bytes):
        raise UsageError(
            "a key must be bytes", seen=quote(key), fix="encode it, keeping the order", code="bad-position"
        )
    return key


class _KeyBounds(NamedTuple):
    start: bytes
    stop: bytes


class ByteKeyRange(_KeyBounds):
    """A half-open range of byte keys, ``[start, stop)``, where ``b""`` at either end means unbounded.

    Keys are ordered as unsigned bytes, a prefix first: the next key after ``k`` is ``k`` with a zero byte after
    it. Seen as numbers (fractions between 0 and 1, in base 256) these two are equal, yet they are different keys;
    order is always decided by the bytes, numbers only say how far apart keys are.

    Args:
        stop: First key after the range. ``start == stop`` (not empty) is an empty range.

    Raises:
        UsageError: If a bound is not bytes or *start* lies after *stop*.

    Example:
        >>> ByteKeyRange(b"a", b"c").key_at(0.5)
        b'b'
    """

    __slots__ = ()

    def __new__(cls, start: bytes, stop: bytes) -> ByteKeyRange:
        """Check the order of the bounds."""
        first, behind = as_key(start), as_key(stop)
        if behind and first > behind:
            raise UsageError(
                "a range of keys must have start <= stop", seen=f"[{quote_bytes(first)}, {quote_bytes(behind)})",
                fix='pass the first key and the first one after the range; b"" is unbounded', code="bad-range",
            )  # fmt: skip
        return super().__new__(cls, first, behind)

    def contains(self, key: bytes) -> bool:
        """True if ``start <= key < stop``."""
        return self.start <= as_key(key) and (not self.stop or key < self.stop)

    def overlaps(self, other: ByteKeyRange) -> bool:
        """True if a key exists that both ranges contain."""
        start = max(self.start, other.start)
        stops = [stop for stop in (self.stop, other.stop) if stop]
        return not stops or start < min(stops)

    def fraction_of(self, key: bytes) -> float:
        """Find how far into the range a key lies, correctly rounded from exact integers.

        Returns:
            From 0.0 to 1.0; 0.0 where ``start`` and ``stop`` are equal as numbers.

        Raises:
            UsageError: If the range does not reach to *key*.

        Example:
            >>> ByteKeyRange(b"a", b"e").fraction_of(b"b")
            0.25
        """
        if not (self.contains(key) or (self.stop and key == self.stop)):
            raise UsageError(
                "a key must lie in its range to have a fraction of it",
                seen=f"{quote_bytes(key)} and [{quote_bytes(self.start)}, {quote_bytes(self.stop)})",
                fix="ask contains() first",
                code="bad-position",
            )
        width = max(len(self.start), len(self.stop), len(key))
        low, high = self._as_numbers(width)
        return (_as_number(key, width) - low) / (high - low) if high > low else 0.0

    def key_at(self, fraction: float | Fraction) -> bytes:
        """Find a key that lies a fraction into the range. Never decreases as *fraction* grows.

        Returns:
            A short key of the range: ``start`` for 0 (also where the bounds are equal as numbers), ``stop`` for 1.
            Never empty, as an empty key would be understood as unbounded, except that 1 of an unbounded
            range gives ``b""``.

        Raises:
            UsageError: If *fraction* is not between 0 and 1.

        Example:
            >>> ByteKeyRange(b"", b"").key_at(0.25)
            b'@'
        """
        exact = exact_fraction(fraction)
        if exact == 1:
            return self.stop
        width = max(len(self.start), len(self.stop))
        low, high = self._as_numbers(width)
        if high > low:
            missing_bits = max(0, _RESOLUTION_BITS - (high - low).bit_length() + 1)
            width += -(-missing_bits // 8)
            low, high = self._as_numbers(width)
        number = low + int(exact * (high - low))
        if number == low:  # not start with zeros after it: that could lie after stop
            return self.start or b"\0"
        return number.to_bytes(width, "big").rstrip(b"\0")

    def split(self, count: int) -> list[bytes]:
        """Cut the range into pieces of about equal width.

        Returns:
            ``count + 1`` keys in strict order, from ``start`` to ``stop``; just these two for a range that
            has no room for that many.

        Example:
            >>> ByteKeyRange(b"a", b"e").split(4)
            [b'a', b'b', b'c', b'd', b'e']
        """
        if count < 1:
            raise UsageError(
                "a range is cut into 1 piece or more", seen=repr(count), fix="pass count >= 1", code="usage"
            )
        inner = [self.key_at(Fraction(i, count)) for i in range(1, count)]
        ordered = all(low < high for low, high in pairwise([self.start, *inner]))
        if not ordered or not all(self.contains(key) for key in inner):
            return [self.start, self.stop]
        return [self.start, *inner, self.stop]

    def _as_numbers(self, width: int) -> tuple[int, int]:
        """Both bounds as integers of *width* digits; an unbounded stop is the first integer with one digit more."""
        return _as_number(self.start, width), _as_number(self.stop, width) if self.stop else 1 << (8 * width)


def _as_number(key: bytes, width: int) -> int:
    return int.from_bytes(key.ljust(width, b"\0"), "big")


class ByteKeyRangeTracker(LockedTracker[bytes]):
    """Guards the keys ``[start, stop)`` while they are read; ``b""`` is unbounded at either end.

    Guarantees, for any calls from any threads: a split point is claimed if and only if it lies in
    ``[start, stop)`` at the instant of the claim; no claimed record lies in a residual; *stop* never grows.

    It differs from :class:`~splitscan.ranges.contract.OffsetRangeTracker` in three points: the same key may be
    claimed again (a table may have several cells under one key), everything is refused once it is done, and an
    unbounded range can be split and has progress.

    Args:
        stop: First key after the range. ``start == stop`` (not empty) is an empty range.

    Raises:
        UsageError: If a bound is not bytes or *start* lies after *stop*.

    Thread safety: all methods, from any thread.
    Pickling: refused; ship ``(start, stop)``.

    Example:
        >>> tracker = ByteKeyRangeTracker(b"a", b"")
        >>> tracker.try_return_record_at(True, b"b"), tracker.try_split_at_position(b"k")
        (True, True)
        >>> tracker.try_return_record_at(True, b"k"), tracker.done
        (False, True)
    """

    def __init__(self, start: bytes, stop: bytes) -> None:
        super().__init__(*ByteKeyRange(start, stop))

    def try_return_record_at(self, is_at_split_point: bool, record_start: bytes) -> bool:
        key = as_key(record_start)
        with self._lock:
            if self._done:
                return False
            self._first_must_be_split_point(is_at_split_point, key)
            self._must_not_go_back(key)
            self._last = key
            if not is_at_split_point:
                return True
            if not self._is_before_stop(key):
                self._done = True
                return False
            self._split_points_returned += 1
            return True

    def claim_chunk(self, record_starts: Sequence[bytes]) -> int:
        """Claim many split points at one instant: those before ``stop_position``.

        Exactly like ``try_return_record_at(True, key)`` for each *key* until the first ``False``, except that no
        split can come in between, and the cost is O(log n).

        Raises:
            UsageError: If the first or last key is not bytes, the last lies before the first, or the first breaks
                the order. Nothing has changed then.

        Example:
            >>> tracker = ByteKeyRangeTracker(b"", b"k")
            >>> tracker.claim_chunk([b"a", b"b", b"k", b"z"]), tracker.done
            (2, True)
        """
        count = len(record_starts)
        if count == 0:
            return 0
        first, last = as_key(record_starts[0]), as_key(record_starts[-1])
        with self._lock:
            if self._done:
                return 0
            self._must_not_go_back(first)
            if last < first:
                self._refuse("a chunk of keys must be in order", last, _FORWARD)
            claimed = bisect_left(record_starts, self._stop) if self._stop else count
            self._last = as_key(record_starts[min(claimed, count - 1)])
            self._split_points_returned += claimed
            if claimed < count:
                self._done = True
            return claimed

    def try_split_at_position(self, split_position: bytes) -> bool:
        return self.try_split_off(split_position) is not None

    def try_split_off(self, split_position: bytes) -> ByteKeyRange | None:
        """Like :meth:`try_split_at_position`, but returns the residual, as of the instant of the split.

        Returns:
            The residual, which this tracker will never claim a record of, or ``None`` if refused.

        Example:
            >>> tracker = ByteKeyRangeTracker(b"a", b"z")
            >>> tracker.try_return_record_at(True, b"a"), tracker.try_split_off(b"m")
            (True, ByteKeyRange(start=b'm', stop=b'z'))
        """
        key = as_key(split_position)
        with self._lock:
            if self._done or self._last is None:
                return None
            if not (self._last < key and self._is_before_stop(key)):
                return None
            residual = ByteKeyRange(key, self._stop)
            self._stop = key
            return residual

    def fraction_consumed(self) -> float:
        with self._lock:
            last, stop, done = self._last, self._stop, self._done
        if done:
            return 1.0
        if last is None:
            return 0.0
        if stop and last >= stop:
            return 1.0
        return ByteKeyRange(self._start, stop).fraction_of(last)

    def position_at_fraction(self, fraction: float | Fraction) -> bytes:
        """Find the key that lies a fraction into the range, computed exactly.

        Example:
            >>> ByteKeyRangeTracker(b"a", b"e").position_at_fraction(0.5)
            b'c'
        """
        return ByteKeyRange(self._start, self._stop).key_at(fraction)

    def _must_not_go_back(self, key: bytes) -> None:
        if key < self._start:
            self._refuse("a record must not start before its range", key, "skip records before start_position")
        if self._last is not None and key < self._last:
            self._refuse("record starts must not go back", key, _FORWARD)

    def _is_before_stop(self, key: bytes) -> bool:
        return not self._stop or key < self._stop
