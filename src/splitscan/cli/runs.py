"""One run of ``splitscan ingest`` or ``watch``: what is read, what is said. Spark starts only when it is needed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Self

from splitscan.api.files import Scan
from splitscan.api.ingest_page import check_page_file, write_page
from splitscan.cli.arguments import ScanArguments, spell_hint
from splitscan.cli.output import write_json
from splitscan.cli.session import Session, choose_remote, local_slots, start_session, under_spark_submit
from splitscan.cli.summary import describe_window, ingest_as_json, render_window, write_ingest, write_plan
from splitscan.cli.terminal import ShowsProgress, choose_progress, show_text
from splitscan.content.storage import Storage
from splitscan.errors import SourceMissingError, SplitscanError, StreamError, Where
from splitscan.jobs.destination import open_destination
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.reports import IngestReport
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, plan_ingest, run_ingest
from splitscan.jobs.watching import WATCH_FOLDER, Watch, WatchedWindow
from splitscan.options.stream import parse_stream_options
from splitscan.redaction import redact
from splitscan.sizes import MIB, count_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BLOCK_BYTES = (8 * MIB, 128 * MIB)  # smaller ones cost more than they bring; larger ones are the library's default
_BLOCKS_PER_SLOT = 4  # a few rounds even out blocks that are slower than others
_INDEX_HERE_BYTES = 256 * MIB

DIALECT_FILE = f"{WATCH_FOLDER}/dialect.json"
"""Where a destination keeps the dialect that was found for it."""

_UNEXPLAINED = {None, "task-failed", "error", "ingest", "invariant"}


@dataclass(frozen=True)
class IngestArguments:
    """Arguments of an ingest or a watch: what is read, where it goes, how it is written, and which Spark does it."""

    arguments: ScanArguments
    destination: str
    table: str | None
    settings: IngestSettings
    master: str | None
    conf: Mapping[str, str]

    @property
    def slots(self) -> int | None:
        """Tasks that run at a time on this machine; ``None`` if they run elsewhere."""
        if under_spark_submit() or choose_remote(self.master, self.conf) is not None:
            return None
        return local_slots(self.master or self.conf.get("spark.master", "local[*]"))


class IngestRun:
    """An ingest, ready to be done."""

    def __init__(self, given: IngestArguments, rebalance: bool = False, report_file: str | None = None) -> None:
        self._given = given
        self._arguments = given.arguments.looked_at()
        self._scan = self._arguments.build_scan()
        self._rebalance, self._report_file = rebalance, report_file
        if report_file is not None:
            check_page_file(report_file)

    def write_plan(self, *, as_json: bool) -> None:
        """Say what would be done."""
        source = self._source()
        plan = plan_ingest(source, self._target())
        paths = set(plan.paths)
        fresh = [file for file in source.scan.files() if redact(file.path) in paths]
        blocks = sum(1 for _ in source.scan.with_files(fresh).cut_fine().blocks())
        if as_json:
            write_json({**asdict(plan), "files": plan.files, "blocks": blocks})
        else:
            write_plan(plan, blocks)

    def execute(self, *, quiet: bool, as_json: bool) -> bool:
        """Do it, and say what was done. Returns whether anything was rejected."""
        from splitscan.spark.ingest_runner import SparkRunner  # noqa: PLC0415 -- PySpark loads with it

        with choose_progress(quiet=quiet) as progress, LazySession(self._given, progress) as session:
            runner = SparkRunner(session, _INDEX_HERE_BYTES)
            report = run_ingest(self._source(), self._target(progress), runner)
            _warn_of_rejects(report, progress)
        if as_json:
            write_json(ingest_as_json(report, session.start_seconds), indent=2)
        elif not quiet:
            write_ingest(report, session.start_seconds)
        if self._report_file is not None:
            try:
                write_page(self._report_file, report, self._scan.options.files.storage_options, session.start_seconds)
            except (OSError, SplitscanError) as error:  # no error of the ingest
                sys.stderr.write(f"splitscan: all is ingested, but the report cannot be written: {error}\n")
        return report.rejects > 0

    def _source(self) -> FileSource:
        return FileSource(self._sized_scan(), rebalance=self._rebalance or None)

    def _target(self, progress: ShowsProgress | None = None) -> IngestTarget:
        on_progress, given = None if progress is None else progress.show, self._given
        return IngestTarget(given.destination, given.settings, on_progress=on_progress, table=given.table)

    def _sized_scan(self) -> Scan:
        """The scan, with blocks small enough for all cores of this machine where the user did not say how large.

        Under rebalancing no task depends on the blocks, and the same blocks everywhere are the same job everywhere.
        """
        slots = self._given.slots
        claimed = self._rebalance or self._scan.options.files.rebalance
        if self._given.arguments.has_block_size or slots is None or claimed:
            return self._scan
        size_bytes = choose_block_bytes(sum(file.size_bytes for file in self._scan.files()), slots)
        return replace(self._arguments, block_size=size_bytes).build_scan()


def choose_block_bytes(total_bytes: int, slots: int) -> int:
    """A block size that keeps *slots* cores busy: whole MiB, from 8 to 128.

    Example:
        >>> choose_block_bytes(60 * MIB, slots=2) // MIB, choose_block_bytes(10_000 * MIB, slots=2) // MIB
        (8, 128)
    """
    least, most = _BLOCK_BYTES
    wanted = -(-total_bytes // (slots * _BLOCKS_PER_SLOT))
    return max(least, min(most, -(-wanted // MIB) * MIB))


class WatchRun:
    """A watch, ready to be done. Among the options of its scan are those of streams."""

    def __init__(self, given: IngestArguments) -> None:
        self._given = given
        self._options, others = parse_stream_options(given.arguments.named_options())
        self._arguments = replace(given.arguments, options=[f"{name}={value}" for name, value in others.items()])

    def execute(self, *, once: bool, quiet: bool, as_json: bool) -> bool:
        """Do it until nothing is left, or for ever. Returns whether anything was rejected."""
        with choose_progress(quiet=quiet or as_json, windows=True) as progress:
            arguments = self._settled(progress, once=once)
            return arguments is not None and self._run(arguments, progress, once=once, as_json=as_json)

    def _settled(self, progress: ShowsProgress, *, once: bool) -> ScanArguments | None:
        """The arguments with a dialect: the one found when this destination was begun, or the one that files show now.

        It is written down beside the position before anything is planned, so that every window of every run is read
        alike. ``None`` if no file shows one, and nobody waits.
        """
        self._arguments = self._arguments.with_format()  # once: files that come later are read alike
        if not self._arguments.leaves_dialect_open:
            return self._arguments
        undecided = self._arguments.with_dialect({})
        self._watch(undecided).close()  # refuses now what no file can mend
        storage_options = undecided.build_scan().options.files.storage_options
        storage = open_destination(self._given.destination, self._given.table, storage_options).place.destination
        found = _kept_dialect(storage)
        if found is not None:
            return self._arguments.with_dialect(found)
        has_said = False
        while (found := self._arguments.find_dialect()) is None:
            if not has_said:
                progress.advise(
                    f"no record yet that shows the dialect; {'nothing to do' if once else 'waiting for one'}"
                )
                has_said = True
            if once:
                return None
            progress.rest("waiting for the first record")
            time.sleep(max(0.05, self._options.scan_interval_ms / 1000))
            self._arguments = self._arguments.listed_anew()
        storage.write_bytes_atomic(DIALECT_FILE, json.dumps(found).encode("ascii"))
        return self._arguments.with_dialect(found)

    def _run(self, arguments: ScanArguments, progress: ShowsProgress, *, once: bool, as_json: bool) -> bool:
        from splitscan.spark.ingest_runner import SparkRunner  # noqa: PLC0415 -- PySpark loads with it

        watch = self._watch(arguments)
        with closing(watch), LazySession(self._given, progress) as session:
            runner = SparkRunner(session, _INDEX_HERE_BYTES)
            windows: Iterator[WatchedWindow | None] = (
                watch.drain(runner, progress.show) if once else watch.follow(runner, progress.show)
            )
            count = rows = rejects = 0
            for window in windows:
                if window is None:
                    progress.rest(f"waiting; so far {count_of(count, 'window')}, {count_of(rows, 'record')}")
                    continue
                count += 1
                if window.report is not None:
                    rows, rejects = rows + window.report.rows, rejects + window.report.rejects
                self._tell(window, progress, as_json=as_json)
        return rejects > 0

    def _watch(self, arguments: ScanArguments) -> Watch:
        given = self._given
        return Watch(arguments.build_scan, given.destination, self._options, given.settings, table=given.table)

    @staticmethod
    def _tell(window: WatchedWindow, progress: ShowsProgress, *, as_json: bool) -> None:
        if as_json:
            write_json(describe_window(window, time.time()))
            sys.stdout.flush()
        else:
            progress.advise(show_text(render_window(window)))
        if window.report is not None:
            _warn_of_rejects(window.report, progress)


def _warn_of_rejects(report: IngestReport, progress: ShowsProgress) -> None:
    if report.notice is not None:
        progress.warn(show_text(spell_hint(report.notice)))


def _kept_dialect(storage: Storage) -> dict[str, str] | None:
    """The dialect that a destination is written with, as options; ``None`` if none was found for it."""
    try:
        kept = json.loads(storage.read_bytes(DIALECT_FILE))
    except SourceMissingError:
        return None
    except ValueError as error:
        kept = error
    if isinstance(kept, dict) and all(isinstance(value, str) for value in kept.values()):
        return kept
    raise StreamError(
        "the dialect that a watch found is damaged", Where(path=redact(storage.path_of(DIALECT_FILE))), str(kept),
        "restore it, or give the options of the dialect that the destination was written with", "stream-damaged",
    )  # fmt: skip


class LazySession:
    """A Spark session that starts when it is first called, and ends with the context."""

    def __init__(self, given: IngestArguments, progress: ShowsProgress) -> None:
        self._given, self._progress = given, progress
        self._session: Session | None = None
        self.start_seconds = 0.0

    def __call__(self) -> SparkSession:
        """Start the session, unless it is there."""
        if self._session is None:
            self._progress.announce("starting Spark")
            started = time.perf_counter()
            self._session = start_session(self._given.master, self._given.conf)
            self.start_seconds = time.perf_counter() - started
        return self._session.spark

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """End the session. After an error that does not explain itself, say where Spark's own messages are."""
        if self._session is None:
            return
        keep_log = isinstance(error, Exception) and getattr(error, "reason_code", None) in _UNEXPLAINED
        self._session.close(keep_log=keep_log)
        if keep_log and self._session.log is not None:
            sys.stderr.write(f"splitscan: Spark's own messages are in {self._session.log}\n")
