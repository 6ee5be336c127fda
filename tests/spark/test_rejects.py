"""Rejects that Spark's tasks find are those that this process finds: the same rows, with the same lines."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.errors import UsageError

SCHEMA = "n int, t string"


def drawn(seed: int, most: int) -> bytes:
    rng = random.Random(seed)
    parts = [b"1,a", b"x,b", b"2", b'"3\n",c', b"", b'4,"\r\nq"', b"y,\xff"]
    ends = [b"\n", b"\r\n", b"\r", b"\n\r", b"\n\n"]
    return b"".join(rng.choice(parts) + rng.choice(ends) for _ in range(most))


def by_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["path"], row["offset"]))


def on_spark(scan: ss.Scan, spark: SparkSession) -> list[dict[str, Any]]:
    found = scan.rejects(spark)
    assert found.columns == scan.rejects().schema.names
    return by_place([{**row.asDict(), "raw": bytes(row["raw"])} for row in found.collect()])


@pytest.mark.parametrize(
    "options",
    [
        {"block_size": 7, "task_size": 20},
        {"block_size": 50, "multi_line": True, "task_size": 60},
        {"block_size": 40, "mode": "DROPMALFORMED", "open_cost_in_bytes": 0, "task_size": 40},
        {},
    ],
    ids=str,
)
def test_rows_and_lines_are_the_same(spark: SparkSession, tmp_path: Path, options: dict[str, Any]) -> None:
    for number in range(4):
        (tmp_path / f"{number}.csv").write_bytes(drawn(number, 40))
    (tmp_path / "4.csv.gz").write_bytes(gzip.compress(drawn(9, 60)))
    (tmp_path / "5.csv").write_bytes(b"")
    scan = ss.scan_csv(tmp_path, SCHEMA, **options)
    expected = by_place(scan.rejects().to_arrow().to_pylist())
    assert len(expected) > 50
    assert on_spark(scan, spark) == expected


def test_other_formats_and_scans_without_any(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n":1}\n{"n":"x"}\n[\n{"n":"y"}\n')
    scan = ss.scan_json(tmp_path / "a.json", "n int", block_size=9, task_size=9, open_cost_in_bytes=0)
    assert [row["line"] for row in on_spark(scan, spark)] == [2, 3, 4]
    assert on_spark(scan, spark) == scan.rejects().to_arrow().to_pylist()
    (tmp_path / "b.csv").write_text("1,a\n")
    assert on_spark(ss.scan_csv(tmp_path / "b.csv", SCHEMA), spark) == []
    (tmp_path / "c.csv").write_text("")
    assert on_spark(ss.scan_csv(tmp_path / "c.csv", SCHEMA), spark) == []


def test_where_blocks_are_left_out_lines_are_not_known(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,a\n" * 10 + "x,b\n" * 3)
    scan = ss.scan_csv(tmp_path / "a.csv", SCHEMA, block_size=8).where_files("file_block_start >= 16")
    assert [(row["line"], row["offset"]) for row in on_spark(scan, spark)] == [(None, 40), (None, 44), (None, 48)]


def test_a_limit_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,b\n")
    with pytest.raises(UsageError, match="bad-limit"):
        ss.scan_csv(tmp_path / "a.csv", SCHEMA).limit(1).rejects(spark)
