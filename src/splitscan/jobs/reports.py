"""Reports: how far an ingest is while it runs, its result, the result of a verification."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from splitscan.errors import SplitscanError
from splitscan.jobs.staging import REMOTE_TELL_SECONDS, TELL_SECONDS, PartProgress, PartReport, Staging, total
from splitscan.sizes import count_of

if TYPE_CHECKING:
    from splitscan.rebalance.report import RebalanceReport  # an optional room

REJECTS_PUBLISHED = "rejects-published"


class Phase(enum.Enum):
    """Phases of an ingest, in order."""

    PLAN = "planning"
    INDEX = "indexing"
    READ = "reading"
    CHECK = "checking"
    PUBLISH = "publishing"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """Progress of an ingest. Blocks that an earlier, interrupted run finished count as done.

    ``bytes_done`` are source bytes dealt with, and ``rejects`` records that broke a rule so far. ``blocks_total`` is
    the number of finished blocks under rebalancing, where blocks come into being while it runs.
    """

    phase: Phase
    bytes_done: int = 0
    bytes_total: int = 0
    rows: int = 0
    rejects: int = 0
    blocks_done: int = 0
    blocks_total: int = 0


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """Plan of an ingest. Nothing was read or written to make it.

    Attributes:
        paths: Files that would be read, in order; *source_bytes* in all.
        files_skipped: Files that were ingested before.
        changed: Paths of files that were ingested before, but have changed since.
        replaced: Those among the files to be read whose rows would take the place of those of an earlier version.
        columns_added: The columns that the destination does not have and would be given, each with its type.
    """

    destination: str
    paths: tuple[str, ...]
    files_skipped: int
    changed: tuple[str, ...]
    source_bytes: int
    columns_added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """Number of files that would be read."""
        return len(self.paths)


@dataclass(frozen=True, slots=True)
class TaskTimes:
    """When a task of this run read, in seconds since the epoch by the clock of its machine, and how much.

    It has ended when all that it wrote was in place.
    """

    began: float
    ended: float
    size_bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Result of an ingest.

    Attributes:
        destination: Canonical path.
        job_id: Identity of the job; empty when there was nothing to do.
        files: Files read.
        files_missing: Files that had vanished when they were to be read (``ignoreMissingFiles``). They do not count as
            ingested: the next run reads those that came back.
        files_skipped: Files that were ingested before and left alone.
        files_changed: Files that were ingested before, have changed since, and were left alone.
        blocks: Blocks of the files read.
        blocks_resumed: Blocks among them that an earlier, interrupted run had finished.
        rows: Rows written.
        rejects: Records that broke a rule, delivered or not.
        source_bytes: Bytes of the files read; of a table of a database about as many as it has there.
        parquet_bytes: Bytes of the Parquet files written, reject table not included.
        data_files: Parquet files written, reject table not included.
        seconds: Wall time.
        accounted: Every byte of every file was read by exactly one block, and is in the ledger.
        ledger: Path of the ledger; empty when there was nothing to do.
        first_rejects: The first few rejects, one sentence each.
        odd: What is odd about records that are rows, one sentence for each kind: how many, and where the first is.
        files_damaged: Compressed files that were read only up to their damage (``ignoreCorruptFiles``). They count as
            ingested; each is a reject, and the ledger says where it is damaged.
        lost_bytes: Bytes of these files that could not be read.
        tasks: When each task read, where they were planned beforehand; not of those that an earlier run had finished.
        removed: Folders of other, interrupted jobs that nobody can continue any more, and that were thrown away.
        rebalance: Who read what and when, where tasks claimed what they read; not of what an earlier run had finished.
        columns_added: The columns that the destination did not have before, each with its type.
        columns_left_out: Names of columns that files have and that were not read, with ``schema_evolution_mode=none``:
            those in headers and samples, and those in the first records of each block that have such columns.
        phase_seconds: How long each phase took, by its name, in their order; that of reading has the start of Spark in
            it where the command starts Spark.
        rejects_by_file: The files with most rejects, at most ten, each with how many.
        files_replaced: Files among those read whose rows took the place of those of an earlier version.
    """

    destination: str
    job_id: str
    files: int
    files_missing: int
    files_skipped: int
    files_changed: int
    blocks: int
    blocks_resumed: int
    rows: int
    rejects: int
    source_bytes: int
    parquet_bytes: int
    data_files: int
    seconds: float
    accounted: bool
    ledger: str = ""
    first_rejects: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rebalance: RebalanceReport | None = None
    files_damaged: int = 0
    lost_bytes: int = 0
    tasks: tuple[TaskTimes, ...] = ()
    columns_added: tuple[str, ...] = ()
    columns_left_out: tuple[str, ...] = ()
    files_replaced: int = 0
    phase_seconds: Mapping[str, float] = field(default_factory=dict)
    rejects_by_file: tuple[tuple[str, int], ...] = ()
    odd: tuple[str, ...] = ()

    @classmethod
    def of_nothing(cls, destination: str, skipped: int, changed: int, seconds: float) -> IngestReport:
        """Of a run that found nothing to read."""
        return cls(destination, "", 0, 0, skipped, changed, 0, 0, 0, 0, 0, 0, 0, seconds, accounted=True)

    @property
    def nothing_to_do(self) -> bool:
        """True if every file had been ingested before, so that nothing was published."""
        return not self.job_id

    @property
    def notice(self) -> str | None:
        """A warning that not every record became a row as it is; ``None`` where each did."""
        return "; ".join(filter(None, [self._rejects_published, *self.odd])) or None

    @property
    def _rejects_published(self) -> str | None:
        if not self.rejects:
            return None
        counts = (
            f"{count_of(self.rows, 'record')} published with {count_of(self.rejects, 'reject')} [{REJECTS_PUBLISHED}]"
        )
        first = f"; the first: {self.first_rejects[0]}" if self.first_rejects else ""
        return f"{counts}{first}; all are in {self.ledger.rpartition('/ledger/')[0]}/rejects"

    @property
    def mb_per_second(self) -> float:
        """Source megabytes (10^6) per second of wall time."""
        return self.source_bytes / 1e6 / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a verification found: a stable code, the file it is about, and one sentence."""

    code: str
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} [{self.code}]\n  where: {self.path}"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Result of a comparison of data, ledger and source.

    Attributes:
        deep: Whether source bytes were read again and Parquet rows decoded.
        files: Source files in the ledgers, without those that had vanished, and without versions that were replaced;
            *blocks*, *rows*, *rejects* and *source_bytes* are theirs.
        data_files: Parquet files checked, of *parquet_bytes*; reject tables not included.
        digests_checked: Blocks whose source bytes were read again and compared.
        problems: Whatever is wrong; empty when everything agrees.
        notes: Sources that could not be compared any more: removed, or changed since.
        seconds: Wall time.
    """

    destination: str
    deep: bool
    jobs: int
    files: int
    blocks: int
    rows: int
    rejects: int
    data_files: int
    source_bytes: int
    parquet_bytes: int
    digests_checked: int
    problems: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.problems


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
