"""JSON through Spark, and beside Spark's own reader where that one is right."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss

SCHEMA = (
    "a int, b bigint, c double, d string, e boolean, f decimal(10,2), g timestamp, h timestamp_ntz, i date, j binary, "
    "k struct<x: int, y: array<string>>, l array<struct<m: double>>, n map<string, int>, _corrupt_record string"
)
VALUES = ("1", "-0", "1.5", "1e3", "1.555", "99999999999", "true", "null", '""', '"x"', '"1"', '"NaN"', "NaN",
          '"2020-01-02"', '"2020-01-02T03:04:05.123456Z"', '"2020-01-02 03:04:05"', '"aGk="', "[]", "{}", "[1,null]",
          '[{"m":1},{"m":"x"},null]', '{"x":1,"y":["s",2,{"z": 1.50}]}', '{"x":"bad","y":[]}', '{"k":1,"k":2}',
          r'"\u00e9\ud83d\ude00\n\\"', '"é☃"')  # fmt: skip
COLUMNS = "abcdefghijkln"


def plain(value: Any) -> Any:
    """Values that compare: NaN equals itself, maps and rows by content."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    return value


def rows(frame: DataFrame) -> list[Any]:
    return [plain(tuple(row)) for row in frame.collect()]


def write(folder: Path, text: str) -> str:
    path = folder / "a.json"
    path.write_bytes(text.encode())
    return str(path)


@pytest.mark.parametrize(("before", "expected"), [('[{"a": 1}, /* ', [1, 3]), ('[{"a": 1}, ', [1, 2, 3])])
def test_with_comments_the_same_text_has_other_records_by_what_is_anywhere_before_it(
    spark: SparkSession, tmp_path: Path, before: str, expected: list[int]
) -> None:
    """So ``allowComments`` is refused: a reader that begins in that text cannot know."""
    path = tmp_path / "a.json"
    path.write_text(before + '{"a": 2}, // */\n {"a": 3}]')
    theirs = spark.read.options(allowComments=True, multiLine=True).schema("a int").json(str(path))
    assert [row["a"] for row in theirs.collect()] == expected
    with pytest.raises(ss.UsageError, match="takes only false"):
        ss.scan_json(str(path), "a int", allow_comments=True, multi_line=True)


def test_lines_of_comments_alone_are_no_rows_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a":1}\n// x\n/* {"a":2} */\n{"a":3}\n')
    rows = spark.read.option("allowComments", True).schema("a int").json(str(path)).collect()
    assert [row["a"] for row in rows] == [1, 3]


INTERVALS = ["INTERVAL '1-2' YEAR TO MONTH", "1-2", "INTERVAL '1 02:03:04.5' DAY TO SECOND", "1 02:03:04.5", "P1Y2M"]


@pytest.mark.parametrize(
    ("kind", "read"), [("interval year to month", [0, 1]), ("interval day to second", [2, 3])], ids=["months", "days"]
)
def test_spark_reads_intervals_in_two_forms_and_none_of_xml(
    spark: SparkSession, tmp_path: Path, kind: str, read: list[int]
) -> None:
    """As ``docs/differences.md`` says."""
    written = {
        "csv": "\n".join(INTERVALS),
        "json": "\n".join(f'{{"a":"{text}"}}' for text in INTERVALS),
        "xml": f"<r>{''.join(f'<x><a>{text}</a></x>' for text in INTERVALS)}</r>",
    }
    for name, text in written.items():
        path = tmp_path / f"a.{name}"
        path.write_text(text)
        options = {"rowTag": "x"} if name == "xml" else {}
        rows = spark.read.format(name).options(**options).schema(f"a {kind}").load(str(path))
        is_read = [row["b"] for row in rows.selectExpr("a is not null b").collect()]
        assert is_read == [name != "xml" and number in read for number in range(len(INTERVALS))]
        with pytest.raises(ss.SplitscanError) as caught:
            ss.scan(str(path), name, f"a {kind}", **options)
        assert caught.value.reason_code == "unsupported-type"


def test_lines_are_what_sparks_reader_makes_of_them(spark: SparkSession, tmp_path: Path) -> None:
    number_in_quotes = ("i", '"1"')  # which Spark reads as days since 1970
    pairs = [(name, value) for name in COLUMNS for value in VALUES if (name, value) != number_in_quotes]
    lines = [f'{{"{name}":{value}}}' for name, value in pairs]
    lines += ['{"a":1,"a":2}', "{}", " ", "", "5", '"x"', "null", "{a:1}", '{"a":01}', '{"a":1', "{'d':'it\"s'}"]
    path = write(tmp_path, "\n".join(lines))
    expected = rows(spark.read.schema(SCHEMA).json(path))
    assert rows(ss.scan_json(path, SCHEMA, block_size=100, open_cost_in_bytes=0).to_spark(spark)) == expected
    narrow = "d string, a int"
    assert rows(ss.scan_json(path, narrow).to_spark(spark)) == rows(spark.read.schema(narrow).json(path))


def test_elements_below_a_path_are_rows(spark: SparkSession, tmp_path: Path) -> None:
    pages = [{"n": {"data": [0]}, "data": [{"a": 10 * page + i, "b": "]"} for i in range(10)]} for page in range(5)]
    path = write(tmp_path, "\n".join(json.dumps(page, indent=1) for page in pages))
    found = spark.read.format("splitscan").option("recordFormat", "json").option("recordPath", "$.data[*]")
    frame = found.option("blockSize", 100).load(path)
    assert frame.columns == ["a", "b"]
    assert sorted(row["a"] for row in frame.collect()) == list(range(50))
    assert frame.count() == 50
    exploded = spark.read.json(path, multiLine=True).selectExpr("inline(data)")
    assert rows(frame)[:10] == rows(exploded)  # Spark reads the first document of a file alone


def test_columns_around_arrays_are_in_every_row(spark: SparkSession, tmp_path: Path) -> None:
    pages = [{"n": page, "data": [{"a": 10 * page + i} for i in range(10)], "z": f"z{page}"} for page in range(5)]
    path = write(tmp_path, "\n".join(json.dumps(page, indent=1) for page in pages))
    expected = sorted((10 * page + i, page, f"z{page}") for page in range(5) for i in range(10))
    options = {"recordFormat": "json", "recordPath": "$.data[*]", "recordPathColumns": "$.n as n int, $.z"}
    reader = spark.read.format("splitscan").options(**options, blockSize="50", openCostInBytes="0")
    for frame in (
        reader.load(path),
        ss.scan_json(path, record_path="$.data[*]", record_path_columns="$.n as n int, $.z", block_size=50).to_spark(
            spark
        ),
    ):
        assert frame.columns == ["a", "n", "z"]
        assert sorted(map(tuple, frame.collect())) == expected
        assert frame.rdd.getNumPartitions() > 1
        assert sorted(map(tuple, frame.select("z", "a").where("n = 3").collect())) == [
            ("z3", 30 + i) for i in range(10)
        ]
        assert frame.count() == 50
    scan = ss.scan_json(path, record_path="$.data[*]", record_path_columns="$.n as n int, $.z", block_size=50)
    assert scan.ingest(spark, str(tmp_path / "out")).rows == 50
    assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "out")).select("a", "n", "z").collect())) == expected
    given = reader.schema("N bigint, a int").load(path)
    assert sorted(map(tuple, given.collect())) == [(n, a) for a, n, _ in expected]


def test_pretty_printed_arrays_are_what_sparks_reader_makes_of_them(spark: SparkSession, tmp_path: Path) -> None:
    data = [{"a": i, "d": '}{"' * i, "k": {"x": -i, "y": ["]"] * (i % 3)}, "l": [{"m": i / 7}]} for i in range(40)]
    schema = "a int, d string, k struct<x: int, y: array<string>>, l array<struct<m: double>>"
    for indent in (None, 0, 3):
        path = write(tmp_path, json.dumps(data, indent=indent))
        expected = rows(spark.read.schema(schema).json(path, multiLine=True))
        for block_bytes in (97, 1000):
            scan = ss.scan_json(path, schema, multi_line=True, block_size=block_bytes, open_cost_in_bytes=0)
            frame = scan.to_spark(spark)
            assert frame.rdd.getNumPartitions() > 1
            assert rows(frame) == expected
            assert scan.count(spark) == len(data)


def test_columns_that_are_found_have_sparks_types(spark: SparkSession, tmp_path: Path) -> None:
    data = [
        {"b": 1, "a": "x", "c": [1, 2.5], "d": {"y": True, "x": None}},
        {"b": 2.5, "e": 9223372036854775808, "f": [], "g": None, "d": {"z": [{"q": 1}]}},
        {"h": {"x": {}}, "i": [[1], ["x"]], "j": True, "b": -1},
    ]
    path = write(tmp_path, "\n".join(json.dumps(row) for row in data))
    own, other = (dict(f.dtypes) for f in (ss.scan_json(path).to_spark(spark), spark.read.json(path)))
    assert own.keys() == other.keys() | {"h"}  # which Spark drops
    assert own["h"] == "struct<x:string>"
    for name in other:
        if name != "d":  # whose fields Spark sorts
            assert own[name] == other[name], name
    assert own["d"] == "struct<y:boolean,x:string,z:array<struct<q:bigint>>>"


@pytest.mark.parametrize("end", ["\n]", ""])
def test_the_data_source_reads_values_over_lines_in_parallel(spark: SparkSession, tmp_path: Path, end: str) -> None:
    ss.register(spark)
    path = write(tmp_path, "[\n" + ",\n".join(json.dumps({"id": i, "t": "}\n"}, indent=1) for i in range(200)) + end)
    reader = spark.read.format("splitscan").option("recordFormat", "json").option("multiLine", "true")
    frame = reader.option("blockSize", "500").option("openCostInBytes", "0").schema("id int, t string").load(path)
    assert frame.rdd.getNumPartitions() > 1
    assert [row.id for row in frame.collect()] == list(range(200))


def test_json_is_ingested_with_a_ledger(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps([{"id": i, "m": {"x": [i]}} for i in range(300)], indent=2)[:-20])
    scan = ss.scan_json(path, multi_line=True, block_size=1000, open_cost_in_bytes=0)
    scan.ingest(spark, str(tmp_path / "out"), max_rejects=1)
    found = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(row.id for row in found.collect()) == list(range(299))
    assert dict(found.dtypes)["m"] == "struct<x:array<bigint>>"
