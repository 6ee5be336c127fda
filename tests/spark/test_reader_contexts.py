"""Reader contexts on Spark: the rows of one pass, and an ingest that accounts for every byte and knows itself again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.errors import IngestError, InvariantError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES = [f"name {number}={number}" for number in range(200)]


class Pairs(ss.ReadAheadLineReaderContext):
    """Lines ``name=number``."""

    schema = "name string, number long"

    def convert_to_record(self, record: bytes) -> Any:
        name, _, number = record.decode().partition("=")
        return name, int(number)


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    path = tmp_path / "in" / "pairs.txt"
    path.parent.mkdir()
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return str(path)


def rows_of(destination: Path) -> list[tuple[str, int]]:
    rows = pq.read_table(destination).to_pylist()  # passes over the ledger: its name begins with an underscore
    return sorted(((row["name"], row["number"]) for row in rows), key=lambda row: row[1])


def test_a_context_gives_the_rows_of_one_pass(spark: SparkSession, pairs: str) -> None:
    scan = ss.scan(pairs, format=Pairs(), block_size=100, task_size=500, metadata_columns=["record_offset"])
    rows = [row.asDict() for row in scan.to_spark(spark).orderBy("record_offset").collect()]
    assert rows == scan.to_arrow().to_pylist()
    assert scan.count(spark) == 200


def test_an_ingest_by_a_context_accounts_for_every_byte_and_is_done_once(
    spark: SparkSession, pairs: str, tmp_path: Path
) -> None:
    destination = tmp_path / "out"
    expected = [(f"name {number}", number) for number in range(200)]
    ss.scan(pairs, format=Pairs(), block_size=700).ingest(spark, str(destination))
    assert rows_of(destination) == expected
    ss.scan(pairs, format=Pairs(), block_size=700).ingest(spark, str(destination))
    assert rows_of(destination) == expected


def test_an_ingest_refuses_fragments_that_a_validator_missed(spark: SparkSession, pairs: str, tmp_path: Path) -> None:
    destination = tmp_path / "out"
    with pytest.raises((InvariantError, IngestError), match=r"\[not-accounted\]"):
        ss.scan(pairs, format=ss.LineReaderContext(), block_size=701).ingest(spark, str(destination))
    assert not list(destination.glob("*.parquet"))
