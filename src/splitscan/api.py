"""The public face: what ``import splitscan as ss`` offers. PySpark is imported only by what needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from splitscan.formats.csv.sniffing.found import Dialect
from splitscan.options import parse_stream_options
from splitscan.rebalance.reading.planning import PlanExplanation, explain_plan
from splitscan.scan import FileScan, ScanPlanner
from splitscan.scan.dialects import pin_dialect, sniff
from splitscan.scan.file_set import Paths
from splitscan.scan.own_formats import OwnFormat
from splitscan.streaming.message_scan import MessageScan
from splitscan.tables import DatabaseScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from splitscan.ingest import IngestReport, IngestSettings, VerifyReport
    from splitscan.ingest.monitor import OnProgress
    from splitscan.ingest.watching import WatchedWindow
    from splitscan.options.signatures import (
        CsvKeywords,
        FixedKeywords,
        FixedWidthKeywords,
        JsonKeywords,
        SlicesKeywords,
        TableKeywords,
        TextKeywords,
        XmlKeywords,
    )
    from splitscan.rebalance.report import RebalanceReport
    from splitscan.spark.applying import BatchFunction
    from splitscan.tables.planning import TablePlan


class Scan(FileScan):
    """A scan of record files, in this process or on Spark.

    ``select`` and ``limit`` narrow it; ``to_arrow``, ``to_batches`` and ``count`` run it here; ``to_spark`` and
    ``ingest`` run it in parallel. Nothing is read before one of those is called.
    """

    def to_spark(
        self,
        spark: SparkSession,
        rebalance: bool | None = None,
        apply: BatchFunction | None = None,
        apply_schema: str | pa.Schema | None = None,
    ) -> DataFrame:
        """A DataFrame of the rows, read in parallel when Spark runs it.

        The files are listed, cut and, where the format needs it, indexed in this call.

        Args:
            spark: The session.
            rebalance: Whether tasks that have nothing left take over what others have not begun to read; by default
                option ``rebalance`` says so. See ``docs/rebalancing.md``.
            apply: A function over the batches of a task, as for ``mapInArrow``, that runs where they are read.
            apply_schema: DDL text or an Arrow schema: what *apply* returns.
        """
        from splitscan.spark import to_spark  # noqa: PLC0415 - Spark is optional

        return to_spark(self.planner, spark, rebalance, apply, apply_schema)

    def explain(self, spark: SparkSession | None = None, rebalance: bool | None = None) -> PlanExplanation:
        """What ``to_spark`` would plan, without reading it: which task begins with which ranges of files.

        Args:
            spark: The session that says how many tasks run at a time; without one these are the cores of this machine.
            rebalance: Whether to rebalance; by default option ``rebalance`` says so.
        """
        if rebalance is None:
            rebalance = self.options.files.rebalance
        if spark is None:
            return explain_plan(self.planner, os.cpu_count() or 1, rebalance=rebalance)
        from splitscan.spark import spark_indexer  # noqa: PLC0415 - Spark is optional
        from splitscan.spark.jobs import default_parallelism  # noqa: PLC0415 - Spark is optional

        return explain_plan(self.planner, default_parallelism(spark), rebalance=rebalance, indexer=spark_indexer(spark))

    def count(self, spark: SparkSession | None = None) -> int:
        """Number of rows; with *spark* the blocks are counted in parallel."""
        if spark is None:
            return super().count()
        from splitscan.spark import count_rows  # noqa: PLC0415 - Spark is optional

        return count_rows(self.planner, spark)

    def ingest(self, spark: SparkSession, destination: str, **options: Any) -> IngestReport:
        """Write the rows to Parquet, each exactly once, with a ledger; see :func:`splitscan.ingest.ingest`."""
        from splitscan.ingest import ingest  # noqa: PLC0415 - Spark is optional

        return ingest(self.planner, spark, destination, **options)


class TableScan(DatabaseScan):
    """A scan of a table of a database, in this process or on Spark.

    ``select`` and ``limit`` narrow it; ``to_arrow``, ``to_batches`` and ``count`` run it here; ``to_spark`` runs it in
    parallel, and ``explain`` says how. Nothing is connected to before one of those is called.
    """

    def to_spark(
        self,
        spark: SparkSession,
        rebalance: bool | None = None,
        apply: BatchFunction | None = None,
        apply_schema: str | pa.Schema | None = None,
    ) -> DataFrame:
        """A DataFrame of the rows, read in parallel by ranges of the key when Spark runs it.

        The table is planned in this call; see ``docs/tables.md`` for which version of it is read.

        Args:
            spark: The session.
            rebalance: Whether tasks that have nothing left take over keys that others have not begun to read; by
                default option ``rebalance`` says so.
            apply: A function over the batches of a task, as for ``mapInArrow``, that runs where they are read.
            apply_schema: DDL text or an Arrow schema: what *apply* returns.
        """
        from splitscan.spark import table_to_spark  # noqa: PLC0415 - Spark is optional

        return table_to_spark(self, spark, rebalance, apply, apply_schema)

    def explain(self, spark: SparkSession | None = None) -> TablePlan:
        """What ``to_spark`` would plan without rebalancing, and not read: which task reads which keys; print it.

        With ``snapshot=shared`` the version that it names is held as long as the answer is.

        Args:
            spark: The session that says how many tasks run at a time; without one these are the cores of this machine.
        """
        if spark is None:
            return self.plan(os.cpu_count() or 1)
        from splitscan.spark.jobs import default_parallelism  # noqa: PLC0415 - Spark is optional

        return self.plan(default_parallelism(spark))


class KafkaScan(MessageScan):
    """A scan of messages of Kafka, in this process or on Spark; see :func:`scan_kafka`.

    ``select`` and ``limit`` narrow it; ``to_arrow``, ``to_batches`` and ``count`` run it here; ``to_spark`` runs it in
    parallel. No broker is asked before one of those is called.
    """

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """A DataFrame of the rows; what there is, is looked up when Spark plans it, and read in parallel."""
        from splitscan.spark import messages_to_spark  # noqa: PLC0415 - Spark is optional

        return messages_to_spark(self, spark)

    def count(self, spark: SparkSession | None = None) -> int:
        """Number of rows of what there is now; with *spark* the messages are read in parallel."""
        return super().count() if spark is None else self.to_spark(spark).count()


def scan(paths: Paths, format: str | OwnFormat = "csv", schema: str | pa.Schema | None = None, **options: Any) -> Scan:
    """Describe a scan.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        format: ``"csv"``, ``"text"``, ``"fixed"``, ``"fixed_width"``, ``"slices"``, ``"json"``, ``"xml"``, or a format
            of your own: a reader, a reader context, a record format, or what makes one; see ``docs/extending.md``.
        schema: DDL text (``"id long, name string"``) or an Arrow schema; found in the data when not given.
        options: Options, by their Spark names or snake_case twins; see ``docs/options.md``.

    Raises:
        UsageError: If an option is unknown or has no meaning.
    """
    pinned, _ = pin_dialect(paths, format, options)
    return Scan.of(paths, format, schema, pinned)


def scan_csv(paths: Paths, schema: str | pa.Schema | None = None, **options: Unpack[CsvKeywords]) -> Scan:
    """Describe a scan of CSV files. With ``dialect="auto"`` samples of them are looked at now."""
    return scan(paths, "csv", schema, **options)


def sniff_csv(paths: Paths, **options: Unpack[CsvKeywords]) -> Dialect:
    r"""Find the dialect of CSV files, and the types of their columns, in samples of up to eight of them.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        options: What is known already, as for :func:`scan_csv`: it is taken as it is, and narrows the search.

    Returns:
        The dialect, with confidence and evidence for every setting; ``doubts`` says what is not clear.

    Raises:
        UsageError: If an option is unknown or has no meaning.
        SourceError: If a file cannot be read, or there is none.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.csv")
        >>> _ = path.write_text('id;note\n1;"a; b"\n2;x\n')
        >>> sniff_csv(path).options()
        {'sep': ';', 'escape': '"', 'header': True, 'multiLine': True}
    """
    found = sniff(paths, options)
    if not found.is_clear or not found.columns:
        return found
    typed = scan(paths, "csv", **{**options, **found.options(), "inferSchema": True, "dialect": "spark"})
    return replace(found, schema=typed.schema)


def scan_text(paths: Paths, **options: Unpack[TextKeywords]) -> Scan:
    """Describe a scan of lines, or of text records with any delimiter: one column ``value: string``."""
    return Scan.of(paths, "text", None, options)


def scan_fixed(paths: Paths, record_length: int, **options: Unpack[FixedKeywords]) -> Scan:
    """Describe a scan of records of *record_length* bytes: one column ``value: binary``."""
    return Scan.of(paths, "fixed", None, {"record_length": record_length, **options})


def scan_fixed_width(
    paths: Paths,
    layout: str | Sequence[Sequence[str | int]],
    schema: str | pa.Schema | None = None,
    **options: Unpack[FixedWidthKeywords],
) -> Scan:
    r"""Describe a scan of lines, or with ``record_length`` of equally long records, whose columns have fixed places.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        layout: ``"name start length type, ..."``, or a list of ``(name, start, length, type)``. Places count from 1:
            characters of a line, bytes of a record of a fixed length.
        schema: Some of the columns, with types of their own.
        options: As for :func:`scan`.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
        >>> _ = path.write_text("  1Oslo \n 12Rome \n")
        >>> scan_fixed_width(path, "id 1 3 int, city 4 5").to_arrow().to_pylist()
        [{'id': 1, 'city': 'Oslo'}, {'id': 12, 'city': 'Rome'}]
    """
    return Scan.of(paths, "fixed_width", schema, {"layout": layout, **options})


def scan_slices(paths: Paths, **options: Unpack[SlicesKeywords]) -> Scan:
    """Describe a scan of raw byte slices: one column ``value: binary``."""
    return Scan.of(paths, "slices", None, options)


def scan_json(paths: Paths, schema: str | pa.Schema | None = None, **options: Unpack[JsonKeywords]) -> Scan:
    """Describe a scan of JSON: lines, or with ``multi_line=True`` values or one array over any number of lines."""
    return Scan.of(paths, "json", schema, options)


def scan_xml(paths: Paths, row_tag: str, schema: str | pa.Schema | None = None, **options: Unpack[XmlKeywords]) -> Scan:
    """Describe a scan of XML: every element named *row_tag* is a record."""
    return Scan.of(paths, "xml", schema, {"row_tag": row_tag, **options})


def scan_table(
    url: str,
    dbtable: str | None = None,
    key_column: str | None = None,
    schema: str | pa.Schema | None = None,
    **options: Unpack[TableKeywords],
) -> TableScan:
    """Describe a scan of a table of PostgreSQL or SQLite; see ``docs/tables.md``.

    Args:
        url: ``postgresql://...`` or ``sqlite:///FILE``. No message, plan or log shows a password in it.
        dbtable: The table, or a SELECT as option ``query`` in its place.
        key_column: The column by whose ranges tasks share it; without one it is read by one task.
        schema: What the columns are to be, by name, as DDL text or an Arrow schema; as the database has them if not
            given.
        options: Further options of tables, by their Spark names or snake_case twins; see ``docs/options.md``.

    Raises:
        UsageError: If an option is unknown or has no meaning.
    """
    return TableScan({"url": url, "dbtable": dbtable, "keyColumn": key_column, **options}, schema)


def scan_kafka(
    servers: str, format: str | None = None, schema: str | pa.Schema | None = None, **options: Any
) -> KafkaScan:
    """Describe a scan of the messages that topics of Kafka hold; see ``docs/kafka.md``.

    Args:
        servers: ``host:port`` of brokers, separated by commas.
        format: Record format of the values, as ``"json"``; ``None`` for the column ``value`` with bytes as they are.
        schema: Columns of the values, and of what is beside them, as DDL text or an Arrow schema.
        options: ``subscribe="topic"`` or another choice of topics, ``starting_offsets``, ``ending_offsets``,
            ``metadata_columns`` and others, by their Spark names or snake_case twins; those of the client library as
            ``**{"kafka.security.protocol": ...}``.

    Raises:
        UsageError: If an option is unknown or has no meaning.
        SchemaError: ``[no-schema]`` if the values have columns, and no schema says which.
    """
    return KafkaScan({"kafka.bootstrap.servers": servers, **options}, format, schema)


def watch(  # noqa: PLR0913 -- each is an argument that a user sets
    spark: SparkSession,
    paths: Paths,
    destination: str | os.PathLike[str],
    format: str = "csv",
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
    from splitscan.ingest.spark_runner import SparkRunner  # noqa: PLC0415 - Spark is optional
    from splitscan.ingest.watching import Watch  # noqa: PLC0415 - what plans windows is loaded by who needs it
    from splitscan.spark.time_zones import in_session_zone  # noqa: PLC0415 - Spark is optional

    stream, others = parse_stream_options(options)

    def build() -> ScanPlanner:
        return in_session_zone(ScanPlanner.of(paths, format, schema, others), spark)

    watching = Watch(build, os.fspath(destination), stream, settings, table=table)

    def windows() -> Iterator[WatchedWindow | None]:
        runner = SparkRunner(spark)
        with closing(watching):
            yield from watching.drain(runner, on_progress) if once else watching.follow(runner, on_progress)

    return windows()


def verify(
    destination: str | os.PathLike[str], *, deep: bool = False, storage_options: Mapping[str, Any] | None = None
) -> VerifyReport:
    """Check that data, ledger and source agree; see :func:`splitscan.ingest.verify`."""
    from splitscan.ingest import verify as check  # noqa: PLC0415 - Parquet loads with it

    return check(destination, deep=deep, storage_options=storage_options)


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("splitscan")`` known to a session, where Spark does not find it by itself."""
    from splitscan.spark import register as register_source  # noqa: PLC0415 - Spark is optional

    register_source(spark)


def rebalance_report(spark: SparkSession) -> RebalanceReport:
    """What the latest rebalanced scan of a session did: see :func:`splitscan.spark.rebalance_report`."""
    from splitscan.spark import rebalance_report as report  # noqa: PLC0415 - Spark is optional

    return report(spark)


def split_files(paths_df: DataFrame, **options: Any) -> DataFrame:
    """Files in, blocks out: see :func:`splitscan.spark.split_files`."""
    from splitscan.spark import split_files as split  # noqa: PLC0415 - Spark is optional

    return split(paths_df, **options)


def recommended_conf() -> dict[str, str]:
    """Settings of a Spark session that make what comes out of Python workers cheaper; none changes an answer.

    They have to be set before the session starts: in ``spark-defaults.conf``, with ``--conf``, or on the builder.

    Returns:
        By name: sockets of the file system between the JVM and its Python workers (Spark 4.1 and newer), a garbage
        collector made for throughput, and Arrow memory without a check of each access.

    Example:
        >>> recommended_conf()["spark.python.unix.domain.socket.enabled"]
        'true'
    """
    java = "-XX:+UseParallelGC -Darrow.enable_unsafe_memory_access=true"
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
    }


def read_blocks(blocks_df: DataFrame, format: str = "csv", **options: Any) -> DataFrame:
    """Blocks in, records out: see :func:`splitscan.spark.read_blocks`."""
    from splitscan.spark import read_blocks as read  # noqa: PLC0415 - Spark is optional

    return read(blocks_df, format=format, **options)
