"""An ingest whose tasks claim what they read: its division, and the work of one task."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain

from splitscan.blocks import BlockMetadata, FileMetadata, Reject, next_start
from splitscan.errors import InvariantError, RebalanceError
from splitscan.jobs.division import Division, ReadTasks, Runner
from splitscan.jobs.ledger import LedgerBlock, identify
from splitscan.jobs.part_writing import PartWriter
from splitscan.jobs.staging import OutputPart, PartReport, PartTarget, Staging, log_folder
from splitscan.reading.spec import ScanSpec
from splitscan.rebalance.chunk_reader import ChunkReader, ChunkScan
from splitscan.rebalance.claim_values import Chunk, ChunkStats, NextChunk
from splitscan.rebalance.planning import RebalancePlan, plan_blocks, plan_ranges
from splitscan.rebalance.report import RebalanceReport
from splitscan.scans import ScanPlanner

_LOG = logging.getLogger("splitscan")


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run of a job whose tasks claim what they read. Pickling: plain values only.

    Attributes:
        scan: Identity of the scan: each run of a job has another one, and so other logs.
        part_bytes: A Parquet file is closed when the chunks in it reach this length.
    """

    scan: str
    partitions: int
    part_bytes: int
    secrets: tuple[str, ...] = field(repr=False)


class ClaimRunner(Runner, ABC):
    """Runs tasks that can reach a coordinator."""

    @abstractmethod
    def register(self, plan: RebalancePlan) -> str:
        """Tell the coordinator what there is to claim. Returns the identity of the scan: it has logs of its own."""

    @abstractmethod
    def run_claimed(self, spec: ScanSpec, target: PartTarget, run: ClaimedRun) -> Iterable[PartReport]:
        """Read what its log says of each partition, one task per partition; called in a thread of its own."""

    @abstractmethod
    def describe_claims(self, scan: str) -> RebalanceReport | None:
        """Report the claims of a scan; ``None`` where the coordinator does not answer to this process."""


class ClaimedDivision(Division):
    """Tasks that claim what is left of the plan, chunk by chunk."""

    blocks_total = None

    def __init__(
        self,
        scan: ScanPlanner,
        files: Sequence[FileMetadata],
        blocks: Sequence[BlockMetadata] | None,
        runner: ClaimRunner,
    ) -> None:
        self._scan, self._runner = scan, runner
        blocks = plan_blocks(scan, runner.index) if blocks is None else blocks
        self._identities = {identify(file.path): number for number, file in enumerate(files)}
        numbers = {file.path: number for number, file in enumerate(files)}
        self._planned = [(numbers[block.file.path], block) for block in blocks]
        self._stops = {number: block.stop for number, block in self._planned}  # the last one of a file stays

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        return [block for _, block in self._planned]

    def finished(self, staging: Staging) -> list[PartReport]:
        found = list(staging.reports_there())
        return choose_finished(found, self._identities, self._stops, staging.waiting_files(found))

    def tasks(self, finished: Sequence[PartReport], target: PartTarget) -> ReadTasks | None:
        left = list(remains_of(self._planned, by_file(finished)))
        if not left:
            return None
        runner, spec = self._runner, self._scan.spec
        options = spec.options.files
        plan = plan_ranges(left, self._scan.framing, runner.min_tasks, options)
        run = ClaimedRun(runner.register(plan), len(plan.ranges), options.task_bytes, plan.secrets)

        def read() -> list[PartReport]:
            reports = [self._numbered(report) for report in runner.run_claimed(spec, target, run)]
            self.rebalance = self._describe(run.scan)
            return reports

        return ReadTasks(read, {log_folder(run.scan): None})

    def _describe(self, scan: str) -> RebalanceReport | None:
        """Report the claims. All is read by now: a coordinator that is gone takes only its report along."""
        try:
            return self._runner.describe_claims(scan)
        except RebalanceError as error:
            _LOG.warning("rebalance: all was read, but there is no report of it: %s", error)
            return None

    def _numbered(self, report: PartReport) -> PartReport:
        numbered = number_files(report, self._identities)
        if numbered is None:
            raise InvariantError(
                "a task reports files of its own job", seen=f"part {report.part_name}",
                fix="report it with the options", code="not-accounted",
            )  # fmt: skip
        return numbered

    def account(self, reports: Iterable[PartReport]) -> list[PartReport]:
        """The reports in the order of the plan; every range that was read is a block of its file now, by number.

        That the blocks tile their files is checked with the ledger, for every job.
        """
        ordered = sorted(reports, key=lambda report: [(block.file_index, block.start) for block in report.blocks])
        index: dict[tuple[int, int], int] = {}
        for file_index, blocks in by_file(ordered).items():
            index |= {(file_index, block.start): number for number, block in enumerate(blocks)}
        return [
            replace(report, blocks=tuple(replace(b, index=index[b.file_index, b.start]) for b in report.blocks))
            for report in ordered
        ]


def choose_finished(
    reports: Iterable[PartReport], indices: Mapping[str, int], stops: Mapping[int, int], waiting: Collection[str]
) -> list[PartReport]:
    """Choose the reports of parts of logs that count: whole ones, of which no two tell of the same byte.

    Runs of a job that follow each other never read the same byte. But a task of a run that was killed may have gone on
    for a while; what it left beside a later run's part is left out.
    """
    chosen: list[PartReport] = []
    taken: dict[int, list[tuple[int, int]]] = {}
    for report in reports:
        numbered = number_files(report, indices)
        if numbered is None or not numbered.is_final or not all(each.name in waiting for each in numbered.written):
            continue
        if all(_is_free(block, stops, taken) for block in numbered.blocks):
            chosen.append(numbered)
            for block in numbered.blocks:
                insort(taken.setdefault(block.file_index, []), (block.start, block.stop))
    return chosen


def number_files(report: PartReport, indices: Mapping[str, int]) -> PartReport | None:
    """Put the numbers of the job's files into the blocks of a part of a log; ``None`` if it is of other files."""
    numbers = [indices.get(identity, -1) for identity in report.files]
    if report.partition is None or -1 in numbers or any(b.file_index >= len(numbers) for b in report.blocks):
        return None
    blocks = tuple(replace(block, file_index=numbers[block.file_index]) for block in report.blocks)
    return replace(report, blocks=blocks)


def _is_free(block: LedgerBlock, stops: Mapping[int, int], taken: Mapping[int, list[tuple[int, int]]]) -> bool:
    """Return whether a range lies in its file and is free: neither the one before nor the one after reaches in."""
    others = taken.get(block.file_index, [])
    place = bisect_left(others, (block.stop, 0))
    inside = block.start < block.stop <= stops.get(block.file_index, 0)
    return inside and (place == 0 or others[place - 1][1] <= block.start)


def by_file(reports: Iterable[PartReport]) -> dict[int, list[LedgerBlock]]:
    """The blocks of reports, by file and offset."""
    found: dict[int, list[LedgerBlock]] = {}
    for report in reports:
        for block in report.blocks:
            found.setdefault(block.file_index, []).append(block)
    for blocks in found.values():
        blocks.sort(key=lambda block: block.start)
    return found


def remains_of(
    plan: Iterable[tuple[int, BlockMetadata]], finished: Mapping[int, Sequence[LedgerBlock]]
) -> Iterator[BlockMetadata]:
    """Cut the finished ranges out of the blocks of a plan.

    A block that begins where a finished range stops begins with the record at which that range's reader stopped, so
    formats that need context can go on from there.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> done = [LedgerBlock(0, 0, 0, 2, 0, 2, 1, 0, ""), LedgerBlock(0, 0, 3, 6, 4, 8, 1, 0, "")]
        >>> left = remains_of([(0, BlockMetadata(file, 0, 10, 0))], {0: done})
        >>> [(block.start, block.stop, block.first_record_start) for block in left]
        [(2, 3, 2), (6, 10, 8)]
    """
    for file_index, block in plan:
        start, first = block.start, block.first_record_start
        for done in finished.get(file_index, ()):
            if done.stop <= start:
                continue
            if done.start >= block.stop:
                break
            if done.start > start:
                yield replace(block, start=start, stop=done.start, first_record_start=first)
            start, first = done.stop, next_start(done.start, done.span_stop)
        if start < block.stop:
            yield replace(block, start=start, first_record_start=first)


def run_partition(
    target: PartTarget, spec: ScanSpec, run: ClaimedRun, partition: int, next_chunk: NextChunk
) -> list[PartReport]:
    """Read the chunks of a partition in the order of its log; every ``part_bytes`` of them become a Parquet file.

    Where a file ends depends on the log alone, and its name on the log and its first chunk. So every attempt of the
    partition, after another one or beside it, leaves the same bytes under the same names. What an attempt before it
    has finished is not read again.
    """
    work = _PartitionWork(target, run, partition, next_chunk)
    with_digest = target.settings.source_digests
    reader = ChunkReader(spec, work.next, run.secrets, on_reject=work.take_rejects, with_digest=with_digest)
    with closing(iter(reader)) as chunks:
        for first in chunks:
            work.write_part(first, chunks)
            reader.begin_anew()  # the attempt after this one may skip this part
    return work.reports


class _PartitionWork:
    """Writes part after part of one partition, without those that an earlier attempt has finished."""

    def __init__(self, target: PartTarget, run: ClaimedRun, partition: int, next_chunk: NextChunk) -> None:
        self._target, self._staging = target, target.open_staging()
        self._run, self._partition, self._next_chunk = run, partition, next_chunk
        self._skipped = 0
        self._entry = 0
        self._begins_part = True
        self._writer: PartWriter | None = None
        self.reports: list[PartReport] = []

    def next(self, index: int, stats: ChunkStats | None) -> Chunk | None:
        """The chunk that is to be read as number *index*."""
        if self._begins_part and self._skip_finished(index):
            stats = None  # they are of another chunk than that before the entry
        self._begins_part = False
        self._entry = index + self._skipped
        return self._next_chunk(self._entry, stats)

    def _skip_finished(self, index: int) -> bool:
        before = self._skipped
        while report := self._staging.read_finished(self._part(index + self._skipped)):
            self._skipped += report.chunks
            self.reports.append(report)
        return self._skipped > before

    def _part(self, entry: int) -> OutputPart:
        return OutputPart(entry, partition=self._partition, scan=self._run.scan)

    def take_rejects(self, rejects: Sequence[Reject]) -> None:
        """Write rejects to the table of the part that is being written."""
        if self._writer is None:
            raise InvariantError("a record is read while its part is written")
        self._writer.take_rejects(rejects)

    def write_part(self, first: ChunkScan, rest: Iterator[ChunkScan]) -> None:
        """Write chunks until they are enough for a file, or the log ends; the chunk after them begins another part."""
        files, chunks = dict[str, int](), 0
        with PartWriter(self._target, self._staging, self._part(self._entry)) as writer:
            self._writer = writer
            for chunks, chunk in enumerate(self._enough(first, rest), start=1):  # noqa: B007 -- how many it were
                _write_chunk(writer, chunk, files)
        self._writer = None
        self._begins_part = True
        self.reports.append(writer.leave_report(chunks=chunks, files=tuple(files)))

    def _enough(self, first: ChunkScan, rest: Iterator[ChunkScan]) -> Iterator[ChunkScan]:
        """Chunks until they are enough for a file. Only their lengths count, so it is the same for every attempt."""
        size_bytes = 0
        for scan in chain([first], rest):
            yield scan
            size_bytes += scan.chunk.stop - scan.chunk.start
            if size_bytes >= self._run.part_bytes:
                return


def _write_chunk(writer: PartWriter, chunk: ChunkScan, files: dict[str, int]) -> None:
    """Write one chunk: a block for each file that it reaches into, ended before the rows of the next arrive."""
    ended = 0
    for batch in chunk:
        ended = _end_blocks(writer, chunk, files, ended)
        writer.write(batch)
    _end_blocks(writer, chunk, files, ended)


def _end_blocks(writer: PartWriter, chunk: ChunkScan, files: dict[str, int], ended: int) -> int:
    for read in chunk.reports[ended:]:
        writer.end_block(read, files.setdefault(identify(read.block.file.path), len(files)))
    return len(chunk.reports)
