"""What is Iceberg's own in a destination: a catalog that does not know what became of a commit, and retries."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import snapshot
from pyiceberg.transforms import BucketTransform
from pyiceberg.typedef import Record

from splitscan.errors import IngestError
from splitscan.jobs import iceberg, verify

from .conftest import open_iceberg


@pytest.fixture
def table(table):
    if table.format != "iceberg":
        pytest.skip("of Iceberg only")
    return table


def fail_once(monkeypatch, error, *, after):
    """Let the next commit of a catalog raise, before or after it takes effect. Returns the calls."""
    original = SqlCatalog.commit_table
    calls = []

    def commit_table(catalog, *arguments):
        calls.append(arguments)
        if len(calls) > 1:
            return original(catalog, *arguments)
        if after:
            original(catalog, *arguments)
        raise error

    monkeypatch.setattr(SqlCatalog, "commit_table", commit_table)
    return calls


@pytest.mark.thin(2)
@pytest.mark.parametrize(("after", "attempts"), [(True, 1), (False, 2)], ids=["it did", "it did not"])
def test_a_commit_of_unknown_outcome_is_looked_up(monkeypatch, table, make_scan, expected, after, attempts):
    table.ingest(make_scan(["a"]))
    calls = fail_once(monkeypatch, CommitStateUnknownException("502"), after=after)
    table.ingest(make_scan(["a", "b"]))
    assert len(calls) == attempts
    assert table.rows() == expected(["a", "b"])
    assert verify(table.out, deep=True).problems == ()


def test_the_library_makes_one_attempt_and_the_property_is_not_written(monkeypatch, table, make_scan, expected):
    """A library that tried again by itself would commit without asking whether a twin has."""
    table.ingest(make_scan(["a"]))
    looks = []
    original = SqlCatalog.load_table
    monkeypatch.setattr(SqlCatalog, "load_table", lambda *given: looks.append("look") or original(*given))
    calls = fail_once(monkeypatch, CommitFailedException("somebody was faster"), after=False)
    calls_at = []
    commit = SqlCatalog.commit_table
    monkeypatch.setattr(SqlCatalog, "commit_table", lambda *given: calls_at.append(len(looks)) or commit(*given))
    table.ingest(make_scan(["a", "b"]))
    assert len(calls) == 2
    assert calls_at[1] > calls_at[0]  # the table was opened again, and its number read
    assert table.rows() == expected(["a", "b"])
    assert "commit.retry.num-retries" not in open_iceberg(table.out).properties


def codes(out):
    report = verify(out, deep=True)
    assert report.problems == ()
    return {note.code for note in report.notes}


def test_rows_that_a_rollback_took_away_are_told_until_they_are_back(table, make_scan, expected):
    for names in (["a"], ["a", "b"]):
        table.ingest(make_scan(names))
    first, second = (each.snapshot_id for each in open_iceberg(table.out).snapshots())
    assert open_iceberg(table.out).scan(snapshot_id=first).to_arrow().num_rows == 100  # time travel changes nothing
    assert codes(table.out) == set()
    open_iceberg(table.out).manage_snapshots().rollback_to_snapshot(first).commit()
    assert (table.rows(), codes(table.out)) == (expected(["a"]), {"rows-removed"})
    assert table.ingest(make_scan(["a", "b"])).nothing_to_do
    open_iceberg(table.out).manage_snapshots().set_current_snapshot(second).commit()
    assert (table.rows(), codes(table.out)) == (expected(["a", "b"]), set())


@pytest.mark.thin(1)
def test_what_became_of_rows_is_told_by_the_snapshots_that_led_to_the_current_one(table, make_scan):
    """A deletion that was rolled back has not happened; what an expired snapshot did is not known."""
    for names in (["a"], ["a", "b"]):
        table.ingest(make_scan(names))
    second = open_iceberg(table.out).current_snapshot().snapshot_id
    open_iceberg(table.out).delete("id >= 0")
    assert codes(table.out) == {"rows-removed"}
    open_iceberg(table.out).manage_snapshots().rollback_to_snapshot(second).commit()
    assert codes(table.out) == set()
    open_iceberg(table.out).delete("text >= 'b'")
    assert codes(table.out) == {"rows-removed"}
    handle = open_iceberg(table.out)
    handle.append(handle.scan().to_arrow().slice(0, 1))
    handle = open_iceberg(table.out)
    current = handle.current_snapshot().snapshot_id
    old = [each.snapshot_id for each in handle.snapshots() if each.snapshot_id != current]
    handle.maintenance.expire_snapshots().by_ids(old).commit()
    assert codes(table.out) == {"rows-untraced"}


@pytest.mark.parametrize("rule", ["column id is required", "partitions"])
def test_tables_whose_rules_files_do_not_follow_are_refused(table, make_scan, rule):
    table.ingest(make_scan(["a"]))
    handle, files = open_iceberg(table.out), sorted(table.out.glob("*.parquet"))
    if rule == "partitions":
        with handle.update_spec() as partitions:
            partitions.add_field("id", BucketTransform(4))
    else:
        with handle.update_schema(allow_incompatible_changes=True) as update:
            update.update_column("id", required=True)
    with pytest.raises(IngestError, match=rf"\[table-unfit\](.|\n)*{rule}"):
        table.ingest(make_scan(["a", "b"]))
    assert sorted(table.out.glob("*.parquet")) == files


def rewrite(out, monkeypatch, name, keeps=lambda rows: rows):
    """Write all rows again into one file, by the commit that Spark's rewrite_data_files makes; pyiceberg has none."""
    table = open_iceberg(out)
    rows = keeps(table.scan().to_arrow())
    pq.write_table(rows.cast(table.schema().as_arrow()), out / name)
    with monkeypatch.context() as patched, table.transaction() as transaction:
        patched.setattr(snapshot, "update_snapshot_summaries", lambda summary, previous_summary: summary)
        with transaction.update_snapshot().overwrite() as producer:
            producer._operation = Operation.REPLACE
            for task in table.scan().plan_files():
                producer.delete_data_file(task.file)
            producer.append_data_file(parquet_file_to_data_file(table.io, table.metadata, f"file://{out / name}"))


def note_codes(out):
    report = verify(out, deep=True)
    assert report.problems == ()
    return [note.code for note in report.notes]


def test_rows_that_were_removed_after_they_were_rewritten_are_told(monkeypatch, table, make_scan):
    table.ingest(make_scan(["a"]))
    for name in ["first.parquet", "second.parquet"]:  # the second finds the files of the first
        rewrite(table.out, monkeypatch, name)
        assert set(note_codes(table.out)) == {"rows-rewritten"}
    open_iceberg(table.out).append(open_iceberg(table.out).scan().to_arrow())
    assert set(note_codes(table.out)) == {"rows-rewritten"}
    open_iceberg(table.out).delete("text like 'a%'")
    assert open_iceberg(table.out).scan().to_arrow().num_rows == 0
    assert set(note_codes(table.out)) == {"rows-removed"}
    assert table.ingest(make_scan(["a"])).nothing_to_do


def test_rows_that_a_rewrite_left_out_are_told(monkeypatch, table, make_scan):
    table.ingest(make_scan(["a"]))
    rewrite(table.out, monkeypatch, "fewer.parquet", lambda rows: rows.slice(1))
    assert set(note_codes(table.out)) == {"rows-removed"}


def delete_entry(kind, number, path="", file_format=FileFormat.PARQUET):
    """An entry of a manifest of deletes, as other engines write them: pyiceberg writes none."""
    file = DataFile.from_args(content=kind, file_path=path, file_format=file_format, partition=Record())
    return ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, sequence_number=number, data_file=file)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("kind", "file_format", "noted"),
    [
        (DataFileContent.POSITION_DELETES, FileFormat.PARQUET, {"rows-removed": 1}),
        (DataFileContent.POSITION_DELETES, FileFormat.AVRO, {"rows-untraced": 3}),
        (DataFileContent.EQUALITY_DELETES, FileFormat.PARQUET, {"rows-untraced": 2}),
    ],
)
def test_rows_that_others_deleted_without_a_rewrite_are_told(
    monkeypatch, table, make_scan, tmp_path, kind, file_format, noted
):
    """A list of positions holds for the files of its sequence number too, one of values for older files."""
    for names in (["a"], ["a", "b"], ["a", "b", "c"]):
        table.ingest(make_scan(names, block="1m"))
    files = {each.file.file_path for each in open_iceberg(table.out).scan().plan_files()}
    assert len(files) == 3
    pq.write_table(pa.table({"file_path": [min(files)] * 2, "pos": [0, 1]}), tmp_path / "deletes.parquet")
    entry = delete_entry(kind, 3, f"file://{tmp_path}/deletes.parquet", file_format)
    entries = iceberg._entries
    monkeypatch.setattr(
        iceberg, "_entries", lambda at, content: [entry] if content is ManifestContent.DELETES else entries(at, content)
    )
    assert Counter(note_codes(table.out)) == noted
