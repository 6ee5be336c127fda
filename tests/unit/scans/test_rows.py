"""A scan handed to other libraries, and as it is shown before anything is read."""

from __future__ import annotations

import sys

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import splitscan as ss
from splitscan.errors import UsageError


@pytest.fixture
def scan(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(1000)))
    return ss.scan_csv(path, "id long, name string", header=True)


def test_every_library_that_takes_arrow_takes_a_scan(scan):
    assert pl.DataFrame(scan).height == 1000
    assert duckdb.sql("select sum(id) from scan").fetchall() == [(499_500,)]
    assert pa.table(scan).num_rows == 1000
    assert pa.RecordBatchReader.from_stream(scan).schema == scan.schema


def test_delta_rs_writes_a_scan(scan, tmp_path):
    write_deltalake(tmp_path / "delta", scan)
    assert DeltaTable(tmp_path / "delta").to_pyarrow_table().sort_by("id") == pa.table(scan)


def test_polars_makes_a_series_of_structs_where_it_is_not_asked_for_a_frame(scan):
    series = pl.from_arrow(scan)
    assert isinstance(series, pl.Series)
    assert series.struct.unnest().equals(pl.DataFrame(scan))
    assert pl.DataFrame(scan).equals(scan.to_polars())


def test_frames_of_polars_and_pandas_have_the_rows(scan):
    assert scan.to_polars()["id"].sum() == 499_500
    assert list(scan.limit(2).to_pandas()["name"]) == ["n0", "n1"]


def test_head_reads_no_more_than_it_shows(scan, monkeypatch):
    assert scan.head(3).to_pylist() == [{"id": i, "name": f"n{i}"} for i in range(3)]
    assert scan.head(5000).num_rows == 1000
    assert scan.head(0).schema == scan.schema
    monkeypatch.setattr(type(scan), "to_batches", lambda self: pytest.fail("nothing is wanted"))
    assert scan.head(0).num_rows == 0


def test_head_closes_what_it_leaves_unread(tmp_path):
    closed = []

    class Endless(ss.Scan):
        def to_batches(self, on_reject=None):
            try:
                while True:
                    yield pa.record_batch({"id": [1, 2]})
            finally:
                closed.append(True)

    (tmp_path / "a.csv").write_text("1\n")
    scan = Endless.of(tmp_path / "a.csv", "csv", "id long")
    assert scan.head(3).num_rows == 3
    assert closed == [True]


def test_a_library_that_is_not_there_is_named(scan, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="no-library"):
        scan.to_pandas()


def test_a_table_of_a_database_is_taken_too(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("create table t (id integer)")
        database.executemany("insert into t values (?)", [(i,) for i in range(10)])
    table = ss.scan_table(f"sqlite:///{tmp_path}/a.db", "t")
    assert pl.DataFrame(table).height == 10
    assert table.head(4).num_rows == 4


def test_a_scan_is_shown_without_a_look_at_its_files():
    scan = ss.scan_csv("https://user:PW@host/in/*.csv?sig=SECRET", sep=";", header=True).limit(5)
    assert "sep=';'" in repr(scan)
    assert "limit: 5" in repr(scan)
    assert "PW" not in repr(scan) + scan._repr_html_()
    assert "SECRET" not in repr(scan) + scan._repr_html_()
    assert "as the files show" in scan._repr_html_()
    assert "columns: id, n" in repr(ss.scan_csv("a.csv", "id long, n string"))
    assert "&lt;b&gt;" in ss.scan_csv("<b>.csv")._repr_html_()


def test_all_options_that_were_given_are_shown_and_secrets_are_masked():
    scan = ss.scan_csv(
        "s3://bucket/a.csv",
        "id long",
        sep=";",
        block_size="64m",
        recursiveFileLookup=True,
        max_record_bytes="1m",
        schema_hints="id int",
        storage_options={"key": "AKIA", "secret": "hunter2"},
    )
    shown = repr(scan)
    for part in ("sep=';'", "blockSize=67108864", "recursiveFileLookup=True", "maxRecordBytes=1048576"):
        assert part in shown
    assert "storageOptions=***" in shown
    assert "hunter2" not in shown + scan._repr_html_()
    assert "schemaHints='id int'" in shown


class Pairs:
    """A reader of the user's own, of nothing."""

    schema = pa.schema([("a", pa.int64())])

    def open(self, negotiator):
        return False

    def next(self, loader):
        return False

    def close(self):
        pass


@pytest.mark.parametrize("own", [Pairs, Pairs()])
def test_a_reader_of_ones_own_is_shown_by_its_name(own):
    assert "format: Pairs" in repr(ss.scan("a.bin", own))


def test_show_prints_the_first_rows_and_reads_no_more(tmp_path, capsys, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text(
        '{"a": {"b": [1, null]}, "t": "x\\u001b[31m", "w": "' + "z" * 90 + '"}\n{"a": null, "t": "y"}\n' * 2
    )
    scan = ss.scan_json(path, "a struct<b: array<long>>, t string, w string")
    assert scan.show(2) is None
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["a", "t", "w"]
    assert first.split()[0] == '{"b":[1,null]}'
    assert "\\x1b[31m" in first
    assert first.endswith("zzz...")
    assert second.split() == ["null", "y", "null"]
    monkeypatch.setattr(type(scan), "to_batches", lambda self: pytest.fail("nothing is wanted"))
    scan.show(0)
    assert capsys.readouterr().out.split() == ["a", "t", "w"]


def test_files_are_chosen_by_either_name(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("1\n")
    scan = ss.scan_csv(tmp_path)
    assert scan.where_files("filename = 'a.csv'").count() == 1
    assert scan.where("filename = 'a.csv'").count() == 1


def test_every_error_can_be_caught_by_its_name():
    with pytest.raises(ss.UsageError):
        ss.scan_csv("a.csv", nonsense=1)
    with pytest.raises(ss.SourceMissingError):
        ss.scan_csv("/no/such/file").count()
    classes = [getattr(ss, name) for name in ss.__all__ if name.endswith("Error")]
    assert len(classes) == 11
    assert all(issubclass(each, ss.SplitscanError) for each in classes)
