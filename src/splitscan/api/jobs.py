"""Jobs on Spark: ingest, watch, blocks as data frames, reports, settings."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from splitscan.api.ingest_page import check_page_file, write_page
from splitscan.errors import bad_option
from splitscan.formats.registry import named_format
from splitscan.jobs.file_source import FileSource, Source
from splitscan.jobs.reports import IngestReport, OnProgress
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.options.stream import parse_stream_options
from splitscan.scans import ScanPlanner
from splitscan.scans.files import Paths
from splitscan.scans.finding_format import find_format
from splitscan.spark.ingest_runner import SparkRunner
from splitscan.tables import DatabaseScan
from splitscan.tables.ingest_source import TableIngestSource

if TYPE_CHECKING:  # the session comes from the caller, so verifying and planning never load Spark
    from pyspark.sql import DataFrame, SparkSession

    from splitscan.jobs.watching import WatchedWindow
    from splitscan.rebalance.report import RebalanceReport

_OF_FILES = {"max_rejects", "max_reject_ratio", "source_digests", "on_changed", "replace_changed"}
_log = logging.getLogger(__name__)


def ingest(
    scan: ScanPlanner,
    spark: SparkSession,
    destination: str | os.PathLike[str],
    *,
    on_progress: OnProgress | None = None,
    destination_options: Mapping[str, Any] | None = None,
    rebalance: bool | None = None,
    table: str | None = None,
    report_file: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> IngestReport:
    """Read every record of a scan exactly once, in parallel, and write it to Parquet, with proof.

    The whole job becomes visible in one step. A job that is killed at any instant leaves the destination as before or
    as after, and running it again finishes the work: blocks that were finished are not read again. Files that were
    ingested before are skipped, so running it twice changes nothing. Every task writes one Parquet file, or one for
    each partition, so option ``taskSize`` of the scan chooses how large they are. ``docs/ingest.md`` says what a reader
    can see when, and what the ledger holds.

    Columns of CSV, and groups of ``recordPattern``, for which there is neither a schema nor ``inferSchema``, get the
    types that all their values fit.

    Args:
        scan: What is read.
        spark: Who runs the tasks. Executors on other machines need a destination that all share.
        destination: Folder: a local path or a URI; or ``iceberg://CATALOG/NAMESPACE.TABLE``. It may exist if it is
            empty or was written by splitscan.
        on_progress: Called about twice a second, in the calling thread. If it raises, the job is cancelled.
        destination_options: Settings of the destination's file system; those of the source when not given.
        rebalance: Whether tasks claim what they read, so that what is left of a slow one moves to one that has nothing
            left; ``None`` for what option ``rebalance`` of the scan says.
        table: ``"delta"`` or ``"iceberg"`` for a table of that format, which is created if nothing is there;
            ``"none"`` for a plain folder of Parquet. ``None`` for what is there, and for a plain folder if nothing is.
        report_file: A local file ``NAME.html`` for a page about the ingest: timeline, columns, files, rejects, options.
        settings: Those of :class:`IngestSettings`, by name, as texts where they are enums; and ``replace_changed``.

    Returns:
        What was done.

    Raises:
        UsageError: If an argument has no meaning.
        SourceError: If a file cannot be read, or has changed.
        RecordError: In mode FAILFAST, for a record that breaks a rule.
        SchemaError: If the destination has other columns.
        IngestError: If the destination is busy, not ours, or fails; if the budget of rejects is spent.
        InvariantError: If a byte is not accounted for. Nothing was published.
    """
    from splitscan.spark.indexing import spark_workers  # noqa: PLC0415 -- Spark is optional
    from splitscan.spark.session import in_session_zone  # noqa: PLC0415 -- Spark is optional

    written = IngestSettings.of(**settings)
    target = IngestTarget(destination, written, destination_options, on_progress, table=table)
    found = in_session_zone(scan, spark).found_by(spark_workers(spark))
    return _run(FileSource(found, rebalance), target, spark, report_file)


def ingest_table(
    scan: DatabaseScan,
    spark: SparkSession,
    destination: str | os.PathLike[str],
    *,
    job: str | None = None,
    on_progress: OnProgress | None = None,
    destination_options: Mapping[str, Any] | None = None,
    table: str | None = None,
    report_file: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> IngestReport:
    """Read every row of one version of a table exactly once, in parallel, and write it to Parquet, with proof.

    It is published in one step, as files are. Nothing tells which version of a table was ingested before, so the user
    names each job: under one name a table is ingested once. The same call finishes a job that was killed, with the
    version that it began with. If that is gone and rows of it are missing, it starts over. ``docs/tables.md`` says
    more.

    Args:
        scan: Read with ``snapshot=shared``. Its key column divides it into blocks, of ``taskSize`` bytes at most.
        spark: Who runs the tasks.
        destination: As for :func:`ingest`.
        job: The name of the job in this destination: up to 200 letters, digits and ``_ . : + = -``.
        on_progress: As for :func:`ingest`.
        destination_options: As for :func:`ingest`.
        table: As for :func:`ingest`.
        report_file: As for :func:`ingest`.
        settings: As for :func:`ingest`, but for those of files: limits of rejects, digests, files that have changed.

    Raises:
        UsageError: If an argument has no meaning; ``[job-name]`` without a name.
        SourceError: If the database cannot be read, or the version is gone in the middle: run again.
        SchemaError: If the destination has other columns.
        IngestError: If the destination is busy, not ours, or fails; ``[job-taken]`` if the job ingested another table.
        InvariantError: If a row is not accounted for. Nothing was published.
    """
    for name in sorted(settings.keys() & _OF_FILES):
        raise bad_option(
            "a table is read whole, and no row of it is a reject",
            f"{name}={settings[name]!r}"[:80],
            f"leave {name} out: it is a setting of an ingest of files",
        )
    source = TableIngestSource(scan, job or "")
    written = IngestSettings.of(source_digests=False, **settings)
    return _run(
        source, IngestTarget(destination, written, destination_options, on_progress, table=table), spark, report_file
    )


def warn_of_rejects(report: IngestReport) -> None:
    """Log that not every record became a row as it is."""
    if report.notice is not None:
        _log.warning("%s", report.notice)


def _run(
    source: Source, target: IngestTarget, spark: SparkSession, report_file: str | os.PathLike[str] | None
) -> IngestReport:
    if report_file is not None:
        check_page_file(report_file)
    report = run_ingest(source, target, SparkRunner(spark))
    warn_of_rejects(report)
    if report_file is not None:
        write_page(report_file, report, target.options(source))
    return report


def watch(  # noqa: PLR0913 -- each is an argument that a user sets
    spark: SparkSession,
    paths: Paths,
    destination: str | os.PathLike[str],
    format: str | None = None,
    schema: str | pa.Schema | None = None,
    *,
    once: bool = False,
    table: str | None = None,
    settings: IngestSettings | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Iterator[WatchedWindow | None]:
    """Ingest new, late and growing files as they appear, window by window, each record exactly once.

    Each window is one ingest. A watch that was killed at any instant goes on where it was: what was planned and what
    was published is in the destination. See ``splitscan watch`` in ``docs/streaming.md``.

    Args:
        spark: Who runs the tasks.
        paths: What is followed: directories, globs, URIs.
        destination: Folder or table: a local path or a URI.
        format: As for :func:`scan`.
        schema: As for :func:`scan`; the columns of the first window when not given.
        once: Whether to end when all that is there now is ingested.
        table: Format of the destination, as for :meth:`Scan.ingest`.
        settings: How rows are written.
        on_progress: Called about twice a second while a window is ingested. If it raises, the watch ends.
        options: Options of the format and of streams (``maxFilesPerTrigger``, ``minAgeMs``), by their Spark names or
            snake_case twins.

    Yields:
        Each window, after it was published; ``None`` whenever there is nothing to do. Close the iterator, or leave the
        process, to end.

    Raises:
        UsageError: If an argument has no meaning; at once, before the first window.
        SplitscanError: What planning or ingesting a window fails with. Nothing is lost: the next watch does it again.
    """
    from splitscan.jobs.watching import Watch  # noqa: PLC0415 - what plans windows is loaded by who needs it
    from splitscan.spark.session import in_session_zone  # noqa: PLC0415 - Spark is optional

    stream, named = parse_stream_options(options)
    found, others = find_format(paths, *named_format(format, named))

    def build() -> ScanPlanner:
        return in_session_zone(ScanPlanner.of(paths, found, schema, others), spark)

    watching = Watch(build, os.fspath(destination), stream, settings, table=table)

    def windows() -> Iterator[WatchedWindow | None]:
        runner = SparkRunner(spark)
        with closing(watching):
            for window in watching.drain(runner, on_progress) if once else watching.follow(runner, on_progress):
                if window is not None and window.report is not None:
                    warn_of_rejects(window.report)
                yield window

    return windows()


def rebalance_report(spark: SparkSession) -> RebalanceReport:
    """Report of the latest rebalanced scan of a session: see :func:`splitscan.spark.rebalance_report`."""
    from splitscan.spark.coordination import rebalance_report as report  # noqa: PLC0415 - Spark is optional

    return report(spark)


def split_files(paths_df: DataFrame, **options: Any) -> DataFrame:
    """Files in, blocks out: see :func:`splitscan.spark.split_files`."""
    from splitscan.spark.operators import split_files as split  # noqa: PLC0415 - Spark is optional

    return split(paths_df, **options)


def read_blocks(blocks_df: DataFrame, format: str = "csv", **options: Any) -> DataFrame:
    """Blocks in, records out: see :func:`splitscan.spark.read_blocks`."""
    from splitscan.spark.operators import read_blocks as read  # noqa: PLC0415 - Spark is optional

    return read(blocks_df, format=format, **options)
