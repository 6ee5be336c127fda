"""Watch a job while it runs in another thread: progress, an early end, cancelling."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from splitscan.jobs.ledger import bytes_read
from splitscan.jobs.part_writing import REMOTE_TELL_SECONDS, TELL_SECONDS
from splitscan.jobs.reports import IngestProgress, Phase
from splitscan.jobs.staging import PartProgress, PartReport, ReportWatch, Staging, total

T = TypeVar("T")

OnProgress = Callable[[IngestProgress], None]

POLL_SECONDS = TELL_SECONDS
REMOTE_POLL_SECONDS = REMOTE_TELL_SECONDS  # listing an object store costs a request
EXAMPLES = 5
"""Rejects that are told in full."""


def run_watched(
    work: Callable[[], T], poll: Callable[[], None], cancel: Callable[[], None], poll_seconds: float = POLL_SECONDS
) -> T:
    """Run *work* in a thread and call *poll* until it is done.

    If *poll* raises (or the user interrupts), *work* is cancelled and waited for, and the error goes on.

    Returns:
        What *work* returns. Its error is raised here.
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


class PhaseClock:
    """Hands progress on, and notes how long each phase lasts."""

    def __init__(self, on_progress: OnProgress | None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._on_progress, self._clock = on_progress, clock
        self._phase: Phase | None = None
        self._since = 0.0
        self.seconds: dict[str, float] = {}

    def __call__(self, progress: IngestProgress) -> None:
        """Take note of what is being done now."""
        now = self._clock()
        if self._phase is not None:
            self.seconds[self._phase.value] = self.seconds.get(self._phase.value, 0.0) + now - self._since
        self._phase, self._since = progress.phase, now
        if self._on_progress is not None:
            self._on_progress(progress)


class Monitor:
    """Counts what was read, by what tasks leave in the staging folder: reports, and before them how far each is."""

    def __init__(
        self,
        bytes_total: int,
        blocks_total: int | None,
        on_progress: OnProgress | None,
        check: Callable[[int, int, int, list[str]], None],
    ) -> None:
        self._on_progress = on_progress
        self._check = check
        self._bytes_total, self._blocks_total = bytes_total, blocks_total
        self._watch: ReportWatch | None = None
        self._done = PartProgress(0, 0, 0, 0, 0)
        self._examples: list[str] = []
        self._finished: set[str] = set()
        self._under_way: list[PartProgress] = []

    def watch(self, reports: ReportWatch) -> None:
        """Look for these reports from now on."""
        self._watch = reports

    def add(self, reports: Iterable[PartReport]) -> None:
        """Count finished parts."""
        for report in reports:
            self._finished.add(report.part_name)
            done = PartProgress(
                sum(bytes_read(block.start, block.stop, block.span_stop) for block in report.blocks),
                len(report.blocks),
                sum(block.rows for block in report.blocks),
                sum(block.rejects for block in report.blocks),
                report.dropped,
            )
            self._done = total([self._done, done])
            self._examples += report.examples[: max(0, EXAMPLES - len(self._examples))]

    def finish(self, reports: Iterable[PartReport]) -> None:
        """Count what the tasks themselves told, where their reports were not seen before."""
        watch, self._watch, self._under_way = self._watch, None, []
        if watch is not None:
            self.add(watch.unseen(reports))

    def complete(self) -> None:
        """All is read: bytes that were expected beyond that were a guess, or of a file that vanished."""
        self._bytes_total = min(self._bytes_total, self._done.bytes_done)

    def poll(self, staging: Staging) -> None:
        """Look for new reports, tell progress, and end a job that cannot succeed any more."""
        if self._watch is not None:
            self.add(self._watch.look(staging))
            is_all = self._done.blocks == self._blocks_total
            self._under_way = [] if is_all else staging.read_progress(self._finished)
        self.tell(Phase.READ)
        so_far = self._so_far
        self._check(so_far.rows, so_far.rejects, so_far.dropped, self._examples)

    def tell(self, phase: Phase) -> None:
        """Tell progress."""
        if self._on_progress is not None:
            so_far = self._so_far
            self._on_progress(
                IngestProgress(
                    phase,
                    min(so_far.bytes_done, self._bytes_total),
                    self._bytes_total,
                    so_far.rows,
                    so_far.rejects,
                    so_far.blocks,
                    so_far.blocks if self._blocks_total is None else self._blocks_total,
                )
            )

    @property
    def _so_far(self) -> PartProgress:
        """Progress so far: of finished parts, and of those that are being read."""
        return total([self._done, *self._under_way])
