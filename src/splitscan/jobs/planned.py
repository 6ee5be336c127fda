"""An ingest whose tasks are planned beforehand: each reads its part of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from splitscan.blocks import BlockMetadata
from splitscan.errors import SplitscanError
from splitscan.jobs.contract import Watched
from splitscan.jobs.part_writing import PartTarget
from splitscan.jobs.parts import BlockKey, Part, plan_parts
from splitscan.jobs.staging import PartReport, Staging
from splitscan.jobs.tiling import check_matches_plan
from splitscan.rebalance.report import RebalanceReport


class PlannedReports:
    """The reports of parts that were planned.

    Reports that were seen are not looked for again: only folders in which one is missing are listed, in the order of
    the tasks, up to the first in which there is none yet.

    Args:
        parts: Whose reports.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._missing: dict[str, dict[str, Part]] = {}
        for part in parts:
            self._missing.setdefault(part.folder, {})[part.name] = part

    def look(self, staging: Staging) -> Iterator[PartReport]:
        """The reports that are there and were not seen before."""
        for folder in list(self._missing):
            there = staging.list_reports(folder)
            missing = self._missing[folder]
            for name in there & missing.keys():
                with suppress(SplitscanError):  # half a report is none: its part is told when it is whole
                    report = staging.read_report(folder, name)
                    if report.is_final:  # otherwise it may be of an earlier run, and its part is being read again
                        del missing[name]
                        yield report
            if not missing:
                del self._missing[folder]
            if not there:
                break

    def unseen(self, reports: Iterable[PartReport]) -> Iterator[PartReport]:
        """Of the reports that tasks handed back at the end, those that were never seen."""
        numbers = {part.number for folder in self._missing.values() for part in folder.values()}
        return (report for report in reports if report.number in numbers)


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
        run: Callable[[PartTarget, Sequence[Part]], Iterable[PartReport]],
    ) -> None:
        self._plan, self._group, self._run = plan, group, run

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        """What is to be read, in order."""
        return list(self._plan.values())

    @property
    def blocks_total(self) -> int:
        """How many blocks there are."""
        return len(self._plan)

    def finished(self, staging: Staging) -> list[PartReport]:
        """What earlier runs of the job have finished."""
        return staging.finished(self._plan)

    def read(self, finished: Sequence[PartReport], target: PartTarget, watched: Watched) -> list[PartReport]:
        """Read what is missing. The plan is packed as a whole, so that a part is the same whatever is done of it."""
        done = {block.key for report in finished for block in report.blocks}
        if len(done) == len(self._plan):
            return []
        parts = plan_parts(self._plan, self._group(self._plan.values()), done)
        return watched(lambda: list(self._run(target, parts)), PlannedReports(parts))

    def account(self, reports: Iterable[PartReport]) -> list[PartReport]:
        """The reports by number; together they tell of every planned block once.

        Raises:
            InvariantError: ``[not-accounted]`` if not.
        """
        ordered = sorted(reports, key=lambda report: report.number)
        planned = ((*key, block.start, block.stop) for key, block in self._plan.items())
        check_matches_plan(planned, (block for report in ordered for block in report.blocks))
        return ordered
