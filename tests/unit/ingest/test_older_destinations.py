"""Destinations that splitscan 0.1 wrote, before tables, are verified and continued."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq

from splitscan.ingest import verify

WRITTEN = Path(__file__).parents[2] / "data/destination-0.1"


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
