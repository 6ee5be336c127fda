"""Works on one input; what all kinds of inputs have in common."""

from __future__ import annotations

import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from bench import CORES
from bench.measure import Work

BLOCK_SIZE = "64m"
PLAIN = "splitscan, DataFrame"
"""Contender that reads by ``spark.read.format("splitscan")``."""


class FileWorks(ABC):
    """Works on one file or folder.

    Args:
        spark: The session.
        source: The file or folder; it need not be there yet.
        scratch: Directory for Parquet; emptied before every run that writes.
    """

    def __init__(self, spark: SparkSession, source: Path, scratch: Path) -> None:
        self._spark = spark
        self._source = str(source)
        self._scratch = scratch

    @abstractmethod
    def all(self) -> dict[str, Work]:
        """Every work by its name."""

    @abstractmethod
    def _spark_frame(self) -> DataFrame:
        """The input, read by Spark itself."""

    @abstractmethod
    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        """The input, read by splitscan."""

    def _empty(self, name: str) -> str:
        """A path in the scratch directory, behind which nothing is any more."""
        target = self._scratch / name
        if target.is_dir():
            shutil.rmtree(target)
        target.unlink(missing_ok=True)
        return str(target)

    def _columns_of(self, scan: Callable[[], ss.Scan]) -> int:
        """How many columns are found in all of the data; what earlier runs found in it is not remembered."""
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, SPLITSCAN_CACHE=cache):
            return len(scan().schema)

    def _spark_noop(self) -> None:
        self._spark_frame().write.format("noop").mode("overwrite").save()

    def _splitscan_noop(self) -> None:
        self._scan().to_spark(self._spark).write.format("noop").mode("overwrite").save()

    def _spark_parquet(self) -> Callable[[], object]:
        target = self._empty("spark")
        self._spark_frame().write.option("compression", "zstd").parquet(target)
        return partial(content_of, target)

    def _splitscan_parquet(self, block_size: str = BLOCK_SIZE) -> Callable[[], object]:
        target = self._empty("splitscan")
        self._scan(block_size).ingest(self._spark, target)
        return partial(content_of, target)

    def _duckdb_parquet_of(self, table: str) -> Callable[[], object]:
        target = self._empty("duckdb.parquet")
        duckdb_connection().sql(f"copy (select * from {table}) to '{target}' (format parquet, compression zstd)")
        return partial(content_of, target)

    def _polars_parquet_of(self, frame: pl.LazyFrame) -> Callable[[], object]:
        target = self._empty("polars.parquet")
        frame.sink_parquet(target, compression="zstd", compression_level=3)
        return partial(content_of, target)


class FrameWorks(FileWorks):
    """Works on one file that plain DataFrame code does too: a newcomer's, with Spark's names."""

    @abstractmethod
    def _frame(self) -> DataFrame:
        """The input, read by ``spark.read.format("splitscan")``."""

    def _frame_noop(self) -> None:
        self._frame().write.format("noop").mode("overwrite").save()

    def _first_rows(self) -> Work:
        """Ten rows, which a limit may find at once."""
        return {
            PLAIN: lambda: len(self._frame().limit(10).collect()),
            "spark": lambda: len(self._spark_frame().limit(10).collect()),
        }


def duckdb_connection() -> duckdb.DuckDBPyConnection:
    """A new database that uses as many threads as the others."""
    return duckdb.connect(config={"threads": CORES})


def duckdb_row(query: str) -> tuple[int, ...]:
    """The only row that a query gives, of numbers."""
    return whole(duckdb_connection().sql(query).fetchall()[0])


def whole(values: Any) -> tuple[int, ...]:
    """Numbers without their fractions, which depend on the order in which they were added."""
    return tuple(round(value) for value in values)


def content_of(parquet: str) -> tuple[int, int]:
    """How many rows there are, and the sum of the first column: of its numbers, or of the lengths of its texts."""
    dataset = ds.dataset(parquet, format="parquet")
    rows, total = 0, 0
    for batch in dataset.to_batches(columns=[dataset.schema.names[0]]):
        if not batch.num_rows:
            continue
        column = batch.column(0)
        values = column if column.type in {"int64"} else pc.binary_length(column)
        rows += batch.num_rows
        total += pc.sum(values).as_py() or 0
    return rows, total
