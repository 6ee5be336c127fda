"""A scan as a DataFrame, and its number of rows, in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from splitscan.blocks import BlockMetadata
from splitscan.scan import FileScan, ScanSpec, count_block, scan_blocks
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.interpreter import check_interpreter
from splitscan.spark.jobs import default_parallelism, is_local, run_tasks, task_frame
from splitscan.spark.payloads import pack_payload, unpack_payload
from splitscan.spark.schemas import spark_schema
from splitscan.splitting.packing import pack_blocks


def to_spark(scan: FileScan, spark: SparkSession) -> DataFrame:
    """A DataFrame of the rows of a scan.

    Files are listed, cut and, where the format needs it, indexed in this call; Spark reads when it runs the
    DataFrame, every block in one task. Each run reads the same blocks: a file that has changed since is an error
    (``onFileChange``), one that was added is not seen.

    Rows come in file order within a partition, and partitions in file order, as long as nothing shuffles. With a limit
    it is Spark that chooses which rows those are.
    There are as many partitions as the session runs tasks at a time, or more, where there are bytes enough.

    Args:
        scan: What to read.
        spark: The session, of Spark Connect too.

    Raises:
        UsageError: If Spark's Python workers cannot import what they need.
        SourceError: If a file cannot be listed or read.
        SchemaError: If Spark has no type for a column.
    """
    check_interpreter(spark)
    spec, limit = scan.spec, scan.options.reading.limit
    schema = spark_schema(spec.schema)
    payloads = [] if limit == 0 else plan_payloads(scan, spark)
    if not payloads:
        return spark.createDataFrame([], schema)

    def read(payload: bytes) -> Iterator[pa.RecordBatch]:
        return read_payload(spec, payload)

    frame = task_frame(spark, payloads, read, schema)
    return frame if limit is None else frame.limit(limit)


def count_rows(scan: FileScan, spark: SparkSession) -> int:
    """Number of rows, counted in parallel by framing: no value is decoded, one number per task comes back.

    With a local master, whose tasks would run on the cores of this process, threads count, where they can.
    Equal to ``scan.count()`` in every mode.

    Raises:
        UsageError: If Spark's Python workers cannot import what they need.
        SourceError: If a file cannot be listed or read.
    """
    check_interpreter(spark)
    limit = scan.options.reading.limit
    if limit == 0:
        return 0
    slots = default_parallelism(spark)
    if is_local(spark) and scan.counts_in_threads:
        return scan.count()

    def count_on_spark(spec: ScanSpec, blocks: Sequence[BlockMetadata]) -> list[int]:
        files = scan.options.files
        tasks = pack_blocks(blocks, files.task_bytes, files.open_cost_bytes, slots)
        return run_tasks(spark, [pack_payload(task) for task in tasks], partial(_count_payload, spec))

    rows = scan.count_with(slots, spark_indexer(spark), count_on_spark)
    return rows if limit is None else min(rows, limit)


def _count_payload(spec: ScanSpec, payload: bytes) -> int:
    return sum(count_block(spec, block) for block in unpack_payload(payload))


def plan_payloads(scan: FileScan, spark: SparkSession) -> list[bytes]:
    """List, cut, index and pack: the payload of every Spark task. Blocks are held for one task at a time."""
    return [pack_payload(task) for task in scan.plan_tasks(default_parallelism(spark), spark_indexer(spark))]


def read_payload(spec: ScanSpec, payload: bytes) -> Iterator[pa.RecordBatch]:
    """Read the blocks of one task, up to the limit of *spec*; every batch has its schema."""
    return scan_blocks(spec, unpack_payload(payload), spec.options.reading.limit)
