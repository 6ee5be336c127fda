"""Watch a job while it runs in another thread: progress, an early end, cancelling."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from splitscan.errors import SplitscanError
from splitscan.jobs.reports import IngestProgress, Phase
from splitscan.jobs.staging import REMOTE_TELL_SECONDS, TELL_SECONDS, PartProgress, PartReport, Staging, total

T = TypeVar("T")

OnProgress = Callable[[IngestProgress], None]

POLL_SECONDS = TELL_SECONDS
REMOTE_POLL_SECONDS = REMOTE_TELL_SECONDS  # listing an object store costs a request
EXAMPLES = 5
"""Rejects that are told in full."""


def run_watched(
    work: Callable[[], T], poll: Callable[[], None], cancel: Callable[[], None], poll_seconds: float = POLL_SECONDS
) -> T:
    """Run *work* in a thread and call *poll* until it is done. Returns what *work* returns, and raises its error.

    If *poll* raises (or the user interrupts), *work* is cancelled and waited for, and the error goes on.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="splitscan-ingest") as pool:
        future = pool.submit(work)
        try:
            while not wait([future], timeout=poll_seconds).done:
                poll()
            return future.result()
        except BaseException:
            if not future.done():
                with suppress(Exception):
                    cancel()
            raise


class Monitor:
    """Counts what was read, by what tasks leave in the staging folder: reports, and before them how far each is.

    Attributes:
        seconds: How long each phase lasted, by its name.
    """

    def __init__(self, on_progress: OnProgress | None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._on_progress, self._clock = on_progress, clock
        self._phase: Phase | None = None
        self._since = 0.0
        self.seconds: dict[str, float] = {}
        self.begin()

    def begin(
        self,
        bytes_total: int = 0,
        blocks_total: int | None = 0,
        check: Callable[[int, int, int, list[str]], None] = lambda *_: None,
    ) -> None:
        """Count from nothing on.

        Args:
            bytes_total: Source bytes of the job.
            blocks_total: Its blocks; ``None`` where they come into being while they are read.
            check: Raises if rows, rejects, dropped ones and examples so far are such that the job cannot succeed.
        """
        self._bytes_total, self._blocks_total, self._check = bytes_total, blocks_total, check
        self._folders: dict[str, Set[str] | None] = {}  # in which reports are still to come
        self._seen: set[str] = set()
        self._done = PartProgress(0, 0, 0, 0, 0)
        self._examples: list[str] = []
        self._finished: set[str] = set()
        self._under_way: list[PartProgress] = []

    def watch(self, folders: Mapping[str, Set[str] | None]) -> None:
        """Look for reports in these folders from now on: for those of these names, if there are any."""
        self._folders = dict(folders)

    def add(self, reports: Iterable[PartReport]) -> None:
        """Count finished parts."""
        for report in reports:
            self._finished.add(report.part_name)
            self._done = total([self._done, report.progress])
            self._examples += report.examples[: max(0, EXAMPLES - len(self._examples))]

    def finish(self, reports: Iterable[PartReport]) -> None:
        """Count what the tasks themselves told, where their reports were not seen before."""
        self._folders, self._under_way = {}, []
        self.add(report for report in reports if report.part_name not in self._seen)

    def complete(self) -> None:
        """All is read: bytes that were expected beyond that were a guess, or of a file that vanished."""
        self._bytes_total = min(self._bytes_total, self._done.bytes_done)

    def poll(self, staging: Staging) -> None:
        """Look for new reports, tell progress, and end a job that cannot succeed any more."""
        self.add(self._look(staging))
        is_all = self._done.blocks == self._blocks_total
        self._under_way = [] if is_all else staging.read_progress(self._finished)
        self.tell(Phase.READ)
        so_far = self._so_far
        self._check(so_far.rows, so_far.rejects, so_far.dropped, self._examples)

    def _look(self, staging: Staging) -> Iterator[PartReport]:
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

    def tell(self, phase: Phase) -> None:
        """Tell progress, and note how long the phase before lasted."""
        now = self._clock()
        if self._phase is not None:
            self.seconds[self._phase.value] = self.seconds.get(self._phase.value, 0.0) + now - self._since
        self._phase, self._since = phase, now
        if self._on_progress is None:
            return
        so_far, bytes_total = self._so_far, self._bytes_total
        blocks_total = so_far.blocks if self._blocks_total is None else self._blocks_total
        self._on_progress(
            IngestProgress(
                phase, min(so_far.bytes_done, bytes_total), bytes_total, so_far.rows, so_far.rejects, so_far.blocks,
                blocks_total,
            )
        )  # fmt: skip

    @property
    def _so_far(self) -> PartProgress:
        return total([self._done, *self._under_way])
