"""Positions in the blocks of a scan, and the log of one partition: the claim log rests on both. Pure."""

from __future__ import annotations

import hashlib
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from splitscan.errors import UsageError
from splitscan.rebalance.claim_values import (
    ChunkPiece,
    ChunkRecord,
    ChunkStats,
    PartitionRecord,
    ScanRecord,
    Segment,
    StealRecord,
)

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


_ENTRIES_PER_PAGE = 256
_OPEN_LOG_PAGES = 128  # of all logs together: one for each of as many replaying readers


class ChunkLog:
    """An append-only list of ranges ``(start, stop)``; full pages of it are compressed, and still answer.

    Example:
        >>> log = ChunkLog()
        >>> log.append(0, 10); log.append(10, 30)
        >>> len(log), log[1]
        (2, (10, 30))
    """

    __slots__ = ("_length", "_pages", "_tail")

    def __init__(self) -> None:
        self._length = 0
        self._pages: list[bytes] = []
        self._tail: list[tuple[int, int]] = []  # the page that still grows

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[int, int]:
        page, row = divmod(index, _ENTRIES_PER_PAGE)
        return (_unpacked_entries(self._pages[page]) if page < len(self._pages) else self._tail)[row]

    def append(self, start: int, stop: int) -> None:
        """Add an entry after all others."""
        self._tail.append((start, stop))
        self._length += 1
        if len(self._tail) == _ENTRIES_PER_PAGE:
            self.seal()

    def seal(self) -> None:
        """Compress what is not compressed yet, as nothing will be added for now."""
        if self._tail:
            self._pages.append(_packed(self._tail))
            self._tail = []

    def entries(self) -> list[tuple[int, int]]:
        """All entries, in order."""
        return [*chain.from_iterable(_unpacked_entries(page) for page in self._pages), *self._tail]


def _packed(entries: list[tuple[int, int]]) -> bytes:
    """Gaps before the entries, then their lengths: gaps are mostly 0, and lengths alike."""
    numbers = array("q")
    reached = 0
    for start, stop in entries:
        numbers.append(start - reached)
        reached = stop
    numbers.extend(stop - start for start, stop in entries)
    return zlib.compress(numbers.tobytes(), 6)


@lru_cache(maxsize=_OPEN_LOG_PAGES)
def _unpacked_entries(packed: bytes) -> tuple[tuple[int, int], ...]:
    numbers = array("q", zlib.decompress(packed))
    count = len(numbers) // 2
    entries = []
    reached = 0
    for gap, length in zip(numbers[:count], numbers[count:], strict=True):
        entries.append((reached + gap, reached + gap + length))
        reached += gap + length
    return tuple(entries)


MAX_CHUNKS = 50_000
"""Of one scan, kept one by one: 3 MB."""

_MAX_STEALS = 20_000
_UNREPORTED = -1.0
_NUMBERS_PER_CHUNK = 6  # partition, index, start, stop, records, bytes
_TIMES_PER_CHUNK = 3  # claimed, seconds, wait


class ScanRecorder:
    """Collects the events of one scan in bounded memory. Times are seconds from its creation."""

    __slots__ = ("_chunks", "_created", "_dropped", "_latest", "_partitions", "_steals", "_steals_dropped", "_times")

    def __init__(self, planned: Sequence[tuple[int, int]], created: float) -> None:
        self._created = created
        self._partitions = [PartitionRecord((start, stop)) for start, stop in planned]
        self._latest: list[int | None] = [None for _ in planned]  # number of a partition's latest claim, if it is kept
        self._chunks = array("q")
        self._times = array("d")
        self._steals: list[StealRecord] = []
        self._dropped = 0
        self._steals_dropped = 0

    def claimed(self, partition: int, index: int, start: int, stop: int, now: float) -> None:
        """A partition claimed a chunk."""
        known = self._partitions[partition]
        known.started = now - self._created if known.started is None else known.started
        known.chunks += 1
        known.positions += stop - start
        kept = len(self._times) // _TIMES_PER_CHUNK
        if kept < MAX_CHUNKS:
            self._latest[partition] = kept
            self._chunks.extend((partition, index, start, stop, 0, 0))
            self._times.extend((now - self._created, _UNREPORTED, 0.0))
        else:
            self._latest[partition] = None
            self._dropped += 1

    def reported(self, partition: int, stats: ChunkStats) -> None:
        """A reader told of the latest chunk of a partition, for the first time."""
        known = self._partitions[partition]
        known.seconds += stats.seconds
        known.records += stats.records
        known.bytes_read += stats.bytes_read
        known.wait_seconds += stats.wait_seconds
        latest = self._latest[partition]
        if latest is not None:
            first = _NUMBERS_PER_CHUNK * latest
            self._chunks[first + 4 : first + 6] = array("q", (stats.records, stats.bytes_read))
            first = _TIMES_PER_CHUNK * latest
            self._times[first + 1 : first + 3] = array("d", (stats.seconds, stats.wait_seconds))

    def replayed(self, partition: int) -> None:
        """A chunk was asked for again."""
        self._partitions[partition].replays += 1

    def moved(self, victim: int, thief: int, start: int, stop: int, now: float) -> None:
        """A range moved from one partition to another."""
        self._partitions[thief].steals += 1
        if len(self._steals) < _MAX_STEALS:
            self._steals.append(StealRecord(now - self._created, victim, thief, start, stop))
        else:
            self._steals_dropped += 1

    def ended(self, partition: int, now: float) -> None:
        """A partition has come to its end."""
        self._partitions[partition].ended = now - self._created

    def drop_events(self) -> None:
        """Keep the sums only."""
        self._dropped += len(self._times) // _TIMES_PER_CHUNK
        self._steals_dropped += len(self._steals)
        self._chunks, self._times, self._steals = array("q"), array("d"), []
        self._latest = [None for _ in self._latest]

    def record(self, scan: str, created: float, total: int) -> ScanRecord:
        """All that is known; *created* is in seconds since the epoch."""
        return ScanRecord(
            scan, created, total, tuple(map(replace, self._partitions)), tuple(self._chunk_records()),
            tuple(self._steals), self._dropped, self._steals_dropped,
        )  # fmt: skip

    def _chunk_records(self) -> list[ChunkRecord]:
        found = []
        for number in range(len(self._times) // _TIMES_PER_CHUNK):
            partition, index, start, stop, records, bytes_read = self._chunks[
                _NUMBERS_PER_CHUNK * number : _NUMBERS_PER_CHUNK * (number + 1)
            ]
            claimed, seconds, wait = self._times[_TIMES_PER_CHUNK * number : _TIMES_PER_CHUNK * (number + 1)]
            spent = None if seconds == _UNREPORTED else seconds
            found.append(ChunkRecord(partition, index, start, stop, claimed, spent, records, bytes_read, wait))
        return found
