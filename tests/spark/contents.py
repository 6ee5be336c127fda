"""What files that are too large to look at hold: a count and a hash, of what was read and of what was generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from bench.generated import CHUNK_RECORDS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name


def content(frame: DataFrame) -> tuple[Any, ...]:
    """Count, and sum of a 64-bit hash over all columns of every row."""
    hashed = F.xxhash64(*frame.columns).cast("decimal(20,0)")
    return tuple(frame.agg(F.count("*"), F.sum(hashed)).collect()[0])


def generated_content(
    spark: SparkSession, make_batch: Callable[[int, int], pa.RecordBatch], records: int, schema: str
) -> tuple[Any, ...]:
    """The content by the generator alone; no file is read."""

    def generate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                made = make_batch(number * CHUNK_RECORDS, CHUNK_RECORDS)
                yield pa.RecordBatch.from_arrays(made.columns, names=made.schema.names)

    found = content(spark.range(0, records // CHUNK_RECORDS, 1, 4).mapInArrow(generate, schema))
    assert found[0] == records
    return found
