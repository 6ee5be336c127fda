"""Tables of databases on Spark: as a DataFrame, and behind the data source."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from splitscan.errors import UsageError
from splitscan.spark.coordination.jvm import find_jvm
from splitscan.spark.interpreter import check_interpreter
from splitscan.spark.jobs import default_parallelism, task_frame
from splitscan.spark.schemas import arrow_schema, spark_schema
from splitscan.tables import DatabaseScan, read_pieces


def table_to_spark(scan: DatabaseScan, spark: SparkSession) -> DataFrame:
    """A DataFrame of the rows of a table, read in parallel by ranges of its keys.

    The table is planned in this call, and with ``snapshot=shared`` the version that is there now is the one that every
    action on the DataFrame reads, as long as it is to be had.

    Args:
        scan: What to read.
        spark: The session, of Spark Connect too; the database must be reached from here and by its workers.

    Raises:
        UsageError: If Spark's Python workers cannot import what they need.
        SourceError: If the database does not answer.
        SchemaError: If a column is not what is wanted, or Spark has no type for it.
    """
    check_interpreter(spark)
    schema = spark_schema(scan.schema)
    plan = scan.plan(default_parallelism(spark))
    spec, version = plan.spec, plan.version

    def read(payload: bytes) -> Iterator[pa.RecordBatch]:
        return read_pieces(spec, pickle.loads(payload), version)

    return task_frame(spark, [pickle.dumps(task) for task in plan.tasks], read, schema)


class TableSource:
    """What the data source does where it reads a table.

    Args:
        options: As given to Spark.

    Raises:
        UsageError: If an option is unknown or has no meaning.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = {key: value for key, value in options.items() if key.lower() != "source"}
        self._scan = DatabaseScan(self._options)

    def schema(self) -> StructType:
        """The columns as the database has them."""
        return spark_schema(self._scan.schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for Spark's final schema: its columns are all that is asked of the database."""
        wanted = arrow_schema(schema)
        if self._scan.options.columns is not None:
            return TableReader(DatabaseScan(self._options, wanted).select(*wanted.names))
        return TableReader(DatabaseScan(self._options, wanted))

    def stream_reader(self, schema: StructType) -> DataSourceStreamReader:
        """None: nothing tells what is new in a table.

        Raises:
            UsageError: In any case.
        """
        raise UsageError(
            "a table cannot be followed",
            seen="readStream with source=table",
            fix="read it with spark.read, as often as it is wanted",
            code="bad-option",
        )


class TableReader(DataSourceReader):
    """Plans one query in the planner's process, and reads its partitions in workers.

    Args:
        scan: What is read.
    """

    def __init__(self, scan: DatabaseScan) -> None:
        self._scan = scan

    def partitions(self) -> list[InputPartition]:
        """Share the table out. A snapshot lives as long as the virtual machine that plans: this process ends soon."""
        plan = self._scan.plan(os.cpu_count() or 1, watch=find_jvm())
        return [InputPartition((plan.spec, task, plan.version)) for task in plan.tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        spec, task, version = partition.value
        yield from read_pieces(spec, task, version)
