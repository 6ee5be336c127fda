"""What a rebalanced scan did: who read how much and when, what moved, how far from the ideal it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from splitscan.rebalance.claiming import ChunkRecord, PartitionRecord, ScanRecord, StealRecord
from splitscan.rebalance.report.svg import draw_timelines
from splitscan.rebalance.report.timeline import (
    Arrow,
    Bar,
    Lane,
    Timeline,
    count_of,
    render_lane,
    render_table,
    show_bytes,
    show_cost,
    show_seconds,
)
from splitscan.sizes import MIB

_LANE_CHARS = 40


@dataclass(frozen=True, slots=True)
class ReaderSummary:
    """One partition of a scan, and the reader that worked on it.

    Attributes:
        partition: Its number.
        chunks: How many it claimed.
        size_bytes: Bytes of the files in them.
        records: Records in them, as far as reported.
        started: When it claimed the first, in seconds since the first claim of the scan.
        stopped: When it had nothing left to do, in the same seconds.
        busy: Seconds that it was busy with chunks, the work after the read included.
        waiting: Seconds between its chunks: for the coordinator, and for its own task.
        idle: Seconds of the scan before it began and after it stopped.
        given: Ranges that others took from it.
        taken: Ranges that it took from others.
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
    """What happened while a scan was read under rebalancing: ``print`` shows it, and :meth:`to_svg` draws it.

    Times are seconds since the first claim: what Spark did before, starting tasks, is not in them. Where several
    attempts read the same chunks, the first one's times count.

    Attributes:
        record: What the coordinator wrote down.

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
        """Whether every partition was read to its end."""
        return self.record.finished

    @property
    def total_bytes(self) -> int:
        """All that there was to claim."""
        return self.record.total

    @property
    def claimed_bytes(self) -> int:
        """What was claimed."""
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
        """What all readers worked."""
        return sum(partition.seconds for partition in self.record.partitions)

    @property
    def waiting_seconds(self) -> float:
        """What all readers waited between chunks."""
        return sum(reader.waiting for reader in self.readers)

    @property
    def idle_seconds(self) -> float:
        """What all slots stood idle, from the first claim to the end."""
        return max(0.0, self.slots * self.seconds - sum(reader.stopped - reader.started for reader in self.readers))

    @cached_property
    def slots(self) -> int:
        """Most partitions that were read at the same time."""
        moments: list[tuple[float, int]] = []
        for reader in self.readers:
            moments += [(reader.started, 1), (reader.stopped, -1)]
        running = most = 0
        for _, change in sorted(moments):  # at the same moment, one that stops makes room for one that starts
            running += change
            most = max(most, running)
        return max(most, 1)

    @property
    def ideal_seconds(self) -> float:
        """How long it would have taken if the work had been divided evenly over the slots, without a pause."""
        return self.busy_seconds / self.slots

    @property
    def ratio(self) -> float:
        """How many times the ideal it took; 1 is perfect."""
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
    def headline(self) -> str:
        """The result in one line."""
        moved = sum(partition.steals for partition in self.record.partitions)
        chunks = sum(partition.chunks for partition in self.record.partitions)
        readers = count_of(len(self.readers), "reader")
        unfinished = "" if self.finished else ", not read to its end"
        return (
            f"{show_bytes(self.claimed_bytes)} in {count_of(chunks, 'chunk')} by {readers}"
            f", {count_of(moved, 'range')} moved; {show_seconds(self.seconds)}, {self.ratio:.2f} times the ideal"
            f" {show_seconds(self.ideal_seconds)}{unfinished}"
        )

    def __str__(self) -> str:
        return f"{self.headline}\n\n{self._lanes()}"

    def table(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Headings, and a row of texts for each reader."""
        return _HEADINGS, list(self._rows())

    def _lanes(self) -> str:
        lane = f"0 {'─' * (_LANE_CHARS - 3 - len(show_seconds(self.seconds)))} {show_seconds(self.seconds)}"
        spans: dict[int, list[tuple[float, float]]] = {}
        for chunk in self.chunks:
            start = chunk.claimed - self.first_claim
            spans.setdefault(chunk.partition, []).append((start, start + (chunk.seconds or 0.0)))
        rows = [
            [*cells, render_lane(spans.get(reader.partition, ()), self.seconds, _LANE_CHARS)]
            for reader, cells in zip(self.readers, self._rows(), strict=True)
        ]
        return render_table([*_HEADINGS, lane], rows, frozenset({len(_HEADINGS)}))

    def _rows(self) -> Iterator[list[str]]:
        for reader in self.readers:
            times = (f"{seconds:,.2f}" for seconds in (reader.busy, reader.waiting, reader.idle))
            counts = (f"{count:,}" for count in (reader.taken, reader.given))
            size = f"{reader.size_bytes / MIB:,.2f}"
            yield [f"{reader.partition}", f"{reader.chunks:,}", size, f"{reader.records:,}", *times, *counts]

    # ------------------------------------------------------------ as a picture

    def timeline(self, title: str = "Rebalanced") -> Timeline:
        """What is drawn: a lane for each reader, a bar for each chunk, an arrow for each range that moved."""
        lanes = {reader.partition: number for number, reader in enumerate(self.readers)}
        ideal = self.ideal_seconds
        ratio = f"{show_seconds(self.seconds)}, {self.ratio:.2f} times the ideal"
        moved = sum(partition.steals for partition in self.record.partitions)
        counts = f"{count_of(len(self.chunks), 'chunk')}, {count_of(moved, 'range')} moved"
        return Timeline(
            title=title,
            lanes=[
                Lane(f"reader {reader.partition}", f"{reader.busy / self.seconds if self.seconds else 0:.0%} busy")
                for reader in self.readers
            ],
            bars=[self._bar(chunk, lanes[chunk.partition]) for chunk in self.chunks],
            arrows=[self._arrow(steal, lanes) for steal in self.steals if {steal.victim, steal.thief} <= lanes.keys()],
            seconds=self.seconds,
            ideal=ideal,
            subtitle=f"{ratio}; {counts}",
        )

    def _bar(self, chunk: ChunkRecord, lane: int) -> Bar:
        start, size = chunk.claimed - self.first_claim, chunk.stop - chunk.start
        cost = None if chunk.seconds is None else chunk.seconds / (size / MIB)
        took = "never told how long it took" if chunk.seconds is None else f"{show_seconds(chunk.seconds)}"
        price = "" if cost is None else f", {show_cost(cost)}"
        title = (
            f"reader {chunk.partition}, chunk {chunk.number}: {took}{price}\n{show_bytes(size)} at {chunk.start:,}"
            f", {count_of(chunk.records, 'record')}\nclaimed at {show_seconds(start)}"
        )
        return Bar(lane, start, start + (chunk.seconds or 0.0), cost, title)

    def _arrow(self, steal: StealRecord, lanes: dict[int, int]) -> Arrow:
        at, size = steal.at - self.first_claim, steal.stop - steal.start
        title = f"reader {steal.thief} took {show_bytes(size)} from reader {steal.victim} at {show_seconds(at)}"
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


_HEADINGS = ("reader", "chunks", "MiB", "records", "busy s", "wait s", "idle s", "took", "gave")
