"""Times that name no zone are in the session's, as in Spark, through every door that has a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.errors import UsageError

_SETTING = "spark.sql.session.timeZone"
_TIMES = ["2024-07-01 12:00:00", "2024-01-01T00:30:00.5", "2024-07-01T12:00:00Z", "1999-12-31"]
_SCHEMA = "at timestamp, local timestamp_ntz, on date"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "in" / "times.csv"
    path.parent.mkdir()
    path.write_text("".join(f"{time},2024-07-01 12:00:00,2024-07-01\n" for time in _TIMES))
    return str(path)


@pytest.fixture(params=["Europe/Berlin", "America/Los_Angeles", "+05:30"])
def zoned(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    before = spark.conf.get(_SETTING)
    spark.conf.set(_SETTING, request.param)
    yield spark
    spark.conf.set(_SETTING, before)


def test_every_door_reads_times_in_the_zone_of_the_session(zoned: SparkSession, file: str, tmp_path: Path) -> None:
    spark = zoned
    expected = spark.read.schema(_SCHEMA).csv(file).toArrow().to_pylist()
    scan = ss.scan_csv(file, schema=_SCHEMA)
    assert scan.to_arrow().to_pylist() != expected  # in UTC: there is no session
    assert scan.to_spark(spark).toArrow().to_pylist() == expected
    source = spark.read.format("splitscan").schema(_SCHEMA)
    assert source.load(file).toArrow().to_pylist() == expected
    assert source.option("rebalance", "true").load(file).toArrow().to_pylist() == expected
    blocks = ss.split_files(spark.createDataFrame([(file,)], "path string"))
    assert ss.read_blocks(blocks, schema=_SCHEMA).drop("block_id").toArrow().to_pylist() == expected
    scan.ingest(spark, str(tmp_path / "out"))
    assert rows_of(tmp_path / "out") == expected
    for _ in ss.watch(spark, str(Path(file).parent), str(tmp_path / "watched"), schema=_SCHEMA, once=True, minAgeMs=0):
        pass
    assert rows_of(tmp_path / "watched") == expected


def test_a_stream_reads_times_in_the_zone_of_the_session(zoned: SparkSession, file: str, tmp_path: Path) -> None:
    folder = str(Path(file).parent)
    stream = zoned.readStream.format("splitscan").schema(_SCHEMA).option("stateLocation", str(tmp_path / "state"))
    writer = stream.option("minAgeMs", "0").load(folder).writeStream.format("memory").queryName("zoned")
    query = writer.option("checkpointLocation", str(tmp_path / "check")).trigger(availableNow=True).start()
    query.awaitTermination()
    expected = zoned.read.schema(_SCHEMA).csv(file).toArrow().to_pylist()
    assert zoned.table("zoned").toArrow().to_pylist() == expected


def test_a_zone_that_is_given_is_the_one(zoned: SparkSession, file: str) -> None:
    given = {"timeZone": "Asia/Tokyo"}
    expected = zoned.read.schema(_SCHEMA).options(**given).csv(file).toArrow().to_pylist()
    assert ss.scan_csv(file, schema=_SCHEMA, **given).to_spark(zoned).toArrow().to_pylist() == expected
    source = zoned.read.format("splitscan").schema(_SCHEMA).options(**given)
    assert source.load(file).toArrow().to_pylist() == expected


def test_a_zone_that_only_java_knows_is_refused_by_name(spark: SparkSession, file: str) -> None:
    before = spark.conf.get(_SETTING)
    spark.conf.set(_SETTING, "PST")
    try:
        with pytest.raises(UsageError, match=f"{_SETTING}=PST"):
            ss.scan_csv(file, schema=_SCHEMA).to_spark(spark)
    finally:
        spark.conf.set(_SETTING, before)


def rows_of(folder: Path) -> list[dict[str, object]]:
    parts = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return pa.concat_tables(parts).to_pylist()
