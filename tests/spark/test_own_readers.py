"""Readers of users' own on Spark: the rows of one pass, and an ingest with rejects and a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.spark.choice import why_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Measurements:
    """Lines ``name value``, in blocks."""

    splittable = True
    schema = "name string, value double"

    def open(self, negotiator: Any) -> bool:
        self.stream, self.split = negotiator.open_input(), negotiator.split
        if self.split.start:
            self.stream.seek(self.split.start - 1)
            self.stream.readline()
        return True

    def next(self, loader: Any) -> bool:
        while not loader.full and self.stream.tell() < self.split.stop:
            offset = self.stream.tell()
            loader.append_rows([self.stream.readline().decode().split()], origin=offset)
        return self.stream.tell() < self.split.stop

    def close(self) -> None:
        self.stream = None


@pytest.fixture
def path(tmp_path: Path) -> str:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b"):
        lines = [f"{name}{i} {i}.5" if i != 70 else f"{name}{i} broken" for i in range(100)]
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder)


def test_a_reader_gives_the_rows_of_one_pass(spark: SparkSession, path: str) -> None:
    scan = ss.scan(path, format=Measurements, block_size=100, task_size=300, metadata_columns=["file_name"])
    expected = scan.to_arrow().to_pylist()
    frame = scan.to_spark(spark)
    assert sorted((row.asDict() for row in frame.collect()), key=lambda row: row["name"]) == sorted(
        expected, key=lambda row: row["name"]
    )
    assert len(expected) == 200
    assert scan.count(spark) == frame.count() == 200
    assert frame.where("value is null").count() == 2
    assert scan.select("value").limit(3).to_spark(spark).count() == 3
    assert scan.select().to_spark(spark).count() == 200
    assert why_python(scan, spark) == "the kernel's block reader does not read such scans"


def test_an_ingest_by_a_reader_has_rejects_and_a_ledger(spark: SparkSession, path: str, tmp_path: Path) -> None:
    destination = str(tmp_path / "out")
    scan = ss.scan(path, format=Measurements, block_size=400)
    report = scan.ingest(spark, destination)
    assert (report.rows, report.rejects) == (200, 2)
    assert pq.read_table(destination).num_rows == 200
    again = scan.ingest(spark, destination)
    assert again.files_skipped == 2
    with pytest.raises(ss.SplitscanError, match="reject-budget"):
        scan.ingest(spark, str(tmp_path / "strict"), max_rejects=1)


def test_a_reader_of_a_script_or_notebook_is_ingested(spark: SparkSession, path: str, tmp_path: Path) -> None:
    class Local(Measurements):
        """Workers cannot import it, as they cannot what a user's script defines."""

    scan = ss.scan(path, format=Local)
    report = scan.ingest(spark, str(tmp_path / "out"))
    assert (report.rows, report.rejects) == (200, 2)
    assert scan.to_spark(spark).count() == 200


def test_an_error_on_a_worker_names_the_place(spark: SparkSession, path: str) -> None:
    scan = ss.scan(path, format=Measurements, mode="FAILFAST")
    with pytest.raises(Exception, match=r"column 'value': 'broken' is no double \(mode=FAILFAST\)") as caught:
        scan.to_spark(spark).collect()
    assert "row 70, column 'value'" in str(caught.value)
    assert "reader Measurements" in str(caught.value)
