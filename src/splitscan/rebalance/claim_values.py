"""Values that readers and the coordinator exchange: segments, chunks, their sizes and times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Segment(NamedTuple):
    """One block of a scan's plan, as the coordinator sees it: a length, and a text that only readers understand.

    Attributes:
        length: How many positions it has, 1 or more: as a rule its bytes.
        text: What a reader needs to know of it. Handed out with every chunk that touches it.
        indivisible: Whether it can only be read as a whole, by one reader.
    """

    length: int
    text: str = ""
    indivisible: bool = False


class ChunkPiece(NamedTuple):
    """The part of one segment that belongs to a chunk.

    Attributes:
        start: First position of the part, counted from the start of the segment.
        stop: First position after it, counted the same way.
    """

    segment: int
    start: int
    stop: int
    text: str


class Chunk(NamedTuple):
    """Entry of a partition's log: a range of positions that this partition, and no other, reads.

    Attributes:
        pieces: The same range by segment, in order; never empty.
    """

    number: int
    start: int
    stop: int
    pieces: tuple[ChunkPiece, ...]


class ChunkStats(NamedTuple):
    """Measurements of a reader for one chunk. Only chunk sizes and the report depend on them.

    Attributes:
        seconds: From the claim to the last record's being taken, so that costs after the read count.
        bytes_read: Bytes of the records' spans.
    """

    seconds: float
    records: int = 0
    bytes_read: int = 0
    wait_seconds: float = 0.0


@dataclass(slots=True)
class PartitionRecord:
    """Record of one partition, for the report.

    Attributes:
        records: Records of them, as far as reported.
        bytes_read: Bytes of them, as far as reported.
        wait_seconds: Time spent waiting for claims, as far as reported.
        replays: Chunks that were asked for again, by another attempt or another action.
        started: Seconds from the creation of the scan to the first claim; ``None`` before.
        ended: Seconds from the creation of the scan to its end; ``None`` before.
    """

    planned: tuple[int, int]
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


NextChunk: TypeAlias = Callable[[int, ChunkStats | None], Chunk | None]
"""Gives an entry of the log of one partition, claimed now if it is new, and takes what was measured of the one before.

``None`` is the end. The answer for an entry never changes.
"""


class ChunkRecord(NamedTuple):
    """One claim, for the timeline.

    Attributes:
        claimed: Seconds from the creation of the scan to the claim.
        seconds: Time that the reader spent on it; ``None`` when no reader has reported it.
        records: Records of it; 0 when no reader has reported it.
        bytes_read: Bytes of it; 0 when no reader has reported it.
    """

    partition: int
    number: int
    start: int
    stop: int
    claimed: float
    seconds: float | None
    records: int
    bytes_read: int
    wait_seconds: float


class StealRecord(NamedTuple):
    """One range that moved, for the timeline.

    Attributes:
        at: Seconds from the creation of the scan.
    """

    at: float
    victim: int
    thief: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """Record of one scan so far.

    Attributes:
        created: When it was planned, in seconds since the epoch.
        chunks: Claims in the order in which they were made; the first ones only where there were very many.
        steals: Moved ranges in the order in which they moved; the first ones only where there were very many.
        chunks_dropped: Claims that are not in *chunks*, but in the sums of *partitions*.
        steals_dropped: Moves that are not in *steals*.
    """

    scan: str
    created: float
    total: int
    partitions: tuple[PartitionRecord, ...]
    chunks: tuple[ChunkRecord, ...]
    steals: tuple[StealRecord, ...]
    chunks_dropped: int = 0
    steals_dropped: int = 0

    @property
    def finished(self) -> bool:
        """True if every partition has come to its end."""
        return all(partition.ended is not None for partition in self.partitions)


@dataclass(frozen=True, slots=True)
class Sizing:
    """Limits of chunks. The defaults were chosen by the simulation in ``bench/rebalance_simulation.py``.

    Attributes:
        share_of_rest: A chunk takes at most this part of the time that the scan still needs, so that a chunk
            that turns out far dearer than expected does not become the end of the scan.
        min_seconds: ... but is worth this long: a claim and the opening of a file cost about a millisecond.
        max_seconds: A chunk takes at most this long, as far as foreseen.
        overheads: A chunk is worth this many times what the cheapest chunk of the scan cost, with its claim: where
            each chunk has a fixed price (a request to an object store, a coordinator far away), chunks grow until it
            does not matter.
        max_growth: A chunk has at most this many times the positions of the one before it.
        first_share: The first chunk of a partition has this part of its range.
    """

    share_of_rest: float = 1 / 32
    min_seconds: float = 0.04
    max_seconds: float = 0.5
    overheads: float = 4.0
    max_growth: int = 4
    first_share: float = 1 / 512
    min_positions: int = 256
    max_positions: int = 128 << 20
    first_positions: int = 4 << 10


class ReadingPace:
    """Seconds per position of one reader, from its latest chunks; older ones fade.

    Example:
        >>> pace = ReadingPace()
        >>> pace.measured(positions=1000, seconds=2.0)
        >>> pace.seconds_per_position
        0.002
    """

    __slots__ = ("_positions", "_seconds")

    def __init__(self, positions: float = 0.0, seconds: float = 0.0) -> None:
        self._positions = positions
        self._seconds = seconds

    @property
    def seconds_per_position(self) -> float | None:
        """The pace; ``None`` before the first measurement."""
        return self._seconds / self._positions if self._positions else None

    def measured(self, positions: int, seconds: float) -> None:
        """Take one chunk into account; what was before counts half."""
        self._positions = self._positions / 2 + positions
        self._seconds = self._seconds / 2 + seconds


def chunk_positions(
    sizing: Sizing, pace: float | None, rest: tuple[float, float], overhead_seconds: float, previous: int,
    unclaimed: int,
) -> int:  # fmt: skip
    """Number of positions of the next chunk, at least 1.

    Args:
        pace: Seconds per position; ``None`` before the first measurement.
        rest: Foreseen seconds and unclaimed positions of the scan, divided among the readers that are at work.
        overhead_seconds: Price of a chunk beside its records.
        previous: Positions of the chunk before it, 0 for none.
    """
    if not previous:
        wanted = min(int(unclaimed * sizing.first_share), sizing.first_positions)
    elif pace:
        rest_seconds = min(rest[0], rest[1] * pace)  # somebody else's slow region may lie ahead, too
        seconds = min(max(rest_seconds * sizing.share_of_rest, sizing.min_seconds), sizing.max_seconds)
        seconds = max(seconds, min(overhead_seconds * sizing.overheads, rest_seconds / sizing.overheads))
        wanted = min(int(seconds / pace), previous * sizing.max_growth)
    else:  # nothing measured, or nothing that took any time
        wanted = previous * sizing.max_growth
    return max(1, min(max(wanted, sizing.min_positions), sizing.max_positions, unclaimed))
