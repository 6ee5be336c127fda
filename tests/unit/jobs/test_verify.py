import hashlib
import json
import os
import shutil
import sys
from dataclasses import replace

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from splitscan.api.files import Scan
from splitscan.errors import IngestError, UsageError
from splitscan.jobs import verify
from splitscan.jobs.ledger_files import ledger_name, parse_ledger, render_ledger
from splitscan.jobs.workplace import open_destination_storage

pytestmark = pytest.mark.slow

verify_module = sys.modules["splitscan.jobs.verifying"]  # the package offers the function under the same name


@pytest.fixture
def out(tmp_path, make_scan, run):
    """A destination with two jobs and rejects."""
    run(make_scan(["a"], bad=1), tmp_path / "out")
    run(make_scan(["a", "b"], bad=1), tmp_path / "out")
    return tmp_path / "out"


def write_sealed(path, lines, counts):
    """Write a ledger of these lines, with a checksum that fits them."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    end = {**counts, "sha256": hashlib.sha256(body).hexdigest()}
    path.write_bytes(body + json.dumps({"end": end}).encode() + b"\n")


def codes(findings):
    return sorted({finding.code for finding in findings})


@pytest.mark.parametrize("deep", [False, True])
def test_a_good_destination_is_good_and_its_numbers_are_told(out, deep):
    report = verify(out, deep=deep)
    assert report.ok
    assert (report.jobs, report.files, report.rows, report.rejects) == (2, 2, 202, 2)
    assert report.data_files == len(list(out.glob("*.parquet")))
    assert report.digests_checked == (report.blocks if deep else 0)
    assert report.notes == ()


NESTED = "l array<string>, m map<string,array<int>>, s struct<l:array<struct<m:map<string,int>>>>"


@pytest.mark.parametrize(
    ("format", "content", "schema", "options"),
    [
        ("json", '{"l": ["x"], "m": {"k": [1]}, "s": {"l": [{"m": {"k": 2}}]}}\n{}\n', NESTED, {}),
        ("json", '{"l": ["x"], "s": {"l": [{"x": 1}]}}\n', None, {}),
        ("csv", "1,2\n3\n", None, {"columnsArray": True}),
    ],
    ids=["declared", "found", "array of fields"],
)
def test_columns_of_columns_are_good_too(tmp_path, run, format, content, schema, options):
    (tmp_path / "data").write_text(content)
    run(Scan.of(str(tmp_path / "data"), format, schema, options), tmp_path / "out")
    assert verify(tmp_path / "out", deep=True).problems == ()


def test_no_reader_of_the_folder_takes_rejects_for_rows(out):
    rows = pq.read_table(out).num_rows
    assert {path.suffix for path in (out / "_splitscan/rejects").iterdir()} == {".rejects"}
    assert pl.read_parquet(str(out / "**/*.parquet")).height == rows
    (found,) = duckdb.sql(f"select count(*) from read_parquet('{out}/**/*.parquet')").fetchall()
    assert found == (rows,)
    assert pq.read_table(out / "_splitscan/rejects").column_names[:2] == ["path", "offset"]


def test_verifying_writes_nothing(out, seen):
    before, listed = seen(out), sorted(out.parent.iterdir())
    verify(out, deep=True)
    assert seen(out) == before
    assert sorted(out.parent.iterdir()) == listed


def part(out):
    return sorted(out.glob("*.parquet"))[0]


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def rewrite(path):
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)


MUTANTS = {
    "a flipped bit in a data file": (lambda out: flip(part(out), 50), "data-file-changed"),
    "a truncated data file": (lambda out: part(out).write_bytes(part(out).read_bytes()[:-1]), "data-file-changed"),
    "a deleted data file": (lambda out: part(out).unlink(), "data-file-missing"),
    "a data file with a row less": (lambda out: rewrite(part(out)), "data-file-changed"),
    "a foreign Parquet file": (lambda out: shutil.copy(part(out), out / "part-x.parquet"), "stray-file"),
    "a foreign folder": (lambda out: (out / "year=2020").mkdir(), "stray-file"),
    "a foreign reject table": (
        lambda out: shutil.copy(part(out), out / "_splitscan/rejects/part-x.parquet"), "stray-file",
    ),
    "a foreign reject table of a newer name": (
        lambda out: shutil.copy(part(out), out / "_splitscan/rejects/part-x.rejects"), "stray-file",
    ),
    "a damaged reject table": (
        lambda out: flip(sorted((out / "_splitscan/rejects").iterdir())[0], 50), "data-file-changed",
    ),
    "a flipped bit in a ledger": (lambda out: flip(out / ledger_name(1), 50), "ledger-damaged"),
    "a deleted ledger": (lambda out: (out / ledger_name(1)).unlink(), "ledger-damaged"),
    "a ledger under another's name": (
        lambda out: (out / ledger_name(2)).rename(out / ledger_name(3)), "ledger-damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "code"), MUTANTS.values(), ids=MUTANTS.keys())
def test_every_damage_is_found_and_named(out, damage, code):
    damage(out)
    report = verify(out)
    assert not report.ok
    assert codes(report.problems) == [code]
    assert str(out) in str(report.problems[0])


def test_a_deleted_last_ledger_leaves_its_files_as_strays(out):
    (out / ledger_name(2)).unlink()
    assert codes(verify(out).problems) == ["stray-file"]


def test_what_an_ingest_publishes_while_the_check_runs_is_no_stray(out, make_scan, run, monkeypatch):
    real = verify_module.read_ledgers

    def read_then_ingest(destination):
        ledgers = list(real(destination))
        run(make_scan(["a", "b", "c"], bad=1), out)
        return ledgers

    monkeypatch.setattr(verify_module, "read_ledgers", read_then_ingest)
    report = verify(out)
    assert (report.problems, report.jobs, report.rows) == ((), 2, 202)
    monkeypatch.undo()
    assert (verify(out).problems, verify(out).jobs) == ((), 3)


def test_an_ingest_that_clears_up_behind_itself_holds_up_no_check_but_one_that_moves_files_in_does(out):
    place = open_destination_storage(out)
    ledger = parse_ledger((out / ledger_name(2)).read_bytes(), "x")
    (place.work_folder / ledger.job_id).mkdir(parents=True)
    with place.lock():
        assert verify(out).ok
        (out / ledger.data_files[0].name).rename(out.parent / "not yet there")
        with pytest.raises(IngestError, match=r"\[destination-busy\]"):
            verify(out)


def forge(out, change):
    """Write a ledger with a good checksum and wrong content: *change* gets the ledger and tells what to replace."""
    path = out / ledger_name(1)
    ledger = parse_ledger(path.read_bytes(), "x")
    path.write_bytes(render_ledger(replace(ledger, **change(ledger))))


def test_a_ledger_that_does_not_account_for_every_byte_is_found(out):
    forge(out, lambda ledger: {"blocks": ledger.blocks[1:]})
    texts = [finding.text for finding in verify(out).problems]
    assert any("should be the start" in text for text in texts)
    assert any("belong to no block" in text for text in texts)
    assert codes(verify(out).problems) == ["not-accounted"]


def test_a_ledger_that_does_not_know_of_a_file_leaves_it_as_a_stray(out):
    gone = parse_ledger((out / ledger_name(1)).read_bytes(), "x").data_files[0].name
    forge(out, lambda ledger: {"written": tuple(each for each in ledger.written if each.name != gone)})
    assert codes(verify(out).problems) == ["not-accounted", "stray-file"]


def test_a_block_that_claims_rows_of_another_is_found(out):
    def shift(ledger):
        first = ledger.blocks[0]
        shifted = replace(first.data[0], start=1, stop=first.rows + 1)
        return {"blocks": (replace(first, data=(shifted,)), *ledger.blocks[1:])}

    forge(out, shift)
    assert {finding.code for finding in verify(out).problems} == {"not-accounted"}
    assert any("rows [0, 1) belong to no block" in finding.text for finding in verify(out).problems)


def test_a_file_that_two_jobs_read_is_found(out):
    first = parse_ledger((out / ledger_name(2)).read_bytes(), "x").files[0]
    forge(out, lambda ledger: {"files": (replace(ledger.files[0], path=first.path),)})
    assert "ingested-twice" in codes(verify(out).problems)


def test_a_source_outside_of_what_was_ingested_is_not_looked_at(out, tmp_path, monkeypatch):
    (tmp_path / "secret.csv").write_text("x")
    opened = []
    original = verify_module.open_source
    monkeypatch.setattr(
        verify_module, "open_source", lambda path, options: opened.append(path) or original(path, options)
    )
    for elsewhere in (str(tmp_path / "secret.csv"), str(tmp_path / "in/../secret.csv"), "http://localhost/a.csv"):
        forge(out, lambda ledger, path=elsewhere: {"files": (replace(ledger.files[0], path=path),)})
        report = verify(out, deep=True)
        assert codes(report.problems) == ["path-escapes"]
        assert elsewhere not in opened


def test_digests_name_their_algorithm_and_blake3_needs_the_kernel(tmp_path, make_scan, run, monkeypatch):
    pytest.importorskip("splitscan_kernel")
    for engine, name in (("kernel", "blake3:"), ("reference", "sha256:")):
        monkeypatch.setenv("SPLITSCAN_ENGINE", engine)
        out = tmp_path / engine
        run(make_scan(), out)
        ledger = parse_ledger((out / ledger_name(1)).read_bytes(), "x")
        assert {block.digest[:7] for block in ledger.blocks} == {name}
        assert verify(out, deep=True).ok
    out = tmp_path / "kernel"
    assert verify(out).ok
    with pytest.raises(UsageError) as refused:
        verify(out, deep=True)
    assert str(refused.value).startswith("digests by BLAKE3 can be compared only with the native kernel [needs-kernel]")
    assert "  fix:   pip install ./kernel, " in str(refused.value)


def test_a_source_that_was_removed_is_a_note(out, tmp_path):
    (tmp_path / "in/a.csv").unlink()
    report = verify(out, deep=True)
    assert report.ok
    assert codes(report.notes) == ["source-missing"]


def test_a_source_that_changed_visibly_is_a_note(out, tmp_path):
    os.utime(tmp_path / "in/a.csv", (1, 1))
    report = verify(out, deep=True)
    assert report.ok
    assert codes(report.notes) == ["source-changed"]


def test_a_source_that_changed_secretly_is_found_by_its_digest(out, tmp_path):
    path = tmp_path / "in/a.csv"
    times = path.stat()
    flip(path, 20)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert verify(out).ok
    assert codes(verify(out, deep=True).problems) == ["source-digest"]


def test_a_folder_without_ledgers_is_no_destination(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "nothing"):
        with pytest.raises(IngestError, match="not-a-destination"):
            verify(folder)
    (tmp_path / "empty/photo.jpg").touch()
    with pytest.raises(IngestError, match="not-a-destination"):
        verify(tmp_path / "empty")


def test_an_ingest_without_digests_has_none_to_compare(tmp_path, make_scan, run):
    run(make_scan(), tmp_path / "out", source_digests=False)
    report = verify(tmp_path / "out", deep=True)
    assert (report.ok, report.digests_checked) == (True, 0)


def test_an_ingest_into_a_destination_with_a_damaged_ledger_stops(out, make_scan, run):
    flip(out / ledger_name(1), 50)
    with pytest.raises(IngestError, match="ledger-damaged"):
        run(make_scan(["a", "b", "c"]), out)
