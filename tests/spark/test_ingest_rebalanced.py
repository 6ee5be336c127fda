"""A rebalanced ingest through real Spark workers and a real coordinator; the rest is tested without Spark."""

import json

import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.jobs import verify

RECORDS = 3000


@pytest.fixture
def folder(tmp_path):
    """JSON lines in three files of different sizes, and an array over many lines."""
    source = tmp_path / "in"
    source.mkdir()
    for name, start, stop in (("a", 0, 200), ("b", 200, 2500), ("c", 2500, RECORDS)):
        values = [{"id": number, "text": f"{number}\n" * (number % 4)} for number in range(start, stop)]
        (source / f"{name}.json").write_text(json.dumps(values, indent=1))
    return source


def content(rows):
    return sorted(((row["id"], row["text"]) for row in rows), key=repr)


@pytest.mark.slow
def test_it_delivers_what_one_pass_gives_and_tells_who_read_it(spark, folder, tmp_path):
    scan = ss.scan_json(str(folder), "id long, text string", multiLine=True, taskSize="20k", rebalance=True)
    report = scan.ingest(spark, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out").to_pylist()
    assert content(rows) == content(scan.to_arrow().to_pylist())
    assert verify(tmp_path / "out", deep=True).ok
    assert report.rebalance.finished
    assert report.rebalance.claimed_bytes == report.source_bytes
    assert sum(reader.records for reader in report.rebalance.readers) == report.rows == RECORDS
    assert len(report.rebalance.readers) == 2
    assert scan.ingest(spark, tmp_path / "out", rebalance=False).nothing_to_do


@pytest.mark.slow
def test_it_can_be_chosen_beside_the_options_of_the_scan(spark, folder, tmp_path):
    planned = ss.scan_json(str(folder), "id long, text string", multiLine=True)
    assert planned.ingest(spark, tmp_path / "planned").rebalance is None
    assert planned.ingest(spark, tmp_path / "claimed", rebalance=True).rebalance.chunks
    both = [content(pq.read_table(tmp_path / name).to_pylist()) for name in ("planned", "claimed")]
    assert both[0] == both[1]
