"""The positions of a scan: its segments, one after the other, as one range of integers."""

from __future__ import annotations

import hashlib
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

from splitscan.errors import UsageError
from splitscan.rebalance.claiming.values import ChunkPiece, Segment

_TEXTS_PER_PAGE = 128  # texts of neighbouring segments are alike: together they shrink to a tenth
_OPEN_PAGES = 64  # of all scans together


class PositionSpace:
    """Segments laid end to end: segment *k* has the positions from the sum of the lengths before it.

    Every position is a legal cut, except those inside indivisible segments.

    Memory: 9 bytes per segment and the compressed texts.

    Example:
        >>> space = PositionSpace([Segment(10, "a"), Segment(5, "b")])
        >>> space.total, space.pieces(8, 12)
        (15, (ChunkPiece(segment=0, start=8, stop=10, text='a'), ChunkPiece(segment=1, start=0, stop=2, text='b')))
    """

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._starts = array("q", [0])
        self._indivisible = bytearray()
        texts: list[str] = []
        for length, text, indivisible in segments:
            if length < 1:
                raise bad_plan(f"segment {len(texts)} has {length} positions", "give each segment 1 position or more")
            self._starts.append(self._starts[-1] + length)
            self._indivisible.append(indivisible)
            texts.append(text)
        self.total: int = self._starts[-1]
        self._all_divisible = not any(self._indivisible)
        self._texts = PackedTexts(texts)

    def __len__(self) -> int:
        return len(self._indivisible)

    def segment_at(self, position: int) -> int:
        """Number of the segment that holds *position*."""
        return bisect_right(self._starts, position) - 1

    def pieces(self, start: int, stop: int) -> tuple[ChunkPiece, ...]:
        """Cut ``[start, stop)`` into pieces of the segments that it touches, in order."""
        number = self.segment_at(start)
        first = self._starts[number]
        if start < stop <= self._starts[number + 1]:
            return (ChunkPiece(number, start - first, stop - first, self._texts[number]),)
        found = []
        while start < stop:
            first, behind = self._starts[number], self._starts[number + 1]
            found.append(ChunkPiece(number, start - first, min(stop, behind) - first, self._texts[number]))
            start, number = behind, number + 1
        return tuple(found)

    def cut_at_or_before(self, position: int) -> int:
        """The last legal cut that is not after *position*."""
        inside = self._indivisible_around(position)
        return position if inside is None else self._starts[inside]

    def cut_at_or_after(self, position: int) -> int:
        """The first legal cut that is not before *position*."""
        inside = self._indivisible_around(position)
        return position if inside is None else self._starts[inside + 1]

    def edge_near(self, position: int, reach: int) -> int:
        """The edge of a segment that is next to *position*, if it is not more than *reach* away; else *position*.

        Example:
            >>> space = PositionSpace([Segment(10), Segment(10)])
            >>> space.edge_near(8, 3), space.edge_near(8, 1), space.edge_near(12, 2), space.edge_near(20, 1)
            (10, 8, 10, 20)
        """
        if not 0 < position < self.total:
            return position
        number = self.segment_at(position)
        low, high = self._starts[number], self._starts[number + 1]
        edge = low if position - low <= high - position else high
        return edge if abs(edge - position) <= reach else position

    def after_segments(self, start: int, count: int) -> int:
        """First position after the *count* segments from that of *start* on."""
        return self._starts[min(self.segment_at(start) + count, len(self))]

    def even_ranges(self, partitions: int) -> list[tuple[int, int]]:
        """Divide all positions into ranges that are as even as indivisible segments allow; some may be empty.

        Example:
            >>> PositionSpace([Segment(10), Segment(6, indivisible=True)]).even_ranges(3)
            [(0, 5), (5, 10), (10, 16)]
        """
        if partitions < 1:
            raise bad_plan(f"{partitions} partitions", "ask for 1 partition or more")
        cuts = [0]
        for number in range(1, partitions):
            wanted = self.total * number // partitions
            low, high = self.cut_at_or_before(wanted), self.cut_at_or_after(wanted)
            cuts.append(max(cuts[-1], low if wanted - low <= high - wanted else high))
        return list(zip(cuts, [*cuts[1:], self.total], strict=True))

    def check_ranges(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Check that *ranges* tile the positions and cut no indivisible segment."""
        reached = 0
        for start, stop in sorted(bounds for bounds in ranges if bounds[0] != bounds[1]):
            if start != reached or stop < start:
                raise bad_plan(f"[{start}, {stop}) where {reached} comes next", "make the ranges tile all positions")
            if self.cut_at_or_before(start) != start:
                raise bad_plan(f"a cut at {start}, inside an indivisible segment", "cut at the edges of segments")
            reached = stop
        if reached != self.total:
            raise bad_plan(f"the ranges end at {reached} of {self.total}", "make the ranges tile all positions")

    def digest(self, ranges: Sequence[tuple[int, int]]) -> bytes:
        """Identity of the plan together with *ranges*."""
        hashed = hashlib.blake2b(self._starts.tobytes(), digest_size=16)
        hashed.update(self._indivisible)
        hashed.update(self._texts.digest)
        hashed.update(repr([tuple(bounds) for bounds in ranges]).encode())
        return hashed.digest()

    def _indivisible_around(self, position: int) -> int | None:
        """The indivisible segment that *position* would cut in two."""
        if self._all_divisible or not 0 < position < self.total:
            return None
        number = self.segment_at(position)
        return number if self._indivisible[number] and self._starts[number] != position else None


class PackedTexts:
    """An immutable list of texts, compressed in pages; pages that are in use stay open."""

    def __init__(self, texts: Sequence[str]) -> None:
        pages = [texts[i : i + _TEXTS_PER_PAGE] for i in range(0, len(texts), _TEXTS_PER_PAGE)]
        self._length = len(texts)
        self._pages = [zlib.compress(_joined(page), 1) for page in pages]
        hashed = hashlib.blake2b(digest_size=16)
        for page in pages:
            hashed.update(_joined(page))
        self.digest = hashed.digest()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: int) -> str:
        page, row = divmod(number, _TEXTS_PER_PAGE)
        return _unpacked(self._pages[page])[row]


def bad_plan(seen: str, fix: str) -> UsageError:
    """The error for a plan that is none."""
    rule = "the plan of a rebalanced scan is a list of segments, and ranges that tile their positions"
    return UsageError(rule, seen=seen, fix=fix, code="bad-rebalance-plan")


def _joined(texts: Sequence[str]) -> bytes:
    """Texts one after the other, each after its length, as a text may hold any separator."""
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return b"".join(b"%d:%b" % (len(text), text) for text in coded)


@lru_cache(maxsize=_OPEN_PAGES)
def _unpacked(page: bytes) -> list[str]:
    joined = zlib.decompress(page)
    texts = []
    start = 0
    while start < len(joined):
        colon = joined.index(b":", start)
        stop = colon + 1 + int(joined[start:colon])
        texts.append(joined[colon + 1 : stop].decode("utf-8", "surrogatepass"))
        start = stop
    return texts
