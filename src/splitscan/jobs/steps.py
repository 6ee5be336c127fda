"""The steps of an ingest: plan, read, check, publish. Who runs the tasks is somebody else's business."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

from splitscan.content.storage import redact
from splitscan.jobs.destination import (
    Destination,
    History,
    HistoryReader,
    SortedFiles,
    changed_error,
    identities_of,
    open_destination,
    replacing,
)
from splitscan.jobs.division import ReadTasks, Runner, check_keys, check_tiling, check_vanished
from splitscan.jobs.file_source import FileSource, Source
from splitscan.jobs.ledger import Ledger, RemovedFile, ReplacedFile, describe_columns
from splitscan.jobs.ledger_files import ledger_name, read_ledgers
from splitscan.jobs.parquet import write_empty
from splitscan.jobs.replacing import Contents, check_live, write_rest
from splitscan.jobs.reports import (
    EXAMPLES,
    POLL_SECONDS,
    REMOTE_POLL_SECONDS,
    IngestPlan,
    IngestReport,
    Monitor,
    OnProgress,
    Phase,
    TaskTimes,
    run_watched,
)
from splitscan.jobs.settings import IngestSettings, OnChanged, Partitioning
from splitscan.jobs.staging import PartReport, PartTarget
from splitscan.jobs.workplace import DestinationStorage, claim, clean_up
from splitscan.reading.oddities import OddRecords, total_oddities

_MOST_REJECTED_FILES = 10


@dataclass(frozen=True)
class IngestTarget:
    """Destination of an ingest, and how it is written.

    Attributes:
        destination_options: Settings of the destination's file system; those of the source when not given.
        on_progress: Told how far the job is.
        history: Reads what was committed; who runs many jobs gives all of them the same.
        table: Format of the destination: ``"delta"``, ``"iceberg"`` or ``"none"``; ``None`` for what is there.
    """

    destination: str | os.PathLike[str]
    settings: IngestSettings = field(default_factory=IngestSettings)
    destination_options: Mapping[str, Any] | None = None
    on_progress: OnProgress | None = None
    history: HistoryReader = field(default_factory=HistoryReader)
    table: str | None = None

    def options(self, source: Source) -> Mapping[str, Any]:
        """Settings of the destination's file system, for what is read from *source*."""
        return source.storage_options if self.destination_options is None else self.destination_options

    def open_destination(self, source: Source) -> Destination:
        """Open the destination of what is read from *source*."""
        return open_destination(self.destination, self.table, self.options(source))


def plan_ingest(source: FileSource, target: IngestTarget) -> IngestPlan:
    """Find out what an ingest of files would do, without reading or writing anything; errors are as in the ingest."""
    destination = target.open_destination(source)
    place = destination.place
    source = source.without_own(place)
    history = target.history.read(place, destination.table)
    found = source.sort(history)
    if target.settings.on_changed is OnChanged.REPLACE:
        found = replacing(found)
    mode = target.settings.schema_evolution_mode
    settled = source.settled(found, destination.columns(history), mode, place.destination.root)
    settled.source.check()
    destination.check(settled.source.schema, history, target.settings)
    return IngestPlan(
        destination=place.destination.root,
        paths=tuple(redact(file.path) for file in found.fresh),
        files_skipped=len(found.skipped),
        changed=tuple(redact(file.path) for file in found.changed),
        replaced=tuple(redact(file.path) for file in found.replacing),
        source_bytes=sum(file.size_bytes for file in found.fresh),
        columns_added=settled.added,
    )


def run_ingest(source: Source, target: IngestTarget, runner: Runner) -> IngestReport:
    """Ingest whatever a source has: plan, read what is not yet read, check, publish in one step.

    See :func:`splitscan.api.jobs.ingest`, which adds Spark.
    """
    started = time.perf_counter()
    monitor = Monitor(target.on_progress)
    destination = target.open_destination(source)
    place = destination.place
    source = source.without_own(place)
    mode = target.settings.schema_evolution_mode
    with place.lock():
        monitor.tell(Phase.PLAN)
        history = target.history.read(place, destination.table)
        if destination.recover(history):
            history = target.history.read(place, destination.table)
        found = source.sort(history)
        if target.settings.on_changed is OnChanged.REPLACE:
            found = replacing(found)
        if found.changed and target.settings.on_changed is OnChanged.FAIL:
            raise changed_error(found.changed)
        if found.by_name:
            return _nothing(monitor, place, found, started)
        there = destination.columns(history)
        settled = source.settled(found, there, mode, place.destination.root)
        source, added, left_out = settled.source, settled.added, settled.left_out
        source.check()
        partitioning = destination.check(source.schema, history, target.settings)
        target = replace(target, settings=replace(target.settings, partition_by=partitioning.columns))
        if not found.fresh and history.jobs:
            return _nothing(monitor, place, found, started)
        source.check_sample(found.fresh)
        job = _Job(source, target, runner, destination, history, found, partitioning, monitor)
        reports = job.read()
        while (again := source.look_again([n for report in reports for n in report.noticed], there, mode)).reads_again:
            source, added = again.source, (*added, *again.added)
            destination.check(source.schema, history, target.settings)
            job = _Job(source, target, runner, destination, history, found, partitioning, monitor)
            reports = job.read()
        ledger, removed = job.publish(job.check(reports))
        monitor.tell(Phase.DONE)
        done = _report(place, found, job, ledger, removed, started)
        return replace(
            done,
            phase_seconds=monitor.seconds,
            columns_added=added,
            columns_left_out=tuple(dict.fromkeys([*left_out, *again.left_out])),
        )


def _nothing(monitor: Monitor, place: DestinationStorage, found: SortedFiles, started: float) -> IngestReport:
    monitor.tell(Phase.DONE)
    skipped, changed = len(found.skipped), len(found.changed)
    return IngestReport.of_nothing(place.destination.root, skipped, changed, time.perf_counter() - started)


class _Job:
    def __init__(
        self,
        source: Source,
        target: IngestTarget,
        runner: Runner,
        destination: Destination,
        history: History,
        found: SortedFiles,
        partitioning: Partitioning,
        monitor: Monitor,
    ) -> None:
        self._source, self._settings, self._runner = source, target.settings, runner
        self._destination, self._place, self._history = destination, destination.place, history
        self._files, self._replacing = found.fresh, found.replacing
        self._contents: Contents | None = None
        if found.replacing:
            self._contents = Contents(read_ledgers(destination.place.destination))
            check_live(destination, self._contents.held(self._versions()))  # sooner than after the files are read
        self._monitor = monitor
        monitor.begin()
        monitor.tell(Phase.INDEX)
        division = source.divide(found.fresh, runner)
        schema = destination.begin(source.schema, partitioning, self._settings)  # created once it is divided
        parts = PartTarget(
            "", self._place.staging.root, self._settings, schema, self._place.storage_options,
            own_names=source.own_names, data_root=destination.data_root, partitioning=partitioning,
        )  # fmt: skip
        self._named = source.name_job(found.fresh, division, parts, history.jobs, runner)
        self.division, self._target = self._named.division, self._named.target
        self._staging = self._target.open_staging()
        size_bytes = sum(block.cost_bytes for block in self.division.blocks)
        monitor.begin(size_bytes, self.division.blocks_total, self._check_budget)
        self.blocks_resumed = 0
        self.first_rejects: tuple[str, ...] = ()
        self.odd: tuple[str, ...] = ()
        self.tasks: tuple[TaskTimes, ...] = ()

    def read(self) -> Sequence[PartReport]:
        """Read every block that no earlier run has finished."""
        reports = self.division.finished(self._staging)
        claim(self._staging, (file.identity for file in self._named.files))
        self.blocks_resumed = sum(len(report.blocks) for report in reports)
        self._staging.forget_progress()
        self._monitor.add(reports)
        self._monitor.tell(Phase.READ)
        tasks = self.division.tasks(reports, self._target)
        fresh = [] if tasks is None else self._run_watched(tasks)
        self.tasks = tuple(_times(report) for report in fresh if report.times is not None)
        reports += fresh
        self._monitor.complete()
        self._monitor.tell(Phase.CHECK)
        return self.division.account(reports)

    def _run_watched(self, tasks: ReadTasks) -> list[PartReport]:
        self._monitor.watch(tasks.folders)
        done = run_watched(
            tasks.run,
            lambda: self._monitor.poll(self._staging),
            self._runner.cancel,
            POLL_SECONDS if self._place.is_local else REMOTE_POLL_SECONDS,
        )
        self._monitor.finish(done)
        return done

    def publish(self, ledger: Ledger) -> tuple[Ledger, list[str]]:
        """Make everything visible in one step. Returns the ledger that counts, and what was cleared away."""
        self._monitor.tell(Phase.PUBLISH)
        ledger = self._destination.commit(self._staging, ledger, lambda _: self._monitor.tell(Phase.PUBLISH))
        self._named.give_back()
        ingested = chain(self._history.identities, (file.identity for file in ledger.read_files()))
        return ledger, clean_up(self._place, self._staging, ingested, self._destination.discard)

    def check(self, reports: Sequence[PartReport]) -> Ledger:
        """Prove that all is there, and say so in a ledger."""
        blocks = tuple(sorted((block for report in reports for block in report.blocks), key=lambda block: block.key))
        written = [written for report in reports for written in report.written]
        files, source = self._named.files, self._source
        check_vanished(files, blocks)
        check_tiling(files, blocks, written)
        check_keys(self._named.table, blocks)
        self.first_rejects = tuple(islice((example for report in reports for example in report.examples), EXAMPLES))
        odd = [OddRecords(*each) for report in reports for each in report.odd]
        self.odd = tuple(map(str, total_oddities(odd))) if odd else ()
        self._check_budget(
            sum(block.rows for block in blocks),
            sum(block.rejects for block in blocks),
            sum(report.dropped for report in reports),
            list(self.first_rejects),
            final=True,
            lost=sum(block.rejects if block.missing else block.damage is not None for block in blocks),  # no records
        )
        source.check_unchanged(self._files)
        versions = self._versions({self._files[block.file_index].path for block in blocks if block.missing})
        removed: list[RemovedFile] = []
        if self._contents is not None:
            held = self._contents.held(versions)
            removed, rest = write_rest(self._destination, self._target, self._staging, held)
            written += rest
        ledger = Ledger(
            job_id=self._target.job_id,
            sequence=self._history.last + 1,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            record_format=source.record_format,
            options=source.described_options,
            columns=describe_columns(source.schema),
            files=files,
            blocks=blocks,
            written=tuple(written),
            roots=tuple(source.roots),
            table=self._destination.table,
            partitioning=self._target.partitioning,
            source=self._named.table,
            replaced=tuple(versions),
            removed=tuple(removed),
        )
        carriers = self._destination.carriers(self._history, ledger)
        written += [write_empty(self._target, self._staging, name) for name in carriers]
        return replace(ledger, written=tuple(sorted(written, key=lambda each: each.name)))

    def _versions(self, missing: Container[str] = ()) -> list[ReplacedFile]:
        """The versions that leave: of files that are gone by now the earlier ones stay."""
        found: list[ReplacedFile] = []
        if self._contents is None:
            return found
        for file in self._replacing:
            versions = self._contents.versions_of(identities_of(file.path))
            if not versions:
                raise changed_error([file], grown=True)
            found += [] if file.path in missing else versions
        return found

    def _check_budget(
        self, rows: int, rejects: int, dropped: int, examples: list[str], final: bool = False, lost: int = 0
    ) -> None:
        """Compare with the budget. While blocks are missing only the count can be compared, not the share."""
        settings = self._settings
        if final or (settings.max_rejects is not None and rejects > settings.max_rejects):
            root, guessed = self._place.destination.root, self._source.is_guessed
            settings.check_budget(rows, rejects, dropped, examples, root, lost, guessed=guessed)


def _times(report: PartReport) -> TaskTimes:
    began, ended = report.times or (0.0, 0.0)
    return TaskTimes(began, ended, report.progress.bytes_done, report.progress.rows)


def _most_rejects(ledger: Ledger) -> tuple[tuple[str, int], ...]:
    counts: Counter[int] = Counter()
    for block in ledger.blocks:
        if block.rejects:
            counts[block.file_index] += block.rejects
    return tuple((ledger.files[index].path, count) for index, count in counts.most_common(_MOST_REJECTED_FILES))


def _report(
    place: DestinationStorage, found: SortedFiles, job: _Job, ledger: Ledger, removed: Sequence[str], started: float
) -> IngestReport:
    read = list(ledger.read_files())
    return IngestReport(
        destination=place.destination.root,
        job_id=ledger.job_id,
        files=len(read),
        files_missing=len(ledger.files) - len(read),
        files_skipped=len(found.skipped),
        files_changed=len(found.changed),
        files_replaced=len(ledger.replaced),
        rejects_by_file=_most_rejects(ledger),
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
        odd=job.odd,
        removed=tuple(removed),
        rebalance=job.division.rebalance,
        tasks=job.tasks,
        files_damaged=len(ledger.damages),
        lost_bytes=sum(damage.lost_bytes for _, damage in ledger.damages),
    )
