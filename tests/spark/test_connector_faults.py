"""Tasks that are killed, broken records and errors, and what Spark's UI says of what the connector reads."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import splitscan as ss
from splitscan.spark.connector import connector_jar

pytestmark = pytest.mark.skipif(connector_jar() is None, reason="the connector was not built")

HOLE_BYTES = 1 << 36  # of which nothing is on the disk; to look through it takes half a minute


@pytest.fixture
def endless(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """One record that does not end: the kernel has no batch to give before it has read the file."""
    path = tmp_path / "hole.csv"
    path.write_bytes(b"1,a\n" * 100_000 + b"2,b")
    with path.open("r+b") as file:
        file.truncate(HOLE_BYTES)
    return ss.scan_csv(path, "k int, v string", dialect="spark", block_size=HOLE_BYTES).to_spark(spark)


def _open_readers(spark: SparkSession) -> int:
    return int(spark._jvm.splitscan.connector.Kernel.openReaders())


def _native_bytes(spark: SparkSession) -> int:
    return int(spark._jvm.splitscan.connector.Kernel.nativeBytes())


def _metrics(spark: SparkSession) -> dict[str, str]:
    """What Spark's UI says of the last query."""
    store = spark._jsparkSession.sharedState().statusStore()
    execution = store.executionsList().last()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    values = store.executionMetrics(execution.executionId())
    found: dict[str, str] = {}
    for number in range(execution.metrics().size()):
        metric = execution.metrics().apply(number)
        value = values.get(metric.accumulatorId())
        found[metric.name()] = value.get() if value.isDefined() else None
    return found


def _until(is_so: Callable[[], bool], seconds: float = 20) -> float:
    """Seconds until something is so."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds
        time.sleep(0.005)
    return time.monotonic() - began


def cancelled(spark: SparkSession, work: Callable[[], Any], wait_seconds: float) -> float:
    """Cancel a job after some time; seconds until its tasks have let go of all that is native."""

    def run() -> None:
        spark.sparkContext.setJobGroup("cancelled", "")
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=run)
    thread.start()
    _until(lambda: _open_readers(spark) > 0 or not thread.is_alive())
    time.sleep(wait_seconds)
    spark.sparkContext.cancelJobGroup("cancelled")
    thread.join()
    return _until(lambda: _open_readers(spark) == 0)


def test_a_killed_task_ends_while_the_kernel_looks_for_the_end_of_a_record(
    spark: SparkSession, endless: DataFrame
) -> None:
    assert cancelled(spark, lambda: endless.groupBy("v").count().collect(), 1.0) < 1


@pytest.mark.large
def test_tasks_that_are_killed_at_random_leave_nothing(spark: SparkSession, tmp_path: Path, endless: DataFrame) -> None:
    chance = random.Random(1)
    path = tmp_path / "a.csv"
    path.write_text("".join(f'{i},"v\n{i % 1000}"\n' for i in range(400_000)))
    rows = ss.scan_csv(path, "k int, v string", dialect="spark", multi_line=True, block_size=1 << 20).to_spark(spark)
    assert rows.count() == 400_000
    before = _native_bytes(spark)
    works = (lambda: rows.groupBy("v").count().collect(), lambda: rows.orderBy("v").toPandas(), endless.collect)
    for _ in range(200):
        assert cancelled(spark, chance.choice(works), chance.random() / 3) < 1
    assert _native_bytes(spark) == before
    assert rows.count() == 400_000


def test_an_early_end_lets_go_of_the_reader(spark: SparkSession, endless: DataFrame) -> None:
    assert len(endless.limit(1000).collect()) == 1000
    assert len(endless.take(5)) == 5
    _until(lambda: _open_readers(spark) == 0)


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """What tasks log."""
    logging = spark._jvm.java.util.logging
    handler = logging.FileHandler(str(tmp_path / "log"))
    handler.setFormatter(logging.SimpleFormatter())
    logger = logging.Logger.getLogger("splitscan")
    logger.addHandler(handler)
    yield (tmp_path / "log").read_text
    logger.removeHandler(handler)
    handler.close()


@pytest.mark.parametrize(
    ("schema", "mode", "said"),
    [
        ("k int, v int", "PERMISSIVE", "each of 2 records breaks a rule, and has nulls where its values do not fit; "
         "the first begins at byte 4 of"),
        ("k int, v int", "DROPMALFORMED", "1 record breaks a rule, and has nulls"),
        ("k int, v int, _corrupt_record string", "PERMISSIVE", ""),
    ],
)  # fmt: skip
def test_values_that_became_null_are_said(
    spark: SparkSession, tmp_path: Path, log: Callable[[], str], schema: str, mode: str, said: str
) -> None:
    (tmp_path / "a.csv").write_text("1,2\nx,3\n4\n")
    frame = ss.scan_csv(tmp_path / "a.csv", schema, dialect="spark", mode=mode).to_spark(spark)
    frame.collect()
    assert said in log() if said else not log()
    frame.count()
    assert log().count("breaks a rule") == bool(said)


def test_columns_that_no_sample_has_shown_are_said(spark: SparkSession, tmp_path: Path, log: Callable[[], str]) -> None:
    records = ['{"a": {"b": 1}, "c": 2}', '{"c": "x"}', '{"c": 1, "d": 2}', '{"a": {"e": 2}}', '{"c": 3}']
    (tmp_path / "a.json").write_text("\n".join(records))
    scan = ss.scan_json(tmp_path / "a.json", sample_bytes=20)
    assert "d" not in scan.schema.names
    scan.to_spark(spark).collect()
    assert (
        "2 records have columns that no sample has shown, and they are not read; the first, d, is at byte 35" in log()
    )


def test_an_error_begins_with_its_rule_and_says_where(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1\nx\n")
    frame = ss.scan_csv(path, "k int", dialect="spark", mode="FAILFAST").to_spark(spark)
    with pytest.raises(Exception, match=r"\[bad-value\]") as caught:
        frame.collect()
    lines = str(caught.value).splitlines()
    assert lines[0] == "column 'k': 'x' is no int (mode=FAILFAST) [bad-value]"
    assert lines[1] == f"  where: {path}, byte 2, in block [0, 4)"
    assert not any("aborted" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("1\nx'\u00e9\n", {}),
        ("1,2\n", {}),
        ('1\n"2\n', {"multi_line": True}),
        ("1\n" + "9" * 100 + "\n", {"max_record_bytes": 50}),
    ],
)
def test_a_record_that_ends_a_scan_is_told_as_python_tells_it(
    spark: SparkSession, tmp_path: Path, text: str, options: dict[str, Any]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    scan = ss.scan_csv(path, "k int", dialect="spark", mode="FAILFAST", **options)
    with pytest.raises(ss.RecordError) as told:
        scan.to_arrow()
    with pytest.raises(Exception, match="mode=FAILFAST") as caught:
        scan.to_spark(spark).collect()
    assert str(caught.value).splitlines()[:4] == str(told.value).splitlines()


def test_sparks_ui_says_what_was_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2\nx,3\n4\n")
    ss.scan_csv(path, "k int, v int", dialect="spark").to_spark(spark).collect()
    found = _metrics(spark)
    assert found["bytes of files read"] == "10"
    assert found["records that break a rule"] == "2"
    assert found["time in the kernel"].endswith(" s")
    assert found["number of output rows"] == "3"
    assert found["peak native memory of a task"].endswith(" MiB")


def test_native_memory_is_bounded_whatever_the_length_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("".join(f'{i},"some text\n{i % 1000}"\n' for i in range(1_000_000)))
    options: dict[str, Any] = {"batch_rows": 10_000, "read_bytes": 1 << 18, "block_size": 1 << 30}
    frame = ss.scan_csv(path, "k int, v string", dialect="spark", multi_line=True, **options).to_spark(spark)
    assert frame.groupBy("v").count().count() == 1_000
    before = _native_bytes(spark)
    frame.groupBy("v").count().collect()
    assert _native_bytes(spark) == before
    peak = float(_metrics(spark)["peak native memory of a task"].split()[0])
    assert 0.3 < peak < 4
