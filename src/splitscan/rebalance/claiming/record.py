"""What happened in a scan: sums per partition, and the first claims and moves one by one."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from splitscan.rebalance.claiming.values import (
    ChunkRecord,
    ChunkStats,
    PartitionRecord,
    ScanRecord,
    StealRecord,
)

_MAX_CHUNKS = 50_000  # kept one by one, of one scan: 3 MB
_MAX_STEALS = 20_000
_UNREPORTED = -1.0
_TIMES_PER_CHUNK = 3  # claimed, seconds, wait


@dataclass(slots=True)
class _Sums:
    chunks: int = 0
    positions: int = 0
    records: int = 0
    bytes_read: int = 0
    seconds: float = 0.0
    wait_seconds: float = 0.0
    replays: int = 0
    steals: int = 0
    started: float | None = None
    ended: float | None = None
    latest: int = -1  # number of the latest claim among those kept one by one

    def record(self, planned: tuple[int, int]) -> PartitionRecord:
        return PartitionRecord(
            planned, self.chunks, self.positions, self.records, self.bytes_read, self.seconds, self.wait_seconds,
            self.replays, self.steals, self.started, self.ended,
        )  # fmt: skip


class ScanRecorder:
    """Collects the events of one scan in bounded memory. Times are seconds from its creation."""

    __slots__ = ("_chunks", "_created", "_dropped", "_planned", "_steals", "_steals_dropped", "_sums", "_times")

    def __init__(self, planned: Sequence[tuple[int, int]], created: float) -> None:
        self._created = created
        self._planned = tuple((start, stop) for start, stop in planned)
        self._sums = [_Sums() for _ in planned]
        self._chunks = array("q")  # partition, index, start, stop, records, bytes of each claim
        self._times = array("d")  # claimed, seconds, wait of each claim
        self._steals: list[StealRecord] = []
        self._dropped = 0
        self._steals_dropped = 0

    def claimed(self, partition: int, index: int, start: int, stop: int, now: float) -> None:
        """A partition claimed a chunk."""
        sums = self._sums[partition]
        sums.chunks += 1
        sums.positions += stop - start
        if sums.started is None:
            sums.started = now - self._created
        kept = len(self._times) // _TIMES_PER_CHUNK
        if kept < _MAX_CHUNKS:
            sums.latest = kept
            self._chunks.extend((partition, index, start, stop, 0, 0))
            self._times.extend((now - self._created, _UNREPORTED, 0.0))
        else:
            sums.latest = -1
            self._dropped += 1

    def reported(self, partition: int, stats: ChunkStats) -> None:
        """A reader told of the latest chunk of a partition, for the first time."""
        sums = self._sums[partition]
        sums.seconds += stats.seconds
        sums.records += stats.records
        sums.bytes_read += stats.bytes_read
        sums.wait_seconds += stats.wait_seconds
        if sums.latest >= 0:
            first = 6 * sums.latest
            self._chunks[first + 4 : first + 6] = array("q", (stats.records, stats.bytes_read))
            first = _TIMES_PER_CHUNK * sums.latest
            self._times[first + 1 : first + 3] = array("d", (stats.seconds, stats.wait_seconds))

    def replayed(self, partition: int) -> None:
        """A chunk was asked for again."""
        self._sums[partition].replays += 1

    def moved(self, victim: int, thief: int, start: int, stop: int, now: float) -> None:
        """A range moved from one partition to another."""
        self._sums[thief].steals += 1
        if len(self._steals) < _MAX_STEALS:
            self._steals.append(StealRecord(now - self._created, victim, thief, start, stop))
        else:
            self._steals_dropped += 1

    def ended(self, partition: int, now: float) -> None:
        """A partition has come to its end."""
        self._sums[partition].ended = now - self._created

    def drop_events(self) -> None:
        """Keep the sums only."""
        self._dropped += len(self._times) // _TIMES_PER_CHUNK
        self._steals_dropped += len(self._steals)
        self._chunks, self._times, self._steals = array("q"), array("d"), []
        for sums in self._sums:
            sums.latest = -1

    def record(self, scan: str, created: float, total: int) -> ScanRecord:
        """All that is known; *created* is in seconds since the epoch."""
        partitions = (sums.record(planned) for planned, sums in zip(self._planned, self._sums, strict=True))
        return ScanRecord(
            scan, created, total, tuple(partitions), tuple(self._chunk_records()), tuple(self._steals),
            self._dropped, self._steals_dropped,
        )  # fmt: skip

    def _chunk_records(self) -> list[ChunkRecord]:
        found = []
        for number in range(len(self._times) // _TIMES_PER_CHUNK):
            partition, index, start, stop, records, bytes_read = self._chunks[6 * number : 6 * number + 6]
            claimed, seconds, wait = self._times[_TIMES_PER_CHUNK * number : _TIMES_PER_CHUNK * (number + 1)]
            spent = None if seconds == _UNREPORTED else seconds
            found.append(ChunkRecord(partition, index, start, stop, claimed, spent, records, bytes_read, wait))
        return found
