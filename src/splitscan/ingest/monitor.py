"""Watch a job while it runs in another thread: progress, an early end, cancelling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

from splitscan.blocks import BlockMetadata
from splitscan.errors import SplitscanError
from splitscan.ingest.reports import IngestProgress, Phase
from splitscan.ingest.staging import StagedReport, Staging

T = TypeVar("T")

BlockKey = tuple[int, int]
OnProgress = Callable[[IngestProgress], None]

POLL_SECONDS = 0.5
REMOTE_POLL_SECONDS = 5.0  # listing an object store costs a request


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
    """Counts what is finished, by the reports that blocks leave in the staging folder.

    Args:
        plan: All blocks of the job.
        on_progress: Told how far the job is.
        check: Told rows, rejects, dropped records and examples so far; raises to end the job early.
    """

    def __init__(
        self,
        plan: Mapping[BlockKey, BlockMetadata],
        on_progress: OnProgress | None,
        check: Callable[[int, int, int, list[str]], None],
    ) -> None:
        self._plan = plan
        self._on_progress = on_progress
        self._check = check
        self._bytes_total = sum(block.length_bytes for block in plan.values())
        self._seen: set[BlockKey] = set()
        self._names: set[str] = set()
        self._bytes_done = self._rows = self._rejects = self._dropped = 0
        self._examples: list[str] = []

    def add(self, reports: Iterable[StagedReport]) -> None:
        """Count finished blocks; one that was counted before changes nothing."""
        for report in reports:
            block = report.block
            if block.key in self._seen or block.key not in self._plan:
                continue
            self._seen.add(block.key)
            self._bytes_done += block.stop - block.start
            self._rows += block.rows
            self._rejects += block.rejects
            self._dropped += report.dropped
            self._examples += report.examples[: max(0, 3 - len(self._examples))]

    def poll(self, staging: Staging) -> None:
        """Look for new reports, tell progress, and end a job that cannot succeed any more."""
        for name in staging.list_reports():
            if name not in self._names:
                self._names.add(name)
                with suppress(SplitscanError):  # half a report is none: its block is told when it is whole
                    self.add([StagedReport.from_json(staging.storage.read_bytes(name))])
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
                    len(self._seen),
                    len(self._plan),
                )
            )
