"""Works on lines, on lines whose newlines are escaped, and on records of fixed length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

import splitscan as ss
from bench.measure import Work
from bench.works.file_works import BLOCK_SIZE, PLAIN, FileWorks, FrameWorks, duckdb_row, whole

FIXED_BYTES = 64
"""Length of a record of fixed length."""

_NOWHERE = "\x01"  # a separator that no line has, for readers of tables


class LineWorks(FrameWorks):
    """Works on plain lines."""

    def all(self) -> dict[str, Work]:
        return {
            "aggregate": {
                "splitscan": lambda: _aggregate(self._scan().to_spark(self._spark)),
                PLAIN: lambda: _aggregate(self._frame()),
                "spark": lambda: _aggregate(self._spark_frame()),
                "duckdb": lambda: duckdb_row(f"select count(*), sum(length(value)) from {self._table}"),
                "polars": self._polars_aggregate,
            },
            "count": {
                "splitscan": lambda: self._scan().count(self._spark),
                PLAIN: lambda: self._frame().count(),
                "spark": lambda: self._spark_frame().count(),
                "duckdb": lambda: duckdb_row(f"select count(*) from {self._table}")[0],
                "polars": lambda: self._polars().select(pl.len()).collect().item(),
            },
            "noop": {"splitscan": self._splitscan_noop, PLAIN: self._frame_noop, "spark": self._spark_noop},
            "first rows": self._first_rows(),
            "ingest": {
                "splitscan": self._splitscan_parquet,
                "spark": self._spark_parquet,
                "duckdb": lambda: self._duckdb_parquet_of(self._table),
                "polars": lambda: self._polars_parquet_of(self._polars()),
            },
        }

    def _spark_frame(self) -> DataFrame:
        return self._spark.read.text(self._source)

    def _frame(self) -> DataFrame:
        return self._spark.read.format("splitscan").option("recordFormat", "text").load(self._source)

    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        return ss.scan_text(self._source, block_size=block_size)

    @property
    def _table(self) -> str:
        return (
            f"read_csv('{self._source}', header=false, auto_detect=false, delim='{_NOWHERE}', quote='', escape='', "
            "columns={'value': 'VARCHAR'})"
        )

    def _polars(self) -> pl.LazyFrame:
        return pl.scan_csv(
            self._source, has_header=False, separator=_NOWHERE, quote_char=None, schema={"value": pl.String}
        )

    def _polars_aggregate(self) -> tuple[int, ...]:
        length = pl.col("value").str.len_chars().cast(pl.Int64).sum()
        return whole(self._polars().select(pl.len(), length).collect().row(0))


class EscapedWorks(FileWorks):
    """Works on lines that may hold escaped newlines; no peer reads them, so plain lines stand beside them.

    Args:
        spark: The session.
        source: The file.
        scratch: Directory for Parquet.
        options: What makes the lines what they are.
    """

    def __init__(self, spark: SparkSession, source: Path, scratch: Path, options: dict[str, Any]) -> None:
        super().__init__(spark, source, scratch)
        self._options = options

    def all(self) -> dict[str, Work]:
        return {
            "aggregate": {"splitscan": lambda: _aggregate(self._scan().to_spark(self._spark))},
            "count": {"splitscan": lambda: self._scan().count(self._spark)},
            "noop": {
                "splitscan": self._splitscan_noop,
                "splitscan, as plain lines": self._plain_noop,
                "spark, as plain lines": self._spark_noop,
            },
            "ingest": {"splitscan": self._splitscan_parquet},
        }

    def _spark_frame(self) -> DataFrame:
        return self._spark.read.text(self._source)

    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        return ss.scan_text(self._source, block_size=block_size, **self._options)

    def _plain_noop(self) -> None:
        frame = ss.scan_text(self._source, block_size=BLOCK_SIZE).to_spark(self._spark)
        frame.write.format("noop").mode("overwrite").save()


class FixedWorks(FileWorks):
    """Works on records of fixed length; Spark reads them as an RDD of byte arrays only."""

    def all(self) -> dict[str, Work]:
        return {
            "aggregate": {
                "splitscan": lambda: _aggregate(self._scan().to_spark(self._spark)),
                "spark": lambda: _aggregate(self._spark_frame()),
            },
            "count": {
                "splitscan": lambda: self._scan().count(self._spark),
                "spark": lambda: self._spark_records().count(),
            },
            "ingest": {"splitscan": self._splitscan_parquet, "spark": self._spark_parquet},
        }

    def _spark_records(self) -> Any:
        return self._spark.sparkContext.binaryRecords(self._source, FIXED_BYTES)

    def _spark_frame(self) -> DataFrame:
        return self._spark.createDataFrame(self._spark_records().map(lambda record: (record,)), "value binary")

    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        return ss.scan_fixed(self._source, FIXED_BYTES, block_size=block_size)


def _aggregate(frame: DataFrame) -> tuple[int, ...]:
    return whole(frame.agg(F.count("*"), F.sum(F.length("value"))).collect()[0])
