"""Where to cut the keys of a table, so that the ranges hold about as much each. Pure: statistics in, keys out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from splitscan.ranges import ByteKeyRange
from splitscan.tables.keys import KeyKind


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """What is known of a table before it is read. All of it may be wrong: it decides how even ranges are, no more.

    Attributes:
        rows: Rows of the table.
        size_bytes: Bytes of the table.
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

    Args:
        kind: What the keys are.
        statistics: What is known of the table.
        count: How many ranges to make, 1 or more.

    Returns:
        At most ``count - 1`` keys in strict order, none of them empty: the first range is open below, the last one
        above, and each key is the first of its range. Fewer where the keys that are known allow no more.

    Example:
        >>> from splitscan.tables.keys import from_integer, to_integer
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
        while passed + stretches[index].weight < weight:
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
