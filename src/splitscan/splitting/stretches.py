"""What the boundary index tells each block of its records beforehand: few stretches, however short the pieces were."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from splitscan.blocks import Stretch
from splitscan.sizes import MIB

_LONGEST_BYTES = 4 * MIB  # of stretches that are joined: a reader deals with each in one go
_READS = 2  # ... and keeps no more than so many reads in memory for it
_MOST = 16  # stretches of a block that tell more than they cost, beside two for each of the longest that fit in


def share_out(stretches: Sequence[Stretch], bounds: Sequence[int], read_bytes: int) -> Iterator[tuple[Stretch, ...]]:
    """The stretches that lie between two neighbouring bounds, for each pair of these.

    They travel with the plan, so there are few: neighbours are joined, up to what a reader takes in one go. Where there
    are still very many, as irregular records lie between them, a block is told of none, and its reader finds its
    records itself.

    Args:
        stretches: What the summaries know all about, in order.
        bounds: Offsets, in order.
        read_bytes: Size of one read.

    Example:
        >>> stretches = [Stretch(0, 10, 8, 3), Stretch(10, 20, 19, 1), Stretch(30, 40, 35, 2)]
        >>> [[tuple(stretch) for stretch in known] for known in share_out(stretches, [0, 25, 50], 100)]
        [[(0, 20, 19, 4)], [(30, 40, 35, 2)]]
    """
    starts = [stretch.start for stretch in stretches]
    longest_bytes = min(_LONGEST_BYTES, _READS * read_bytes)
    for low, high in pairwise(bounds):
        between = stretches[bisect_left(starts, low) : bisect_left(starts, high)]
        joined = tuple(_joined((stretch for stretch in between if stretch.stop <= high), longest_bytes))
        yield joined if len(joined) <= _MOST + 2 * ((high - low) // _LONGEST_BYTES) else ()


def _joined(stretches: Iterable[Stretch], longest_bytes: int) -> Iterator[Stretch]:
    waiting: Stretch | None = None
    for stretch in stretches:
        if waiting is None:
            waiting = stretch
        elif waiting.stop == stretch.start and stretch.stop - waiting.start <= longest_bytes:
            waiting = Stretch(waiting.start, stretch.stop, stretch.last, waiting.records + stretch.records)
        else:
            yield waiting
            waiting = stretch
    if waiting is not None:
        yield waiting
