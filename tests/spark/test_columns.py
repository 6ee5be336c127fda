"""Projection, partition directories and conditions on Spark: every way in, with Spark's own reader as the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from splitscan.errors import UsageError

VALUES = (
    ["1", "007"], ["1", "2147483648"], ["9223372036854775808", "5"], ["1e3", "5"], ["1.5", "2"], ["1d", "-Infinity"],
    ["1.5", "2147483648"], ["Inf", "1"], ["2024-01-31", "2024-02-01"], ["2024-1-2", "x"], ["2024-02-30", "2024-02-29"],
    ["2024-01-02 10%3A00%3A00", "2024-01-31"], ["2024-01-02 10%3A00%3A00.5", "2024-01-02 10%3A00%3A00"],
    ["a%2Fb", "%zz"], ["true", "false"], ["__HIVE_DEFAULT_PARTITION__", "3"], ["__HIVE_DEFAULT_PARTITION__", "x y"],
    ["20240102", "2024-01-02"], [" 1", "2"], ["é", "b=c"],
)  # fmt: skip
JSON = '{"id":1,"m":{"x":1,"y":"p"},"l":[{"u":1,"v":2}]}\n{"id":2,"m":null,"l":[]}\n'


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


@pytest.fixture
def lake(tmp_path: Path) -> str:
    for year, month, name in ((2024, 1, "a"), (2024, 2, "b"), (2025, 1, "c")):
        folder = tmp_path / "lake" / f"year={year}" / f"month={month}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(JSON)
    return str(tmp_path / "lake")


def reader(spark: SparkSession, **options: Any) -> Any:
    return spark.read.format("splitscan").options(recordFormat="json", **options)


def test_partition_columns_have_spark_s_types_and_values(spark: SparkSession, tmp_path: Path) -> None:  # parity 85, 92
    """Two files in directories of as many columns as there are pairs: each has the type that its two values have."""
    path = str(tmp_path / "t")
    for number in range(2):
        folder = Path(path, *(f"p{column}={pair[number]}" for column, pair in enumerate(VALUES)), "q=1")
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text(f"{number},x\n")
    expected = {schema: spark.read.csv(path, schema) for schema in (None, "a int, b string")}
    assert len(expected[None].columns) == len(VALUES) + 3
    for schema, theirs in expected.items():
        ours = ss.scan_csv(path, schema).to_spark(spark)
        assert ours.dtypes == theirs.dtypes
        assert rows(ours) == rows(theirs)
    source = spark.read.format("splitscan").load(path)
    assert source.dtypes == expected[None].dtypes
    assert rows(source) == rows(expected[None])
    setting = "spark.sql.sources.partitionColumnTypeInference.enabled"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "false")
    try:
        theirs = spark.read.csv(path)
        ours = spark.read.format("splitscan").option("partitionColumnTypeInference", "false").load(path)
        assert (ours.dtypes, rows(ours)) == (theirs.dtypes, rows(theirs))
    finally:
        spark.conf.set(setting, before)


def test_a_field_of_the_name_of_a_directory_gives_way_as_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    for value in (7, 8):
        (tmp_path / f"p={value}").mkdir()
        (tmp_path / f"p={value}" / "a.csv").write_text("p,b\n1,2\n")
    theirs = spark.read.option("header", True).csv(str(tmp_path))
    ours = spark.read.format("splitscan").option("header", True).load(str(tmp_path))
    assert ours.dtypes == theirs.dtypes
    assert rows(ours) == rows(theirs)


def test_base_path_and_recursion_are_spark_s(spark: SparkSession, lake: str) -> None:
    for options, path in (
        ({"basePath": lake}, f"{lake}/year=2024"),
        ({"recursiveFileLookup": True}, lake),
        ({}, f"{lake}/year=2024"),
    ):
        theirs = spark.read.options(**options).json(path)
        ours = reader(spark, **options).load(path)
        assert sorted(ours.columns) == sorted(theirs.columns)
        assert rows(ours.select(theirs.columns)) == rows(theirs)


def test_conflicting_directories_fail_in_both(spark: SparkSession, tmp_path: Path) -> None:
    for folder in ("p=1", "q=1"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text("1\n")
    with pytest.raises(Exception, match=r"(?i)conflicting"):
        spark.read.csv(str(tmp_path)).collect()
    with pytest.raises(PySparkException, match="conflicting-partitions"):
        spark.read.format("splitscan").load(str(tmp_path))


def test_members_and_columns_of_files_come_through_every_way_in(spark: SparkSession, lake: str) -> None:
    chosen = ("m.x", "year", "l.v", "filename", "dir1")
    kept = "month = 1 and filename <> 'c.json'"
    expected = [((None,), 2024, [], "a.json", "month=1"), ((1,), 2024, [(2,)], "a.json", "month=1")]
    expected[0] = (None, *expected[0][1:])
    scan = ss.scan_json(lake).select(*chosen).where(kept)
    options = {"columns": ", ".join(chosen), "where": kept}
    for frame in (scan.to_spark(spark), reader(spark, **options).load(lake)):
        assert frame.dtypes == [
            ("m", "struct<x:bigint>"), ("year", "int"), ("l", "array<struct<v:bigint>>"), ("filename", "string"),
            ("dir1", "string"),
        ]  # fmt: skip
        found = [
            (row["m"] and tuple(row["m"]), row["year"], [tuple(v) for v in row["l"]], *row[3:])
            for row in frame.collect()
        ]
        assert sorted(found, key=repr) == sorted(expected, key=repr)
        assert frame.count() == 2
        assert rows(frame.select("m.x")) == [(1,), (None,)]
    assert scan.count(spark) == scan.count() == 2


def test_a_given_schema_is_a_projection_and_places_columns(spark: SparkSession, lake: str) -> None:
    ddl = "month string, filename string, m struct<y: string>, year bigint"
    frame = reader(spark, metadataColumns="filename", where="year = 2025").schema(ddl).load(lake)
    assert frame.schema.simpleString() == "struct<month:string,filename:string,m:struct<y:string>,year:bigint>"
    assert [(row[0], row[1], row[3]) for row in frame.collect()] == [("1", "c.json", 2025)] * 2
    assert reader(spark).schema("id long").load(lake).columns == ["id"]
    assert reader(spark).schema("year int").load(lake).count() == 6
    with pytest.raises(PySparkException, match="bad-where"):
        reader(spark, where="year > 2000").schema("id long, year string").load(lake).collect()


def test_views_take_columns_and_conditions(spark: SparkSession, lake: str) -> None:
    given = f"path '{lake}', recordFormat 'json', columns 'id, `month`, filename', where \"year in (2025)\""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW chosen USING splitscan OPTIONS ({given})")
    assert rows(spark.sql("SELECT * FROM chosen WHERE id > 1")) == [(2, 1, "c.json")]
    spark.catalog.dropTempView("chosen")


def test_the_array_of_all_fields_comes_through_every_way_in(spark: SparkSession, tmp_path: Path) -> None:  # parity 97
    path = tmp_path / "a.csv"
    path.write_text('a,"b,c",d\n1\n')
    expected = [(["1"],), (["a", "b,c", "d"],)]
    source = spark.read.format("splitscan")
    assert rows(source.option("columnsArray", True).load(str(path))) == expected
    assert rows(spark.read.format("splitscan").schema("columns array<string>").load(str(path))) == expected
    assert rows(ss.scan_csv(str(path), columnsArray=True).to_spark(spark)) == expected
    some = spark.read.format("splitscan").option("columns", "columns[1]").load(str(path))
    assert rows(some) == [(["", "b,c"],), ([""],)]
    assert rows(some.selectExpr("get(columns, 1)")) == [("b,c",), (None,)]


def test_blocks_are_chosen_on_spark_as_in_process(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{number:03}\n" for number in range(100)))
    options = {"where": "file_block_start >= 120 and file_block_start < 200", "blockSize": 40}
    expected = [(f"{number:03}",) for number in range(30, 50)]
    assert rows(spark.read.format("splitscan").options(recordFormat="text", **options).load(str(path))) == expected
    scan = ss.scan_text(str(path), **options)
    assert rows(scan.to_spark(spark)) == expected
    assert scan.count(spark) == scan.count() == 20


def test_an_ingest_keeps_columns_of_files_and_takes_only_the_files_that_are_chosen(
    spark: SparkSession, lake: str, tmp_path: Path
) -> None:
    scan = ss.scan_json(lake).select("id", "m.y", "year", "month", "filename").where("year = 2024")
    report = scan.ingest(spark, str(tmp_path / "out"))
    assert report.rows == 4
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert frame.columns == ["id", "m", "year", "month", "filename"]
    assert rows(frame.select("id", "m.y", "year", "month", "filename")) == [
        (1, "p", 2024, 1, "a.json"), (1, "p", 2024, 2, "b.json"), (2, None, 2024, 1, "a.json"),
        (2, None, 2024, 2, "b.json"),
    ]  # fmt: skip
    again = ss.scan_json(lake).select("id", "m.y", "year", "month", "filename").ingest(spark, str(tmp_path / "out"))
    assert (again.rows, again.files_skipped) == (2, 2)


def test_operators_on_rows_refuse_conditions(spark: SparkSession, lake: str) -> None:
    paths = spark.createDataFrame([(lake,)], "path string")
    with pytest.raises(UsageError, match="option where has no meaning"):
        ss.split_files(paths, where="year = 2024")
    blocks = ss.split_files(paths)
    with pytest.raises(UsageError, match="option where has no meaning"):
        ss.read_blocks(blocks, format="json", schema="id int", where="year = 2024")
    records = ss.read_blocks(blocks, format="json", schema="id int", metadata_columns="filename", columns="filename,id")
    assert rows(records.select("filename", "id"))[0] == ("a.json", 1)
