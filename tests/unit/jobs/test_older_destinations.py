"""Destinations that earlier versions wrote: ledger version 1 is continued, what is older is converted first."""

import json
import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from splitscan.engine import kernel
from splitscan.errors import IngestError
from splitscan.jobs import verify

from ...older import written

sys.path.append(str(Path(__file__).parents[3] / "tools"))
from convert_ledgers import convert


@pytest.fixture
def out(tmp_path):
    """A copy of the destination, and the files that it holds."""
    written.put_first_sources()
    yield shutil.copytree(written.DESTINATION, tmp_path / "out")
    written.clear_sources()


def test_a_destination_of_version_1_is_what_its_sources_are_and_takes_only_new_files(out):
    assert json.loads((out / "_splitscan/ledger/00000001.jsonl").read_text().splitlines()[0])["ledger_version"] == 1
    deep = kernel() is not None  # its digests are by BLAKE3
    report = verify(out, deep=deep)
    assert (report.problems, report.notes, report.rows, report.rejects, report.jobs) == ((), (), 12, 1, 2)
    assert report.digests_checked == report.blocks * deep
    assert written.ingest(out).rows == 0
    written.put_source("d", 30, 2)
    assert written.ingest(out).rows == 2
    again = verify(out, deep=deep)
    assert (again.problems, again.notes, again.jobs) == ((), (), 3)


def test_whoever_watches_goes_on_where_version_1_was(out):
    assert written.watch(out) == []
    written.put_source("d", 30, 2)
    assert [(window.number, window.report.rows) for window in written.watch(out)] == [(3, 2)]
    assert sorted(pq.read_table(out)["id"].drop_null().to_pylist()) == [*range(6), *range(10, 15), 30, 31]


def test_a_destination_of_format_3_is_refused_with_advice_converted_and_continued(tmp_path, make_scan, run):
    out = shutil.copytree(written.DESTINATION.parent / "destination-format-3", tmp_path / "out")
    with pytest.raises(IngestError, match=r"format 3[\s\S]*convert_ledgers.py") as refused:
        verify(out)
    assert refused.value.reason_code == "ledger-version"
    assert (convert(out), convert(out)) == (2, 0)
    report = verify(out)
    assert report.problems == ()
    assert {note.code for note in report.notes} == {"source-missing"}
    assert (report.jobs, report.rows, report.rejects, report.data_files) == (2, 33, 1, 4)
    assert run(make_scan(["c"]), out).rows == 100
    assert pq.read_table(out).num_rows == 133
    assert (verify(out).problems, verify(out).jobs) == ((), 3)


def test_nothing_is_converted_while_something_waits_or_a_byte_is_changed(tmp_path):
    out = shutil.copytree(written.DESTINATION.parent / "destination-format-3", tmp_path / "out")
    before = {path: path.read_bytes() for path in out.rglob("*.jsonl")}
    (out / "_splitscan/staging/ab").mkdir(parents=True)
    with pytest.raises(SystemExit, match="finish what was interrupted"):
        convert(out)
    shutil.rmtree(out / "_splitscan/staging")
    (changed, data), *_ = sorted(before.items())
    changed.write_bytes(data.replace(b'"rows":', b'"rowz":', 1))
    with pytest.raises(SystemExit, match="the checksum does not fit"):
        convert(out)
    assert all(path.read_bytes() == data for path, data in before.items() if path != changed)
