"""Schemas are what Spark's own inference finds in the same files, but for differences that are listed."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrameReader, SparkSession
from pyspark.sql.types import DateType, LongType, StringType, StructField, StructType

import splitscan as ss
from splitscan.spark import indexing
from splitscan.spark.indexing import spark_workers
from splitscan.spark.jobs import run_tasks
from splitscan.spark.session import spark_schema

CSV_COLUMNS = [
    ["1", "2"],
    ["1", "3000000000"],
    ["1", "99999999999999999999"],
    ["1e5", "1"],
    ["NaN", "-Inf", "1"],
    ["true", "FALSE"],
    ["true", "1"],
    ["2020-01-02"],
    ["2020-01-02", "2020-01-02 10:00:00"],
    ["2020-01-02T10:00:00.123+01:00"],
    ["2020-01-02", "1"],
    ["", "1"],
    ["", ""],
    ["+1", "-1", "0"],
    [".5", "1"],
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


def test_what_spark_drops_of_a_value_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    records = [
        ("1", "12D", "1e400", "2024-01", "1.5", "1" * 39, "2020-1-2", "+4915112345678"),
        ("007", "14F", "1", "2024-02", "9" * 20, "2" * 39, "2020-1-3", "+4989123456"),
    ]
    path.write_text("".join(",".join(record) + "\n" for record in records))
    theirs = spark.read.csv(str(path), inferSchema=True).schema
    assert [field.dataType.simpleString() for field in theirs] == [
        "int", "double", "double", "timestamp", "double", "double", "timestamp", "bigint",
    ]  # fmt: skip
    rows = ss.scan_csv(path, inferSchema=True).to_spark(spark).collect()
    assert [tuple(row) for row in rows] == records


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


def test_tasks_find_the_columns_that_are_found_here(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs: list[int] = []

    def counted(spark: SparkSession, payloads: list[bytes], work: Any) -> list[Any]:
        jobs.append(len(payloads))
        return run_tasks(spark, payloads, work)

    monkeypatch.setattr(indexing, "run_tasks", counted)
    (tmp_path / "a.csv").write_text("n,m\n" + '1,"a\nb"\n' * 3000 + "0.5,2020-01-31\n")
    (tmp_path / "a.xml").write_text("<all>" + "<r><n>1</n></r>" * 3000 + "<r><n u='1'>0.5</n></r></all>")
    csv = ss.scan_csv(str(tmp_path / "a.csv"), header=True, infer_schema=True, multi_line=True, block_size=8000)
    for scan in (csv, ss.scan_xml(str(tmp_path / "a.xml"), row_tag="r", block_size=8000)):
        jobs.clear()
        found = scan.found_by(spark_workers(spark, min_job_bytes=0)).schema
        assert found == scan.schema
        assert len(jobs) == 1  # where blocks begin, and what is in them
        assert jobs[0] > 1


def test_sorting_over_files_with_other_columns_works(spark: SparkSession, tmp_path: Path) -> None:  # parity 107
    for number, text in enumerate(["a,b\n3,x\n", "b,a\ny,1\n", "a\n2\n"]):
        (tmp_path / f"{number}.csv").write_text(text)
    options = {"header": "true", "headerMapping": "byName", "inferSchema": "true"}
    frame = spark.read.format("splitscan").options(**options).load(str(tmp_path))
    assert [tuple(row) for row in frame.orderBy("a").collect()] == [(1, "y"), (2, None), (3, "x")]


def test_rules_of_columns_come_as_option_or_as_metadata(spark: SparkSession, tmp_path: Path) -> None:  # parity 106
    (tmp_path / "1.csv").write_text("day,n\n31/01/2020,\n")
    (tmp_path / "2.csv").write_text("n\n5\n")
    options = {"header": "true", "headerMapping": "byName"}
    said = {"splitscan.format": "dd/MM/yyyy", "comment": "of the user's own"}
    schema = StructType(
        [
            StructField("n", LongType(), False, {"splitscan.default": "-1"}),
            StructField("day", DateType(), True, said),
            StructField("x", StringType(), True, {"splitscan.default": "x"}),
        ]
    )
    expected = [(-1, dt.date(2020, 1, 31), "x"), (5, None, "x")]
    frame = spark.read.format("splitscan").schema(schema).options(**options).load(str(tmp_path))
    assert sorted(frame.collect()) == expected
    columns = '{"n": {"default": -1}, "day": {"format": "dd/MM/yyyy"}, "x": {"default": "x"}}'
    plain = spark.read.format("splitscan").schema("n long not null, day date, x string")
    assert sorted(plain.options(**options, columnOptions=columns).load(str(tmp_path)).collect()) == expected


@pytest.mark.parametrize("format", ["csv", "json"])
def test_rescued_data_comes_through_spark(spark: SparkSession, tmp_path: Path, format: str) -> None:
    text = (
        "1,2\nx,3\n4,5,z\n"
        if format == "csv"
        else '{"a": 1, "b": 2}\n{"a": "x", "b": 3}\n{"a": 4, "b": 5, "_c2": "z"}\n'
    )
    (tmp_path / "a").write_text(text)
    reader = spark.read.format("splitscan").option("recordFormat", format).option("rescuedDataColumn", "_rescued")
    frame = reader.schema("b int, a int, _rescued string" if format == "json" else "a int, b int, _rescued string")
    rows = frame.option("blockSize", 7).load(str(tmp_path)).select("a", "b", "_rescued").collect()
    path = str(tmp_path / "a")
    kept = [None, {"a": "x", "_file_path": path}, {"_c2": "z", "_file_path": path}]
    assert sorted((row.b, row.a) for row in rows) == [(2, 1), (3, None), (5, 4)]
    assert [row._rescued and json.loads(row._rescued) for row in sorted(rows, key=lambda row: row.b)] == kept
    with pytest.raises(AnalysisException, match="is not in the schema"):
        reader.schema("a int, b int").load(str(tmp_path)).collect()


def test_an_ingest_keeps_rescued_data_and_rejects_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\nx,3\n4,5,z\n")
    scan = ss.scan_csv(str(tmp_path / "a.csv"), "a int, b int", rescued_data_column="_rescued", block_size=6)
    report = scan.ingest(spark, str(tmp_path / "out"))
    assert (report.rows, report.rejects) == (3, 0)
    rows = spark.read.parquet(str(tmp_path / "out")).orderBy("b").collect()
    assert [json.loads(row._rescued or "{}").get("a") for row in rows] == [None, "x", None]
    assert [json.loads(row._rescued or "{}").get("_c2") for row in rows] == [None, None, "z"]
