"""Scans of sources that are no files: tables of databases, and messages of Kafka."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from splitscan.streaming.messages import MessageScan
from splitscan.tables import DatabaseScan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from splitscan.jobs import IngestReport
    from splitscan.options.signatures import TableKeywords
    from splitscan.spark.operators import BatchFunction
    from splitscan.tables.planning import TablePlan


class TableScan(DatabaseScan):
    """A scan of a table of a database, in this process or on Spark.

    ``select`` and ``limit`` narrow it; ``to_arrow``, ``to_batches`` and ``count`` run it here; ``to_spark`` runs it in
    parallel, ``explain`` says how, and ``ingest`` writes it. Nothing is connected to before one of those is called.
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
        from splitscan.spark.tables import table_to_spark  # noqa: PLC0415 - Spark is optional

        return table_to_spark(self, spark, rebalance, apply, apply_schema)

    def explain(self, spark: SparkSession | None = None) -> TablePlan:
        """The plan of ``to_spark`` without rebalancing and without reading: which task reads which keys; print it.

        With ``snapshot=shared`` the version that it names is held as long as the answer is.

        Args:
            spark: The session that says how many tasks run at a time; without one these are the cores of this machine.
        """
        if spark is None:
            return self.plan(os.cpu_count() or 1)
        from splitscan.spark.jobs import default_parallelism  # noqa: PLC0415 - Spark is optional

        return self.plan(default_parallelism(spark))

    def ingest(self, spark: SparkSession, destination: str, *, job: str | None = None, **options: Any) -> IngestReport:
        """Write the rows of one version to Parquet, exactly once; see :func:`splitscan.api.jobs.ingest_table`.

        Args:
            spark: The session.
            destination: Folder or table: a local path or a URI.
            job: The name of the job, which has to be given: a table is ingested once under each name.
            options: As for :func:`splitscan.api.jobs.ingest_table`.
        """
        from splitscan.api.jobs import ingest_table  # noqa: PLC0415 - Spark is optional

        return ingest_table(self, spark, destination, job=job, **options)


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


class KafkaScan(MessageScan):
    """A scan of messages of Kafka, in this process or on Spark; see :func:`scan_kafka`.

    ``select`` and ``limit`` narrow it; ``to_arrow``, ``to_batches`` and ``count`` run it here; ``to_spark`` runs it in
    parallel. No broker is asked before one of those is called.
    """

    def to_spark(self, spark: SparkSession) -> DataFrame:
        """A DataFrame of the rows; what there is, is looked up when Spark plans it, and read in parallel."""
        from splitscan.spark.registration import messages_to_spark  # noqa: PLC0415 - Spark is optional

        return messages_to_spark(self, spark)

    def count(self, spark: SparkSession | None = None) -> int:
        return super().count() if spark is None else self.to_spark(spark).count()


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
