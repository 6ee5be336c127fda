"""Rebalanced scans on Spark: the same rows as in one pass, whatever moves between tasks."""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from backports import zstd
from pyspark import TaskContext
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id

import splitscan as ss
from splitscan.errors import RebalanceError, UsageError
from splitscan.rebalance.client import Coordinator
from splitscan.spark import coordination
from splitscan.spark.coordination import session_coordinator

from ..clusters.processes import wait_until
from .samples import SAMPLES, Sample

RECORDS = 3000
PATIENCE_SECONDS = 110  # four attempts of a task give up before the test does


def write_lines(tmp_path: Path, records: int = 1000) -> str:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{number:06d},{'x' * 90}\n" for number in range(records)))
    return str(path)


def rows_of(table: pa.Table) -> Counter[str]:
    return Counter(map(repr, table.to_pylist()))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_format_gives_the_records_of_one_pass(spark: SparkSession, tmp_path: Path, sample: Sample) -> None:
    path = sample.write(tmp_path)
    scan = sample.scan(path, block_size=13, min_partition_num=3)
    frame = scan.to_spark(spark, rebalance=True)
    assert frame.rdd.getNumPartitions() == 3
    assert rows_of(frame.toArrow()) == rows_of(sample.scan(path).to_arrow())
    assert ss.rebalance_report(spark).finished


def with_ids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The numbers with which the lines begin."""
    for batch in batches:
        ids = [int(value[:6]) for value in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_pydict({"id": ids}, schema=pa.schema([("id", pa.int64())]))


def test_what_a_busy_task_has_not_begun_is_taken_over(spark: SparkSession, tmp_path: Path) -> None:
    def model(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Takes very long for what the second task reads first: until the first task has come to its last records."""
        for batch in with_ids(batches):
            if TaskContext.get().partitionId() == 1:
                (tmp_path / "begun").touch()
                wait_until("another task that takes over the end", (tmp_path / "taken over").exists, PATIENCE_SECONDS)
            else:
                wait_until("a beginning of the second task", (tmp_path / "begun").exists, PATIENCE_SECONDS)
                if batch.column(0)[-1].as_py() == RECORDS - 1:
                    (tmp_path / "taken over").touch()
            yield batch

    scan = ss.scan_text(write_lines(tmp_path, RECORDS))
    frame = scan.to_spark(spark, rebalance=True, apply=model, apply_schema="id long")
    rows = frame.select("id", spark_partition_id().alias("task")).collect()
    assert sorted(row.id for row in rows) == list(range(RECORDS))
    assert {row.task for row in rows if row.id >= RECORDS - 700} == {0}  # planned for task 1, which held half of them
    assert {row.task for row in rows} == {0, 1}
    assert ss.rebalance_report(spark).steals


def test_a_function_is_applied_with_fixed_ranges_too(spark: SparkSession, tmp_path: Path) -> None:
    scan = ss.scan_text(write_lines(tmp_path, 300))
    frame = scan.to_spark(spark, apply=with_ids, apply_schema="id long")
    assert [row.id for row in frame.collect()] == list(range(300))


def test_a_function_that_returns_something_else_is_named(spark: SparkSession, tmp_path: Path) -> None:
    scan = ss.scan_text(write_lines(tmp_path, 3), rebalance=True)
    with pytest.raises(PythonException, match=r"batches of apply_schema \[bad-schema\]"):
        scan.to_spark(spark, apply=with_ids, apply_schema="id int").collect()
    for wrong in ({"apply": with_ids}, {"apply_schema": "id long"}):
        with pytest.raises(UsageError, match="belong together"):
            scan.to_spark(spark, **wrong)
    with pytest.raises(UsageError, match="a limit counts the records that are read"):
        scan.limit(2).to_spark(spark, apply=with_ids, apply_schema="id long")


def test_reading_a_frame_again_gives_the_same_rows_in_the_same_partitions(spark: SparkSession, tmp_path: Path) -> None:
    frame = ss.scan_text(write_lines(tmp_path), rebalance=True).to_spark(spark)
    placed = frame.select("value", spark_partition_id().alias("task"))
    first = placed.collect()
    assert placed.collect() == first
    assert frame.count() == 1000
    assert frame.union(frame).count() == 2000


@pytest.mark.parametrize("rows", [0, 1, 7, 2000])
def test_a_limit_and_then_everything(spark: SparkSession, tmp_path: Path, rows: int) -> None:
    path = write_lines(tmp_path)
    values = {row.value for row in ss.scan_text(path).to_spark(spark).collect()}
    limited = ss.scan_text(path, rebalance=True).limit(rows).to_spark(spark)
    assert limited.count() == min(rows, 1000)
    whole = ss.scan_text(path).to_spark(spark, rebalance=True)
    assert {row.value for row in whole.limit(rows).collect()} <= values
    assert len(whole.limit(rows).collect()) == min(rows, 1000)
    assert {row.value for row in whole.collect()} == values


def test_projections_where_modes_and_columns_of_the_block(spark: SparkSession, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("id,text\n" + "".join(f'{n},"{name}\n{n}"\nx,y\n' for n in range(200)))
    scan = ss.scan_csv(
        str(tmp_path), "id int, text string, _corrupt_record string", header=True, multi_line=True, block_size=300,
        metadata_columns=["file_name", "block_id", "record_offset"], rebalance=True,
    )  # fmt: skip
    for chosen in (
        scan,
        scan.select("record_offset", "text"),
        scan.select(),
        scan.where("filename = 'b.csv'"),
        scan.where("file_block_start < 600"),
    ):
        expected = chosen.plan()
        assert expected
        found = chosen.to_spark(spark)
        assert rows_of(found.toArrow()) == rows_of(chosen.to_spark(spark, rebalance=False).toArrow())
        assert found.count() == chosen.count()
    strict = ss.scan_csv(str(tmp_path), "id int, text string", header=True, multi_line=True, mode="FAILFAST")
    with pytest.raises(PythonException, match=r"mode=FAILFAST|FAILFAST"):
        strict.to_spark(spark, rebalance=True).collect()


def test_nothing_to_read_is_an_empty_frame(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    frame = ss.scan_csv(str(tmp_path), schema="id long NOT NULL").to_spark(spark, rebalance=True)
    assert frame.schema.simpleString() == "struct<id:bigint>"
    assert frame.collect() == []


def test_a_file_shorter_than_there_are_tasks(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    scan = ss.scan_text(str(tmp_path), min_partition_num=9)
    assert [row.value for row in scan.to_spark(spark, rebalance=True).collect()] == ["a"]


def test_compressed_files_are_read_as_whole_ones(spark: SparkSession, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.gz").write_bytes(
            gzip.compress(b"".join(b"%s%d\n" % (name.encode(), n) for n in range(500)))
        )
    scan = ss.scan_text(str(tmp_path), rebalance=True)
    assert rows_of(scan.to_spark(spark).toArrow()) == rows_of(scan.to_arrow())


def test_members_of_a_compressed_file_go_to_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    lines = [b"%06d\n" % number for number in range(RECORDS)]
    members = (zstd.compress(b"".join(lines[at : at + 100])) for at in range(0, RECORDS, 100))
    (tmp_path / "a.zst").write_bytes(b"".join(members))
    frame = ss.scan_text(str(tmp_path), block_size=500, min_partition_num=2).to_spark(spark, rebalance=True)
    rows = frame.select("value", spark_partition_id().alias("task")).collect()
    assert sorted(int(row.value) for row in rows) == list(range(RECORDS))
    assert {row.task for row in rows} == {0, 1}
    assert len(ss.rebalance_report(spark).chunks) > 2


def test_neither_plan_nor_error_shows_the_token(spark: SparkSession, tmp_path: Path) -> None:
    path = write_lines(tmp_path)
    frame = ss.scan_text(path).to_spark(spark, rebalance=True)
    assert frame.count() == 1000
    token = session_coordinator(spark).address.token
    plan = frame._jdf.queryExecution().toString() + frame._jdf.queryExecution().logical().treeString()
    assert "MapInArrow" in plan
    assert token not in plan
    assert token not in str(spark.sparkContext.getConf().getAll())
    broken = ss.scan_text(path).to_spark(spark, rebalance=True)
    Path(path).write_text("changed\n")
    with pytest.raises(PythonException, match="source-changed") as caught:
        broken.collect()
    assert token not in str(caught.value)


def test_without_a_coordinator_the_scan_is_planned_with_fixed_ranges_and_says_so(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_coordinator(*_: Any) -> None:
        raise RebalanceError("a coordinator starts", seen="a test", code="coordinator-failed")

    monkeypatch.setattr(coordination, "shared_coordinator", no_coordinator)
    with pytest.warns(coordination.RebalanceWarning, match="read by fixed ranges"):
        frame = ss.scan_text(write_lines(tmp_path)).to_spark(spark, rebalance=True)
    assert frame.count() == 1000


def test_a_report_needs_a_rebalanced_scan_that_was_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ss.scan_text(write_lines(tmp_path)).to_spark(spark, rebalance=True)
    known = session_coordinator(spark).scans()
    monkeypatch.setattr(Coordinator, "scans", lambda _: known[-1:])
    with pytest.raises(UsageError, match="no-rebalance"):
        ss.rebalance_report(spark)
