"""Ingests of nothing, of files that vanish, and of damaged ones: what can be read afterwards, and by the next run."""

import gzip

import duckdb
import pyarrow.parquet as pq
import pytest

import splitscan as ss
from splitscan.api.files import Scan
from splitscan.errors import IngestError, SourceError, SourceMissingError, UsageError
from splitscan.jobs import verify

from ..content.archives.packed import tar_of

SCHEMA = "id long, text string"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


# ------------------------------------------------------------------ nothing


def empty_destination_is_readable(out):
    table = pq.read_table(out)
    assert (table.num_rows, table.schema.names) == (0, ["id", "text"])
    assert duckdb.sql(f"SELECT count(id) FROM '{out}/*.parquet'").fetchall() == [(0,)]
    report = verify(out, deep=True)
    assert (report.problems, report.data_files) == ((), 1)


@pytest.mark.parametrize("content", [b"", b"id,text\n", b"id,text\r\n\r\n"], ids=["empty", "header", "blank line"])
def test_an_ingest_without_a_row_leaves_parquet_that_tells_the_columns(folder, tmp_path, run, content):
    (folder / "a.csv").write_bytes(content)
    scan = Scan.of(str(folder), "csv", SCHEMA, {"header": True})
    report = run(scan, tmp_path / "out")
    assert (report.files, report.rows, report.data_files, report.nothing_to_do) == (1, 0, 1, False)
    empty_destination_is_readable(tmp_path / "out")
    assert run(Scan.of(str(folder), "csv", SCHEMA, {"header": True}), tmp_path / "out").nothing_to_do


def test_an_ingest_of_an_empty_folder_is_refused_and_the_next_one_finds_the_destination_as_it_was(
    folder, tmp_path, run
):
    for _ in range(2):
        with pytest.raises(SourceMissingError, match="no-files"):
            run(Scan.of(str(folder), "csv", SCHEMA, {}), tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.parquet"))
    (folder / "a.csv").write_text("1,x\n")
    assert run(Scan.of(str(folder), "csv", SCHEMA, {}), tmp_path / "out").rows == 1
    assert verify(tmp_path / "out", deep=True).ok


def test_where_other_jobs_left_rows_no_empty_file_is_added(folder, tmp_path, run):
    (folder / "a.csv").write_text("1,x\n")
    run(Scan.of(str(folder), "csv", SCHEMA, {}), tmp_path / "out")
    (folder / "b.csv").touch()
    report = run(Scan.of(str(folder), "csv", SCHEMA, {}), tmp_path / "out")
    assert (report.files, report.data_files) == (1, 0)
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 1


# ------------------------------------------------------------------ files that vanish


@pytest.fixture
def vanishing(folder):
    """Three files, of which one goes away after the listing; put it back with the function."""
    for name in "abc":
        (folder / f"{name}.csv").write_text("".join(f"{number},{name}\n" for number in range(20)))

    def scan(**options):
        found = Scan.of(str(folder), "csv", SCHEMA, {"ignoreMissingFiles": True, "taskSize": "1m", **options})
        found.files()
        return found

    return scan


def move(folder, there):
    source, target = (folder / "b.csv", folder.parent / "b") if there else (folder.parent / "b", folder / "b.csv")
    source.rename(target)


def test_a_file_that_vanished_is_not_ingested_and_read_when_it_comes_back(
    folder, vanishing, tmp_path, run, ledger_lines
):
    scan = vanishing()
    move(folder, True)
    report = run(scan, tmp_path / "out")
    assert (report.files, report.files_missing, report.rows, report.rejects) == (2, 1, 40, 1)
    assert report.source_bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert verify(tmp_path / "out", deep=True).files == 2
    assert verify(tmp_path / "out", deep=True).ok
    assert run(vanishing(), tmp_path / "out").nothing_to_do
    move(folder, False)
    report = run(vanishing(), tmp_path / "out")
    assert (report.files, report.files_skipped, report.rows) == (1, 2, 20)
    assert sorted(pq.read_table(tmp_path / "out")["text"].to_pylist()) == ["a"] * 20 + ["b"] * 20 + ["c"] * 20
    assert verify(tmp_path / "out", deep=True).ok
    assert run(vanishing(), tmp_path / "out").nothing_to_do


def test_a_job_whose_only_file_vanished_can_be_done_again_and_again(folder, vanishing, tmp_path, run):
    (folder / "a.csv").unlink()
    (folder / "c.csv").unlink()
    ids = set()
    for _ in range(3):
        scan = vanishing()
        move(folder, True)
        report = run(scan, tmp_path / "out")
        assert (report.files, report.files_missing, report.rows) == (0, 1, 0)
        ids.add(report.job_id)
        move(folder, False)
    assert run(vanishing(), tmp_path / "out").rows == 20
    assert len(ids) == 3
    assert verify(tmp_path / "out", deep=True).ok


def test_a_file_that_vanishes_while_it_is_read_publishes_nothing(folder, vanishing, tmp_path, run, runner):
    class Removing(runner):
        def run(self, write_part, context, parts):
            first = super().run(write_part, context, parts[:1])
            move(folder, True)
            return first + super().run(write_part, context, parts[1:])

    cut = {"blockSize": "30", "taskSize": "30", "openCostInBytes": 0}
    (folder / "a.csv").unlink()
    with pytest.raises(SourceMissingError, match="vanished-midway") as caught:
        run(vanishing(**cut), tmp_path / "out", half := Removing())
    assert "in/b.csv" in str(caught.value)
    assert half.opened
    assert not (tmp_path / "out").exists()
    move(folder, False)  # the same job again: what was missing is looked at again
    assert run(vanishing(**cut), tmp_path / "out").rows == 40
    assert verify(tmp_path / "out", deep=True).ok


def test_attempts_that_may_read_different_bytes_never_write_over_each_other(folder, vanishing, tmp_path, run, runner):
    class Twice(runner):
        min_tasks = 1

        def run(self, write_part, context, parts):
            assert len(parts) == 1
            first = super().run(write_part, context, parts)
            move(folder, True)
            for report in (tmp_path / ".out.splitscan").glob("*/reports/*/*.json"):
                report.unlink()  # a speculative attempt does not see that the other has finished
            super().run(write_part, context, parts)
            move(folder, False)
            return first

    assert run(vanishing(openCostInBytes=0), tmp_path / "out", Twice()).rows == 60
    assert verify(tmp_path / "out", deep=True).ok


def test_without_the_option_a_file_that_vanished_fails_the_job(folder, vanishing, tmp_path, run):
    scan = vanishing(ignoreMissingFiles=False)
    move(folder, True)
    with pytest.raises(SourceMissingError):
        run(scan, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_vanished_counts_for_the_budget(folder, vanishing, tmp_path, run):
    scan = vanishing()
    move(folder, True)
    with pytest.raises(IngestError, match="reject-budget"):
        run(scan, tmp_path / "out", max_rejects=0)


# ------------------------------------------------------------------ damaged


@pytest.mark.parametrize("block_size", [300, 10**6], ids=["divided", "whole"])
def test_a_damaged_file_is_ingested_up_to_its_damage_and_everything_says_so(
    folder, tmp_path, run, ledger_lines, block_size
):
    lines = b"".join(b'%d,"%d\n"\n' % (i, i * i) for i in range(400))
    first, second = gzip.compress(lines[:3000]), bytearray(gzip.compress(lines[3000:]))
    second[10] = 7  # no kind of block
    (folder / "a.csv.gz").write_bytes(first + second)
    (folder / "b.csv").write_bytes(b"1,b\n")
    options = {"multiLine": True, "blockSize": block_size, "openCostInBytes": 0}
    with pytest.raises(SourceError, match="corrupt-container"):
        run(Scan.of(str(folder), "csv", SCHEMA, options), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    scan = Scan.of(str(folder), "csv", SCHEMA, {**options, "ignoreCorruptFiles": True})
    report = run(scan, tmp_path / "out")
    assert (report.files, report.files_damaged) == (2, 1)
    assert 0 <= len(second) - report.lost_bytes < 12
    assert report.blocks == (5 if block_size == 300 else 2)
    assert (report.rows, report.rejects) == (scan.count(), 1)
    rows = sorted(tuple(row.values()) for row in pq.read_table(tmp_path / "out").to_pylist())
    assert rows == sorted([(1, "b"), *((i, f"{i * i}\n") for i in range(lines[:3000].count(b'"\n')))])
    (damaged,) = [line["block"] for line in ledger_lines(tmp_path / "out").values if "damage" in line.get("block", {})]
    assert damaged["damage"]["lost_bytes"] == report.lost_bytes
    (reject_file,) = (tmp_path / "out/_splitscan/rejects").iterdir()
    (told,) = pq.read_table(reject_file).to_pylist()
    assert (told["path"], told["code"]) == (str(folder / "a.csv.gz"), "corrupt-container")
    assert told["offset"] == damaged["damage"]["content_offset"] == 3000
    assert f"damaged at byte {damaged['damage']['file_offset']}, {report.lost_bytes} bytes" in told["reason"]
    checked = verify(tmp_path / "out", deep=True)
    assert checked.ok
    assert checked.digests_checked == report.blocks
    (note,) = checked.notes
    assert (note.code, note.path.endswith("a.csv.gz")) == ("source-damaged", True)
    assert f"{report.lost_bytes} bytes of it were not read" in note.text
    assert run(scan, tmp_path / "out").nothing_to_do


def test_what_is_lost_counts_for_the_budget(folder, tmp_path, run):
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"1,a\n2,b\n")[:-5])
    scan = Scan.of(str(folder), "csv", SCHEMA, {"ignoreCorruptFiles": True})
    with pytest.raises(IngestError, match="reject-budget"):
        run(scan, tmp_path / "out", max_rejects=0)
    assert run(scan, tmp_path / "out", max_rejects=1).rows == 2


def test_of_damaged_archives_what_is_lost_is_counted_and_listed(folder, tmp_path, run):
    archive = tar_of({"b": b"1,a\n" * 300, "c": b"2,b\n" * 10})
    data = gzip.compress(archive, compresslevel=0)
    (folder / "a.tar.gz").write_bytes(data[: data.index(archive[:50]) + 512 + 702])
    (folder / "b.tar.gz").write_bytes(data[:-2])
    (folder / "c.tar.gz").write_bytes(data)
    options = {"archivePathFilter": "*", "ignoreCorruptFiles": True, "blockSize": 300}
    scan = Scan.of(str(folder), "csv", SCHEMA, options)
    report = run(scan, tmp_path / "out")
    assert (report.rows, report.rejects, report.files, report.files_damaged) == (175 + 2 * 310, 2, 6, 2)
    lost = {f"{folder}/a.tar.gz!/b", f"{folder}/b.tar.gz!/"}
    rejects = tmp_path / "out/_splitscan/rejects"
    assert {path for file in rejects.iterdir() for path in pq.read_table(file)["path"].to_pylist()} == lost
    checked = verify(tmp_path / "out", deep=True)
    assert checked.ok
    assert checked.digests_checked == report.blocks
    assert {note.path for note in checked.notes} == lost
    assert run(scan, tmp_path / "out").nothing_to_do


def test_a_job_of_which_most_records_are_broken_publishes_nothing_unless_that_is_wanted(tmp_path, run):
    (tmp_path / "a.csv").write_text("".join(f"{i};words of {i}\n" for i in range(20)))  # another separator
    scan = ss.scan_csv(tmp_path / "a.csv", "id long, note string")
    with pytest.raises(IngestError, match=r"than the default allows .*; nothing was published") as caught:
        run(scan, tmp_path / "out")
    assert caught.value.reason_code == "reject-budget"
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.parquet"))
    assert run(scan, tmp_path / "out", max_reject_ratio=1).rejects == 20


# ------------------------------------------------------------------ dialect


RFC_4180 = '7,"say ""yes"", then\nno"\n'
PLAIN = "7,some words that need no quotes\n"


@pytest.mark.parametrize(
    "content",
    [RFC_4180 * 3, PLAIN * 20_000 + RFC_4180 + PLAIN, PLAIN * 10_000 + RFC_4180 * 3_000 + PLAIN * 10_000],
    ids=["at the beginning", "at the end", "in the middle"],
)
def test_doubled_quotes_under_the_default_escape_stop_the_job_before_anything_is_read(content, tmp_path, run):
    (tmp_path / "a.csv").write_text(content)
    scan = ss.scan_csv(tmp_path / "a.csv", "id long, note string", multiLine=True)
    with pytest.raises(UsageError, match=r"set escape=") as caught:
        run(scan, tmp_path / "out")
    assert caught.value.reason_code == "dialect-contradicted"
    assert not (tmp_path / "out").exists()
    right = ss.scan_csv(tmp_path / "a.csv", "id long, note string", multiLine=True, escape='"')
    assert run(right, tmp_path / "right").rejects == 0


@pytest.mark.parametrize(
    "text", ['[\n  {"id": 1},\n  {"id": 2}\n]\n', '\ufeff{\r\n  "id": 1\r\n}\r\n', '{"id": [\n1]}\n']
)
def test_json_over_several_lines_stops_the_job_before_anything_is_read(text, tmp_path, run):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match=r"set multiLine=true") as caught:
        run(ss.scan_json(tmp_path / "a.json", "id string"), tmp_path / "out")
    assert caught.value.reason_code == "dialect-contradicted"
    assert not (tmp_path / "out").exists()
    asked = ss.scan_json(tmp_path / "a.json", "id string", multiLine=False)
    assert run(asked, tmp_path / "out", max_reject_ratio=1).rejects > 0
    assert run(ss.scan_json(tmp_path / "a.json", "id string", multiLine=True), tmp_path / "b").rejects == 0


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('{"id": 1}\n[\n', {}),
        ('[{"x": 1}]}\n{"id": 1}\n', {}),
        ("[1, 2]\n[3]\n", {}),
        ("1,\n", {}),
        ("", {}),
        ('{"id": 1}', {}),
        ('[\n1]|{"id": 1}', {"lineSep": "|"}),
    ],
)
def test_json_that_may_be_lines_is_read(text, options, tmp_path, run):
    (tmp_path / "a.json").write_text(text)
    scan = ss.scan_json(tmp_path / "a.json", "id string", **options)
    assert run(scan, tmp_path / "out", max_reject_ratio=1).files == 1


@pytest.mark.parametrize(
    "content",
    [
        '1,""\n2,"a",""\n',  # empty fields
        '1,"a \\"b\\", and ""c"", d"\n',  # a backslash escapes one
        '1,"a"\n2,5"" pipe\n',  # not in a quoted field
        '1,"a"""\n',  # at the end of a field it is an empty rest
        "1,plain\n",
    ],
)
def test_what_may_be_meant_is_read(content, tmp_path, run):
    (tmp_path / "a.csv").write_text(content)
    run(ss.scan_csv(tmp_path / "a.csv", "id long, note string"), tmp_path / "out", max_reject_ratio=1)


def test_who_names_the_escape_is_obeyed(tmp_path, run):
    (tmp_path / "a.csv").write_text('1,"a ""b"" c"\n')
    scan = ss.scan_csv(tmp_path / "a.csv", "id long, note string", escape="\\")
    assert run(scan, tmp_path / "out").rows == 1
