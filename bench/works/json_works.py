"""Works on generated JSON, in lines or as one array."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

import splitscan as ss
from bench.generated_json import JSON_SCHEMA, JsonLayout
from bench.measure import Work
from bench.works.file_works import BLOCK_SIZE, PLAIN, FrameWorks, duckdb_row, whole

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
_ARROW_SUMMED = pa.schema(
    {
        "id": pa.int64(),
        "name": pa.string(),
        "note": pa.string(),
        "address": pa.struct({"zip": pa.int32()}),
        "tags": pa.list_(pa.string()),
    }
)
_SUMMED = ("id", "name", "note", "address", "tags")
_DUCK_FORMATS = {JsonLayout.ARRAY: "array", JsonLayout.LINES: "newline_delimited"}
_DUCK_DOCUMENT_BYTES = 1 << 31
"""DuckDB refuses larger objects than it is told of."""


class JsonWorks(FrameWorks):
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
        self._is_array = layout is not JsonLayout.LINES
        self._path = {"record_path": "$.data[*]"} if layout is JsonLayout.DOCUMENT else {}

    def all(self) -> dict[str, Work]:
        works: dict[str, dict[str, object]] = {
            "aggregate": {
                "splitscan": lambda: _aggregate(self._scan().select(*_SUMMED).to_spark(self._spark)),
                PLAIN: lambda: _aggregate(self._frame()),
                "spark": lambda: _aggregate(self._spark_frame()),
                "duckdb": self._duckdb_aggregate,
                "polars": self._polars_aggregate,
                "pyarrow": self._arrow_aggregate,
            },
            "two columns": {
                "splitscan": lambda: _aggregate_two(self._scan().select("id", "name").to_spark(self._spark)),
                PLAIN: lambda: _aggregate_two(self._frame()),
                "spark": lambda: _aggregate_two(self._spark_frame()),
                "duckdb": lambda: duckdb_row(f"select sum(id), sum(length(name)) from {self._table}"),
            },
            "count": {
                "splitscan": lambda: self._scan().count(self._spark),
                PLAIN: lambda: self._frame().count(),
                "spark": lambda: self._spark_frame().count(),
                "duckdb": lambda: duckdb_row(f"select count(*) from {self._table}")[0],
                "polars": lambda: self._polars().select(pl.len()).collect().item(),
            },
            "schema": {
                "splitscan": lambda: self._columns_of(lambda: ss.scan_json(self._source, **self._layout_options())),
                "duckdb": lambda: duckdb_row(f"select count(*) from (describe select * from {self._untyped})")[0],
                "polars": lambda: len(pl.scan_ndjson(self._source, infer_schema_length=None).collect_schema()),
            },
            "ingest": {
                "splitscan": self._splitscan_parquet,
                "spark": self._spark_parquet,
                "duckdb": lambda: self._duckdb_parquet_of(self._table),
                "polars": lambda: self._polars_parquet_of(self._polars().with_columns(_times())),
            },
        }
        if self._is_array:
            works["aggregate"].pop("pyarrow")  # it reads lines only
            works["schema"].pop("polars")  # it looks at a whole array in one thread, and keeps it
        else:  # Spark makes one variant of an array
            works["variant"] = {
                "splitscan": lambda: _aggregate_variants(
                    ss.scan_json(self._source, single_variant_column="v", block_size=BLOCK_SIZE).to_spark(self._spark)
                ),
                "spark": lambda: _aggregate_variants(
                    self._spark.read.option("singleVariantColumn", "v").json(self._source)
                ),
            }
        return works  # type: ignore[return-value]

    def _spark_frame(self) -> DataFrame:
        if self._path:
            documents = self._spark.read.schema(f"data array<struct<{JSON_SCHEMA}>>").json(self._source, multiLine=True)
            return documents.select(F.explode("data").alias("record")).select("record.*")
        return self._spark.read.schema(JSON_SCHEMA).json(self._source, multiLine=self._is_array)

    def _frame(self) -> DataFrame:
        reader = self._spark.read.format("splitscan").schema(JSON_SCHEMA).option("recordFormat", "json")
        return reader.options(**self._layout_options()).load(self._source)

    def _scan(self, block_size: str = BLOCK_SIZE) -> ss.Scan:
        return ss.scan_json(self._source, JSON_SCHEMA, **self._layout_options(), block_size=block_size)

    def _layout_options(self) -> dict[str, Any]:
        return self._path or {"multi_line": self._is_array}

    @property
    def _untyped(self) -> str:
        return self._duckdb_records("sample_size=-1")

    @property
    def _table(self) -> str:
        return self._duckdb_records(f"columns={self._duckdb_types()}")

    def _duckdb_types(self) -> str:
        if not self._path:
            return _DUCK_TYPES
        members = ", ".join(f'"{name}" {kind}' for name, kind in ast.literal_eval(_DUCK_TYPES).items())
        return f"{{'data': 'STRUCT({members})[]'}}"

    def _duckdb_records(self, settings: str) -> str:
        if not self._path:
            return f"read_json('{self._source}', format='{_DUCK_FORMATS[self._layout]}', {settings})"
        document = f"read_json('{self._source}', maximum_object_size={_DUCK_DOCUMENT_BYTES}, {settings})"
        return f"(select record.* from (select unnest(data) as record from {document}))"

    def _duckdb_aggregate(self) -> tuple[int, ...]:
        sums = "sum(id), sum(length(name)), sum(length(note)), sum(address.zip), sum(len(tags))"
        return duckdb_row(f"select count(*), {sums} from {self._table}")

    def _polars(self) -> pl.LazyFrame:
        if self._path:
            types = {"data": pl.List(pl.Struct(_POLARS_TYPES))}
            documents = pl.read_json(self._source, schema=types).lazy()
            return documents.select(pl.col("data").explode()).unnest("data")
        if self._is_array:
            return pl.read_json(self._source, schema=_POLARS_TYPES).lazy()
        return pl.scan_ndjson(self._source, schema=_POLARS_TYPES)

    def _polars_aggregate(self) -> tuple[int, ...]:
        sums = [
            pl.col("id"), pl.col("name").str.len_chars(), pl.col("note").str.len_chars(),
            pl.col("address").struct.field("zip"), pl.col("tags").list.len(),
        ]  # fmt: skip
        totals = [column.cast(pl.Int64).sum().alias(str(number)) for number, column in enumerate(sums)]
        return whole(self._polars().select(pl.len(), *totals).collect().row(0))

    def _arrow_aggregate(self) -> tuple[int, ...]:
        options = json.ParseOptions(explicit_schema=_ARROW_SUMMED, unexpected_field_behavior="ignore")
        table = json.read_json(self._source, parse_options=options)
        sums = [
            table["id"], pc.utf8_length(table["name"]), pc.utf8_length(table["note"]),
            pc.struct_field(table["address"], "zip"), pc.list_value_length(table["tags"]),
        ]  # fmt: skip
        return whole((table.num_rows, *(pc.sum(column).as_py() for column in sums)))


def _aggregate_variants(frame: DataFrame) -> tuple[int, ...]:
    zip_code = F.variant_get("v", "$.address.zip", "int")
    row = frame.agg(F.count("v"), F.sum(F.variant_get("v", "$.id", "long")), F.sum(zip_code)).first()
    return whole(row)


def _times() -> pl.Expr:
    return pl.col("at").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", time_zone="UTC")


def _aggregate(frame: DataFrame) -> tuple[int, ...]:
    sums = [F.sum("id"), F.sum(F.length("name")), F.sum(F.length("note")), F.sum("address.zip"), F.sum(F.size("tags"))]
    return whole(frame.agg(F.count("*"), *sums).collect()[0])


def _aggregate_two(frame: DataFrame) -> tuple[int, ...]:
    return whole(frame.agg(F.sum("id"), F.sum(F.length("name"))).collect()[0])
