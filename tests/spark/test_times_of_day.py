"""Times of day beside Spark's own readers, which take them with a setting, and on every way to a DataFrame."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.kernel.value_cases import mutated, time_text

import splitscan as ss

_SETTING = "spark.sql.timeType.enabled"
_NUMBER = 300
_PATTERNS = ("HH:mm:ss", "hh:mm a", "HHmmss", "H[:mm]", "HH:mm[:ss][.SSS]", "yyyy-MM-dd HH:mm", "HH:mm XXX", "HH:mm z")
_BY_PATTERN = (
    "10:20:30", "1:2:3", " 10:20", "10:20 PM", "12:00 am", "13:00 AM", "102030", "240000", "1", "24:00", "10:20:30.5",
    "2020-01-02 10:20", "1900-02-28 23:59", "2020-02-30 10:20", "10:20 +01:00", "10:20 Z", "10:20 PST", "10:20 Nowhere",
)  # fmt: skip

pytestmark = pytest.mark.skipif(pyspark.__version__ < "4.3", reason="Spark's readers take times from 4.3 on")


@pytest.fixture(autouse=True)
def _times(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(_SETTING, "true")
    yield
    spark.conf.unset(_SETTING)


def _is_written(text: str) -> bool:
    """True for what each of CSV, JSON and XML holds in the middle of a line."""
    return all(character.isprintable() or character == "\t" for character in text)


def _write(folder: Path, texts: list[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """A file of each format, and its options."""
    written = {
        "csv": "\n".join(f'"{text}",x' for text in texts),
        "json": "\n".join(json.dumps({"a": text, "b": "x"}) for text in texts),
        "xml": "<r>" + "".join(f"<x><a>{escape(text)}</a><b>x</b></x>" for text in texts) + "</r>",
    }
    for name, content in written.items():
        (folder / f"a.{name}").write_text(content)
    return {name: (str(folder / f"a.{name}"), {"rowTag": "x"} if name == "xml" else {}) for name in written}


def _shown(frame: DataFrame) -> list[tuple[time | None, bool]]:
    """Times, of which Python has no nanoseconds, and whether a record is whole."""
    return [tuple(row) for row in frame.selectExpr("a", "_corrupt_record is null").collect()]


@pytest.mark.parametrize("seed", range(2))
def test_times_are_what_spark_reads_of_drawn_texts(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    drawn = (time_text(chance) for _ in iter(int, 1))
    texts = [next(text for text in drawn if _is_written(text)) for _ in range(_NUMBER)]
    texts += [text for text in (mutated(chance, text) for text in texts) if _is_written(text) and '"' not in text]
    schema = f"a time({seed * 3}), b string, _corrupt_record string"
    for name, (path, options) in _write(tmp_path, texts).items():
        theirs = _shown(spark.read.format(name).schema(schema).options(**options).load(path))
        scan = ss.scan(path, name, schema, **options, block_size=999, open_cost_in_bytes=0)
        assert _shown(scan.to_spark(spark)) == theirs, name
        assert sum(a is not None for a, _ in theirs) > _NUMBER // 3


def test_times_by_pattern_are_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    schema = "a time, b string, _corrupt_record string"
    for name, (path, options) in _write(tmp_path, list(_BY_PATTERN)).items():
        for pattern in _PATTERNS:
            said = {**options, "timeFormat": pattern}
            theirs = _shown(spark.read.format(name).schema(schema).options(**said).load(path))
            assert _shown(ss.scan(path, name, schema, **said).to_spark(spark)) == theirs, (name, pattern)
            assert any(a is not None for a, _ in theirs)


def test_members_at_any_depth_and_every_way_to_a_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    schema = "a struct<b: time, c: array<time(3)>, d: map<string, time>>, e time"
    path = tmp_path / "a.json"
    path.write_text('{"a":{"b":"1:2","c":["10:20:30.5",null],"d":{"k":"3:4"}},"e":"5:6"}\n{"e":null}\n')
    theirs = spark.read.schema(schema).json(str(path))
    expected = theirs.collect()
    assert expected[0]["a"]["c"] == [time(10, 20, 30, 500000), None]
    scan = ss.scan_json(str(path), schema)
    ss.register(spark)
    source = spark.read.format("splitscan").option("recordFormat", "json").schema(schema)
    frames = {
        "connector": scan.to_spark(spark),
        "workers": scan.to_spark(spark, rebalance=True),
        "apply": scan.to_spark(spark, apply=iter, apply_schema=schema),
        "source": source.load(str(path)),
        "source in Python": source.option("rebalance", True).load(str(path)),
    }
    for name, frame in frames.items():
        assert frame.collect() == expected, name
        assert frame.where("e = time'05:06:00'").count() == 1, name
        shown = [f"cast({part} as string)" for part in ("a.b", "a.c", "a.d", "e")]
        assert frame.selectExpr(*shown).collect() == theirs.selectExpr(*shown).collect(), name
    assert dict(frames["source"].dtypes)["a"] == dict(theirs.dtypes)["a"]


def test_parquet_files_of_an_ingest_are_times_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1:2:3.000004\n24:00\n")
    ss.scan_csv(str(path), "a time").ingest(spark, str(tmp_path / "out"), max_rejects=1)
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert frame.dtypes[0] == ("a", "time(6)")
    assert {row["a"] for row in frame.select("a").collect()} == {time(1, 2, 3, 4), None}


def test_without_the_setting_only_sparks_own_files_refuse_times(spark: SparkSession, tmp_path: Path) -> None:
    """As ``docs/differences.md`` says."""
    path = tmp_path / "a.csv"
    path.write_text("10:20\n")
    spark.conf.unset(_SETTING)
    with pytest.raises(Exception, match="UNSUPPORTED_TIME_TYPE"):
        spark.read.schema("a time(0)").csv(str(path)).collect()
    frame = ss.scan_csv(str(path), "a time").to_spark(spark)
    assert frame.collect()[0]["a"] == time(10, 20)
    with pytest.raises(Exception, match="UNSUPPORTED_TIME_TYPE"):
        frame.write.parquet(str(tmp_path / "out"))
