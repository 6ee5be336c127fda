"""Reports of rebalanced scans: who read how much and when, what moved, how far from the ideal it ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from splitscan.pages import Arrow, Bar, Lane, Timeline, assign_lanes, draw_timelines
from splitscan.rebalance.claim_values import ChunkRecord, PartitionRecord, ScanRecord, StealRecord
from splitscan.sizes import MIB, count_of, format_size, show_cost, show_seconds

_HEADINGS = ("reader", "chunks", "MiB", "records", "busy s", "wait s", "idle s", "took", "gave")
_LANE_CHARS = 40
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class ReaderSummary:
    """One partition of a scan, and the reader that worked on it.

    Attributes:
        size_bytes: Bytes of the files in them.
        started: When it claimed the first, in seconds since the first claim of the scan.
        stopped: When it had nothing left to do, in the same seconds.
        busy: Seconds that it was busy with chunks, the work after the read included.
        waiting: Seconds between its chunks: for the coordinator, and for its own task.
        idle: Seconds of the scan before it began and after it stopped.
    """

    partition: int
    chunks: int
    size_bytes: int
    records: int
    started: float
    stopped: float
    busy: float
    waiting: float
    idle: float
    given: int
    taken: int


@dataclass(frozen=True)
class RebalanceReport:
    """Report of a scan that was read under rebalancing: ``print`` shows it, and :meth:`to_svg` draws it.

    Times are seconds since the first claim: what Spark did before, starting tasks, is not in them. Where several
    attempts read the same chunks, the first one's times count.

    Pickling: plain values only.
    """

    record: ScanRecord

    @property
    def chunks(self) -> tuple[ChunkRecord, ...]:
        """Claims, in the order in which they were made; the first ones only where there were very many."""
        return self.record.chunks

    @property
    def steals(self) -> tuple[StealRecord, ...]:
        """Ranges that moved, in that order; the first ones only where there were very many."""
        return self.record.steals

    @property
    def finished(self) -> bool:
        """True if every partition was read to its end."""
        return self.record.finished

    @property
    def total_bytes(self) -> int:
        """All that there was to claim."""
        return self.record.total

    @property
    def claimed_bytes(self) -> int:
        """Number of claimed positions."""
        return sum(partition.positions for partition in self.record.partitions)

    @cached_property
    def first_claim(self) -> float:
        """Seconds from the plan to the first claim."""
        return min((began for each in self.record.partitions if (began := each.started) is not None), default=0.0)

    @cached_property
    def seconds(self) -> float:
        """From the first claim to the end of the last chunk."""
        return max((self._stopped(number) for number in self._started), default=0.0)

    @property
    def busy_seconds(self) -> float:
        """Seconds that all readers worked."""
        return sum(partition.seconds for partition in self.record.partitions)

    @property
    def waiting_seconds(self) -> float:
        """Seconds that all readers waited between chunks."""
        return sum(reader.waiting for reader in self.readers)

    @property
    def idle_seconds(self) -> float:
        """Seconds that all slots stood idle, from the first claim to the end."""
        return max(0.0, self.slots * self.seconds - sum(reader.stopped - reader.started for reader in self.readers))

    @cached_property
    def slots(self) -> int:
        """Most partitions that were read at the same time."""
        spans = sorted((reader.started, reader.stopped) for reader in self.readers)
        return max(assign_lanes(spans), default=0) + 1

    @property
    def ideal_seconds(self) -> float:
        """Seconds that it would have taken if the work had been divided evenly over the slots, without a pause."""
        return self.busy_seconds / self.slots

    @property
    def ratio(self) -> float:
        """Seconds taken as a multiple of the ideal; 1 is perfect."""
        return self.seconds / self.ideal_seconds if self.ideal_seconds > 0 else 1.0

    @cached_property
    def readers(self) -> tuple[ReaderSummary, ...]:
        """Every partition that claimed anything, by number."""
        return tuple(self._summarise(number) for number in self._started)

    @property
    def _started(self) -> list[int]:
        return [number for number, each in enumerate(self.record.partitions) if each.started is not None]

    @cached_property
    def _last_stop(self) -> dict[int, float]:
        """The end of the last chunk of each partition, as far as reported; a partition is told END a moment later."""
        stops: dict[int, float] = {}
        for chunk in self.chunks:
            stop = chunk.claimed + (chunk.seconds or 0.0) - self.first_claim
            stops[chunk.partition] = max(stop, stops.get(chunk.partition, 0.0))
        return stops

    def _stopped(self, number: int) -> float:
        ended = self.record.partitions[number].ended
        last = self._last_stop.get(number, 0.0)
        return last if ended is None else max(last, ended - self.first_claim)

    def _summarise(self, number: int) -> ReaderSummary:
        partition: PartitionRecord = self.record.partitions[number]
        started = (partition.started or 0.0) - self.first_claim
        stopped = max(self._stopped(number), started)
        return ReaderSummary(
            partition=number,
            chunks=partition.chunks,
            size_bytes=partition.positions,
            records=partition.records,
            started=started,
            stopped=stopped,
            busy=partition.seconds,
            waiting=max(0.0, stopped - started - partition.seconds),
            idle=started + self.seconds - stopped,
            given=sum(steal.victim == number for steal in self.steals),
            taken=partition.steals,
        )

    # ------------------------------------------------------------- for people

    @property
    def _moved(self) -> str:
        return f"{count_of(sum(partition.steals for partition in self.record.partitions), 'range')} moved"

    @property
    def _took(self) -> str:
        return f"{show_seconds(self.seconds)}, {self.ratio:.2f} times the ideal"

    @property
    def headline(self) -> str:
        """The result in one line."""
        chunks = count_of(sum(partition.chunks for partition in self.record.partitions), "chunk")
        unfinished = "" if self.finished else ", not read to its end"
        return (
            f"{format_size(self.claimed_bytes)} in {chunks} by {count_of(len(self.readers), 'reader')}, {self._moved}; "
            f"{self._took} {show_seconds(self.ideal_seconds)}{unfinished}"
        )

    def __str__(self) -> str:
        headings, rows = self.table()
        scale = f"0 {'─' * (_LANE_CHARS - 3 - len(show_seconds(self.seconds)))} {show_seconds(self.seconds)}"
        spans: dict[int, list[tuple[float, float]]] = {}
        for chunk in self.chunks:
            start = chunk.claimed - self.first_claim
            spans.setdefault(chunk.partition, []).append((start, start + (chunk.seconds or 0.0)))
        lanes = [render_lane(spans.get(each.partition, ()), self.seconds, _LANE_CHARS) for each in self.readers]
        widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
        lines = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)), lane]).rstrip()
            for cells, lane in zip([headings, *rows], [scale, *lanes], strict=True)
        ]
        return "\n".join([self.headline, "", *lines])

    def table(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """Headings, and a row of texts for each reader."""
        return _HEADINGS, [
            (
                f"{reader.partition}", f"{reader.chunks:,}", f"{reader.size_bytes / MIB:,.2f}", f"{reader.records:,}",
                f"{reader.busy:,.2f}", f"{reader.waiting:,.2f}", f"{reader.idle:,.2f}",
                f"{reader.taken:,}", f"{reader.given:,}",
            )
            for reader in self.readers
        ]  # fmt: skip

    # ------------------------------------------------------------ as a picture

    def timeline(self, title: str = "Rebalanced") -> Timeline:
        """Draw a lane for each reader, a bar for each chunk, an arrow for each range that moved."""
        lanes = {reader.partition: number for number, reader in enumerate(self.readers)}
        return Timeline(
            title,
            [Lane(f"reader {each.partition}", f"{each.busy / (self.seconds or 1):.0%} busy") for each in self.readers],
            [self._bar(chunk, lanes[chunk.partition]) for chunk in self.chunks],
            [self._arrow(steal, lanes) for steal in self.steals if {steal.victim, steal.thief} <= lanes.keys()],
            seconds=self.seconds,
            ideal=self.ideal_seconds,
            subtitle=f"{self._took}; {count_of(len(self.chunks), 'chunk')}, {self._moved}",
        )

    def _bar(self, chunk: ChunkRecord, lane: int) -> Bar:
        start, size = chunk.claimed - self.first_claim, chunk.stop - chunk.start
        cost = None if chunk.seconds is None else chunk.seconds / (size / MIB)
        took = "never told how long it took" if chunk.seconds is None else show_seconds(chunk.seconds)
        price = "" if cost is None else f", {show_cost(cost)}"
        title = (
            f"reader {chunk.partition}, chunk {chunk.number}: {took}{price}\n{format_size(size)} at {chunk.start:,}"
            f", {count_of(chunk.records, 'record')}\nclaimed at {show_seconds(start)}"
        )
        return Bar(lane, start, start + (chunk.seconds or 0.0), cost, title)

    def _arrow(self, steal: StealRecord, lanes: dict[int, int]) -> Arrow:
        at, size = steal.at - self.first_claim, steal.stop - steal.start
        title = f"reader {steal.thief} took {format_size(size)} from reader {steal.victim} at {show_seconds(at)}"
        return Arrow(at, lanes[steal.victim], lanes[steal.thief], title)

    def to_svg(self) -> str:
        """The timeline as a picture that needs nothing else: no script, no font, no file beside it."""
        return draw_timelines([self.timeline()])

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values, the derived figures too."""
        names = ("seconds", "busy_seconds", "waiting_seconds", "idle_seconds", "ideal_seconds", "ratio", "slots")
        return {
            "scan": self.record.scan,
            "finished": self.finished,
            "total_bytes": self.total_bytes,
            "claimed_bytes": self.claimed_bytes,
            **{name: getattr(self, name) for name in names},
            "readers": [{name: getattr(reader, name) for name in reader.__slots__} for reader in self.readers],
            "chunks": [chunk._asdict() for chunk in self.chunks],
            "steals": [steal._asdict() for steal in self.steals],
            "chunks_dropped": self.record.chunks_dropped,
            "steals_dropped": self.record.steals_dropped,
        }


def render_lane(spans: Iterable[tuple[float, float]], seconds: float, width: int) -> str:
    """Draw when something was going on: a character per moment, the fuller the busier.

    Example:
        >>> render_lane([(0.0, 2.0), (3.0, 3.5)], seconds=4.0, width=4)
        '██ ▌'
    """
    if seconds <= 0:
        return ""
    cell = seconds / width
    busy = [0.0] * width
    for start, stop in spans:
        for number in range(int(start / cell), min(width, int(stop / cell) + 1)):
            busy[number] += max(0.0, min(stop, (number + 1) * cell) - max(start, number * cell))
    return "".join(_EIGHTHS[min(8, round(8 * part / cell))] for part in busy).rstrip()
