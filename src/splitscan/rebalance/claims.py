"""The claim log: who reads what, decided once and answered alike for ever.

Per scan and partition there is a range that nobody has claimed yet (*own*), and a log of chunks that were claimed.
Invariants, which the model test attacks:

1. A scan is registered once, with ranges that tile its positions, before any reader asks; an unknown scan is an error.
2. At any moment the chunks of all logs and all own ranges are disjoint and together cover the scan.
3. A log only grows at its end; entry *i* is the same for every caller at all times.
4. Only what nobody has claimed moves, and only from partitions that have started and are not sealed.
5. A partition is sealed when its own range is empty and nothing moves to it; a sealed partition never gets anything.

A reader returns a record only if it starts in a chunk of its partition's log, in the order of the log, and ends only
after sealing. So all attempts of a partition return the same sequence, whichever of them Spark keeps; no attempt has
to be known by name, and no death has to be noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from splitscan.errors import InvariantError, RebalanceError
from splitscan.ranges import OffsetRangeTracker
from splitscan.rebalance.claim_log import ChunkLog, PositionSpace, ScanRecorder, bad_plan
from splitscan.rebalance.claim_values import (
    Chunk,
    ChunkStats,
    ReadingPace,
    ScanRecord,
    Segment,
    Sizing,
    chunk_positions,
)

_SCANS_WITH_EVENTS = 32  # of the scans that ran, the latest ones keep their single events for reports

LONG_POSITIONS = 1 << 20
"""From here on a cut moves to the edge of a segment: it is cheaper to enter than the middle."""

_REACH_OF_EDGES = 2  # to the edge, if that is no farther away than half of what is cut off
_SEGMENTS_PER_CHUNK = 512  # bounds an answer, also for very many small files
_WEIGHT_OF_LATEST_WAIT = 0.1
_REST_WORTH_MOVING = 2.0  # a rest is not worth moving below this many times the price of a chunk


@dataclass(slots=True, eq=False)
class _Partition:
    """Own range, log and pace of one partition. The tracker guards the own range: claims and steals go through it."""

    number: int
    tracker: OffsetRangeTracker
    reach: int  # everything of the own range before it is claimed
    log: ChunkLog = field(default_factory=ChunkLog)
    pace: ReadingPace = field(default_factory=ReadingPace)
    started: bool = False
    sealed: bool = False
    reported: int = -1  # latest chunk that a reader has told of
    claimed_at: float = 0.0
    weight: float = 0.0  # seconds that the own range will take, as far as foreseen
    weighed: int = 0  # positions that the own range had when this was foreseen

    @property
    def unclaimed(self) -> int:
        return self.tracker.stop_position - self.reach

    def claim(self, stop: int) -> tuple[int, int]:
        """Move ``[reach, stop)`` from the own range to the log. The tracker consumes up to its last position."""
        start = self.reach
        if not (start < stop and self.tracker.try_return_record_at(True, stop - 1)):
            raise InvariantError("a chunk lies in the own range", seen=f"[{start}, {stop}) of {self.tracker!r}")
        self.log.append(start, stop)
        self.reach = stop
        return start, stop

    def take_over(self, start: int, stop: int) -> None:
        """Make ``[start, stop)`` the own range, which must be empty."""
        self.tracker = OffsetRangeTracker(start, stop)
        self.reach = start

    def seal(self) -> None:
        self.tracker.mark_done()
        self.sealed = True
        self.log.seal()


class _Scan:
    """One scan: its positions, its partitions, and the answers to their readers."""

    def __init__(
        self, space: PositionSpace, ranges: Sequence[tuple[int, int]], digest: bytes, sizing: Sizing, now: float
    ) -> None:
        self.space = space
        self.digest = digest
        self._sizing = sizing
        self._partitions = [
            _Partition(number, OffsetRangeTracker(start, stop), start) for number, (start, stop) in enumerate(ranges)
        ]
        self._at_work: dict[int, _Partition] = {}  # started and not sealed
        self._weight = 0.0  # of all that are at work
        self._unclaimed = 0  # positions of all that are at work
        self._overhead = 0.0  # what the cheapest chunk cost, which is at least what a chunk costs beside its records
        self._wait = 0.0  # what a claim takes, of late
        self.recorder = ScanRecorder(ranges, now)

    def partition(self, number: int) -> _Partition:
        if not 0 <= number < len(self._partitions):
            _refuse_claim(f"partition {number} of a scan with {len(self._partitions)}")
        return self._partitions[number]

    def next(self, partition: _Partition, index: int, stats: ChunkStats | None, now: float) -> tuple[int, int] | None:
        logged = len(partition.log)
        if not 0 <= index <= logged:
            _refuse_claim(f"chunk {index} of partition {partition.number}, whose log has {logged}")
        if stats is not None and index == logged and partition.reported < index - 1:
            self._take_stats(partition, index - 1, stats)
        if index < logged:
            self.recorder.replayed(partition.number)
            return partition.log[index]
        if partition.sealed:
            return None
        if not partition.unclaimed and not self._steal_for(partition, now):
            self._seal(partition, now)
            return None
        return self._claim(partition, now)

    def _take_stats(self, partition: _Partition, index: int, stats: ChunkStats) -> None:
        start, stop = partition.log[index]
        partition.reported = index
        self._overhead = min(self._overhead or stats.seconds, stats.seconds)
        partition.pace.measured(stop - start, stats.seconds - self._overhead)
        self._wait += (stats.wait_seconds - self._wait) * _WEIGHT_OF_LATEST_WAIT
        self.recorder.reported(partition.number, stats)
        self._weigh(partition)

    def _claim(self, partition: _Partition, now: float) -> tuple[int, int]:
        start, own_stop = partition.reach, partition.tracker.stop_position
        log = partition.log
        previous = log[len(log) - 1] if len(log) else (0, 0)
        readers = max(1, len(self._at_work))
        wanted = chunk_positions(
            self._sizing,
            partition.pace.seconds_per_position,
            (self._weight / readers, self._unclaimed / readers),
            self._overhead + self._wait / 2,
            previous[1] - previous[0],
            own_stop - start,
        )
        stop = min(self._near_edge(start, wanted), self.space.after_segments(start, _SEGMENTS_PER_CHUNK), own_stop)
        cut = self.space.cut_at_or_before(stop)
        claimed = partition.claim(cut if cut > start else self.space.cut_at_or_after(stop))
        partition.claimed_at = now
        if not partition.started:
            partition.started = True
            self._at_work[partition.number] = partition
        self._weigh(partition)
        self.recorder.claimed(partition.number, len(log) - 1, *claimed, now)
        return claimed

    def _steal_for(self, thief: _Partition, now: float) -> bool:
        """Move the upper half of the largest unclaimed rest to *thief*; whether there was any."""
        victim, seconds = self._slowest(now)
        if victim is None:
            return False
        pace = self._pace_of(victim, now)
        if pace and seconds < _REST_WORTH_MOVING * (self._overhead + self._wait):
            return False
        half = victim.unclaimed // 2
        cut = self.space.cut_at_or_before(self._near_edge(victim.reach, half))
        residual = victim.tracker.try_split_off(cut)
        if residual is None:
            raise InvariantError("what is unclaimed may move", seen=f"{cut} of {victim.tracker!r}")
        thief.take_over(residual.start, residual.stop)
        if pace:
            thief.pace = ReadingPace(1.0, pace)
        self._weigh(victim)
        self.recorder.moved(victim.number, thief.number, residual.start, residual.stop, now)
        return True

    def _near_edge(self, start: int, length: int) -> int:
        """About *length* after *start*: at the edge of a segment, if one is near and the length is worth it."""
        stop = start + length
        return stop if length < LONG_POSITIONS else self.space.edge_near(stop, length // _REACH_OF_EDGES)

    def _slowest(self, now: float) -> tuple[_Partition | None, float]:
        """The partition at work whose unclaimed rest will take longest, and how long that is."""
        found, longest = None, (-1.0, 0)
        for partition in self._at_work.values():
            unclaimed = partition.unclaimed
            if unclaimed:
                size = (unclaimed * (self._pace_of(partition, now) or 0.0), unclaimed)
                if size > longest:
                    found, longest = partition, size
        return found, longest[0]

    def _pace_of(self, partition: _Partition, now: float) -> float | None:
        """Seconds per position, as measured, or as the chunk that is being read shows by taking so long."""
        pace = partition.pace.seconds_per_position
        latest = len(partition.log) - 1
        if latest > partition.reported:
            start, stop = partition.log[latest]
            pace = max(pace or 0.0, (now - partition.claimed_at) / (stop - start))
        return pace

    def _weigh(self, partition: _Partition) -> None:
        """Bring the foreseen seconds of the own range up to date."""
        weight = partition.unclaimed * (partition.pace.seconds_per_position or 0.0)
        self._weight = max(0.0, self._weight + weight - partition.weight)
        self._unclaimed += partition.unclaimed - partition.weighed
        partition.weight, partition.weighed = weight, partition.unclaimed

    def _seal(self, partition: _Partition, now: float) -> None:
        partition.seal()
        self._at_work.pop(partition.number, None)
        self.recorder.ended(partition.number, now)


class ClaimLog:
    """All scans of a session. Pure: no sockets, no threads, no clock; times come in as arguments.

    Memory: a few bytes per chunk and segment, for as long as the session lives. Nothing is ever forgotten, as Spark
    may run a partition again at any time (a cached block was lost, another action runs).

    Thread safety: none; one caller at a time.

    Example:
        >>> log = ClaimLog()
        >>> log.create("scan", [Segment(1000, "a")], [(0, 500), (500, 1000)])
        True
        >>> log.next("scan", 0, 0)
        Chunk(number=0, start=0, stop=256, pieces=(ChunkPiece(segment=0, start=0, stop=256, text='a'),))
        >>> log.next("scan", 0, 0) == log.next("scan", 0, 0)
        True
        >>> log.next("scan", 0, 1).stop, log.next("scan", 0, 2)
        (500, None)
    """

    def __init__(self, sizing: Sizing | None = None) -> None:
        self._sizing = sizing or Sizing()
        self._scans: dict[str, _Scan] = {}
        self._created: dict[str, float] = {}
        self._with_events: dict[str, None] = {}  # the scan that was asked last stands last

    def __len__(self) -> int:
        return len(self._scans)

    def create(
        self, scan: str, segments: Sequence[Segment], ranges: Sequence[tuple[int, int]],
        now: float = 0.0, epoch_seconds: float = 0.0,
    ) -> bool:  # fmt: skip
        """Register a scan. The same call again changes nothing.

        Args:
            ranges: One range of positions per partition; together they tile all positions. May be empty ones.
            epoch_seconds: The same instant in seconds since the epoch, for the report.

        Raises:
            UsageError: ``[bad-rebalance-plan]`` if the ranges do not tile the positions, or the scan is known with
                another plan.
        """
        space = PositionSpace(segments)
        space.check_ranges(ranges)
        if not ranges:
            raise bad_plan("no partition", "plan 1 partition or more")
        digest = space.digest(ranges)
        known = self._scans.get(scan)
        if known is not None:
            if known.digest != digest:
                raise bad_plan(f"another plan for the known scan {scan[:80]}", "give each plan an identity of its own")
            return False
        self._scans[scan] = _Scan(space, ranges, digest, self._sizing, now)
        self._created[scan] = epoch_seconds
        return True

    def next(
        self, scan: str, partition: int, index: int, stats: ChunkStats | None = None, now: float = 0.0
    ) -> Chunk | None:
        """Entry *index* of a partition's log; the first call for the entry after the last one claims it.

        Idempotent: the answer for an index never changes once it was a chunk, so a reader whose answer was lost asks
        again.

        Args:
            stats: What the reader measured while it read chunk ``index - 1``.
            now: Seconds on the clock of :meth:`create`.

        Returns:
            The chunk, or ``None``: the partition has come to its end, now and for ever.

        Raises:
            RebalanceError: ``[unknown-scan]``; ``[claim-protocol]`` if the partition does not exist or *index* lies
                after the next entry.
        """
        found = self._scan(scan)
        self._keep_events_of(scan)
        entry = found.next(found.partition(partition), index, stats, now)
        return None if entry is None else Chunk(index, *entry, found.space.pieces(*entry))

    def scans(self) -> list[str]:
        """All scans, in the order in which they were registered."""
        return list(self._scans)

    def entries(self, scan: str, partition: int) -> list[tuple[int, int]]:
        """The log of one partition so far, as ranges of positions."""
        return self._scan(scan).partition(partition).log.entries()

    def record(self, scan: str) -> ScanRecord:
        """Record of the scan so far."""
        found = self._scan(scan)
        return found.recorder.record(scan, self._created[scan], found.space.total)

    def _scan(self, scan: str) -> _Scan:
        found = self._scans.get(scan)
        if found is None:
            raise RebalanceError(
                "a scan is registered with its coordinator before it is read",
                seen=f"scan {scan[:80]!r}, and {len(self._scans)} others that are known",
                fix="plan the query again (a new DataFrame): the coordinator that knew it is gone",
                code="unknown-scan",
            )
        return found

    def _keep_events_of(self, scan: str) -> None:
        """Of the scans that were asked last, the single events are kept."""
        self._with_events.pop(scan, None)
        self._with_events[scan] = None
        if len(self._with_events) > _SCANS_WITH_EVENTS:
            oldest = next(iter(self._with_events))
            del self._with_events[oldest]
            self._scans[oldest].recorder.drop_events()


def _refuse_claim(seen: str) -> NoReturn:
    raise RebalanceError(
        "a reader asks for the chunks of its partition one after the other", seen=seen,
        fix="please report it: reader and coordinator disagree, and neither may guess", code="claim-protocol",
    )  # fmt: skip
