"""An ingest whose tasks claim what they read: nobody knows beforehand which of them reads what."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, RebalanceError, SplitscanError
from splitscan.ingest.contract import ClaimedRun, Plannable, Runner, Watched
from splitscan.ingest.rebalanced.remains import by_file, choose_finished, number_files, remains_of
from splitscan.rebalance.reading.planning import plan_blocks, share_out
from splitscan.rebalance.report import RebalanceReport
from splitscan.sinks.ledger import identify
from splitscan.sinks.part_writing import PartTarget
from splitscan.sinks.parts import log_folder
from splitscan.sinks.staging import PartReport, Staging

_LOG = logging.getLogger("splitscan")


class LogReports:
    """The reports of parts that come into being while chunks are claimed: whatever appears in the folder of the scan.

    Args:
        folder: Where the tasks of the scan leave their reports.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: set[str] = set()

    def look(self, staging: Staging) -> Iterator[PartReport]:
        """The reports that are there and were not seen before."""
        for name in sorted(staging.list_reports(self._folder) - self._seen):
            with suppress(SplitscanError):  # half a report is none: its part is told when it is whole
                report = staging.read_report(self._folder, name)
                if report.is_final:
                    self._seen.add(name)
                    yield report

    def unseen(self, reports: Iterable[PartReport]) -> Iterator[PartReport]:
        """Of the reports that tasks handed back at the end, those that were never seen."""
        return (report for report in reports if report.part_name not in self._seen)


class ClaimedSharing:
    """What is left of the plan is claimed, chunk by chunk.

    Args:
        scan: What is read.
        files: The files of the job, in order.
        runner: Who runs tasks.
    """

    blocks_total: int | None = None

    def __init__(self, scan: Plannable, files: Sequence[FileMetadata], runner: Runner) -> None:
        self._scan, self._runner = scan.with_files(files), runner
        self._identities = {identify(file.path): number for number, file in enumerate(files)}
        numbers = {file.path: number for number, file in enumerate(files)}
        self._plan = [(numbers[block.file.path], block) for block in plan_blocks(self._scan, runner.index)]
        self._stops = {number: block.stop for number, block in self._plan}  # the last one of a file stays
        self.rebalance: RebalanceReport | None = None

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        """What is to be read, in order."""
        return [block for _, block in self._plan]

    def finished(self, staging: Staging) -> list[PartReport]:
        """What earlier runs of the job have finished, whatever their logs said."""
        found = list(staging.reports_there())
        return choose_finished(found, self._identities, self._stops, staging.waiting_files(found))

    def read(self, finished: Sequence[PartReport], target: PartTarget, watched: Watched) -> list[PartReport]:
        """Read what is left."""
        left = list(remains_of(self._plan, by_file(finished)))
        if not left:
            return []
        runner, options = self._runner, self._scan.options.files
        plan = share_out(left, self._scan.framing, runner.min_tasks, options)
        run = ClaimedRun(runner.register(plan), len(plan.ranges), options.task_bytes, plan.secrets)

        def work() -> list[PartReport]:
            return [self._numbered(report) for report in runner.run_claimed(self._scan.spec, target, run)]

        reports = watched(work, LogReports(log_folder(run.scan)))
        self.rebalance = self._describe(run.scan)
        return reports

    def _describe(self, scan: str) -> RebalanceReport | None:
        """What happened. All is read by now: a coordinator that is gone takes its report along, and nothing else."""
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
