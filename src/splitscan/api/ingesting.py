"""Entry points: an ingest on Spark, of files or of a table."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from splitscan.api.ingest_page import check_page_file, write_page
from splitscan.errors import bad_option
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.reports import IngestReport, OnProgress
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.source import Source
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.scan import ScanPlanner
from splitscan.spark.ingest_runner import SparkRunner
from splitscan.tables import DatabaseScan
from splitscan.tables.ingest_source import TableIngestSource

_OF_FILES = {"max_rejects", "max_reject_ratio", "source_digests", "on_changed", "replace_changed"}
_log = logging.getLogger(__name__)

if TYPE_CHECKING:  # the session comes from the caller, so verifying and planning never load Spark
    from pyspark.sql import SparkSession


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
    ingested before are skipped, so running it twice changes nothing. Every task writes one Parquet file, so option
    ``taskSize`` of the scan chooses how large they are. ``docs/ingest.md`` says what a reader can see when, and what
    the ledger holds.

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
    from splitscan.spark.time_zones import in_session_zone  # noqa: PLC0415 -- Spark is optional

    written = IngestSettings.of(**settings)
    delivery = IngestTarget(destination, written, destination_options, on_progress, table=table)
    found = in_session_zone(scan, spark).found_by(spark_workers(spark))
    return _run(FileSource(found, rebalance), delivery, spark, report_file)


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
    source: Source, delivery: IngestTarget, spark: SparkSession, report_file: str | os.PathLike[str] | None
) -> IngestReport:
    if report_file is not None:
        check_page_file(report_file)
    report = run_ingest(source, delivery, SparkRunner(spark))
    warn_of_rejects(report)
    if report_file is not None:
        write_page(report_file, report, delivery.options(source))
    return report
