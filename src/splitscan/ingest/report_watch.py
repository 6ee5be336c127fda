"""Which reports of tasks are new: what to look for in the staging folder, and what has been seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from splitscan.errors import SplitscanError
from splitscan.sinks.parts import Part
from splitscan.sinks.staging import PartReport, Staging, report_folder


class ReportWatch(Protocol):
    """Looks for the reports of one run of a job."""

    def look(self, staging: Staging) -> Iterable[PartReport]:
        """The reports that are there and were not seen before."""

    def unseen(self, reports: Iterable[PartReport]) -> Iterable[PartReport]:
        """Of the reports that tasks handed back at the end, those that were never seen."""


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
            self._missing.setdefault(report_folder(part), {})[part.name] = part

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
