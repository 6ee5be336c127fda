"""The steps of an ingest: plan, read, check, publish. Who runs the tasks is somebody else's business."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SourceMissingError, UsageError
from splitscan.ingest.block_task import TaskContext
from splitscan.ingest.commit import clean_up, commit, roll_forward
from splitscan.ingest.history import History, SortedFiles, changed_error, read_history
from splitscan.ingest.identity import compute_job_id, describe_columns, describe_read_options
from splitscan.ingest.ledger import Ledger, LedgerFile
from splitscan.ingest.monitor import (
    POLL_SECONDS,
    REMOTE_POLL_SECONDS,
    BlockKey,
    Monitor,
    OnProgress,
    run_watched,
)
from splitscan.ingest.reports import IngestPlan, IngestProgress, IngestReport, Phase
from splitscan.ingest.settings import IngestSettings, OnChanged
from splitscan.ingest.staging import StagedReport, Staging
from splitscan.ingest.tiling import check_matches_plan, check_tiling
from splitscan.ingest.workplace import Workplace, open_workplace
from splitscan.options import OnFileChange
from splitscan.scan.planning import IndexTask, fill_index
from splitscan.scan.spec import ScanSpec
from splitscan.splitting.boundaries import Piece
from splitscan.splitting.record_readers import Framing
from splitscan.storage import check_unchanged, open_source, redact

_CHECK_THREADS = 8  # one look at every source behind the last read; mostly waiting for the storage

Task = Sequence[tuple[int, BlockMetadata]]
"""File index and block of everything that one task reads."""


class Plannable(Protocol):
    """What an ingest asks of a scan."""

    @property
    def spec(self) -> ScanSpec:
        """How records are read."""

    @property
    def framing(self) -> Framing:
        """How records are found."""

    def files(self) -> Sequence[FileMetadata]:
        """All files, in order, as they were listed once."""

    def blocks(self) -> Iterable[BlockMetadata]:
        """All blocks of all files, in order."""

    def tasks(self, blocks: Iterable[BlockMetadata], min_tasks: int = 1) -> Sequence[Sequence[BlockMetadata]]:
        """Group blocks into tasks."""


class Runner(Protocol):
    """Who runs tasks: Spark, or this process."""

    @property
    def min_tasks(self) -> int:
        """Number of tasks that can run at a time."""

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[list[Piece]]:
        """Run the tasks of the boundary index, in order."""

    def run(self, spec: ScanSpec, context: TaskContext, tasks: Sequence[Task]) -> Iterable[StagedReport]:
        """Read blocks and write what they hold; called in a thread of its own."""

    def cancel(self) -> None:
        """End running tasks soon; called from another thread."""


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    Attributes:
        scan: What is read.
        destination: Where rows go.
        settings: How they are written.
        destination_options: Settings of the destination's file system.
        on_progress: Told how far the job is.
    """

    scan: Plannable
    destination: str | os.PathLike[str]
    settings: IngestSettings = field(default_factory=IngestSettings)
    destination_options: Mapping[str, Any] | None = None
    on_progress: OnProgress | None = None

    def open_workplace(self) -> Workplace:
        """Open the destination; without options of its own it has the source's."""
        options = self.destination_options
        return open_workplace(
            self.destination, self.scan.spec.options.files.storage_options if options is None else options
        )


def plan_ingest(request: Request) -> IngestPlan:
    """Find out what an ingest would do, without reading or writing anything.

    Raises:
        UsageError: If the destination has no meaning.
        SchemaError: If the destination has other columns.
        IngestError: If it holds something else, or a ledger is damaged.
    """
    _check_spec(request.scan.spec)
    place = request.open_workplace()
    history = read_history(place.destination)
    history.check_columns(describe_columns(request.scan.spec.schema))
    found = history.sort_files(place.without_own(request.scan.files()))
    return IngestPlan(
        destination=place.destination.root,
        paths=tuple(redact(file.path) for file in found.fresh),
        files_skipped=len(found.skipped),
        changed=tuple(redact(file.path) for file in found.changed),
        source_bytes=sum(file.size_bytes for file in found.fresh),
    )


def run_ingest(request: Request, runner: Runner) -> IngestReport:
    """Ingest: plan, read what is not yet read, check, publish in one step.

    See :func:`splitscan.ingest.ingest`, which adds Spark.
    """
    started = time.perf_counter()
    _check_spec(request.scan.spec)
    place = request.open_workplace()
    with place.lock():
        _tell(request, Phase.PLAN)
        history = read_history(place.destination)
        roll_forward(place, history)
        history.check_columns(describe_columns(request.scan.spec.schema))
        found = history.sort_files(place.without_own(request.scan.files()))
        if found.changed and request.settings.on_changed is OnChanged.FAIL:
            raise changed_error(found.changed)
        if not found.fresh:
            _tell(request, Phase.DONE)
            return _report(place, found, None, 0, started)
        job = _Job(request, runner, place, found.fresh)
        ledger = job.read(history)
        job.publish(ledger)
        _tell(request, Phase.DONE, job)
        return _report(place, found, ledger, job.blocks_resumed, started)


class _Job:
    """One job, from its plan to its publication."""

    def __init__(self, request: Request, runner: Runner, place: Workplace, files: Sequence[FileMetadata]) -> None:
        self._request, self._runner, self._place = request, runner, place
        self._files = files
        self._index = {file.path: index for index, file in enumerate(files)}
        _tell(request, Phase.INDEX)
        self.plan: dict[BlockKey, BlockMetadata] = {
            (self._index[block.file.path], block.index): block for block in self._plan_blocks()
        }
        spec, settings = request.scan.spec, request.settings
        empty = [file for file in files if not file.size_bytes]
        self.job_id = compute_job_id(self.plan.values(), empty, spec, settings)
        self._staging = Staging(place.staging, self.job_id)
        self._context = TaskContext(self.job_id, place.staging.root, settings, spec.schema, place.storage_options)
        self.monitor = Monitor(self.plan, request.on_progress, self._check_budget)
        self.blocks_resumed = 0

    def _plan_blocks(self) -> list[BlockMetadata]:
        scan = self._request.scan
        blocks = [block for block in scan.blocks() if block.file.path in self._index]
        return list(fill_index(blocks, scan.framing, scan.spec.options, self._runner.index))

    def read(self, history: History) -> Ledger:
        """Read every block that no earlier run has finished, and prove that all are there."""
        done = self._staging.finished(self.plan)
        self.blocks_resumed = len(done)
        self.monitor.add(done.values())
        self.monitor.tell(Phase.READ)
        missing = [block for key, block in self.plan.items() if key not in done]
        if missing:
            packed = self._request.scan.tasks(missing, self._runner.min_tasks)
            tasks = [[(self._index[block.file.path], block) for block in task] for task in packed]
            poll_seconds = POLL_SECONDS if self._place.is_local else REMOTE_POLL_SECONDS
            reports = run_watched(
                lambda: list(self._runner.run(self._request.scan.spec, self._context, tasks)),
                lambda: self.monitor.poll(self._staging),
                self._runner.cancel,
                poll_seconds,
            )
            done |= {report.block.key: report for report in reports}
            self.monitor.add(reports)
        self.monitor.tell(Phase.CHECK)
        return self._check(done, history)

    def publish(self, ledger: Ledger) -> None:
        """Make everything visible in one step."""
        self.monitor.tell(Phase.PUBLISH)
        strategy = self._place.choose_strategy()
        commit(self._place, self._staging, ledger, strategy, lambda _: self.monitor.tell(Phase.PUBLISH))
        clean_up(self._place, self._staging)

    def _check(self, done: Mapping[BlockKey, StagedReport], history: History) -> Ledger:
        reports = [done[key] for key in sorted(done)]
        blocks = tuple(report.block for report in reports)
        check_matches_plan(((*key, block.start, block.stop) for key, block in self.plan.items()), blocks)
        files = tuple(
            LedgerFile(index, redact(file.path), file.fingerprint, file.size_bytes, file.modified_us)
            for index, file in enumerate(self._files)
        )
        check_tiling(files, blocks)
        examples = [example for report in reports if report.examples for example in report.examples]
        self._check_budget(
            sum(block.rows for block in blocks),
            sum(block.rejects for block in blocks),
            sum(report.dropped for report in reports),
            examples[:3],
            final=True,
        )
        spec = self._request.scan.spec
        if spec.options.files.on_file_change is OnFileChange.FAIL:
            self._check_sources()
        return Ledger(
            job_id=self.job_id,
            sequence=history.next_sequence,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            record_format=spec.options.record_format,
            options=describe_read_options(spec.options),
            columns=describe_columns(spec.schema),
            files=files,
            blocks=blocks,
        )

    def _check_budget(self, rows: int, rejects: int, dropped: int, examples: list[str], final: bool = False) -> None:
        """Compare with the budget. While blocks are missing only the count can be judged, not the share."""
        settings = self._request.settings
        if final or (settings.max_rejects is not None and rejects > settings.max_rejects):
            settings.check_budget(rows, rejects, dropped, examples, self._place.destination.root)

    def _check_sources(self) -> None:
        """Make sure that no file changed while it was read. One that was removed was read before."""
        options = self._request.scan.spec.options.files.storage_options

        def look(file: FileMetadata) -> None:
            try:
                source = open_source(file.path, options)
            except SourceMissingError:
                return
            try:
                check_unchanged(file, source)
            finally:
                source.close()

        with ThreadPoolExecutor(_CHECK_THREADS) as pool:
            for _ in pool.map(look, self._files):
                pass


def _check_spec(spec: ScanSpec) -> None:
    if not spec.columns:
        raise UsageError(
            "an ingest needs at least one column", seen="none", fix="select one, or count instead", code="bad-option"
        )
    if spec.options.reading.limit is not None:
        raise UsageError(
            "an ingest reads every record: option limit has no meaning", seen=f"limit={spec.options.reading.limit}",
            fix="leave it out", code="bad-option",
        )  # fmt: skip


def _tell(request: Request, phase: Phase, job: _Job | None = None) -> None:
    if job is not None:
        job.monitor.tell(phase)
    elif request.on_progress is not None:
        request.on_progress(IngestProgress(phase))


def _report(
    place: Workplace, found: SortedFiles, ledger: Ledger | None, blocks_resumed: int, started: float
) -> IngestReport:
    blocks = ledger.blocks if ledger is not None else ()
    data = [block.data for block in blocks if block.data is not None]
    return IngestReport(
        destination=place.destination.root,
        job_id=ledger.job_id if ledger is not None else "",
        files=len(found.fresh),
        files_skipped=len(found.skipped),
        files_changed=len(found.changed),
        blocks=len(blocks),
        blocks_resumed=blocks_resumed,
        rows=sum(block.rows for block in blocks),
        rejects=sum(block.rejects for block in blocks),
        source_bytes=sum(file.size_bytes for file in found.fresh),
        parquet_bytes=sum(written.size_bytes for written in data),
        data_files=len(data),
        seconds=time.perf_counter() - started,
        accounted=True,  # or check_tiling had raised
    )
