"""Scans as DataFrames: the same rows as in this process, whatever Spark does with them."""

import gc
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkAttributeError, PySparkException
from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.blocks import BlockMetadata
from splitscan.errors import RecordError, SchemaError, SourceChangedError, SourceMissingError, SplitscanError
from splitscan.spark import jobs
from splitscan.spark.frames import count_rows, to_spark
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.jobs import default_parallelism, run_tasks, task_frame
from splitscan.spark.session import spark_schema

from ..java import KEPT_CLASSES
from .samples import CSV_OPTIONS, CSV_SCHEMA, SAMPLES, Sample, write_csv


class WithoutContext:
    """A session as Spark Connect has it: without a SparkContext."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        if name == "sparkContext":
            raise PySparkAttributeError(errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name})
        return getattr(self._spark, name)


def csv_scan(path: str, **options: Any) -> ss.Scan:
    return ss.scan_csv(path, schema=CSV_SCHEMA, **CSV_OPTIONS, **options)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_cut_gives_the_records_of_one_pass_in_order(spark: SparkSession, tmp_path: Path, sample: Sample) -> None:
    path = sample.write(tmp_path)
    expected = sample.scan(path).to_arrow()
    for block_bytes in (1, 3, 11):
        scan = sample.scan(path, block_size=block_bytes, open_cost_in_bytes=0, min_partition_num=4)
        assert scan.to_spark(spark).toArrow().equals(expected), block_bytes
    assert scan.count(spark) == expected.num_rows


def test_one_task_per_byte_reads_each_record_once(spark: SparkSession, tmp_path: Path) -> None:
    sample = SAMPLES[0]
    path = sample.write(tmp_path)
    scan = sample.scan(path, block_size=1, task_size=1, open_cost_in_bytes=0)
    frame = scan.to_spark(spark)
    assert frame.rdd.getNumPartitions() == len(sample.data)
    assert frame.toArrow().equals(sample.scan(path).to_arrow())


def test_the_index_made_by_spark_is_the_index_made_here(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 300)
    scan = csv_scan(path, block_size=97)
    blocks = scan.plan(indexer=spark_indexer(spark, min_job_bytes=0))
    assert blocks == scan.plan()
    assert len({block.first_record_start for block in blocks}) > 20


def test_there_are_as_many_partitions_as_tasks_run_at_a_time_where_bytes_suffice(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = write_csv(tmp_path, 200)
    assert csv_scan(path, open_cost_in_bytes=100).to_spark(spark).rdd.getNumPartitions() >= 2
    assert csv_scan(path, open_cost_in_bytes=100, min_partition_num=7).to_spark(spark).rdd.getNumPartitions() >= 7
    assert csv_scan(path).to_spark(spark).rdd.getNumPartitions() == 1  # too small to be worth two


def test_many_small_files_share_a_task_and_empty_ones_cost_nothing(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.txt").write_text("" if number % 3 == 0 else f"{number}\n")
    frame = ss.scan_text(str(tmp_path)).to_spark(spark)
    assert frame.rdd.getNumPartitions() < 20
    assert [row.value for row in frame.collect()] == [str(n) for n in range(30) if n % 3]


def test_an_empty_scan_is_an_empty_frame_with_the_schema(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    frame = ss.scan_csv(str(tmp_path), schema="id long NOT NULL, at timestamp").to_spark(spark)
    assert frame.schema.simpleString() == "struct<id:bigint,at:timestamp>"
    assert not frame.schema["id"].nullable
    assert frame.collect() == []
    assert ss.scan_csv(str(tmp_path), schema="id long").count(spark) == 0


def test_types_and_nullability_arrive_as_declared(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,1.50,2024-02-29,2024-02-29 12:00:00,2024-02-29T12:00:00,true,x\n")
    ddl = "i int NOT NULL, d decimal(5,2), on date, at timestamp, local timestamp_ntz, b boolean, s string"
    scan = ss.scan_csv(str(path), schema=ddl)
    frame = scan.to_spark(spark)
    assert [field.nullable for field in frame.schema] == [False, True, True, True, True, True, True]
    assert frame.schema.simpleString() == (
        "struct<i:int,d:decimal(5,2),on:date,at:timestamp,local:timestamp_ntz,b:boolean,s:string>"
    )
    row = frame.selectExpr("i", "cast(d as string) d", "cast(on as string) o", "unix_micros(at) u", "b", "s").first()
    assert row is not None
    assert tuple(row) == (1, "1.50", "2024-02-29", 1_709_208_000_000_000, True, "x")
    assert frame.selectExpr("cast(local as string)").first()[0] == "2024-02-29 12:00:00"


def test_a_null_in_a_not_null_column_is_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("1\nx\n")
    frame = ss.scan_csv(str(tmp_path / "n.csv"), schema="id long NOT NULL").to_spark(spark)
    with pytest.raises(PySparkException, match=r"column 'id' is NOT NULL and has a null(?s:.)*n\.csv"):
        frame.collect()


def test_arrow_types_that_spark_reads_otherwise_are_refused_by_name() -> None:
    for kind in (pa.large_string(), pa.timestamp("ns", "UTC"), pa.timestamp("us", "Europe/Rome"), pa.float16()):
        with pytest.raises(SchemaError, match=r"column 'x'.*\[not-for-spark\]"):
            spark_schema(pa.schema([pa.field("a", pa.int64()), pa.field("x", kind)]))


def test_random_projections_give_what_reading_all_and_projecting_gives(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 50)
    chance = random.Random(4)
    names = ["id", "name", "note", "file_name", "record_offset", "block_id"]
    everything = csv_scan(path, block_size=100, open_cost_in_bytes=0).select(*names)
    whole = everything.to_spark(spark).toArrow()
    for _ in range(6):
        chosen = chance.sample(names, chance.randint(1, len(names)))
        narrow = everything.select(*chosen).to_spark(spark)
        assert narrow.columns == chosen
        assert narrow.toArrow().equals(whole.select(chosen))
        assert narrow.count() == 50


def test_rows_survive_a_projection_to_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 50)
    frame = csv_scan(path, block_size=100, open_cost_in_bytes=0).select().to_spark(spark)
    assert frame.columns == []
    assert frame.count() == 50
    assert len(frame.collect()) == 50


def test_a_limit_holds_over_all_partitions(spark: SparkSession, tmp_path: Path) -> None:
    scan = csv_scan(write_csv(tmp_path, 50), block_size=100, open_cost_in_bytes=0)
    assert scan.limit(7).to_spark(spark).count() == 7
    assert scan.limit(7).count(spark) == 7
    assert scan.limit(1000).count(spark) == 50
    assert scan.limit(0).to_spark(spark).collect() == []
    assert scan.limit(0).count(spark) == 0


def test_a_frame_may_be_run_again_cached_and_joined_with_itself(spark: SparkSession, tmp_path: Path) -> None:
    frame = csv_scan(write_csv(tmp_path, 60), block_size=100, open_cost_in_bytes=0).to_spark(spark)
    first = frame.collect()
    assert frame.collect() == first
    assert frame.count() == 60
    assert frame.union(frame).count() == 120
    assert frame.join(frame.select("id"), "id").count() == 60
    cached = frame.cache()
    assert cached.count() == 60
    assert cached.where("id < 10").count() == 10
    cached.unpersist(blocking=True)
    assert cached.collect() == first
    assert frame.limit(3).collect() == first[:3]


def test_a_file_that_changes_behind_the_plan_is_an_error_that_names_it(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 10)
    frame = csv_scan(path).to_spark(spark)
    write_csv(tmp_path, 20)
    with pytest.raises(PySparkException, match=r"\[source-changed\](?s:.)*a\.csv"):
        frame.collect()
    with pytest.raises(SourceMissingError):
        csv_scan(str(tmp_path / "nothing.csv")).to_spark(spark)


def test_counting_sees_what_reading_sees_of_files_that_change_or_vanish(spark: SparkSession, tmp_path: Path) -> None:
    path = write_csv(tmp_path, 10)
    scan, lenient = csv_scan(path), csv_scan(path, ignore_missing_files=True)
    assert len(scan.files()) == len(lenient.files()) == 1  # listed now
    write_csv(tmp_path, 20)
    with pytest.raises(SourceChangedError):
        scan.count()
    with pytest.raises(SourceChangedError, match=r"a\.csv"):
        scan.count(spark)
    Path(path).unlink()
    with pytest.raises(SourceMissingError):
        scan.count()
    assert lenient.count() == lenient.to_arrow().num_rows == lenient.count(spark) == 0


def test_it_works_without_a_spark_context(spark: SparkSession, tmp_path: Path) -> None:
    session: Any = WithoutContext(spark)
    scan = csv_scan(write_csv(tmp_path, 30), block_size=100, open_cost_in_bytes=0)
    assert default_parallelism(session) == 2
    assert to_spark(scan, session).count() == 30
    assert count_rows(scan, session) == 30


def test_the_configured_parallelism_counts(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", "5")
    try:
        assert default_parallelism(spark) == 5
    finally:
        spark.conf.unset("spark.sql.leafNodeDefaultParallelism")
    assert default_parallelism(spark) == 2


@pytest.fixture(params=["RDD", "DataFrame"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How tasks run: in a session with a context, and in one without, as Spark Connect has it."""
    if request.param == "DataFrame":
        monkeypatch.setattr(jobs, "classic_context", lambda _: None)


@pytest.mark.usefixtures("way")
def test_payloads_beyond_a_megabyte_reach_their_tasks(spark: SparkSession) -> None:
    payloads = [random.Random(number).randbytes(600_000) for number in range(5)]
    assert run_tasks(spark, payloads, lambda payload: sum(payload[:100])) == [sum(one[:100]) for one in payloads]

    def read(payload: bytes) -> Any:
        yield pa.RecordBatch.from_pydict({"x": pa.array([len(payload)], pa.int64())})

    frame = task_frame(spark, payloads, read, spark_schema(pa.schema([("x", pa.int64())])))
    assert [row.x for row in frame.collect()] == [600_000] * 5


@pytest.mark.usefixtures("way")
def test_a_worker_looks_for_no_garbage_among_its_modules(spark: SparkSession) -> None:
    assert min(run_tasks(spark, [b"a", b"b"], lambda _: gc.get_freeze_count())) > 10_000


@pytest.mark.usefixtures("way")
def test_no_tasks_need_no_job(spark: SparkSession) -> None:
    assert run_tasks(spark, [], len) == []


def broken_scan(tmp_path: Path, mode: str, **options: Any) -> ss.Scan:
    """Ten records: two with too few or too many columns, one whose quote is never closed at the end."""
    good = "".join(f'{n},"v\n{n}"\n' for n in range(7))
    (tmp_path / "broken.csv").write_text(f"{good}8\n9,x,y,z\n10,last\n")
    return ss.scan_csv(
        str(tmp_path / "broken.csv"),
        schema="id long, v string, _corrupt_record string",
        multi_line=True,
        mode=mode,
        block_size=11,
        open_cost_in_bytes=0,
        **options,
    )


@pytest.mark.parametrize(("mode", "rows"), [("PERMISSIVE", 10), ("DROPMALFORMED", 8)])
def test_count_and_collect_agree_on_broken_records(spark: SparkSession, tmp_path: Path, mode: str, rows: int) -> None:
    scan = broken_scan(tmp_path, mode)
    frame = scan.to_spark(spark)
    counts = {
        "collect": len(frame.collect()),
        "count": frame.count(),
        "one column": len(scan.select("id").to_spark(spark).collect()),
        "no column": scan.select().to_spark(spark).count(),
        "framing": scan.count(spark),
        "here": scan.count(),
    }
    assert set(counts.values()) == {rows}, counts


def test_failfast_fails_whatever_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    scan = broken_scan(tmp_path, "FAILFAST")
    frame = scan.to_spark(spark)
    for action in (
        frame.collect,
        frame.count,
        scan.select("id").to_spark(spark).collect,
        scan.select().to_spark(spark).count,
    ):
        with pytest.raises(PySparkException, match=r"mode=FAILFAST(?s:.)*broken\.csv, byte \d+"):
            action()
    with pytest.raises(RecordError, match=r"mode=FAILFAST(?s:.)*broken\.csv, byte \d+") as caught:
        scan.count(spark)
    assert "Traceback" not in str(caught.value)


@pytest.mark.usefixtures("way")
def test_a_task_of_ours_that_fails_for_another_reason_tells_its_end_without_java(spark: SparkSession) -> None:
    def work(payload: bytes) -> str:
        raise MemoryError(payload.decode())

    with pytest.raises(SplitscanError, match=r"\[task-failed\](?s:.)*MemoryError: too much") as caught:
        run_tasks(spark, [b"too much"], work)
    assert "\tat " not in str(caught.value)


def test_a_query_of_the_corrupt_column_alone_is_allowed(spark: SparkSession, tmp_path: Path) -> None:
    frame = broken_scan(tmp_path, "PERMISSIVE").to_spark(spark)
    texts = [row[0] for row in frame.select("_corrupt_record").where("_corrupt_record is not null").collect()]
    assert sorted(texts) == ["8", "9,x,y,z"]


def test_a_scan_whose_schema_is_found_in_the_data_counts_without_looking_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = write_csv(tmp_path, 20)
    scan = ss.scan_csv(
        path, mode="DROPMALFORMED", infer_schema=True, block_size=50, open_cost_in_bytes=0, **CSV_OPTIONS
    )
    assert scan.to_spark(spark).dtypes == [("id", "int"), ("name", "string"), ("note", "string")]
    assert scan.count(spark) == 20


def test_a_block_that_no_batch_comes_from_is_harmless(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 100)
    scan = ss.scan_text(str(tmp_path / "long.txt"), block_size=10, task_size=1, open_cost_in_bytes=0)
    blocks: list[BlockMetadata] = scan.plan()
    assert len(blocks) == 10
    assert [row.value for row in scan.to_spark(spark).collect()] == ["x" * 100]


def test_the_recommended_settings_start_a_session_that_reads_the_same(tmp_path: Path) -> None:
    path = write_csv(tmp_path, 100)
    program = f"""
import splitscan as ss
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for name, value in ss.recommended_conf().items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
print(ss.scan_csv({str(path)!r}, schema={CSV_SCHEMA!r}, **{CSV_OPTIONS!r}).to_spark(spark).count())
"""
    own = {**os.environ, "SPARK_SUBMIT_OPTS": KEPT_CLASSES}  # compiler and collector are among these settings
    ended = subprocess.run([sys.executable, "-c", program], env=own, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, str(csv_scan(str(path)).count())), ended.stderr
