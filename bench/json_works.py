"""The works that are measured on JSON, each done by splitscan and by its peers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

import splitscan as ss
from bench.works import CORES, FileWorks, Work
from splitscan.testing.generated_json import JSON_SCHEMA, JsonLayout

_DUCK_TYPES = (
    "{'id': 'BIGINT', 'name': 'VARCHAR', 'price': 'DOUBLE', 'active': 'BOOLEAN', 'at': 'TIMESTAMPTZ', "
    "'note': 'VARCHAR', 'address': 'STRUCT(street VARCHAR, zip INTEGER, geo STRUCT(lat DOUBLE, lon DOUBLE))', "
    "'tags': 'VARCHAR[]', 'lines': 'STRUCT(sku VARCHAR, qty INTEGER)[]'}"
)
_POLARS_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.Int64,
    "name": pl.String,
    "price": pl.Float64,
    "active": pl.Boolean,
    "at": pl.String,
    "note": pl.String,
    "address": pl.Struct(
        {"street": pl.String, "zip": pl.Int32, "geo": pl.Struct({"lat": pl.Float64, "lon": pl.Float64})}
    ),
    "tags": pl.List(pl.String),
    "lines": pl.List(pl.Struct({"sku": pl.String, "qty": pl.Int32})),
}
_SUMMED = ("id", "name", "note", "address", "tags")
_DUCK_FORMATS = {JsonLayout.ARRAY: "array", JsonLayout.LINES: "newline_delimited"}


class JsonWorks(FileWorks):
    """All works on one JSON file.

    Args:
        spark: The session.
        source: The file.
        scratch: Directory for Parquet; emptied before every run that writes.
        layout: How the file is laid out.
    """

    def __init__(self, spark: SparkSession, source: Path, scratch: Path, layout: JsonLayout) -> None:
        super().__init__(spark, source, scratch)
        self._layout = layout
        self._is_array = layout is JsonLayout.ARRAY

    def all(self) -> dict[str, Work]:
        name = "JSON array" if self._is_array else "JSON Lines"
        return {
            f"{name} to Parquet": {
                "spark": self._spark_parquet,
                "splitscan": self._splitscan_parquet,
                "duckdb": self._duckdb_parquet,
                "polars": self._polars_parquet,
            },
            f"{name} aggregate": {
                "spark": lambda: _aggregate(self._spark_frame()),
                "splitscan": lambda: _aggregate(self._scan().select(*_SUMMED).to_spark(self._spark)),
                "duckdb": self._duckdb_aggregate,
            },
            f"{name} count": {
                "spark": lambda: self._spark_frame().count(),
                "splitscan": lambda: self._scan().count(self._spark),
            },
        }

    def _spark_frame(self) -> DataFrame:
        return self._spark.read.schema(JSON_SCHEMA).json(self._source, multiLine=self._is_array)

    def _scan(self) -> ss.Scan:
        return ss.scan_json(self._source, JSON_SCHEMA, multi_line=self._is_array, block_size="64m")

    def _duckdb(self) -> tuple[duckdb.DuckDBPyConnection, str]:
        connection = duckdb.connect(config={"threads": CORES})
        return connection, f"read_json('{self._source}', format='{_DUCK_FORMATS[self._layout]}', columns={_DUCK_TYPES})"

    def _duckdb_aggregate(self) -> tuple[object, ...]:
        connection, table = self._duckdb()
        sums = "sum(id), sum(length(name)), sum(length(note)), sum(address.zip), sum(len(tags))"
        return tuple(int(value) for value in connection.sql(f"select count(*), {sums} from {table}").fetchall()[0])

    def _polars_parquet(self) -> None:
        times = pl.col("at").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", time_zone="UTC")
        if self._is_array:
            frame = pl.read_json(self._source, schema=_POLARS_TYPES).lazy()
        else:
            frame = pl.scan_ndjson(self._source, schema=_POLARS_TYPES)
        target = self._empty("polars.parquet")
        frame.with_columns(times).sink_parquet(target, compression="zstd", compression_level=3)


def _aggregate(frame: DataFrame) -> tuple[object, ...]:
    sums = [F.sum("id"), F.sum(F.length("name")), F.sum(F.length("note")), F.sum("address.zip"), F.sum(F.size("tags"))]
    return tuple(frame.agg(F.count("*"), *sums).collect()[0])
