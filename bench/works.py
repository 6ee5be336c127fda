"""The works that are measured, each done by splitscan and by its peers."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

import splitscan as ss
from splitscan.testing.generated import SCHEMA

Work = Mapping[str, Callable[[], object]]
CORES = 2
_OPTIONS = {"multi_line": True, "escape": '"', "block_size": "64m"}
_DUCK_TYPES = "{'id':'BIGINT','name':'VARCHAR','price':'DOUBLE','qty':'INTEGER','comment':'VARCHAR'}"
_POLARS_TYPES = {"id": pl.Int64, "name": pl.String, "price": pl.Float64, "qty": pl.Int32, "comment": pl.String}


def session() -> SparkSession:
    """One Spark session for all contenders, with the settings that help both."""
    return (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(CORES))
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC -Darrow.enable_unsafe_memory_access=true")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


class FileWorks(ABC):
    """Works on one file; what all kinds of files have in common.

    Args:
        spark: The session.
        source: The file.
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
        """The file, read by Spark itself."""

    @abstractmethod
    def _scan(self) -> ss.Scan:
        """The file, read by splitscan."""

    @abstractmethod
    def _duckdb(self) -> tuple[duckdb.DuckDBPyConnection, str]:
        """A connection, and the file as a table of it."""

    def _empty(self, name: str) -> str:
        """A path in the scratch directory, behind which nothing is any more."""
        target = self._scratch / name
        shutil.rmtree(target, ignore_errors=True)
        target.unlink(missing_ok=True)
        return str(target)

    def _spark_parquet(self) -> None:
        self._spark_frame().write.option("compression", "zstd").parquet(self._empty("spark"))

    def _splitscan_parquet(self) -> None:
        self._scan().ingest(self._spark, self._empty("splitscan"))

    def _duckdb_parquet(self) -> None:
        connection, table = self._duckdb()
        target = self._empty("duckdb.parquet")
        connection.sql(f"copy (select * from {table}) to '{target}' (format parquet, compression zstd)")


class Works(FileWorks):
    """All works on one CSV file with newlines in quotes."""

    def all(self) -> dict[str, Work]:
        return {
            "aggregate over all columns": {
                "spark": lambda: _aggregate(self._spark_frame()),
                "splitscan": lambda: _aggregate(self._scan().to_spark(self._spark)),
                "splitscan data source": lambda: _aggregate(self._source_frame()),
            },
            "aggregate over two of five columns": {
                "spark": lambda: _aggregate_two(self._spark_frame()),
                "splitscan": lambda: _aggregate_two(self._scan().select("id", "qty").to_spark(self._spark)),
            },
            "count": {
                "spark": lambda: self._spark_frame().count(),
                "splitscan": lambda: self._scan().count(self._spark),
                "duckdb": self._duckdb_count,
            },
            "count of lines": {
                "spark": lambda: self._spark.read.text(self._source).count(),
                "splitscan": lambda: ss.scan_text(self._source).count(self._spark),
            },
            "to Parquet": {
                "spark": self._spark_parquet,
                "splitscan": self._splitscan_parquet,
                "duckdb": self._duckdb_parquet,
                "polars": self._polars_parquet,
            },
        }

    def _spark_frame(self) -> DataFrame:
        return self._spark.read.schema(SCHEMA).csv(self._source, multiLine=True, escape='"')

    def _scan(self) -> ss.Scan:
        return ss.scan_csv(self._source, SCHEMA, **_OPTIONS)

    def _source_frame(self) -> DataFrame:
        reader = self._spark.read.format("splitscan").schema(SCHEMA)
        return reader.options(recordFormat="csv", multiLine=True, escape='"', blockSize="64m").load(self._source)

    def _duckdb(self) -> tuple[duckdb.DuckDBPyConnection, str]:
        connection = duckdb.connect(config={"threads": CORES})
        return connection, f"read_csv('{self._source}', header=false, quote='\"', escape='\"', columns={_DUCK_TYPES})"

    def _duckdb_count(self) -> int:
        connection, table = self._duckdb()
        return int(connection.sql(f"select count(*) from {table}").fetchall()[0][0])

    def _polars_parquet(self) -> None:
        frame = pl.scan_csv(self._source, has_header=False, schema=_POLARS_TYPES)
        frame.sink_parquet(self._empty("polars.parquet"), compression="zstd", compression_level=3)


def _aggregate(frame: DataFrame) -> tuple[object, ...]:
    sums = [F.sum("id"), F.sum("qty"), F.sum(F.length("name")), F.sum(F.length("comment"))]
    row = frame.agg(F.count("*"), *sums, F.round(F.sum("price"), 0)).collect()[0]
    return tuple(row)


def _aggregate_two(frame: DataFrame) -> tuple[object, ...]:
    return tuple(frame.agg(F.sum("id"), F.sum("qty")).collect()[0])
