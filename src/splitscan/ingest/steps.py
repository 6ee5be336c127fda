"""The steps of an ingest: plan, read, check, publish. Who runs the tasks is somebody else's business."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.archives import open_planned
from splitscan.content.storage import check_unchanged, redact
from splitscan.errors import SourceMissingError, UsageError, Where
from splitscan.ingest.contract import Plannable, ReportWatch, Runner, Sharing
from splitscan.ingest.evolving import Late, Settled, settle_columns
from splitscan.ingest.history import History, HistoryReader, SortedFiles, changed_error, claim, clean_up
from splitscan.ingest.identity import Growth, compute_job_id, describe_read_options
from splitscan.ingest.monitor import EXAMPLES, POLL_SECONDS, REMOTE_POLL_SECONDS, Monitor, OnProgress, run_watched
from splitscan.ingest.planned import PlannedSharing
from splitscan.ingest.rebalanced.sharing import ClaimedSharing
from splitscan.ingest.reports import IngestPlan, IngestProgress, IngestReport, Phase, TaskTimes
from splitscan.ingest.tiling import check_tiling, check_vanished
from splitscan.options import OnFileChange
from splitscan.rebalance.report import RebalanceReport
from splitscan.scan.dialects import contradiction
from splitscan.sinks.contract import Sink
from splitscan.sinks.ledger import Ledger, LedgerBlock, LedgerFile, bytes_read, describe_columns, identify
from splitscan.sinks.ledgers import ledger_name
from splitscan.sinks.opening import open_sink
from splitscan.sinks.part_writing import PartTarget
from splitscan.sinks.partitioning import Partitioning
from splitscan.sinks.settings import IngestSettings, OnChanged
from splitscan.sinks.staging import PartReport
from splitscan.sinks.table_contract import field_ids
from splitscan.sinks.workplace import Workplace

_CHECK_THREADS = 8  # one look at every source after the last read; mostly waiting for the storage


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    Attributes:
        scan: What is read.
        destination: Where rows go.
        settings: How they are written.
        destination_options: Settings of the destination's file system.
        on_progress: Told how far the job is.
        rebalance: Whether tasks claim what they read; ``None`` for what the scan's option says.
        growth: Of files that grow: what is read of them, by path.
        history: Reads what was committed; who runs many jobs gives all of them the same.
        table: Format of the destination: ``"delta"``, ``"iceberg"`` or ``"none"``; ``None`` for what is there.
        keeps_types: Whether a column that was found in files is read as the destination's type whatever was found.
    """

    scan: Plannable
    destination: str | os.PathLike[str]
    settings: IngestSettings = field(default_factory=IngestSettings)
    destination_options: Mapping[str, Any] | None = None
    on_progress: OnProgress | None = None
    rebalance: bool | None = None
    growth: Mapping[str, Growth] = field(default_factory=dict)
    history: HistoryReader = field(default_factory=HistoryReader)
    table: str | None = None
    keeps_types: bool = False

    @property
    def wants_claims(self) -> bool:
        """Whether tasks are to claim what they read."""
        return self.scan.options.files.rebalance if self.rebalance is None else self.rebalance

    @property
    def destination_settings(self) -> Mapping[str, Any]:
        """Settings of the destination's file system; without any of its own it has the source's."""
        own = self.destination_options
        return self.scan.options.files.storage_options if own is None else own

    def open_sink(self) -> Sink:
        """Open the destination."""
        return open_sink(self.destination, self.table, self.destination_settings)

    def settled(self, sink: Sink, history: History, found: SortedFiles) -> tuple[Request, Settled]:
        """The same, of what is still to be read, by the columns that its rows shall have; and what is said of them."""
        scan = self.scan.with_files(found.fresh) if found.fresh else self.scan
        there, mode = sink.columns(history.published), self.settings.schema_evolution_mode
        begun = {path for path, growth in self.growth.items() if growth.start}
        root = sink.place.destination.root
        done = settle_columns(scan, begun, there, mode, root, keeps_types=self.keeps_types)
        return replace(self, scan=done.scan), done

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
    sink = request.open_sink()
    place = sink.place
    request = request.without_own(place)
    history = request.history.read(place)
    found = history.sort_files(request.scan.files())
    request, settled = request.settled(sink, history, found)
    _check_scan(request.scan)
    sink.check(request.scan.spec.schema, history.published, request.settings)
    return IngestPlan(
        destination=place.destination.root,
        paths=tuple(redact(file.path) for file in found.fresh),
        files_skipped=len(found.skipped),
        changed=tuple(redact(file.path) for file in found.changed),
        source_bytes=sum(file.size_bytes for file in found.fresh),
        columns_added=settled.added,
    )


def run_ingest(request: Request, runner: Runner) -> IngestReport:
    """Ingest: plan, read what is not yet read, check, publish in one step.

    See :func:`splitscan.ingest.ingest`, which adds Spark.
    """
    started = time.perf_counter()
    sink = request.open_sink()
    place = sink.place
    request = request.without_own(place)
    with place.lock():
        _tell(request, Phase.PLAN)
        history = request.history.read(place)
        if sink.recover(history.published):
            history = request.history.read(place)
        found = history.sort_files(request.scan.files(), request.growth)
        if found.changed and request.settings.on_changed is OnChanged.FAIL:
            raise changed_error(found.changed)
        there = sink.columns(history.published)
        request, settled = request.settled(sink, history, found)
        _check_scan(request.scan)
        partitioning = sink.check(request.scan.spec.schema, history.published, request.settings)
        request = replace(request, settings=replace(request.settings, partition_by=partitioning.columns))
        if not found.fresh and history.jobs:
            _tell(request, Phase.DONE)
            skipped, changed = len(found.skipped), len(found.changed)
            return IngestReport.of_nothing(place.destination.root, skipped, changed, time.perf_counter() - started)
        _check_dialect(request.scan, found.fresh)
        job = _Job(request, runner, sink, history, found.fresh, partitioning)
        reports = job.read()
        mode, added = request.settings.schema_evolution_mode, settled.added
        while (late := Late.of(chain.from_iterable(each.noticed for each in reports))).kinds and not mode.keeps_columns:
            again = late.added_to(request.scan, there, mode)
            added += again.added if there is not None else ()
            request = replace(request, scan=again.scan)
            sink.check(request.scan.spec.schema, history.published, request.settings)
            job = _Job(request, runner, sink, history, found.fresh, partitioning)
            reports = job.read()
        ledger = job.check(reports)
        removed = job.publish(ledger)
        _tell(request, Phase.DONE, job)
        left_out = tuple(dict.fromkeys([*settled.left_out, *late.kinds]))
        done = _report(place, found, job, ledger, removed, started)
        return replace(done, columns_added=added, columns_left_out=left_out)


def _check_dialect(scan: Plannable, files: Sequence[FileMetadata]) -> None:
    """Refuse what would be read wrongly, before anything is read.

    Raises:
        UsageError: ``[dialect-contradicted]`` if a sample of the files says so.
    """
    found = contradiction(scan.options, files)
    if found is not None:
        path, seen = found
        raise UsageError(
            "quotes inside quoted fields are doubled, and the escape character is a backslash: values would keep their "
            "quotes, and separators in them would end fields; nothing was read",
            Where(path=path), seen, "set escape='\"' (on the command line -o 'escape=\"'), as RFC 4180 has it; or "
            "escape='\\' to read it like this all the same", "dialect-contradicted",
        )  # fmt: skip


def _lost(block: LedgerBlock) -> int:
    """Rejects that are no records: that a file is missing, or is damaged from somewhere on."""
    return block.rejects if block.missing else int(block.damage is not None)


class _Job:
    """One job, from its plan to its publication."""

    def __init__(
        self,
        request: Request,
        runner: Runner,
        sink: Sink,
        history: History,
        files: Sequence[FileMetadata],
        partitioning: Partitioning,
    ) -> None:
        self._request, self._runner, self._sink, self._place = request, runner, sink, sink.place
        self._history, self._files = history, files
        _tell(request, Phase.INDEX)
        self._sharing = _share_out(request, files, runner)
        spec, settings, blocks = request.scan.spec, request.settings, self._sharing.blocks
        schema = sink.begin(spec.schema, partitioning, settings)
        self.job_id = compute_job_id(
            blocks, [file for file in files if not file.size_bytes], spec, settings, history.jobs,
            claimed=self._sharing.blocks_total is None, growth=request.growth, ids=field_ids(schema),
        )  # fmt: skip
        options = spec.options.files
        self._target = PartTarget(
            self.job_id,
            self._place.staging.root,
            settings,
            schema,
            self._place.storage_options,
            own_names=options.ignore_missing_files or options.on_file_change is not OnFileChange.FAIL,
            data_root=sink.data_root,
            partitioning=partitioning,
        )
        self._staging = self._target.open_staging()
        size_bytes = sum(block.cost_bytes for block in blocks)
        self.monitor = Monitor(size_bytes, self._sharing.blocks_total, request.on_progress, self._check_budget)
        self.blocks_resumed = 0
        self.first_rejects: tuple[str, ...] = ()
        self.tasks: tuple[TaskTimes, ...] = ()

    @property
    def rebalance(self) -> RebalanceReport | None:
        """What happened under rebalancing."""
        return self._sharing.rebalance

    def read(self) -> Sequence[PartReport]:
        """Read every block that no earlier run has finished."""
        reports = self._sharing.finished(self._staging)
        claim(self._staging, (identify(file.path) for file in self._files))
        self.blocks_resumed = sum(len(report.blocks) for report in reports)
        self._staging.forget_progress()
        self.monitor.add(reports)
        self.monitor.tell(Phase.READ)
        fresh = self._sharing.read(reports, self._target, self._run_watched)
        self.tasks = tuple(_times(report) for report in fresh if report.times is not None)
        reports += fresh
        self.monitor.complete()
        self.monitor.tell(Phase.CHECK)
        return self._sharing.account(reports)

    def _run_watched(self, work: Callable[[], list[PartReport]], reports: ReportWatch) -> list[PartReport]:
        """Run tasks, and look at what they leave in staging meanwhile."""
        self.monitor.watch(reports)
        done = run_watched(
            work,
            lambda: self.monitor.poll(self._staging),
            self._runner.cancel,
            POLL_SECONDS if self._place.is_local else REMOTE_POLL_SECONDS,
        )
        self.monitor.finish(done)
        return done

    def publish(self, ledger: Ledger) -> list[str]:
        """Make everything visible in one step. Returns what was cleared away of other jobs."""
        self.monitor.tell(Phase.PUBLISH)
        self._sink.commit(self._staging, ledger, lambda _: self.monitor.tell(Phase.PUBLISH))
        ingested = chain(self._history.identities, (file.identity for file in ledger.read_files()))
        return clean_up(self._sink, self._staging, ingested)

    def check(self, reports: Sequence[PartReport]) -> Ledger:
        """Prove that all is there, and say so in a ledger."""
        blocks = tuple(sorted((block for report in reports for block in report.blocks), key=lambda block: block.key))
        written = [written for report in reports for written in report.written]
        growth = self._request.growth
        files = tuple(_describe(index, file, growth.get(file.path)) for index, file in enumerate(self._files))
        check_vanished(files, blocks)
        check_tiling(files, blocks, written)
        self.first_rejects = tuple(islice((example for report in reports for example in report.examples), EXAMPLES))
        self._check_budget(
            sum(block.rows for block in blocks),
            sum(block.rejects for block in blocks),
            sum(report.dropped for report in reports),
            list(self.first_rejects),
            final=True,
            lost=sum(_lost(block) for block in blocks),
        )
        spec = self._request.scan.spec
        if spec.options.files.on_file_change is OnFileChange.FAIL:
            self._check_sources()
        ledger = Ledger(
            job_id=self.job_id,
            sequence=self._history.next_sequence,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            record_format=spec.options.record_format,
            options=describe_read_options(spec.options),
            columns=describe_columns(spec.schema),
            files=files,
            blocks=blocks,
            written=tuple(written),
            roots=tuple(map(redact, self._request.scan.roots)),
            table=self._sink.table,
            partitioning=self._target.partitioning,
        )
        carriers = self._sink.carriers(self._history.published, ledger)
        written += [self._target.write_empty(self._staging, name) for name in carriers]
        return replace(ledger, written=tuple(sorted(written, key=lambda each: each.name)))

    def _check_budget(
        self, rows: int, rejects: int, dropped: int, examples: list[str], final: bool = False, lost: int = 0
    ) -> None:
        """Compare with the budget. While blocks are missing only the count can be compared, not the share."""
        settings = self._request.settings
        if final or (settings.max_rejects is not None and rejects > settings.max_rejects):
            settings.check_budget(rows, rejects, dropped, examples, self._place.destination.root, lost)

    def _check_sources(self) -> None:
        """Make sure that no file changed while it was read. One that was removed was read before."""
        options = self._request.scan.spec.options.files.storage_options

        def look(files: Sequence[FileMetadata]) -> None:
            for file in files:
                with suppress(SourceMissingError), closing(open_planned(file, options)) as source:
                    check_unchanged(file, source)

        with ThreadPoolExecutor(_CHECK_THREADS) as pool:
            for _ in pool.map(look, [self._files[first::_CHECK_THREADS] for first in range(_CHECK_THREADS)]):
                pass


def _times(report: PartReport) -> TaskTimes:
    began, ended = report.times or (0.0, 0.0)
    size_bytes = sum(bytes_read(block.start, block.stop, block.span_stop) for block in report.blocks)
    return TaskTimes(began, ended, size_bytes, sum(block.rows for block in report.blocks))


def _share_out(request: Request, files: Sequence[FileMetadata], runner: Runner) -> Sharing:
    """Let tasks claim what they read where that is wanted and possible, otherwise plan what each reads."""
    if request.wants_claims and any(file.size_bytes for file in files) and runner.can_rebalance:
        return ClaimedSharing(request.scan, files, runner)
    return PlannedSharing(request.scan, files, runner)


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


def _describe(index: int, file: FileMetadata, growth: Growth | None) -> LedgerFile:
    path = redact(file.path)
    digest = "" if path == file.path else identify(file.path)
    content, start = ("", 0) if growth is None else (growth.content, growth.start)
    return LedgerFile(index, path, file.fingerprint, file.size_bytes, file.modified_us, digest, content, start)


def _tell(request: Request, phase: Phase, job: _Job | None = None) -> None:
    if job is not None:
        job.monitor.tell(phase)
    elif request.on_progress is not None:
        request.on_progress(IngestProgress(phase))


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
        source_bytes=sum(file.length_bytes for file in read),
        parquet_bytes=sum(written.size_bytes for written in ledger.data_files),
        data_files=len(ledger.data_files),
        seconds=time.perf_counter() - started,
        accounted=True,  # or check_tiling had raised
        ledger=place.destination.path_of(ledger_name(ledger.sequence)),
        first_rejects=job.first_rejects,
        removed=tuple(removed),
        rebalance=job.rebalance,
        tasks=job.tasks,
        files_damaged=len(ledger.damages),
        lost_bytes=sum(damage.lost_bytes for _, damage in ledger.damages),
    )
