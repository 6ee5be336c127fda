"""Works on CSV: one file, compressed or not, or a folder of small files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

import splitscan as ss
from bench.generated import SCHEMA
from bench.measure import Work
from bench.session import one_core
from bench.works.file_works import BLOCK_SIZE, PLAIN, FrameWorks, content_of, duckdb_row, whole

_DUCK_TYPES = "{'id':'BIGINT','name':'VARCHAR','price':'DOUBLE','qty':'INTEGER','comment':'VARCHAR'}"
_POLARS_TYPES = {"id": pl.Int64, "name": pl.String, "price": pl.Float64, "qty": pl.Int32, "comment": pl.String}
_ARROW_TYPES = {
    "id": pa.int64(), "name": pa.string(), "price": pa.float64(), "qty": pa.int32(), "comment": pa.string(),
}  # fmt: skip
PARQUET = "spark, of Parquet"
"""Contender that reads the same rows from Parquet, with Spark."""
_PRICE_UNIT = 10_000  # sums of fractions depend on the order; this much of them does not


class CsvWorks(FrameWorks):
    """Works on generated CSV.

    Args:
        spark: The session.
        source: The file, or the folder of files.
        scratch: Directory for Parquet.
        multi_line: Whether there are newlines in quotes.
    """

    def __init__(self, spark: SparkSession, source: Path, scratch: Path, multi_line: bool = True) -> None:
        super().__init__(spark, source, scratch)
        self._multi_line = multi_line

    def all(self) -> dict[str, Work]:
        works: dict[str, Work] = {
            "aggregate": {
                "splitscan": lambda: _aggregate(self._scan().to_spark(self._spark)),
                PLAIN: lambda: _aggregate(self._frame()),
                "spark": lambda: _aggregate(self._spark_frame()),
                PARQUET: lambda: _aggregate(self._parquet_frame()),
                "duckdb": self._duckdb_aggregate,
                "polars": self._polars_aggregate,
                "pyarrow": self._arrow_aggregate,
            },
            "two columns": {
                "splitscan": lambda: _aggregate_two(self._scan().select("id", "qty").to_spark(self._spark)),
                PLAIN: lambda: _aggregate_two(self._frame()),
                "spark": lambda: _aggregate_two(self._spark_frame()),
                PARQUET: lambda: _aggregate_two(self._parquet_frame()),
                "duckdb": lambda: duckdb_row(f"select sum(id), sum(qty) from {self._table}"),
                "polars": self._polars_two,
                "pyarrow": lambda: _sums(self._arrow(["id", "qty"]), "id", "qty"),
            },
            "count": {
                "splitscan": lambda: self._scan().count(self._spark),
                PLAIN: lambda: self._frame().count(),
                "spark": lambda: self._spark_frame().count(),
                PARQUET: lambda: self._parquet_frame().count(),
                "duckdb": lambda: duckdb_row(f"select count(*) from {self._table}")[0],
                "polars": lambda: self._polars().select(pl.len()).collect().item(),
                "pyarrow": lambda: self._arrow(["id"]).num_rows,
            },
            "schema": {
                "splitscan": lambda: self._columns_of(self._scan_for_types),
                "duckdb": lambda: duckdb_row(f"select count(*) from (describe select * from {self._untyped})")[0],
                "polars": lambda: len(self._polars_for_types().collect_schema()),
            },
            "noop": {"splitscan": self._splitscan_noop, PLAIN: self._frame_noop, "spark": self._spark_noop},
            "to_batches": self._batches(),
            "to_batches, two columns": self._batches("id", "qty"),
            "first rows": self._first_rows(),
            **self.ingest(),
        }  # fmt: skip
        return works

    def ingest(self) -> dict[str, Work]:
        """Writing Parquet alone."""
        return {
            "ingest": {
                "splitscan": self._splitscan_parquet,
                "splitscan, blocks of 128 MB": lambda: self._splitscan_parquet("128m"),
                "spark": self._spark_parquet,
                "duckdb": lambda: self._duckdb_parquet_of(self._table),
                "polars": lambda: self._polars_parquet_of(self._polars()),
                "pyarrow": self._arrow_parquet,
            }
        }

    def small_files(self) -> dict[str, Work]:
        """What is measured on a folder."""
        works = {name: dict(self.all()[name]) for name in ("ingest", "count")}
        for work in works.values():
            work.pop("pyarrow")
            work.pop(PARQUET, None)
        works["ingest"].pop("splitscan, blocks of 128 MB")
        return works

    def cores(self) -> dict[str, Work]:
        """The same on two cores and on one."""
        return {
            "ingest": {
                "splitscan": self._splitscan_parquet,
                "splitscan, 1 core": lambda: _on_one_core(self._splitscan_parquet),
                "spark, 1 core": lambda: _on_one_core(self._spark_parquet),
            },
            "count": {
                "splitscan": lambda: self._scan().count(self._spark),
                "splitscan, 1 core": lambda: _on_one_core(lambda: self._scan().count(self._spark)),
            },
        }

    def sizes(self) -> dict[str, Work]:
        """What must cost the same for each GB, however many there are."""
        return {name: {"splitscan": self.all()[name]["splitscan"]} for name in ("aggregate", "count", "ingest")}

    def _spark_frame(self) -> DataFrame:
        return self._spark.read.schema(SCHEMA).csv(self._source, multiLine=self._multi_line, escape='"')

    def _parquet_frame(self) -> DataFrame:
        """The same rows as Parquet without compression, which the run that warms up writes."""
        target = self._scratch / "same.parquet"
        if not target.exists():
            self._spark_frame().write.option("compression", "none").parquet(str(target))
        return self._spark.read.schema(SCHEMA).parquet(str(target))

    def _batches(self, *names: str) -> Work:
        """Batches of Arrow, which need no Spark; pyarrow with one thread, as CPU seconds are what is compared."""
        wanted = list(names) or list(_ARROW_TYPES)
        return {
            "splitscan": lambda: sum(batch.num_rows for batch in self._scan().select(*wanted).to_batches()),
            "pyarrow": lambda: self._arrow(wanted, threads=False).num_rows,
            "polars": lambda: sum(frame.height for frame in self._polars().select(wanted).collect_batches()),
        }

    def _scan_for_types(self) -> ss.Scan:
        return ss.scan_csv(self._source, multi_line=self._multi_line, escape='"', infer_schema=True)

    @property
    def _untyped(self) -> str:
        return f"read_csv('{self._files}', header=false, sample_size=-1)"

    def _polars_for_types(self) -> pl.LazyFrame:
        return pl.scan_csv(self._files, has_header=False, infer_schema_length=None)

    def _frame(self) -> DataFrame:
        reader = self._spark.read.format("splitscan").schema(SCHEMA).option("recordFormat", "csv")
        return reader.options(multiLine=self._multi_line, escape='"').load(self._source)

    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        return ss.scan_csv(self._source, SCHEMA, multi_line=self._multi_line, escape='"', block_size=block_size)

    @property
    def _files(self) -> str:
        return f"{self._source}/*.csv" if Path(self._source).is_dir() else self._source

    @property
    def _table(self) -> str:
        return f"read_csv('{self._files}', header=false, quote='\"', escape='\"', columns={_DUCK_TYPES})"

    def _duckdb_aggregate(self) -> tuple[int, ...]:
        sums = f"sum(id), sum(qty), sum(length(name)), sum(length(comment)), sum(price) / {_PRICE_UNIT}"
        return duckdb_row(f"select count(*), {sums} from {self._table}")

    def _polars(self) -> pl.LazyFrame:
        return pl.scan_csv(self._files, has_header=False, schema=_POLARS_TYPES)

    def _polars_aggregate(self) -> tuple[int, ...]:
        lengths = [pl.col(name).str.len_chars().cast(pl.Int64).sum() for name in ("name", "comment")]
        sums = [pl.sum("id"), pl.col("qty").cast(pl.Int64).sum(), *lengths, pl.sum("price") / _PRICE_UNIT]
        named = [column.alias(str(number)) for number, column in enumerate([pl.len(), *sums])]
        return whole(self._polars().select(named).collect().row(0))

    def _polars_two(self) -> tuple[int, ...]:
        return whole(self._polars().select(pl.sum("id"), pl.col("qty").cast(pl.Int64).sum()).collect().row(0))

    def _arrow(self, columns: list[str] | None = None, *, threads: bool = True) -> pa.Table:
        return csv.read_csv(
            self._source,
            csv.ReadOptions(column_names=list(_ARROW_TYPES), use_threads=threads),
            csv.ParseOptions(newlines_in_values=self._multi_line),
            csv.ConvertOptions(column_types=_ARROW_TYPES, include_columns=columns),
        )

    def _arrow_aggregate(self) -> tuple[int, ...]:
        table = self._arrow()
        lengths = [pc.sum(pc.utf8_length(table[name])).as_py() for name in ("name", "comment")]
        price = pc.sum(table["price"]).as_py() / _PRICE_UNIT
        return whole((table.num_rows, *_sums(table, "id", "qty"), *lengths, price))

    def _arrow_parquet(self) -> Callable[[], object]:
        target = self._empty("pyarrow.parquet")
        pq.write_table(self._arrow(), target, compression="zstd")
        return partial(content_of, target)


class MemberWorks(CsvWorks):
    """Works on CSV in many members, and for Spark the same content in one gzip stream: it reads both in one task.

    Args:
        spark: The session.
        source: The file of many members.
        whole: The same as one stream.
        scratch: Directory for Parquet.
    """

    def __init__(self, spark: SparkSession, source: Path, whole: Path, scratch: Path) -> None:
        super().__init__(spark, source, scratch)
        self._whole = str(whole)

    def all(self) -> dict[str, Work]:
        return {
            name: {"splitscan": work["splitscan"], "spark, one gzip stream": work["spark"]}
            for name, work in super().all().items()
            if {"splitscan", "spark"} <= work.keys()
        }

    def _spark_frame(self) -> DataFrame:
        return self._spark.read.schema(SCHEMA).csv(self._whole, multiLine=True, escape='"')


def _on_one_core(work: Callable[[], object]) -> object:
    with one_core():
        return work()


def _sums(table: pa.Table, *names: str) -> tuple[int, ...]:
    return tuple(pc.sum(table[name]).as_py() for name in names)


def _aggregate(frame: DataFrame) -> tuple[int, ...]:
    sums = [F.sum("id"), F.sum("qty"), F.sum(F.length("name")), F.sum(F.length("comment"))]
    return whole(frame.agg(F.count("*"), *sums, F.sum("price") / _PRICE_UNIT).collect()[0])


def _aggregate_two(frame: DataFrame) -> tuple[int, ...]:
    return whole(frame.agg(F.sum("id"), F.sum("qty")).collect()[0])
