"""What Spark asks of the connector beside columns: files by conditions, hidden columns, members of structs."""

import hashlib
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import splitscan as ss
from splitscan.spark.connector import connector_jar

pytestmark = pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")

_MEMBERS = (
    "file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time",
    "record_offset", "record_length",
)  # fmt: skip
_NESTED = (
    "s struct<a: int, b: struct<c: string, d: array<struct<x: int, y: string>>>>, m map<string, struct<u: int, v: int>>"
)


@pytest.fixture(autouse=True)
def _registered(spark: SparkSession) -> None:
    ss.register(spark)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of different lengths in directories of numbers, one of which is null, dates and texts."""
    for number, (p, day, text) in enumerate(
        [("1", "2024-01-01", "a"), ("2", "2024-01-02", "B b"), ("10", "2024-01-01", "a"),
         ("__HIVE_DEFAULT_PARTITION__", "1969-12-31", "é")]
    ):  # fmt: skip
        place = tmp_path / "in" / f"p={p}" / f"day={day}" / f"text={text}"
        place.mkdir(parents=True)
        (place / f"{number}.csv").write_text("".join(f"{number},{i}\n" for i in range(10 ** (number + 1) // 10)))
    return tmp_path / "in"


def _load(spark: SparkSession, folder: Path, **options: Any) -> DataFrame:
    reader = spark.read.format("splitscan").option("recordFormat", "csv").options(**options)
    return reader.schema("k int, v int, p int, day date, text string").load(str(folder))


def _read_bytes(spark: SparkSession) -> int:
    """Bytes of files that the last query read."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    execution = store.executionsList().last()
    values = store.executionMetrics(execution.executionId())
    metrics = [execution.metrics().apply(number) for number in range(execution.metrics().size())]
    ids = {metric.accumulatorId() for metric in metrics if metric.name() == "bytes of files read"}
    found = [values.get(number) for number in ids]
    return sum(int(value.get().replace(",", "")) for value in found if value.isDefined())


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("p = 2", [1]), ("p > 1 AND v >= 0", [1, 2]), ("p IS NULL", [3]), ("NOT (p = 1)", [1, 2]), ("p <=> NULL", [3]),
        ("p IN (1, 10, 11)", [0, 2]), ("p NOT IN (1, 10)", [1]), ("p = 1 OR p IS NULL", [0, 3]),
        ("p = 1 OR v = 3", None),
        ("day = DATE'2024-01-01'", [0, 2]), ("day < DATE'2000-01-01'", [3]), ("text LIKE 'B%'", [1]),
        ("text > 'a'", [3]),
        ("text LIKE '%b%' OR text = 'é'", [1, 3]), ("p + 1 = 3", [0, 1, 2]), ("_metadata.file_name = '2.csv'", [2]),
        ("_metadata.file_size > 1000 AND p = 10", []), ("_metadata.file_path LIKE '%/0.csv'", [0]),
        ("_metadata.file_modification_time < TIMESTAMP'2001-01-01'", []), ("_metadata.record_offset = 0", None),
        ("v = 3", None), ("p = 5", []),
    ],
)  # fmt: skip
def test_conditions_on_what_files_share_leave_files_out_exactly(
    spark: SparkSession, folder: Path, condition: str, files: list[int] | None
) -> None:
    frame = _load(spark, folder)
    sizes = {int(path.stem): path.stat().st_size for path in folder.rglob("*.csv")}
    rows = frame.select("*", fn.expr(condition).alias("holds")).collect()
    expected = sorted(tuple(row)[:-1] for row in rows if row.holds)
    assert sorted(map(tuple, frame.where(condition).collect()), key=repr) == sorted(expected, key=repr)
    frame.where(condition).collect()
    assert _read_bytes(spark) == sum(sizes[file] for file in (sizes if files is None else files))


_OPERATORS = ("=", "<", ">", "<=", ">=", "<>", "<=>")
_DRAWN = (
    [f"p {operator} {value}" for operator in _OPERATORS for value in ("2", "10", "NULL", "2.5", "'2'", "1L")]
    + [
        f"day {operator} {value}"
        for operator in _OPERATORS
        for value in ("DATE'2024-01-01'", "DATE'1582-10-10'", "TIMESTAMP'2024-01-01 12:00:00'")
    ]
    + [f"text {operator} {value}" for operator in _OPERATORS for value in ("'a'", "'B b'", "'é'", "'𝄞'", "''")]
    + [f"{name} IS {what}NULL" for name in ("p", "day", "text", "v") for what in ("", "NOT ")]
    + ["p IN (1, 2)", "p NOT IN (10, NULL)", "text LIKE '%b'", "text LIKE '_'", "v % 2 = 0", "k IN (1, 3)", "p = k",
       "p BETWEEN 2 AND 10", "coalesce(p, 0) > 1", "p = 1 = (text = 'a')", "upper(text) = 'A'", "year(day) = 2024",
       "CASE WHEN p > 1 THEN text = 'a' ELSE day > DATE'2000-01-01' END", "true"]
)  # fmt: skip


def _drawn(chance: random.Random, depth: int = 3) -> str:
    if depth == 0 or chance.random() < 0.3:
        return chance.choice(_DRAWN)
    if chance.random() < 0.3:
        return f"NOT ({_drawn(chance, depth - 1)})"
    return f"(({_drawn(chance, depth - 1)}) {chance.choice(['AND', 'OR'])} ({_drawn(chance, depth - 1)}))"


@pytest.mark.parametrize("seed", range(4))
def test_drawn_conditions_have_the_rows_that_they_have_without_the_connector(
    spark: SparkSession, folder: Path, seed: int
) -> None:
    chance = random.Random(seed)
    spark.conf.set("spark.splitscan.connector", "false")
    try:
        by_python = _load(spark, folder).localCheckpoint()
    finally:
        spark.conf.unset("spark.splitscan.connector")
    frame = _load(spark, folder)
    shown = [fn.count("*"), fn.sum("v"), fn.sum(fn.hash("k", "p", "day", "text"))]
    for _ in range(30):
        condition = _drawn(chance)
        assert frame.where(condition).agg(*shown).first() == by_python.where(condition).agg(*shown).first(), condition


def test_a_join_leaves_out_files_when_it_runs(spark: SparkSession, folder: Path) -> None:
    few = spark.createDataFrame([(2, "x"), (3, "y")], "p int, name string").where("name = 'x'")
    frame = _load(spark, folder).join(fn.broadcast(few), "p")
    assert frame.count() == 10
    size = next(folder.rglob("1.csv")).stat().st_size
    assert _read_bytes(spark) == size
    assert frame.count() == 10


def test_a_condition_is_shown_in_the_plan(spark: SparkSession, folder: Path) -> None:
    plan = _load(spark, folder).where("p = 2 AND v > 3")._jdf.queryExecution().toString()
    assert "files p = 2" in plan.replace("p IS NOT NULL AND ", "")


def _partitions(frame: DataFrame) -> int:
    leaf = frame._jdf.queryExecution().sparkPlan().collectLeaves().head()
    return int(leaf.inputRDD().getNumPartitions())


def test_a_small_limit_takes_the_first_records_in_one_task(spark: SparkSession, tmp_path: Path) -> None:
    text = "".join(f'{i},"x\n{i}"\n' for i in range(20_000))
    (tmp_path / "a.csv").write_text(text)
    options = {"recordFormat": "csv", "multiLine": True, "escape": '"', "blockSize": "1 KiB", "readBytes": "4 KiB"}
    reader = spark.read.format("splitscan").options(**options, openCostInBytes=0, batchRows=1000)
    frame = reader.schema("k int, v string").load(str(tmp_path))
    first = [(i, f"x\n{i}") for i in range(20_000)]
    assert frame.limit(5).collect() == first[:5]
    assert [_partitions(each) for each in (frame.limit(5), frame.limit(1000))] == [1, 1]
    assert min(_partitions(each) for each in (frame, frame.limit(1001))) > 1
    assert frame.head(1000) == first[:1000]
    assert frame.limit(15_000).count() == 15_000
    assert frame.collect() == first
    assert frame.where("k >= 19990").limit(20).count() == 10
    cut = frame.select("k", "_metadata.file_block_start")
    assert cut.limit(900).collect() == cut.collect()[:900]
    assert spark.read.format("splitscan").options(**options, limit=3).load(str(tmp_path)).limit(5).count() == 3


def test_planning_counts_rows_on_the_way_to_the_index(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("".join(f'{i},"x\n{i}"\n' for i in range(2_000)))
    monkeypatch.setenv("SPLITSCAN_CACHE", os.devnull)
    options = {"recordFormat": "csv", "multiLine": True, "escape": '"', "blockSize": "1 KiB", "openCostInBytes": 0}
    frame = spark.read.format("splitscan").options(**options).schema("k int, v string").load(str(tmp_path))
    assert (frame.count(), _read_bytes(spark)) == (2_000, 0)
    assert frame.select().agg(fn.count(fn.lit(1)).alias("n")).collect() == [(2_000,)]
    assert frame.agg(fn.count("*"), fn.max("k")).collect() == [(2_000, 1_999)]
    assert frame.union(frame).count() == 4_000
    assert frame.where("k < 7").count() == 7
    assert frame.groupBy().count().limit(1).collect() == [(2_000,)]
    assert frame.groupBy(fn.spark_partition_id()).count().count() == _partitions(frame) > 1
    assert frame.limit(1_500).count() == 1_500
    assert frame.withColumn("x", fn.lit(1)).count() == 2_000
    with (tmp_path / "a.csv").open("a") as file:
        file.write('1,"never closed\n')
    again = spark.read.format("splitscan").options(**options).schema("k int, v string").load(str(tmp_path))
    assert (again.count(), len(again.collect())) == (2_000, 2_000)
    with pytest.raises(Exception, match="source-changed"):
        frame.count()


def test_a_second_count_reads_no_block(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in" / "a.csv"
    path.parent.mkdir()
    path.write_text("".join(f'{i},"x\n{i}"\n' for i in range(2_000)))
    os.utime(path, (1_000_000_000, 1_000_000_000))  # of a file that has just changed nothing is kept
    monkeypatch.setenv("SPLITSCAN_CACHE", str(tmp_path / "cache"))
    options = {"recordFormat": "csv", "multiLine": True, "escape": '"', "blockSize": "1 KiB", "openCostInBytes": 0}

    def load() -> DataFrame:
        return spark.read.format("splitscan").options(**options).schema("k int, v string").load(str(path))

    assert (load().count(), _read_bytes(spark)) == (2_000, 0)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    said = kept.read_text().split("\n", 1)[1].replace('"records": 2000', '"records": 7')
    kept.write_text(f"{hashlib.sha256(said.encode()).hexdigest()[:32]}\n{said}")
    assert (load().count(), _read_bytes(spark)) == (7, 0)  # so neither planning nor a task has read the file again


# ------------------------------------------------------------- _metadata


@pytest.fixture(params=["load", "to_spark"])
def frame(request: pytest.FixtureRequest, spark: SparkSession, folder: Path) -> DataFrame:
    if request.param == "load":
        return _load(spark, folder, blockSize="1 KiB")
    return ss.scan_csv(folder, "k int, v int", dialect="spark", block_size=1024).to_spark(spark)


def test_metadata_are_what_metadata_columns_are_and_hidden(spark: SparkSession, folder: Path, frame: DataFrame) -> None:
    assert frame.columns == ["k", "v", "p", "day", "text"]
    shown = ss.scan_csv(
        folder, "k int, v int", dialect="spark", block_size=1024, metadata_columns=",".join(_MEMBERS)
    ).to_spark(spark)
    expected = sorted(map(tuple, shown.select("v", *_MEMBERS).collect()))
    assert sorted(map(tuple, frame.select("v", "_metadata.*").collect())) == expected
    assert sorted(map(tuple, frame.select("v", *(f"_metadata.{name}" for name in _MEMBERS)).collect())) == expected
    assert sorted((row.v, *row._metadata) for row in frame.select("v", "_metadata").collect()) == expected
    assert frame.select("_metadata.record_offset").count() == 1111
    assert frame.groupBy("_metadata.file_name").count().count() == 4
    assert frame.select("_metadata").where("_metadata.file_name = '1.csv'").count() == 10


def test_a_column_of_the_records_hides_metadata(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"_metadata": {"file_name": "mine"}}\n')
    frame = spark.read.format("splitscan").option("recordFormat", "json").load(str(tmp_path))
    assert frame.select("_metadata.file_name").collect() == [("mine",)]


def test_where_python_reads_there_is_no_metadata_and_it_says_so(spark: SparkSession, folder: Path) -> None:
    frame = _load(spark, folder, onFileChange="ignore")
    assert frame.count() == 1111
    with pytest.raises(AnalysisException, match=r"has no column _metadata \[unsupported-scan\]") as caught:
        frame.select("_metadata.file_name").collect()
    assert "files may be missing" in str(caught.value)


def test_a_stream_that_python_reads_has_no_metadata_and_says_so(spark: SparkSession, folder: Path) -> None:
    reader = spark.readStream.format("splitscan").option("recordFormat", "csv").option("onFileChange", "ignore")
    stream = reader.schema("k int, v int").load(str(folder))
    with pytest.raises(AnalysisException, match="_metadata"):
        stream.select("k", "_metadata.file_name")


# --------------------------------------------------------------- members


@pytest.mark.parametrize("corrupt", ["", ", _corrupt_record string"])
def test_members_alone_have_the_values_that_they_have_in_the_whole(
    spark: SparkSession, tmp_path: Path, corrupt: str
) -> None:
    records = [
        '{"s": {"a": 1, "b": {"c": "x", "d": [{"x": 1, "y": "p"}, {"x": "no"}, null]}}, "m": {"k": {"u": 1, "v": 2}}}',
        '{"s": {"a": "no", "b": {"c": "y"}}}', '{"s": null}', "{}", '{"s": 5}', '{"m": {"k": {"v": "no"}}}', "{]",
    ]  # fmt: skip
    (tmp_path / "a.json").write_text("\n".join(records))
    frame = ss.scan_json(tmp_path, _NESTED + corrupt).to_spark(spark)
    rows = frame.collect()

    def members(take: Callable[[Any], Any]) -> list[Any]:
        return [None if row.s is None else take(row.s) for row in rows]

    assert [row[0] for row in frame.select("s.a").collect()] == members(lambda s: s.a)
    assert [row[0] for row in frame.select("s.b.c").collect()] == members(lambda s: s.b and s.b.c)
    found = frame.select("s.b.d.y", "s.a", "m.k.v").collect()
    assert [row.y for row in found] == members(lambda s: s.b and s.b.d and [each and each.y for each in s.b.d])
    assert [row.v for row in found] == [row.m and row.m["k"].v for row in rows]
    plan = frame.select("s.b.c")._jdf.queryExecution().optimizedPlan()
    assert "d:" not in plan.schema().toString() + plan.collectLeaves().head().schema().simpleString()
    if corrupt:
        both = frame.select("s.b.c", "_corrupt_record").collect()
        assert [row._corrupt_record for row in both] == [row._corrupt_record for row in rows]
