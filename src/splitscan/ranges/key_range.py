"""Ranges of byte keys, and the exact arithmetic of where a key lies between two others."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from splitscan.errors import UsageError, quote_bytes
from splitscan.ranges.contract import exact_fraction, quote

# A key found at a fraction of a range is chosen among at least 2**64 candidates, so that fractions which differ
# as floats give keys that differ.
_RESOLUTION_BITS = 64


def as_key(key: object) -> bytes:
    """Check that *key* is bytes.

    Args:
        key: The key. A ``bytearray`` or ``memoryview`` may change under the tracker, so it is refused.

    Returns:
        It.

    Raises:
        UsageError: If it is anything but ``bytes``.
    """
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
        start: First key.
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
                "a range of keys must have start <= stop",
                seen=f"[{quote_bytes(first)}, {quote_bytes(behind)})",
                fix='pass the first key and the first one after the range; b"" is unbounded',
                code="bad-range",
            )
        return super().__new__(cls, first, behind)

    def contains(self, key: bytes) -> bool:
        """Whether ``start <= key < stop``."""
        return self.start <= as_key(key) and (not self.stop or key < self.stop)

    def overlaps(self, other: ByteKeyRange) -> bool:
        """Whether a key exists that both ranges contain."""
        start = max(self.start, other.start)
        stops = [stop for stop in (self.stop, other.stop) if stop]
        return not stops or start < min(stops)

    def fraction_of(self, key: bytes) -> float:
        """Find how far into the range a key lies, correctly rounded from exact integers.

        Args:
            key: A key from ``start`` to ``stop``.

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

        Args:
            fraction: From 0 to 1.

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

        Args:
            count: How many pieces, 1 or more.

        Returns:
            ``count + 1`` keys in strict order, from ``start`` to ``stop``; just these two for a range that
            has no room for that many.

        Raises:
            UsageError: If *count* is not positive.

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
