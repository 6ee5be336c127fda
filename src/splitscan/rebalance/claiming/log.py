"""State of a scan: the log of each partition, which only grows, and sums and first events for the report."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from splitscan.rebalance.claiming.values import ChunkRecord, ChunkStats, PartitionRecord, ScanRecord, StealRecord

_ENTRIES_PER_PAGE = 256
_OPEN_PAGES = 128  # of all logs together: one for each of as many replaying readers


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
        return (_unpacked(self._pages[page]) if page < len(self._pages) else self._tail)[row]

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
        return [*chain.from_iterable(_unpacked(page) for page in self._pages), *self._tail]


def _packed(entries: list[tuple[int, int]]) -> bytes:
    """Gaps before the entries, then their lengths: gaps are mostly 0, and lengths alike."""
    numbers = array("q")
    reached = 0
    for start, stop in entries:
        numbers.append(start - reached)
        reached = stop
    numbers.extend(stop - start for start, stop in entries)
    return zlib.compress(numbers.tobytes(), 6)


@lru_cache(maxsize=_OPEN_PAGES)
def _unpacked(packed: bytes) -> tuple[tuple[int, int], ...]:
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
