"""What others do to a table while a job runs, or between two jobs: no row is doubled or lost, and verify tells."""

from contextlib import nullcontext

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from deltalake.table import TableAlterer
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import StringType

from splitscan.errors import IngestError, SchemaError, SplitscanError
from splitscan.jobs import IngestSettings, SchemaEvolution, verify

from .conftest import clean_log, open_iceberg


def delete(out, kind):
    table = DeltaTable(out) if kind == "delta" else open_iceberg(out)
    table.delete("id < 10")


def overwrite(out, kind):
    rows = pa.table({"id": pa.array([-1], pa.int64()), "text": pa.array(["theirs"])})
    if kind == "delta":
        write_deltalake(out, rows, mode="overwrite")
    else:
        open_iceberg(out).overwrite(rows)


def append(out, kind):
    rows = pa.table({"id": pa.array([-1], pa.int64()), "text": pa.array(["theirs"])})
    if kind == "delta":
        write_deltalake(out, rows, mode="append")
    else:
        open_iceberg(out).append(rows)


def add_column(out, kind):
    if kind == "delta":
        DeltaTable(out).alter.add_columns([Field("extra", PrimitiveType("string"))])
        return
    with open_iceberg(out).update_schema() as update:
        update.add_column("extra", StringType())


def rename(out, kind):
    if kind == "delta":
        rows = pa.table({"id": pa.array([1], pa.int64()), "Text": pa.array(["theirs"])})
        write_deltalake(out, rows, mode="overwrite", schema_mode="overwrite")
        return
    with open_iceberg(out).update_schema() as update:
        update.rename_column("text", "Text")


def remove_column(out, kind):
    if kind == "delta":
        write_deltalake(out, pa.table({"id": pa.array([1])}), mode="overwrite", schema_mode="overwrite")
        return
    with open_iceberg(out).update_schema() as update:
        update.delete_column("text")


def set_a_rule(out, kind):
    """One that files do not follow which are registered."""
    if kind == "delta":
        DeltaTable(out).alter.add_constraint({"small": "id < 1000"})
        return
    with open_iceberg(out).update_spec() as update:
        update.add_field("id", BucketTransform(4), "bucket")


def meddle(act, table):
    """A stranger acts when all is read and nothing is committed."""
    return lambda reports: (act(table.out, table.format), reports)[1]


def ids(rows):
    return sorted(row[0] for row in rows)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("act", "left", "note"),
    [
        (delete, range(10, 100), "rows-removed"),
        (overwrite, [-1], "rows-removed"),
        (append, [-1, *range(100)], None),
        (add_column, range(100), None),
    ],
)
def test_a_job_is_committed_on_top_of_what_others_did_meanwhile(table, make_scan, runner, act, left, note):
    table.ingest(make_scan(["a"]))
    report = table.ingest(make_scan(["a", "b"]), runner(spoil=meddle(act, table)))
    assert report.rows == 100
    assert ids(table.rows()) == sorted([*left, *range(100)])
    found = verify(table.out, deep=True)
    assert found.problems == ()
    assert {each.code for each in found.notes} == ({note} if note else set())
    assert table.ingest(make_scan(["a", "b"])).nothing_to_do


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "act", [delete, append, *(pytest.param(each, marks=pytest.mark.slow) for each in (overwrite, add_column))]
)
def test_a_commit_that_comes_second_is_tried_again(monkeypatch, table, make_scan, act):
    """A stranger acts after the table was looked at, in the moment of the commit."""
    table.ingest(make_scan(["a"]))
    holder, name = (DeltaTable, "create_write_transaction") if table.format == "delta" else (SqlCatalog, "commit_table")
    original = getattr(holder, name)
    attempts = []

    def commit(*arguments, **named):
        attempts.append(name)
        if len(attempts) == 1:
            with monkeypatch.context() as patched:
                patched.setattr(holder, name, original)
                act(table.out, table.format)
        return original(*arguments, **named)

    monkeypatch.setattr(holder, name, commit)
    table.ingest(make_scan(["a", "b"]))
    is_in_the_way = table.format == "delta" or act is not add_column  # columns of Iceberg have ids: files fit as before
    assert len(attempts) == (2 if is_in_the_way else 1)
    left = {delete: range(10, 100), overwrite: [-1], append: [-1, *range(100)], add_column: range(100)}[act]
    assert ids(table.rows()) == sorted([*left, *range(100)])
    assert verify(table.out, deep=True).problems == ()


@pytest.mark.thin(2)
@pytest.mark.parametrize("act", [remove_column, set_a_rule])
def test_what_the_table_no_longer_takes_stops_the_commit(table, make_scan, runner, act):
    """It is looked at again in the commit, and nothing that others took away is put back."""
    table.ingest(make_scan(["a"]))
    with pytest.raises(SplitscanError, match=r"\[(destination-schema|table-unfit)\]"):
        table.ingest(make_scan(["a", "b"]), runner(spoil=meddle(act, table)))
    assert {each.code for each in verify(table.out).problems} == set()
    names = DeltaTable(table.out).schema().to_arrow().names if table.format == "delta" else None
    assert ("text" in (names or open_iceberg(table.out).schema().column_names)) == (act is set_a_rule)


def test_a_job_that_comes_before_the_new_columns_of_another_is_seen(monkeypatch, tmp_path, table, make_scan):
    """Delta Lake adds columns in a commit of their own: after it, the table is looked at again."""
    if table.format != "delta":
        pytest.skip("Iceberg adds columns and files in one commit")
    monkeypatch.setattr("splitscan.jobs.steps.clean_up", lambda *_: [])
    monkeypatch.setattr("splitscan.jobs.workplace.DestinationStorage.lock", lambda _: nullcontext())
    table.ingest(make_scan(["a"], columns="id"))
    scan, other = make_scan(["a", "b"]), make_scan(["a", "b", "c"], columns="id")
    original = TableAlterer.add_columns

    def add_columns(*arguments, **named):
        monkeypatch.setattr(TableAlterer, "add_columns", original)
        table.ingest(other)
        return original(*arguments, **named)

    monkeypatch.setattr(TableAlterer, "add_columns", add_columns)
    with pytest.raises(IngestError, match=r"\[destination-busy\]"):
        table.ingest(scan, settings=IngestSettings(schema_evolution_mode=SchemaEvolution.ADD))
    assert ids(table.rows()) == sorted([*range(100)] * 3)
    assert verify(table.out, deep=True).problems == ()


def test_files_that_an_optimize_wrote_again_are_no_problem(table, make_scan, runner):
    if table.format != "delta":
        pytest.skip("pyiceberg rewrites no data")
    for names in (["a"], ["a", "b"]):
        table.ingest(make_scan(names))
    table.ingest(
        make_scan(["a", "b", "c"]), runner(spoil=meddle(lambda out, _: DeltaTable(out).optimize.compact(), table))
    )
    assert ids(table.rows()) == sorted([*range(100)] * 3)
    found = verify(table.out, deep=True)
    assert found.problems == ()
    assert {each.code for each in found.notes} == {"rows-rewritten"}


def test_a_column_that_others_spelled_otherwise_meanwhile_stops_the_commit(table, make_scan, runner):
    table.ingest(make_scan(["a"]))
    with pytest.raises(SchemaError, match=r"column text, and Text in the table"):
        table.ingest(make_scan(["a", "b"]), runner(spoil=meddle(rename, table)))
    assert [each.code for each in verify(table.out).problems] == []
    with pytest.raises(SchemaError, match=r"\[destination-schema\]"):
        table.ingest(make_scan(["a", "b"]))


def test_rows_stay_readable_when_a_column_is_renamed(table, make_scan):
    if table.format != "iceberg":
        pytest.skip("of field ids, which Iceberg has")
    table.ingest(make_scan(["a"]))
    before = table.rows()
    rename(table.out, table.format)
    read = open_iceberg(table.out).scan().to_arrow()
    assert sorted(zip(read["id"].to_pylist(), read["Text"].to_pylist(), strict=True), key=str) == before


def test_what_a_killed_job_left_may_be_vacuumed(table, make_scan, runner, expected):
    table.ingest(make_scan(["a"]))
    with pytest.raises(IngestError, match="the power failed"):
        table.ingest(make_scan(["a", "b"], rows=300), runner(stop_after=8))
    live = {path.name for path in table.out.glob("part-*.parquet")}
    if table.format == "delta":
        DeltaTable(table.out).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
    else:  # pyiceberg removes no orphans; other tools do
        named = {task.file.file_path.rpartition("/")[2] for task in open_iceberg(table.out).scan().plan_files()}
        for path in table.out.glob("part-*.parquet"):
            if path.name not in named:
                path.unlink()
    assert live > {path.name for path in table.out.glob("part-*.parquet")}
    table.ingest(make_scan(["a", "b"], rows=300))
    assert table.rows() == expected(["a", "b"])
    assert verify(table.out, deep=True).problems == ()


def test_when_the_table_has_forgotten_its_past_nothing_is_ingested_again(table, make_scan, expected):
    for names in (["a"], ["a", "b"]):
        table.ingest(make_scan(names))
    if table.format == "delta":
        clean_log(table.out)
    else:
        handle = open_iceberg(table.out)
        old = [each.snapshot_id for each in handle.snapshots()][:-1]
        handle.maintenance.expire_snapshots().by_ids(old).commit()
        assert len(open_iceberg(table.out).snapshots()) == 1
    assert table.ingest(make_scan(["a", "b"])).nothing_to_do
    assert table.ingest(make_scan(["a", "b", "c"])).rows == 100
    assert table.rows() == expected(["a", "b", "c"])
    assert verify(table.out, deep=True).problems == ()
