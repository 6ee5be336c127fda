"""What a user calls: an ingest on Spark, and a dry run."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from splitscan.jobs.file_source import FileSource
from splitscan.jobs.monitor import OnProgress
from splitscan.jobs.page import check_page_file, write_page
from splitscan.jobs.partitioning import Layout
from splitscan.jobs.reports import IngestPlan, IngestReport
from splitscan.jobs.settings import (
    IngestSettings,
    OnChanged,
    SchemaEvolution,
    layout_from,
    on_changed_from,
    schema_evolution_from,
)
from splitscan.jobs.source import Source
from splitscan.jobs.spark_runner import SparkRunner
from splitscan.jobs.steps import Delivery, plan_ingest, run_ingest
from splitscan.jobs.table_source import TableSource
from splitscan.scan import ScanPlanner
from splitscan.sizes import MIB
from splitscan.tables import DatabaseScan

_log = logging.getLogger(__name__)

if TYPE_CHECKING:  # the session comes from the caller, so verifying and planning never load Spark
    from pyspark.sql import SparkSession


def plan_only(
    scan: ScanPlanner,
    destination: str | os.PathLike[str],
    *,
    destination_options: Mapping[str, Any] | None = None,
    table: str | None = None,
    schema_evolution_mode: SchemaEvolution | str = SchemaEvolution.FAIL,
) -> IngestPlan:
    """Find out what an ingest would do: a dry run that lists files and reads ledgers, and writes nothing.

    Args:
        scan: What would be read.
        destination: Folder: a local path or a URI.
        destination_options: Settings of the destination's file system; those of the source when not given.
        table: Format of the destination, as for :func:`ingest`.
        schema_evolution_mode: What to do with new columns, as for :func:`ingest`; the plan says which there are.

    Raises:
        UsageError: If the destination has no meaning.
        SchemaError: If the destination has other columns.
        IngestError: If it holds something else, or a ledger is damaged.
    """
    settings = IngestSettings(schema_evolution_mode=schema_evolution_from(schema_evolution_mode))
    return plan_ingest(FileSource(scan), Delivery(destination, settings, destination_options, table=table))


def ingest(  # noqa: PLR0913 -- each is a keyword that a user sets
    scan: ScanPlanner,
    spark: SparkSession,
    destination: str | os.PathLike[str],
    *,
    max_rejects: int | None = None,
    max_reject_ratio: float | None = None,
    compression: str = "zstd",
    row_group_bytes: int = 32 * MIB,
    row_group_rows: int = 1_000_000,
    source_digests: bool = True,
    on_changed: OnChanged | str = OnChanged.FAIL,
    replace_changed: bool = False,
    on_progress: OnProgress | None = None,
    destination_options: Mapping[str, Any] | None = None,
    rebalance: bool | None = None,
    table: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    layout: Layout | str | None = None,
    schema_evolution_mode: SchemaEvolution | str = SchemaEvolution.FAIL,
    report_file: str | os.PathLike[str] | None = None,
) -> IngestReport:
    """Read every record of a scan exactly once, in parallel, and write it to Parquet, with proof.

    The whole job becomes visible in one step. A job that is killed at any instant leaves the destination as before or
    as after, and running it again finishes the work: blocks that were finished are not read again. Files that were
    ingested before are skipped, so running it twice changes nothing. Every task writes one Parquet file, so option
    ``taskSize`` of the scan chooses how large they are. ``docs/ingest.md`` says what a reader can see when, and what
    the ledger holds.

    Args:
        scan: What is read.
        spark: Who runs the tasks. Executors on other machines need a destination that all share.
        destination: Folder: a local path or a URI; or ``iceberg://CATALOG/NAMESPACE.TABLE``. It may exist if it is
            empty or was written by splitscan.
        max_rejects: Most records that may break a rule; ``None`` for no such limit.
        max_reject_ratio: Largest share of records that may break a rule, 0 to 1; 1 for any share. Without either limit
            1 in 100, or 10 records if that is more, but never more than half.
        compression: Parquet codec: ``zstd``, ``snappy``, ``gzip``, ``lz4``, ``brotli`` or ``none``.
        row_group_bytes: A row group is closed when its rows, as Arrow, reach this size. Bounds a worker's memory.
        row_group_rows: Most rows in a row group.
        source_digests: Whether the ledger holds a digest of the source bytes of every block.
        on_changed: ``"fail"`` or ``"skip"``, for a file that was ingested before and has changed since. It is not
            read again.
        replace_changed: Whether it is read again, and its rows take the place of those that it had, in the same commit;
            the same as ``on_changed="replace"``. A file that is gone is not removed.
        on_progress: Called about twice a second, in the calling thread. If it raises, the job is cancelled.
        destination_options: Settings of the destination's file system; those of the source when not given.
        rebalance: Whether tasks claim what they read, so that what is left of a slow one moves to one that has nothing
            left; ``None`` for what option ``rebalance`` of the scan says.
        table: ``"delta"`` or ``"iceberg"`` for a table of that format, which is created if nothing is there;
            ``"none"`` for a plain folder of Parquet. ``None`` for what is there, and for a plain folder if nothing is.
        partition_by: A column, or columns, whose values choose the folder of a row (``day=2024-01-02/``), outermost
            first. ``None`` for what the destination has, and for one folder if nothing is there.
        layout: ``"jobs"`` for a folder of each job (``splitscan_job=00000012/``) in a plain folder, which appears by
            one rename: who lists sees all of a job or nothing. ``"flat"`` for files side by side. ``None`` for what the
            destination has, and for ``"flat"`` if nothing is there.
        schema_evolution_mode: ``"failOnNewColumns"`` to refuse rows with a column that the destination does not have,
            ``"addNewColumns"`` to add it, with a null in rows that were there before. A column of JSON or XML that no
            sample has shown counts too: then the files are read again with it, in the same run. With ``"none"`` and
            ``"rescue"`` files are read by the columns of the destination: what else they have is not read, or is kept
            in the scan's ``rescuedDataColumn``.
        report_file: A local file ``NAME.html`` for a page about the ingest: timeline, columns, files, rejects, options.

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
    settings = IngestSettings(
        max_rejects=max_rejects,
        max_reject_ratio=max_reject_ratio,
        compression=compression,
        row_group_bytes=row_group_bytes,
        row_group_rows=row_group_rows,
        source_digests=source_digests,
        on_changed=on_changed_from(on_changed, replace_changed=replace_changed),
        partition_by=_columns(partition_by),
        layout=layout_from(layout),
        schema_evolution_mode=schema_evolution_from(schema_evolution_mode),
    )
    from splitscan.spark.time_zones import in_session_zone  # noqa: PLC0415 -- Spark is optional

    zoned = in_session_zone(scan, spark)
    delivery = Delivery(destination, settings, destination_options, on_progress, table=table)
    return _run(FileSource(zoned, rebalance), delivery, spark, report_file)


def ingest_table(  # noqa: PLR0913 -- each is a keyword that a user sets
    scan: DatabaseScan,
    spark: SparkSession,
    destination: str | os.PathLike[str],
    *,
    job: str | None = None,
    compression: str = "zstd",
    row_group_bytes: int = 32 * MIB,
    row_group_rows: int = 1_000_000,
    on_progress: OnProgress | None = None,
    destination_options: Mapping[str, Any] | None = None,
    table: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    layout: Layout | str | None = None,
    schema_evolution_mode: SchemaEvolution | str = SchemaEvolution.FAIL,
    report_file: str | os.PathLike[str] | None = None,
) -> IngestReport:
    """Read every row of one version of a table exactly once, in parallel, and write it to Parquet, with proof.

    It is published in one step, as files are. Nothing tells which version of a table was ingested before, so the user
    names each job: under one name a table is ingested once. The same call finishes a job that was killed, with the
    version that it began with. If that is gone and rows of it are missing, it starts over. ``docs/tables.md`` says
    more.

    Args:
        scan: What is read, with ``snapshot=shared``. Its key column divides it into blocks, of ``taskSize`` bytes at
            most.
        spark: Who runs the tasks.
        destination: As for :func:`ingest`.
        job: The name of the job in this destination: up to 200 letters, digits and ``_ . : + = -``.
        compression: As for :func:`ingest`, and so are all that follow.
        row_group_bytes: Bounds a worker's memory.
        row_group_rows: Most rows in a row group.
        on_progress: Called about twice a second.
        destination_options: Settings of the destination's file system.
        table: ``"delta"``, ``"iceberg"``, ``"none"``, or ``None`` for what is there.
        partition_by: Columns whose values choose the folder of a row.
        layout: ``"jobs"``, ``"flat"``, or ``None`` for what is there.
        schema_evolution_mode: ``"failOnNewColumns"`` or ``"addNewColumns"``.
        report_file: A local file ``NAME.html`` for a page about the ingest.

    Raises:
        UsageError: If an argument has no meaning; ``[job-name]`` without a name.
        SourceError: If the database cannot be read, or the version is gone in the middle: run again.
        SchemaError: If the destination has other columns.
        IngestError: If the destination is busy, not ours, or fails; ``[job-taken]`` if the job ingested another table.
        InvariantError: If a row is not accounted for. Nothing was published.
    """
    settings = IngestSettings(
        compression=compression,
        row_group_bytes=row_group_bytes,
        row_group_rows=row_group_rows,
        source_digests=False,
        partition_by=_columns(partition_by),
        layout=layout_from(layout),
        schema_evolution_mode=schema_evolution_from(schema_evolution_mode),
    )
    source = TableSource(scan, job or "")
    delivery = Delivery(destination, settings, destination_options, on_progress, table=table)
    return _run(source, delivery, spark, report_file)


def _columns(partition_by: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The columns to partition by, of a name or several."""
    if partition_by is None:
        return None
    return (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)


def warn_of_rejects(report: IngestReport) -> None:
    """Log that not every record became a row as it is."""
    if report.notice is not None:
        _log.warning("%s", report.notice)


def _run(
    source: Source, delivery: Delivery, spark: SparkSession, report_file: str | os.PathLike[str] | None
) -> IngestReport:
    """Ingest, and write the page about it where one is wanted; a page that cannot be written is refused before."""
    if report_file is not None:
        check_page_file(report_file)
    report = run_ingest(source, delivery, SparkRunner(spark))
    warn_of_rejects(report)
    if report_file is not None:
        write_page(report_file, report, delivery.options(source))
    return report
