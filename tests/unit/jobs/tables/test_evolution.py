"""Columns that a table does not have: added to it, or refused, and never lost on the way."""

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType
from pyiceberg.types import LongType, StringType

from splitscan.api.files import Scan
from splitscan.errors import SchemaError
from splitscan.jobs import IngestSettings, SchemaEvolution, verify
from splitscan.jobs.watching import Watch
from splitscan.options.stream import parse_stream_options

from .conftest import open_iceberg

ADD = IngestSettings(schema_evolution_mode=SchemaEvolution.ADD)


@pytest.fixture
def source(tmp_path):
    """Write CSV files with headers; scan them by name, with the columns that they have."""
    folder = tmp_path / "in"
    folder.mkdir()

    def write(name, header, *records, **options):
        (folder / name).write_text("\n".join([header, *records]) + "\n")
        given = {"header": True, "headerMapping": "byName", "inferSchema": True, **options}
        return Scan.of(str(folder), "csv", None, given)

    return write


def read(table):
    if table.format == "delta":
        rows = DeltaTable(table.out).to_pyarrow_table()
    else:
        rows = open_iceberg(table.out).scan().to_arrow()
    return sorted(rows.to_pylist(), key=lambda row: row["id"])


def add_by_stranger(table, kind):
    if table.format == "delta":
        DeltaTable(table.out).alter.add_columns([Field("x", PrimitiveType(kind))])
        return
    with open_iceberg(table.out).update_schema() as update:
        update.add_column("x", StringType() if kind == "string" else LongType())


def test_a_new_column_is_added_and_old_rows_have_a_null(table, source):
    table.ingest(source("a.csv", "id,text", "1,a"))
    table.ingest(source("b.csv", "x,id,text", "7.5,2,b"), settings=ADD)
    table.ingest(source("c.csv", "id,text", "3,c"))
    assert read(table) == [
        {"id": 1, "text": "a", "x": None}, {"id": 2, "text": "b", "x": 7.5}, {"id": 3, "text": "c", "x": None},
    ]  # fmt: skip
    report = verify(table.out, deep=True)
    assert (report.problems, report.jobs) == ((), 3)


def test_several_columns_of_one_job_come_at_once_and_filters_find_them(table, source):
    table.ingest(source("a.csv", "id,text", "1,a"), settings=ADD)
    table.ingest(source("b.csv", "id,y,x,text", "2,2024-01-02,u,b", "3,2024-01-03,v,c"), settings=ADD)
    assert [(row["x"], str(row["y"])) for row in read(table)][1:] == [("u", "2024-01-02"), ("v", "2024-01-03")]
    if table.format == "delta":
        found = DeltaTable(table.out).to_pyarrow_dataset().to_table(filter=ds.field("x") == "v")
    else:
        found = open_iceberg(table.out).scan(row_filter="x = 'v'").to_arrow()
    assert found["id"].to_pylist() == [3]


def test_without_being_asked_a_new_column_is_refused(table, source, runner):
    table.ingest(source("a.csv", "id,text", "1,a"))
    chosen = runner()
    with pytest.raises(
        SchemaError, match=r"b\.csv, column 'x'\n.*column x int\n.*but the destination has: id.*\n.*addNew"
    ):
        table.ingest(source("b.csv", "id,text,x", "2,b,7"), chosen)
    assert chosen.opened == []
    assert read(table) == [{"id": 1, "text": "a"}]


@pytest.mark.thin(2)
@pytest.mark.parametrize(("kind", "fits"), [("string", True), ("long", False)])
def test_a_column_that_a_stranger_adds_meanwhile_is_taken_if_it_fits(table, source, runner, kind, fits):
    table.ingest(source("a.csv", "id,text", "1,a"))
    spoil = lambda reports: (add_by_stranger(table, kind), reports)[1]  # noqa: E731
    scan = source("b.csv", "id,text,x", "2,b,u")
    if not fits:
        with pytest.raises(SchemaError, match="column x is"):
            table.ingest(scan, runner(spoil=spoil), settings=ADD)
        assert [row["x"] for row in read(table)] == [None]
        return
    table.ingest(scan, runner(spoil=spoil), settings=ADD)
    assert [row["x"] for row in read(table)] == [None, "u"]


def test_a_kill_between_the_columns_and_the_files_is_finished(table, source, monkeypatch):
    if table.format != "delta":
        pytest.skip("Iceberg adds columns and files in one commit")

    class Death(BaseException):
        pass

    def dies(*_, **__):
        raise Death

    table.ingest(source("a.csv", "id,text", "1,a"))
    scan = source("b.csv", "id,text,x", "2,b,u")
    with monkeypatch.context() as patched:
        patched.setattr(DeltaTable, "create_write_transaction", dies)
        with pytest.raises(Death):
            table.ingest(scan, settings=ADD)
    assert read(table) == [{"id": 1, "text": "a", "x": None}]
    assert verify(table.out).problems == ()
    assert table.ingest(scan, settings=ADD).blocks_resumed == 1
    assert [row["x"] for row in read(table)] == [None, "u"]


def test_a_watch_adds_columns_between_windows(table, source, runner):
    source("a.csv", "id,text", "1,a")
    folder = source("b.csv", "id,text", "2,b").paths[0]

    def drain(mode):
        stream, others = parse_stream_options({
            "header": True, "headerMapping": "byName", "inferSchema": True, "scanIntervalMillis": 0,
            "maxFilesPerTrigger": 1,
        })  # fmt: skip
        settings = IngestSettings(schema_evolution_mode=mode)
        watch = Watch(
            lambda: Scan.of(folder, "csv", None, others),
            table.out,
            stream,
            settings,
            table=table.format,
        )
        windows = [window.report.rows for window in watch.drain(runner())]
        watch.close()
        return windows

    assert drain(SchemaEvolution.ADD) == [1, 1]
    source("c.csv", "id,x,text", "3,u,c")
    source("d.csv", "text,id", "d,4")
    assert drain(SchemaEvolution.ADD) == [1, 1]
    assert [row["x"] for row in read(table)] == [None, None, "u", None]
    assert [row["text"] for row in read(table)] == ["a", "b", "c", "d"]
    assert verify(table.out, deep=True).problems == ()


@pytest.mark.thin(2)
@pytest.mark.parametrize("mode", [mode for mode in SchemaEvolution if mode is not SchemaEvolution.RESCUE])
def test_a_field_that_appears_in_the_middle_of_a_file_is_kept_in_every_mode(table, source, mode):
    """It has no name, so there is no column to add or refuse: the record is a row and a reject."""
    settings = IngestSettings(schema_evolution_mode=mode, max_reject_ratio=1)
    report = table.ingest(source("a.csv", "id,text", "1,a", "2,b,new", "3,c"), settings=settings)
    assert (report.rows, report.rejects) == (3, 1)
    assert [row["id"] for row in read(table)] == [1, 2, 3]
    (path,) = table.out.glob("_splitscan/rejects/*")
    assert pq.read_table(path)["raw"].to_pylist() == [b"2,b,new"]
