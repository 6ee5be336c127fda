"""Keys of tables as bytes whose order is the order of the keys, and where to cut them into equal shares. Pure."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import pyarrow as pa

from splitscan.ranges import ByteKeyRange

_INTEGER_BYTES = 8
_UUID_BYTES = 16
_SIGN = 1 << (8 * _INTEGER_BYTES - 1)
_FIRST_DAY = (dt.date(1, 1, 1) - dt.date(1970, 1, 1)).days
_LAST_DAY = (dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days
_DAY_US = 86_400_000_000


class KeyKind(enum.Enum):
    """Kind of the keys of a table, which decides their bytes.

    Integers, dates (days since 1970) and timestamps (microseconds since 1970) are 8 bytes, the largest digit first and
    the sign turned over; a uuid is its 16 bytes, text its UTF-8, and bytes are themselves.
    """

    INTEGER = "integer"
    TEXT = "text"
    UUID = "uuid"
    BYTES = "bytes"
    DATE = "date"
    TIMESTAMP = "timestamp"

    def representable(self, key: bytes) -> bytes:
        r"""The key nearest to any bytes, at or before them as a rule, that the database can be told; empty if none.

        Example:
            >>> KeyKind.TEXT.representable("aé".encode()[:2]), KeyKind.UUID.representable(b"\x80")[:3]
            (b'a', b'\x80\x00\x00')
        """
        match self:
            case KeyKind.TEXT:
                return key.partition(b"\0")[0].decode("utf-8", "ignore").encode()
            case KeyKind.BYTES:
                return key
            case KeyKind.UUID:
                return _of_width(key, _UUID_BYTES)
            case KeyKind.INTEGER:
                return _of_width(key, _INTEGER_BYTES)
            case KeyKind.DATE:
                return from_integer(_clamped(to_integer(key), _FIRST_DAY, _LAST_DAY))
            case KeyKind.TIMESTAMP:
                return from_integer(_clamped(to_integer(key), _FIRST_DAY * _DAY_US, (_LAST_DAY + 1) * _DAY_US - 1))


def to_integer(key: bytes) -> int:
    """The integer that a key stands for; bytes after the eighth say nothing.

    Example:
        >>> to_integer(from_integer(-3)), from_integer(-1) < from_integer(0) < from_integer(1)
        (-3, True)
    """
    return int.from_bytes(_of_width(key, _INTEGER_BYTES), "big") - _SIGN


def from_integer(value: int) -> bytes:
    """The key of an integer of 64 bits."""
    return (value + _SIGN).to_bytes(_INTEGER_BYTES, "big")


def keys_of(column: pa.Array) -> list[bytes]:
    """The keys in a column as a driver delivers it, nulls left out. One Python object for each: not for whole tables.

    Example:
        >>> keys_of(pa.array(["b", None, "a"]))
        [b'b', b'a']
    """
    stored = column.storage if isinstance(column, pa.ExtensionArray) else column
    kind = stored.type
    if pa.types.is_date32(kind):
        stored = stored.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        stored = stored.cast(pa.int64())
    values = [value for value in stored.to_pylist() if value is not None]
    if pa.types.is_string(kind):
        return [value.encode() for value in values]
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return values
    return [from_integer(value) for value in values]


def _of_width(key: bytes, width: int) -> bytes:
    return key[:width].ljust(width, b"\0")


def _clamped(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """Statistics of a table before it is read. All of them may be wrong: they decide how even ranges are, no more.

    Attributes:
        null_share: Share of the rows without a key, 0 to 1.
        samples: Keys between any two of which, in order, lie equally many rows: a histogram's bounds, or a sample.
        common: Keys that many rows have, each with its share of the rows; those are not among the samples.
    """

    rows: int = 0
    size_bytes: int = 0
    null_share: float = 0.0
    samples: tuple[bytes, ...] = ()
    common: tuple[tuple[bytes, float], ...] = ()


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows whose keys lie in a range; a range of equal bounds is one key."""

    start: bytes
    stop: bytes
    weight: Fraction

    def key_at(self, fraction: Fraction) -> bytes:
        return self.start if self.start == self.stop else ByteKeyRange(self.start, self.stop).key_at(fraction)


def cut_keys(kind: KeyKind, statistics: TableStatistics, count: int) -> list[bytes]:
    """Cut the keys of a table into ranges that hold about as many rows each, by what its statistics say.

    Between two known keys, rows are taken to be spread evenly, keys seen as numbers.

    Returns:
        At most ``count - 1`` keys in strict order, none of them empty: the first range is open below, the last one
        above, and each key is the first of its range. Fewer where the keys that are known allow no more.

    Example:
        >>> even = TableStatistics(samples=(from_integer(0), from_integer(100)))
        >>> [to_integer(key) for key in cut_keys(KeyKind.INTEGER, even, 4)]
        [25, 50, 75]
    """
    return sorted(set(even_keys(kind, statistics, count)) - {b""})


def even_keys(kind: KeyKind, statistics: TableStatistics, count: int) -> list[bytes]:
    """The ``count - 1`` keys after each *count*-th part of the rows, in no order; none where nothing is known.

    A key that several parts of the rows have is there several times, and a key may be empty.
    """
    stretches = list(_stretches(statistics))
    total = sum(stretch.weight for stretch in stretches)
    wanted = [total * number / count for number in range(1, count)] if total else []
    keys: list[bytes] = []
    passed, index = Fraction(0), 0
    for weight in wanted:
        while passed + stretches[index].weight <= weight:  # never the last one: less than all is wanted
            passed += stretches[index].weight
            index += 1
        stretch = stretches[index]
        keys.append(kind.representable(stretch.key_at((weight - passed) / stretch.weight)))
    return keys


def _stretches(statistics: TableStatistics) -> Iterator[_Stretch]:
    """The keys in order, with their share of the rows; every weight is positive."""
    samples, common = sorted(statistics.samples), sorted(dict(statistics.common).items())
    sampled = 1 - Fraction(statistics.null_share) - sum(Fraction(share) for _, share in common)
    each = max(sampled, Fraction(0)) / max(1, len(samples) - 1)
    if len(samples) == 1:  # nothing is known of how far keys reach
        common, samples = sorted([*common, (samples[0], 1.0)]), []
    position = 0
    for start, stop in pairwise(samples):
        while position < len(common) and common[position][0] <= start:
            yield from _one_key(*common[position])
            position += 1
        inside = []
        while position < len(common) and common[position][0] < stop:
            inside.append(common[position])
            position += 1
        yield from _between(start, stop, each, inside)
    for key, share in common[position:]:
        yield from _one_key(key, share)


def _between(start: bytes, stop: bytes, weight: Fraction, inside: Sequence[tuple[bytes, float]]) -> Iterator[_Stretch]:
    """One range of samples, divided at the common keys in it."""
    if not weight:
        yield from (stretch for key, share in inside for stretch in _one_key(key, share))
        return
    if start == stop:
        yield _Stretch(start, stop, weight)
        return
    whole, low, passed = ByteKeyRange(start, stop), start, Fraction(0)
    for key, share in inside:
        part = weight * Fraction(whole.fraction_of(key))
        if part > passed:
            yield _Stretch(low, key, part - passed)
        yield from _one_key(key, share)
        low, passed = key, max(part, passed)
    if weight > passed:
        yield _Stretch(low, stop, weight - passed)


def _one_key(key: bytes, share: float) -> Iterator[_Stretch]:
    if share > 0:
        yield _Stretch(key, key, Fraction(share))
