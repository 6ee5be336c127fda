"""Schemas are what Spark's own inference finds in the same files, but for differences that are listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrameReader, SparkSession

import splitscan as ss
from splitscan.spark.schemas import spark_schema

CSV_COLUMNS = [
    ["1", "2"],
    ["1", "3000000000"],
    ["1", "99999999999999999999"],
    ["1.5", "99999999999999999999"],
    ["1" * 39],
    ["1e5", "1"],
    ["NaN", "-Inf", "1"],
    ["true", "FALSE"],
    ["true", "1"],
    ["2020-01-02"],
    ["2020-1-2"],
    ["2020-01"],
    ["2020-01-02", "2020-01-02 10:00:00"],
    ["2020-01-02T10:00:00.123+01:00"],
    ["2020-01-02", "1"],
    ["", "1"],
    ["", ""],
    ["+1", "-1", "007"],
    ["1d", ".5"],
    ["0x10"],
    ["1,5"],
    ["1_000"],
]
JSON_VALUES = [
    ["1", "9999999999999999999"],
    ["9999999999999999999"],
    ["1", "1.5", "null"],
    ["1", "true"],
    ['"x"', "1"],
    ["[1]", "[1.5]"],
    ["[]", "null"],
    ['{"x": 1}', '{"y": [true]}'],
    ['{"x": 1}', '{"x": "a"}'],
    ['{"x": {"y": 1}}', '{"x": {"y": 99999999999999999999}}'],
]


@pytest.mark.parametrize("values", CSV_COLUMNS, ids=lambda values: " ".join(values)[:40])
def test_types_of_csv_are_those_of_spark(spark: SparkSession, tmp_path: Path, values: list[str]) -> None:
    for number, value in enumerate(values):  # each in a file of its own, so that files are merged as well
        (tmp_path / f"{number}.csv").write_text(f'"{value}",z\n')
    theirs = spark.read.csv(str(tmp_path), inferSchema=True)
    assert spark_schema(ss.scan_csv(str(tmp_path), inferSchema=True).schema) == theirs.schema


@pytest.mark.parametrize("values", JSON_VALUES, ids=" ".join)
def test_types_of_json_are_those_of_spark(spark: SparkSession, tmp_path: Path, values: list[str]) -> None:
    for number, value in enumerate(values):
        (tmp_path / f"{number}.json").write_text(f'{{"a": {value}}}\n')
    assert spark_schema(ss.scan_json(str(tmp_path)).schema) == spark.read.json(str(tmp_path)).schema


def test_options_of_inference_mean_what_they_mean_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day,at,n\n31/12/2020,2020-01-02,1\n")
    for options in ({"dateFormat": "dd/MM/yyyy"}, {"preferDate": False}, {}):
        given = {"header": True, "inferSchema": True, **options}
        ours = ss.scan_csv(str(tmp_path), **given).schema
        assert spark_schema(ours) == spark.read.options(**given).csv(str(tmp_path)).schema, options


def test_provided_columns_and_hints_work_through_spark(spark: SparkSession, tmp_path: Path) -> None:  # parity 106
    (tmp_path / "1.csv").write_text("id,n\n1,2\n")
    (tmp_path / "2.csv").write_text("extra,id\nx,2\n")

    def reader() -> DataFrameReader:
        return spark.read.format("splitscan").option("header", True).option("headerMapping", "byName")

    frame = reader().option("inferSchema", True).option("schemaHints", "id long").load(str(tmp_path))
    assert frame.dtypes == [("id", "bigint"), ("n", "int"), ("extra", "string")]
    assert sorted(frame.collect()) == [(1, 2, None), (2, None, "x")]
    frame = reader().option("providedSchema", "n double, ID int").option("schemaMode", "strict").load(str(tmp_path))
    assert frame.dtypes == [("n", "double"), ("ID", "int")]
    assert sorted(frame.collect(), key=str) == [(2.0, 1), (None, 2)]


def test_sorting_over_files_with_other_columns_works(spark: SparkSession, tmp_path: Path) -> None:  # parity 107
    for number, text in enumerate(["a,b\n3,x\n", "b,a\ny,1\n", "a\n2\n"]):
        (tmp_path / f"{number}.csv").write_text(text)
    options = {"header": "true", "headerMapping": "byName", "inferSchema": "true"}
    frame = spark.read.format("splitscan").options(**options).load(str(tmp_path))
    assert [tuple(row) for row in frame.orderBy("a").collect()] == [(1, "y"), (2, None), (3, "x")]
