"""Destinations and streams that earlier versions wrote are verified and continued."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from splitscan.ingest import verify

from ...older import written
from .tables.conftest import READERS

WRITTEN = Path(__file__).parents[2] / "data/destination-0.1"
VERSIONS = sorted(written.DATA.glob("written-*"))


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def older(request):
    """What one version wrote, and the files that it read."""
    written.put_source("a", 0, 6)
    written.put_source("b", 10, 5, broken=1)
    yield request.param
    written.clear_sources()


def test_a_destination_of_version_0_1_verifies_and_takes_another_job(tmp_path, make_scan, run):
    out = shutil.copytree(WRITTEN, tmp_path / "out")
    report = verify(out)
    assert report.problems == ()
    assert {note.code for note in report.notes} == {"source-missing"}
    assert (report.jobs, report.rows, report.rejects, report.data_files) == (2, 33, 1, 4)
    assert run(make_scan(["c"]), out).rows == 100
    assert pq.read_table(out).num_rows == 133
    again = verify(out)
    assert (again.problems, again.jobs) == ((), 3)


@pytest.mark.parametrize("kind", ["plain", "delta", "iceberg"])
def test_an_older_destination_is_what_its_sources_are_and_takes_only_new_files(older, tmp_path, kind):
    out = written.place(older / kind, tmp_path)
    written.put_source("c", 20, 4)  # a broken record is a row of nulls, and a reject
    report = verify(out, deep=True)
    assert (report.problems, report.notes, report.rows, report.rejects, report.jobs) == (
        (),
        (),
        16,
        1,
        2,
    )
    assert written.ingest(out).rows == 0
    written.put_source("d", 30, 2)
    assert written.ingest(out).rows == 2
    table = READERS[kind](out) if kind in READERS else pq.read_table(out)
    assert sorted(table["id"].drop_null().to_pylist()) == [*range(6), *range(10, 15), *range(20, 24), 30, 31]
    again = verify(out, deep=True)
    assert (again.problems, again.notes, again.jobs) == ((), (), 3)


def test_whoever_watches_goes_on_where_an_older_version_was(older, tmp_path):
    out = written.place(older / "watched", tmp_path)
    assert verify(out, deep=True).problems == ()
    assert written.watch(out) == []
    written.put_source("d", 30, 2)
    assert [(window.number, window.report.rows) for window in written.watch(out)] == [(3, 2)]
    assert sorted(pq.read_table(out)["id"].drop_null().to_pylist()) == [*range(6), *range(10, 15), 30, 31]
    assert verify(out, deep=True).problems == ()


def test_a_stream_reads_older_windows_again_and_goes_on_after_them(older, tmp_path):
    state = shutil.copytree(older / "stream", tmp_path / "state")
    written.put_log(12, minutes=1)
    stream = written.follow(state)
    last = stream.position
    stream.position = stream.offset(0)
    windows, rows = stream.read(last)
    assert [len(window.blocks) for window in windows] == [3, 2]
    assert [row["value"] for row in rows] == [f"line {number}" for number in range(9)]
    stream.position = last
    stream.drain()
    assert stream.values() == [f"line {number}" for number in range(9, 12)]
    stream.planner.close()
