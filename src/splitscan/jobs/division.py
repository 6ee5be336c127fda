"""Division of a job into tasks: planned part by part, or claimed chunk by chunk while it is read."""

from __future__ import annotations

import logging
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, RebalanceError, SplitscanError
from splitscan.jobs.ledger import LedgerBlock, identify
from splitscan.jobs.part_writing import PartTarget
from splitscan.jobs.parts import BlockKey, OutputPart, log_folder, plan_parts
from splitscan.jobs.runner import ClaimedRun, Runner
from splitscan.jobs.staging import PartReport, Staging
from splitscan.jobs.tiling import check_matches_plan
from splitscan.rebalance.reading.planning import plan_ranges
from splitscan.rebalance.report import RebalanceReport
from splitscan.scan.own_formats import Reading
from splitscan.scan.spec import ScanSpec

_LOG = logging.getLogger("splitscan")


class ReportWatch:
    """Finds the reports that running tasks leave in staging, each once.

    Only folders in which one is missing are listed, in their order, up to the first in which there is none yet.

    Args:
        folders: Names of the parts whose reports come into each folder; ``None`` where nobody knows beforehand.
    """

    def __init__(self, folders: Mapping[str, Set[str] | None]) -> None:
        self._folders = dict(folders)
        self._seen: set[str] = set()

    @classmethod
    def of_parts(cls, parts: Iterable[OutputPart]) -> ReportWatch:
        """Watch for the reports of planned parts."""
        folders: dict[str, set[str]] = {}
        for part in parts:
            folders.setdefault(part.folder, set()).add(part.name)
        return cls(folders)

    def look(self, staging: Staging) -> Iterator[PartReport]:
        """Read the reports that are there and were not seen before."""
        for folder, names in list(self._folders.items()):
            there = staging.list_reports(folder)
            for name in sorted((there if names is None else there & names) - self._seen):
                with suppress(SplitscanError):  # half a report is none: its part is counted when it is whole
                    report = staging.read_report(folder, name)
                    if report.is_final:  # otherwise it may be of an earlier run, and its part is being read again
                        self._seen.add(name)
                        yield report
            if names is not None and names <= self._seen:
                del self._folders[folder]
            if not there:
                break

    def unseen(self, reports: Iterable[PartReport]) -> Iterator[PartReport]:
        """Choose, of the reports that tasks handed back at the end, those that were never seen."""
        return (report for report in reports if report.part_name not in self._seen)


@dataclass(frozen=True)
class ReadTasks:
    """Tasks that are ready to run.

    Attributes:
        run: Runs them, and returns their reports; for a thread of its own.
        watch: Finds the reports that they leave meanwhile.
    """

    run: Callable[[], list[PartReport]]
    watch: ReportWatch


class PlannedDivision:
    """Parts of the plan, one task each.

    Args:
        plan: The blocks of the job, in order.
        group: Gives the blocks of each task, in the same order.
        run: Runs parts, in parallel: the target, and the parts.
    """

    rebalance: RebalanceReport | None = None

    def __init__(
        self,
        plan: Mapping[BlockKey, BlockMetadata],
        group: Callable[[Iterable[BlockMetadata]], Iterable[Sequence[BlockMetadata]]],
        run: Callable[[PartTarget, Sequence[OutputPart]], Iterable[PartReport]],
    ) -> None:
        self._plan, self._group, self._run = plan, group, run

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        """Blocks to be read, in order."""
        return list(self._plan.values())

    @property
    def blocks_total(self) -> int:
        """Number of blocks."""
        return len(self._plan)

    def finished(self, staging: Staging) -> list[PartReport]:
        """Find the parts that earlier runs of the job have finished."""
        return staging.finished(self._plan)

    def tasks(self, finished: Sequence[PartReport], target: PartTarget) -> ReadTasks | None:
        """Make tasks of what is missing; ``None`` if nothing is.

        The plan is packed as a whole, so that a part is the same whatever is done of it.
        """
        done = {block.key for report in finished for block in report.blocks}
        if len(done) == len(self._plan):
            return None
        parts = plan_parts(self._plan, self._group(self._plan.values()), done)
        return ReadTasks(lambda: list(self._run(target, parts)), ReportWatch.of_parts(parts))

    def account(self, reports: Iterable[PartReport]) -> list[PartReport]:
        """The reports by number; together they tell of every planned block once.

        Raises:
            InvariantError: ``[not-accounted]`` if not.
        """
        ordered = sorted(reports, key=lambda report: report.number)
        planned = ((*key, block.start, block.stop) for key, block in self._plan.items())
        check_matches_plan(planned, (block for report in ordered for block in report.blocks))
        return ordered


class ClaimedDivision:
    """Tasks that claim what is left of the plan, chunk by chunk.

    Args:
        blocks: What is read, in order.
        files: The files of the job, in order.
        spec: How records are read.
        framing: How records are found.
        runner: Who runs tasks.
    """

    blocks_total: int | None = None

    def __init__(
        self,
        blocks: Iterable[BlockMetadata],
        files: Sequence[FileMetadata],
        spec: ScanSpec,
        framing: Reading,
        runner: Runner,
    ) -> None:
        self._spec, self._framing, self._runner = spec, framing, runner
        self._identities = {identify(file.path): number for number, file in enumerate(files)}
        numbers = {file.path: number for number, file in enumerate(files)}
        self._plan = [(numbers[block.file.path], block) for block in blocks]
        self._stops = {number: block.stop for number, block in self._plan}  # the last one of a file stays
        self.rebalance: RebalanceReport | None = None

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        """Blocks to be read, in order."""
        return [block for _, block in self._plan]

    def finished(self, staging: Staging) -> list[PartReport]:
        """Find the parts that earlier runs of the job have finished, whatever their logs said."""
        found = list(staging.reports_there())
        return choose_finished(found, self._identities, self._stops, staging.waiting_files(found))

    def tasks(self, finished: Sequence[PartReport], target: PartTarget) -> ReadTasks | None:
        """Make tasks that claim what is left; ``None`` if nothing is."""
        left = list(remains_of(self._plan, by_file(finished)))
        if not left:
            return None
        runner, options = self._runner, self._spec.options.files
        plan = plan_ranges(left, self._framing, runner.min_tasks, options)
        run = ClaimedRun(runner.register(plan), len(plan.ranges), options.task_bytes, plan.secrets)

        def read() -> list[PartReport]:
            reports = [self._numbered(report) for report in runner.run_claimed(self._spec, target, run)]
            self.rebalance = self._describe(run.scan)
            return reports

        return ReadTasks(read, ReportWatch({log_folder(run.scan): None}))

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


Division: TypeAlias = PlannedDivision | ClaimedDivision


def choose_finished(
    reports: Iterable[PartReport], indices: Mapping[str, int], stops: Mapping[int, int], waiting: Collection[str]
) -> list[PartReport]:
    """Choose the reports of parts of logs that count: whole ones, of which no two tell of the same byte.

    Runs of a job that follow each other never read the same byte. But a task of a run that was killed may have gone on
    for a while; what it left beside a later run's part is left out.

    Args:
        reports: All that were found.
        indices: Number of each file of the job, by identity.
        stops: Where the last block of each file stops, by number.
        waiting: Names of the files that wait in the staging folder.

    Returns:
        The reports, with the numbers of the job's files in their blocks.
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

    Args:
        plan: File number and block, in order.
        finished: Ranges that are finished, by file and offset; they do not overlap.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> done = LedgerBlock(0, 0, 3, 6, 4, 8, 1, 0, "")
        >>> left = remains_of([(0, BlockMetadata(file, 0, 10, 0))], {0: [done]})
        >>> [(block.start, block.stop, block.first_record_start) for block in left]
        [(0, 3, None), (6, 10, 8)]
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
            start, first = done.stop, done.span_stop
        if start < block.stop:
            yield replace(block, start=start, first_record_start=first)
