"""Watch a job while it runs in another thread: progress, an early end, cancelling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from splitscan.blocks import BlockMetadata
from splitscan.errors import SplitscanError
from splitscan.ingest.parts import Part
from splitscan.ingest.reports import IngestProgress, Phase
from splitscan.ingest.staging import PartReport, Staging, report_folder

T = TypeVar("T")

OnProgress = Callable[[IngestProgress], None]

POLL_SECONDS = 0.5
REMOTE_POLL_SECONDS = 5.0  # listing an object store costs a request
EXAMPLES = 5
"""Rejects that are told in full."""


def run_watched(
    work: Callable[[], T], poll: Callable[[], None], cancel: Callable[[], None], poll_seconds: float = POLL_SECONDS
) -> T:
    """Run *work* in a thread and call *poll* until it is done, and once more behind it.

    If *poll* raises (or the user interrupts), *work* is cancelled and waited for, and the error goes on.

    Returns:
        What *work* returns. Its error is raised here.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="splitscan-ingest") as pool:
        future = pool.submit(work)
        try:
            while not wait([future], timeout=poll_seconds).done:
                poll()
            result = future.result()
            poll()
        except BaseException:
            if not future.done():
                with suppress(Exception):
                    cancel()
            raise
    return result


class Monitor:
    """Counts what is finished, by the reports that tasks leave in the staging folder.

    Args:
        blocks: All blocks of the job.
        on_progress: Told how far the job is.
        check: Told rows, rejects, dropped records and examples so far; raises to end the job early.
    """

    def __init__(
        self,
        blocks: Iterable[BlockMetadata],
        on_progress: OnProgress | None,
        check: Callable[[int, int, int, list[str]], None],
    ) -> None:
        self._on_progress = on_progress
        self._check = check
        lengths = [block.length_bytes for block in blocks]
        self._bytes_total, self._blocks_total = sum(lengths), len(lengths)
        self._missing: dict[str, dict[str, Part]] = {}
        self._bytes_done = self._blocks_done = self._rows = self._rejects = self._dropped = 0
        self._examples: list[str] = []

    def expect(self, parts: Sequence[Part]) -> None:
        """Wait for the reports of these parts from now on."""
        for part in parts:
            self._missing.setdefault(report_folder(part), {})[part.name] = part

    def add(self, reports: Iterable[PartReport]) -> None:
        """Count finished parts."""
        for report in reports:
            self._blocks_done += len(report.blocks)
            for block in report.blocks:
                self._bytes_done += block.stop - block.start
                self._rows += block.rows
                self._rejects += block.rejects
            self._dropped += report.dropped
            self._examples += report.examples[: max(0, EXAMPLES - len(self._examples))]

    def finish(self, reports: Iterable[PartReport]) -> None:
        """Count what the tasks themselves told, where their reports were not seen before."""
        unseen = {part.number for folder in self._missing.values() for part in folder.values()}
        self._missing.clear()
        self.add(report for report in reports if report.number in unseen)

    def poll(self, staging: Staging) -> None:
        """Look for new reports, tell progress, and end a job that cannot succeed any more.

        Reports that were seen are not looked for again: only folders in which one is missing are listed, in the order
        of the tasks, up to the first in which there is none yet.
        """
        for folder in list(self._missing):
            there = staging.list_reports(folder)
            missing = self._missing[folder]
            for name in there & missing.keys():
                with suppress(SplitscanError):  # half a report is none: its part is told when it is whole
                    report = staging.read_report(folder, name)
                    if report.is_final:  # otherwise it may be of an earlier run, and its part is being read again
                        self.add([report])
                        del missing[name]
            if not missing:
                del self._missing[folder]
            if not there:
                break
        self.tell(Phase.READ)
        self._check(self._rows, self._rejects, self._dropped, self._examples)

    def tell(self, phase: Phase) -> None:
        """Tell progress."""
        if self._on_progress is not None:
            self._on_progress(
                IngestProgress(
                    phase,
                    self._bytes_done,
                    self._bytes_total,
                    self._rows,
                    self._rejects,
                    self._blocks_done,
                    self._blocks_total,
                )
            )
