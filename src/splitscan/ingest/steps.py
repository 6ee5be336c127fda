"""The steps of an ingest: plan, read, check, publish. Who runs the tasks is somebody else's business."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Protocol, Self

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, SourceMissingError, UsageError, Where
from splitscan.ingest.commit import commit, roll_forward
from splitscan.ingest.history import History, SortedFiles, changed_error, ledger_name, read_history
from splitscan.ingest.identity import compute_job_id, describe_columns, describe_read_options
from splitscan.ingest.ledger import Ledger, LedgerFile, WrittenFile, identify
from splitscan.ingest.leftovers import claim, clean_up
from splitscan.ingest.monitor import EXAMPLES, POLL_SECONDS, REMOTE_POLL_SECONDS, Monitor, OnProgress, run_watched
from splitscan.ingest.part_task import TaskContext
from splitscan.ingest.parts import BlockKey, Part, parquet_name, plan_parts
from splitscan.ingest.reports import IngestPlan, IngestProgress, IngestReport, Phase
from splitscan.ingest.settings import IngestSettings, OnChanged
from splitscan.ingest.staging import PartReport, Staging
from splitscan.ingest.tiling import check_matches_plan, check_tiling, check_vanished
from splitscan.ingest.workplace import Workplace, open_workplace
from splitscan.ingest.writing import ParquetSink
from splitscan.options import OnFileChange, ReadOptions
from splitscan.scan.planning import IndexTask, fill_index
from splitscan.scan.readers.managed_reading import Reading
from splitscan.scan.spec import ScanSpec
from splitscan.splitting.boundaries import Piece
from splitscan.storage import check_unchanged, open_source, redact

_CHECK_THREADS = 8  # one look at every source behind the last read; mostly waiting for the storage


class Plannable(Protocol):
    """What an ingest asks of a scan."""

    @property
    def options(self) -> ReadOptions:
        """What the user said."""

    @property
    def spec(self) -> ScanSpec:
        """How records are read."""

    @property
    def framing(self) -> Reading:
        """How records are found."""

    @property
    def roots(self) -> Sequence[str]:
        """What the user named: every file lies below one of them."""

    @property
    def chooses_blocks(self) -> bool:
        """Whether only some blocks of a file are read."""

    def files(self) -> Sequence[FileMetadata]:
        """All files, in order, as they were listed once."""

    def with_files(self, files: Sequence[FileMetadata]) -> Self:
        """The same scan of only these of its files."""

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

    def run(self, spec: ScanSpec, context: TaskContext, parts: Sequence[Part]) -> Iterable[PartReport]:
        """Read each part and write what it holds, one task per part; called in a thread of its own."""

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
        return open_workplace(self.destination, self.scan.options.files.storage_options if options is None else options)

    def without_own(self, place: Workplace) -> Request:
        """The same, without files in the destination: they are not read, and have no say in the schema."""
        return replace(self, scan=self.scan.with_files(place.without_own(self.scan.files())))


def plan_ingest(request: Request) -> IngestPlan:
    """Find out what an ingest would do, without reading or writing anything.

    Raises:
        UsageError: If the destination has no meaning.
        SchemaError: If the destination has other columns.
        IngestError: If it holds something else, or a ledger is damaged.
    """
    place = request.open_workplace()
    request = request.without_own(place)
    _check_scan(request.scan)
    history = read_history(place.destination)
    history.check_columns(describe_columns(request.scan.spec.schema))
    found = history.sort_files(request.scan.files())
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
    place = request.open_workplace()
    request = request.without_own(place)
    _check_scan(request.scan)
    with place.lock():
        _tell(request, Phase.PLAN)
        history = read_history(place.destination)
        roll_forward(place, history)
        history.check_columns(describe_columns(request.scan.spec.schema))
        found = history.sort_files(request.scan.files())
        if found.changed and request.settings.on_changed is OnChanged.FAIL:
            raise changed_error(found.changed)
        if not found.fresh and history.ledgers:
            _tell(request, Phase.DONE)
            return _nothing_to_do(place, found, started)
        job = _Job(request, runner, place, history, found.fresh)
        ledger = job.read()
        removed = job.publish(ledger)
        _tell(request, Phase.DONE, job)
        return _report(place, found, job, ledger, removed, started)


class _Job:
    """One job, from its plan to its publication."""

    def __init__(
        self, request: Request, runner: Runner, place: Workplace, history: History, files: Sequence[FileMetadata]
    ) -> None:
        self._request, self._runner, self._place = request, runner, place
        self._history, self._files = history, files
        self._index = {file.path: index for index, file in enumerate(files)}
        _tell(request, Phase.INDEX)
        self.plan: dict[BlockKey, BlockMetadata] = {
            (self._index[block.file.path], block.index): block for block in self._plan_blocks()
        }
        spec, settings = request.scan.spec, request.settings
        empty = [file for file in files if not file.size_bytes]
        self.job_id = compute_job_id(self.plan.values(), empty, spec, settings, history.job_ids)
        self._staging = Staging(place.staging, self.job_id)
        options = spec.options.files
        self._context = TaskContext(
            self.job_id,
            place.staging.root,
            settings,
            spec.schema,
            place.storage_options,
            own_names=options.ignore_missing_files or options.on_file_change is not OnFileChange.FAIL,
        )
        self.monitor = Monitor(self.plan.values(), request.on_progress, self._check_budget)
        self.blocks_resumed = 0
        self.first_rejects: tuple[str, ...] = ()

    def _plan_blocks(self) -> list[BlockMetadata]:
        scan = self._request.scan
        blocks = [block for block in scan.blocks() if block.file.path in self._index]
        return list(fill_index(blocks, scan.framing, scan.spec.options, self._runner.index))

    def read(self) -> Ledger:
        """Read every block that no earlier run has finished, and prove that all are there."""
        reports = self._staging.finished(self.plan)
        claim(self._staging, (identify(file.path) for file in self._files))
        done = {block.key for report in reports for block in report.blocks}
        self.blocks_resumed = len(done)
        self.monitor.add(reports)
        self.monitor.tell(Phase.READ)
        if len(done) < len(self.plan):
            reports += self._run(done)
        self.monitor.tell(Phase.CHECK)
        return self._check(sorted(reports, key=lambda report: report.number))

    def _run(self, done: Collection[BlockKey]) -> list[PartReport]:
        """Read what is missing. The plan is packed as a whole, so that a part is the same whatever is done of it."""
        tasks = self._request.scan.tasks(self.plan.values(), self._runner.min_tasks)
        parts = plan_parts(self.plan, tasks, done)
        self.monitor.expect(parts)
        reports = run_watched(
            lambda: list(self._runner.run(self._request.scan.spec, self._context, parts)),
            lambda: self.monitor.poll(self._staging),
            self._runner.cancel,
            POLL_SECONDS if self._place.is_local else REMOTE_POLL_SECONDS,
        )
        self.monitor.finish(reports)
        return reports

    def publish(self, ledger: Ledger) -> list[str]:
        """Make everything visible in one step. Returns what was cleared away of other jobs."""
        self.monitor.tell(Phase.PUBLISH)
        strategy = self._place.choose_strategy()
        commit(self._place, self._staging, ledger, strategy, lambda _: self.monitor.tell(Phase.PUBLISH))
        return clean_up(self._place, self._staging, self._history.followed_by(ledger))

    def _check(self, reports: Sequence[PartReport]) -> Ledger:
        blocks = tuple(block for report in reports for block in report.blocks)
        written = [written for report in reports for written in report.written]
        check_matches_plan(((*key, block.start, block.stop) for key, block in self.plan.items()), blocks)
        files = tuple(_describe(index, file) for index, file in enumerate(self._files))
        check_vanished(files, blocks)
        check_tiling(files, blocks, written)
        self.first_rejects = tuple(islice((example for report in reports for example in report.examples), EXAMPLES))
        self._check_budget(
            sum(block.rows for block in blocks),
            sum(block.rejects for block in blocks),
            sum(report.dropped for report in reports),
            list(self.first_rejects),
            final=True,
        )
        spec = self._request.scan.spec
        if spec.options.files.on_file_change is OnFileChange.FAIL:
            self._check_sources()
        if not self._history.has_data and all(each.is_reject_table for each in written):
            written.append(self._write_empty())
        return Ledger(
            job_id=self.job_id,
            sequence=self._history.next_sequence,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            record_format=spec.options.record_format,
            options=describe_read_options(spec.options),
            columns=describe_columns(spec.schema),
            files=files,
            blocks=blocks,
            written=tuple(sorted(written, key=lambda each: each.name)),
            roots=tuple(map(redact, self._request.scan.roots)),
        )

    def _write_empty(self) -> WrittenFile:
        """Parquet without rows: other engines need one file that tells them the columns."""
        settings = self._request.settings
        name = parquet_name(self.job_id, "empty", settings.compression)
        with ParquetSink(self._staging, name, self._request.scan.spec.schema, settings, keep_empty=True) as sink:
            pass
        if sink.written is None:
            raise InvariantError("an empty Parquet file was not written", Where(path=self._place.destination.root))
        return sink.written

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


def _check_scan(scan: Plannable) -> None:
    if scan.chooses_blocks:
        raise UsageError(
            "an ingest reads files from end to end: option where must not choose among the blocks of one file",
            seen="a condition on file_block_start, file_block_length or block_id",
            fix="choose by columns of files and directories",
            code="bad-where",
        )
    spec = scan.spec
    if not spec.columns:
        raise UsageError(
            "an ingest needs at least one column", seen="none", fix="select one, or count instead", code="bad-option"
        )
    if spec.options.reading.limit is not None:
        raise UsageError(
            "an ingest reads every record: option limit has no meaning", seen=f"limit={spec.options.reading.limit}",
            fix="leave it out", code="bad-option",
        )  # fmt: skip


def _describe(index: int, file: FileMetadata) -> LedgerFile:
    path = redact(file.path)
    digest = "" if path == file.path else identify(file.path)
    return LedgerFile(index, path, file.fingerprint, file.size_bytes, file.modified_us, digest)


def _tell(request: Request, phase: Phase, job: _Job | None = None) -> None:
    if job is not None:
        job.monitor.tell(phase)
    elif request.on_progress is not None:
        request.on_progress(IngestProgress(phase))


def _nothing_to_do(place: Workplace, found: SortedFiles, started: float) -> IngestReport:
    return IngestReport(
        destination=place.destination.root,
        job_id="",
        files=0,
        files_missing=0,
        files_skipped=len(found.skipped),
        files_changed=len(found.changed),
        blocks=0,
        blocks_resumed=0,
        rows=0,
        rejects=0,
        source_bytes=0,
        parquet_bytes=0,
        data_files=0,
        seconds=time.perf_counter() - started,
        accounted=True,
    )


def _report(
    place: Workplace, found: SortedFiles, job: _Job, ledger: Ledger, removed: Sequence[str], started: float
) -> IngestReport:
    read = list(ledger.read_files())
    return IngestReport(
        destination=place.destination.root,
        job_id=ledger.job_id,
        files=len(read),
        files_missing=len(ledger.files) - len(read),
        files_skipped=len(found.skipped),
        files_changed=len(found.changed),
        blocks=len(ledger.blocks),
        blocks_resumed=job.blocks_resumed,
        rows=ledger.rows,
        rejects=ledger.rejects,
        source_bytes=sum(file.size_bytes for file in read),
        parquet_bytes=sum(written.size_bytes for written in ledger.data_files),
        data_files=len(ledger.data_files),
        seconds=time.perf_counter() - started,
        accounted=True,  # or check_tiling had raised
        ledger=place.destination.path_of(ledger_name(ledger.sequence)),
        first_rejects=job.first_rejects,
        removed=tuple(removed),
    )
