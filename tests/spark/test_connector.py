"""Rows by the connector: the same as by Python, for all that Spark may ask; and how its jar comes to a session."""

import bz2
import gzip
import io
import random
import tarfile
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import splitscan as ss
from splitscan.errors import UsageError
from splitscan.spark import connector
from splitscan.spark.choice import why_python
from splitscan.spark.connector import connector_jar

from .samples import rows_of

pytestmark = pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")

_SCHEMA = (
    "t string, b boolean, i1 tinyint, i2 smallint, i4 int, i8 bigint, f4 float, f8 double, d date, n decimal(9,2), "
    "m decimal(38,10), y binary"
)
_OPTIONS: dict[str, Any] = {"header": True, "multi_line": True, "escape": '"', "open_cost_in_bytes": 0}
_LAST_OF_PLAN = "BatchScan splitscan"


def _value(chance: random.Random) -> str:
    return chance.choice(
        [
            "", '""', "x", "é𝄞", '"a\nb"', '"q""q"', '"\r\n"', "true", "FALSE", "0", "-1", "127", "128", "32767",
            "2147483647", "-2147483648", "9223372036854775807", "1.5", "-0.0", "NaN", "Inf", "1e300", "1e-50",
            "0001-01-01", "1582-10-10", "1969-12-31", "9999-12-31", "1234567.89",
            "9999999999999999999999999999.1234567891", "-99999.99", " 7 ", "2024-02-30",
        ]
    )  # fmt: skip


def _file(path: Path, chance: random.Random, records: int = 40) -> str:
    """Records of every type, some of them broken: short, long, with values that do not convert."""
    names = [column.split()[0] for column in _SCHEMA.split(", ")]
    lines = [",".join(names)]
    for _ in range(records):
        fields = len(names) + chance.choice([0] * 9 + [-1, 1])
        lines.append(",".join(_value(chance) for _ in range(fields)))
    path.write_text(chance.choice(["\n", "\r\n"]).join(lines) + chance.choice(["", "\n"]), newline="")
    return str(path)


def _by_connector(scan: ss.Scan, spark: SparkSession) -> DataFrame:
    assert why_python(scan, spark) is None
    frame = scan.to_spark(spark)
    assert _LAST_OF_PLAN in frame._jdf.queryExecution().toString()
    return frame


def _shown(rows: list[Any]) -> list[str]:
    """Rows as texts, in which NaN equals itself; older PySpark has bytes that can be changed."""
    return [repr(tuple(bytes(value) if isinstance(value, bytearray) else value for value in row)) for row in rows]


@pytest.mark.parametrize("seed", range(12))
def test_rows_and_nulls_of_all_types_are_those_of_the_reference_loop(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    path = _file(tmp_path / "a.csv", chance)
    block_bytes, batch_rows = chance.choice([1, 7, 64, 1 << 20]), chance.choice([1, 3, 65_536])
    scan = ss.scan_csv(path, _SCHEMA, **_OPTIONS, block_size=block_bytes, batch_rows=batch_rows)
    expected = _shown(rows_of(scan.to_arrow()))
    assert _shown(_by_connector(scan, spark).collect()) == expected
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        assert _shown(_by_connector(scan, spark).collect()) == expected
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")


def test_every_cut_gives_every_record_once(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes('k,v\n1,"a\n""b"\n\n2,"\r\n"\r\n3,é\n4'.encode())
    size = path.stat().st_size
    for block_bytes in range(1, size + 1):
        scan = ss.scan_csv(path, "k int, v string", **_OPTIONS, block_size=block_bytes)
        frame = _by_connector(scan, spark)
        assert [tuple(row) for row in frame.collect()] == [(1, 'a\n"b'), (2, "\r\n"), (3, "é"), (4, None)], block_bytes
        assert frame.count() == 4


@pytest.fixture
def numbers(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """5,000 records in several partitions, and each of those in several batches."""
    path = tmp_path / "numbers.csv"
    path.write_text("".join(f'{i},"v\n{i % 100}",{i * 0.5}\n' for i in range(5_000)))
    options = {**_OPTIONS, "header": False, "block_size": 2_000, "batch_rows": 100}
    return _by_connector(ss.scan_csv(path, "k int, v string, x double", **options), spark)


def test_spark_asks_for_the_columns_that_it_needs(numbers: DataFrame) -> None:
    plan = numbers.select("x", "k").where("k < 10")._jdf.queryExecution().toString()
    assert "BatchScan splitscan[k#" in plan.partition("Physical Plan")[2]
    assert "v#" not in plan.partition("Optimized Logical Plan")[2]
    assert numbers.select("x", "k").where("k = 7").collect() == [(3.5, 7)]


def test_rows_are_counted_without_a_column(numbers: DataFrame) -> None:
    assert numbers.count() == 5_000
    assert numbers.select().count() == 5_000
    assert numbers.where("k >= 4000").count() == 1_000


def test_a_limit_reaches_the_tasks_and_is_no_row_too_few(numbers: DataFrame) -> None:
    assert numbers.limit(3).collect() == [(0, "v\n0", 0.0), (1, "v\n1", 0.5), (2, "v\n2", 1.0)]
    assert ", limit 3" in numbers.limit(3)._jdf.queryExecution().toString()
    assert numbers.limit(4_999).count() == 4_999
    assert numbers.where("k >= 4990").limit(20).count() == 10


def test_a_limit_of_the_scan_is_one(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{i}\n" for i in range(50)))
    scan = ss.scan_csv(path, "k int", dialect="spark", block_size=10, open_cost_in_bytes=0).limit(7)
    assert _by_connector(scan, spark).count() == 7


def test_texts_outlive_their_batches_in_aggregates_sorts_joins_and_caches(numbers: DataFrame) -> None:
    texts = [f"v\n{i % 100}" for i in range(5_000)]
    edges = numbers.agg(fn.min("v"), fn.max("v"), fn.first("v"), fn.last("v")).first()
    assert tuple(edges or ()) == (min(texts), max(texts), texts[0], texts[-1])
    assert numbers.agg(fn.collect_list("v")).first()[0] == texts  # type: ignore[index]
    assert [row.v for row in numbers.orderBy("v", "k").select("v").collect()] == sorted(texts)
    assert numbers.groupBy("v").count().where("count = 50").count() == 100
    cached = numbers.cache()
    try:
        assert cached.count() == 5_000
        assert sorted(row.v for row in cached.select("v").collect()) == sorted(texts)
    finally:
        cached.unpersist()


def test_a_scan_stands_twice_in_one_query(numbers: DataFrame) -> None:
    assert numbers.union(numbers).count() == 10_000
    narrow, other = numbers.select("k"), numbers.select("k", "x").limit(10)
    assert narrow.join(other, "k").count() == 10
    assert numbers.alias("a").join(numbers.alias("b"), "k").count() == 5_000


def test_rdds_and_functions_of_python_take_its_rows(numbers: DataFrame) -> None:
    assert numbers.rdd.map(lambda row: row.k).sum() == sum(range(5_000))
    assert numbers.select(fn.udf(lambda k: k + 1, "int")("k").alias("n")).agg(fn.sum("n")).first() == (12_502_500,)


def test_a_small_side_is_broadcast_by_its_bytes(numbers: DataFrame) -> None:
    stats = numbers._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    part = numbers.select("k")._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    assert 0 < part < stats < 1 << 20


def test_lines_are_read_by_it_too(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\n\nb\xc3\xa9\r\nc\xff\rlast")
    for block_bytes in range(1, 20):
        scan = ss.scan_text(path, block_size=block_bytes, open_cost_in_bytes=0)
        assert _by_connector(scan, spark).collect() == [("a",), ("",), ("bé",), ("c�",), ("last",)]


def test_files_in_folders_and_empty_ones(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.csv").write_text("" if number == 3 else f"k\n{number}\n")
    scan = ss.scan_csv(tmp_path, "k int", header=True)
    assert _by_connector(scan, spark).collect() == [(0,), (1,), (2,), (4,)]


def test_no_file_is_no_row(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    assert _by_connector(ss.scan_csv(tmp_path / "a.csv", "k int"), spark).collect() == []


# ------------------------------------------------------------- which way


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"on_file_change": "ignore"}, "may be missing"),
        ({"ignore_missing_files": True}, "may be missing"),
        ({"source_compression": "gzip"}, "not in the codec"),
    ],
)
def test_what_the_connector_does_not_read_is_read_by_python(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1\n")
    said = why_python(ss.scan_csv(path, **{"schema": "k int", "dialect": "spark", **options}), spark)
    assert said is not None
    assert reason in said


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.csv.bz2", bz2.compress(b"1\n"), "is compressed in bzip2"),
        ("a.csv", b"\x1f\x8b\x08\x00 and so on\n", "is damaged"),
        ("a.csv.gz", gzip.compress(bytes(range(32)) * 8), "no text"),
        ("a.csv.gz", gzip.compress(gzip.compress(b"1\n")), "a container"),
        ("a.csv", b"PK\x03\x04....\n", "a container"),
        ("a.csv", bytes(range(32)) * 8, "no text"),
    ],
)
def test_files_that_are_no_plain_text_are_read_by_python(
    spark: SparkSession, tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(data)
    said = why_python(ss.scan_csv(tmp_path / name, "k int", dialect="spark"), spark)
    assert said is not None
    assert reason in said


def test_members_of_archives_are_read_by_python(spark: SparkSession, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("b.csv")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"1\n"))
    scan = ss.scan_csv(tmp_path, "k int", dialect="spark", archive_path_filter="*")
    assert "is in an archive" in str(why_python(scan, spark))
    assert scan.to_spark(spark).collect() == [(1,)]


def test_other_ways_of_a_call_and_a_session_are_python(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    planner = ss.scan_csv(tmp_path / "a.csv", "k int")
    assert why_python(planner, spark, rebalance=True) == "rebalance=True"
    assert "function" in str(why_python(planner, spark, applies=True))
    spark.conf.set(connector.SETTING, "false")
    try:
        assert why_python(planner, spark) == "spark.splitscan.connector is false"
        frame = ss.scan_csv(tmp_path / "a.csv", "k int").to_spark(spark)
        assert "BatchScan" not in frame._jdf.queryExecution().toString()
        assert frame.collect() == [(1,)]
    finally:
        spark.conf.unset(connector.SETTING)


def test_explain_says_who_reads_and_why(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    scan = ss.scan_csv(tmp_path / "a.csv", "k int", dialect="spark")
    assert "read by: the connector, in Spark's JVM" in str(scan.explain(spark))
    assert "read by: Python workers (rebalance=True)" in str(scan.explain(spark, rebalance=True))
    assert "read by" not in str(scan.explain())


# ---------------------------------------------------------------- faults


def test_a_file_that_changed_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1\n")
    frame = _by_connector(ss.scan_csv(path, "k int", dialect="spark"), spark)
    path.write_text("1\n2\n")
    with pytest.raises(Exception, match=r"changed after it was planned .*\[source-changed\]"):
        frame.collect()
    path.unlink()
    with pytest.raises(Exception, match=r"cannot be read \[source-missing\]"):
        frame.collect()


def test_a_header_that_disagrees_is_an_error_by_every_projection(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,other\n1,2\n")
    frame = _by_connector(ss.scan_csv(path, "k int, v int", header=True, dialect="spark"), spark)
    for asked in (frame, frame.select("k"), frame.groupBy().count()):
        with pytest.raises(Exception, match=r"\[header-mismatch\]"):
            asked.collect()


def test_a_record_too_long_is_no_row_and_the_others_are(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1\n" + "9" * 5_000 + "\n2\n")
    scan = ss.scan_csv(path, "k string", dialect="spark", max_record_bytes=1_000, read_bytes=1_000)
    frame = _by_connector(scan, spark)
    assert frame.collect() == [("1",), ("2",)]
    assert frame.count() == 2


# ------------------------------------------------------------ attachment


def test_every_thread_and_new_session_of_a_running_one_reads(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n2\n")
    scan = ss.scan_csv(tmp_path / "a.csv", "k int", dialect="spark")
    counted: list[int] = []

    def count(session: SparkSession) -> None:
        counted.append(_by_connector(scan, session).count())

    sessions = (spark, spark.newSession(), spark.newSession())
    threads = [threading.Thread(target=count, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted == [2, 2, 2]
    assert spark.sparkContext._jsc.sc().listJars().isEmpty()  # executors in the same JVM have its classes


@pytest.mark.parametrize(("is_local", "sent"), [(True, 0), (False, 1)])
def test_executors_in_other_processes_are_sent_the_jar_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, is_local: bool, sent: int
) -> None:
    jars: list[str] = []
    found = Mock(isLocal=lambda: is_local, listJars=lambda: Mock(mkString=lambda sep: sep.join(jars)))
    context = Mock(wraps=spark.sparkContext, _jvm=spark.sparkContext._jvm, _gateway=spark.sparkContext._gateway)
    context._jsc = Mock(sc=lambda: found, addJar=jars.append)
    monkeypatch.setattr(connector, "classic_context", lambda _: context)
    assert connector.attach(spark)
    assert connector.attach(spark)
    assert [Path(jar).name for jar in jars] == ["splitscan-connector.jar"] * sent


def test_another_version_that_is_attached_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    scan = ss.scan_csv(tmp_path / "a.csv", "k int", dialect="spark")
    _by_connector(scan, spark)
    monkeypatch.setattr(connector, "jar_version", lambda _: "9.9.9+1")
    monkeypatch.setattr(connector, "_why_not_here", lambda _: pytest.fail("an older jar has no such class"))
    with pytest.raises(UsageError, match=r"\[other-connector\]"):
        scan.to_spark(spark)
    with pytest.raises(UsageError, match=r"\[other-connector\]"):
        scan.explain(spark)


def _by_new_loader(gateway: Any, name: str, method: str, *kinds: str) -> Any:
    """Call a static method of a class that no class loader has loaded yet, with null for each parameter."""
    jvm = gateway.jvm
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(str(connector_jar())).toURI().toURL()
    loader = jvm.java.net.URLClassLoader(urls, jvm.java.lang.ClassLoader.getSystemClassLoader())
    parameters = gateway.new_array(jvm.java.lang.Class, len(kinds))
    for i, kind in enumerate(kinds):
        parameters[i] = loader.loadClass(kind)
    found = loader.loadClass(f"splitscan.connector.{name}").getMethod(method, parameters)
    return found.invoke(None, gateway.new_array(jvm.java.lang.Object, len(kinds)))


def test_each_class_loader_has_the_native_library(spark: SparkSession) -> None:
    """A JVM refuses one file of a library for two of them."""
    for _ in range(2):
        assert _by_new_loader(spark.sparkContext._gateway, "Kernel", "nativeBytes") == 0


def test_a_jvm_gets_ready_for_its_first_query_without_a_job(spark: SparkSession) -> None:
    context: Any = spark.sparkContext

    def seen() -> tuple[Any, ...]:
        queries = spark._jsparkSession.sharedState().statusStore().executionsCount()
        return context.statusTracker().getJobIdsForGroup(), queries

    def wait() -> None:
        until = time.monotonic() + 60
        while "splitscan-first-query" in threads.getAllStackTraces().keySet().toString() and time.monotonic() < until:
            time.sleep(0.01)

    threads = context._jvm.java.lang.Thread
    assert connector.attach(spark)
    wait()
    before, rdd = seen(), context.emptyRDD().id()
    _by_new_loader(context._gateway, "Planner", "attachedBy", "java.lang.String", "java.util.function.BiFunction")
    wait()
    assert context.emptyRDD().id() > rdd + 1, "no query was made ready"
    assert seen() == before
