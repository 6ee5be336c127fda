"""What the machine and the libraries allow: the same bytes and rows, with one part of the way only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from pyspark.sql import SparkSession

from bench import CORES
from bench.generated import CHUNK_RECORDS, SCHEMA, generated_batch
from bench.measure import Work
from splitscan.jobs.parquet import DICTIONARY_BYTES

_PIECE_BYTES = 1 << 22
_BATCH_ROWS = 1 << 15
_GROUP_CHUNKS = 4  # about 32 MiB


def limits(spark: SparkSession, source: Path, scratch: Path) -> dict[str, Work]:
    """Works that splitscan cannot be faster than, each of a single contender.

    Args:
        spark: The session.
        source: A generated CSV file.
        scratch: Directory for Parquet.
    """
    limit = "the limit"
    return {
        "read the bytes, 1 thread": {limit: lambda: sum(len(piece) for piece in _pieces(source))},
        "count a byte in them, 1 thread": {limit: lambda: sum(piece.count(b'"') for piece in _pieces(source))},
        "parse CSV to Arrow, 1 thread": {limit: lambda: _parse(source)},
        "Arrow to Parquet, 1 thread": {limit: lambda: _encode(source, scratch / "limit.parquet")},
        "Arrow rows from Python to the JVM": {limit: lambda: _transfer(spark, source)},
        "rows made in the JVM": {limit: lambda: _rows_in_jvm(spark, source)},
    }


def _pieces(source: Path) -> Iterator[bytes]:
    descriptor = os.open(source, os.O_RDONLY)
    try:
        offset = 0
        while piece := os.pread(descriptor, _PIECE_BYTES, offset):
            yield piece
            offset += len(piece)
    finally:
        os.close(descriptor)


def _records(source: Path) -> int:
    """About how many records a generated file has."""
    sample = generated_batch(0, CHUNK_RECORDS)
    return int(source.stat().st_size / (sample.nbytes / CHUNK_RECORDS))


def _parse(source: Path) -> int:
    reader = csv.open_csv(
        source,
        csv.ReadOptions(use_threads=False, column_names=["id", "name", "price", "qty", "comment"]),
        csv.ParseOptions(newlines_in_values=True),
    )
    return sum(batch.num_rows for batch in reader)


def _encode(source: Path, target: Path) -> None:
    """Write as many rows as an ingest does, in row groups of the same size, with the same dictionaries and pages."""
    group = pa.Table.from_batches([generated_batch(0, CHUNK_RECORDS)] * _GROUP_CHUNKS)
    with pq.ParquetWriter(
        target, group.schema, compression="zstd", dictionary_pagesize_limit=DICTIONARY_BYTES,
        max_rows_per_page=group.num_rows,
    ) as writer:  # fmt: skip
        for _ in range(_records(source) // group.num_rows + 1):
            writer.write_table(group, row_group_size=group.num_rows)


def _transfer(spark: SparkSession, source: Path) -> None:
    batches = _records(source) // _BATCH_ROWS // CORES + 1
    batch = generated_batch(0, _BATCH_ROWS)

    def repeat(
        _: Iterator[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:  # in here, so that workers import nothing of us
        for _number in range(batches):
            yield batch

    frame = spark.range(CORES, numPartitions=CORES).mapInArrow(repeat, SCHEMA)
    frame.write.format("noop").mode("overwrite").save()


def _rows_in_jvm(spark: SparkSession, source: Path) -> None:
    frame = spark.range(_records(source), numPartitions=CORES).selectExpr(
        "id", "'name-1234' name", "id / 100 price", "cast(id % 1000 as int) qty", "concat('comment of ', id) comment"
    )
    frame.write.format("noop").mode("overwrite").save()
