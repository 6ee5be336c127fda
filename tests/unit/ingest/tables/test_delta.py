"""What is Delta's own: other writers, maintenance, features that are refused, statistics that lose no row."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from splitscan.errors import IngestError
from splitscan.ingest import verify
from splitscan.ingest.steps import Request, run_ingest
from splitscan.sinks import open_sink
from splitscan.sinks.delta_stats import render_stats


@pytest.fixture
def ingest(tmp_path, make_scan, runner):
    out = tmp_path / "out"

    def call(names):
        return run_ingest(Request(make_scan(names), out, table="delta"), runner())

    call.out = out
    return call


def codes(out):
    report = verify(out, deep=True)
    assert report.problems == ()
    return {note.code for note in report.notes}


def test_rows_of_others_stay_and_are_none_of_our_business(ingest):
    ingest(["a"])
    write_deltalake(ingest.out, pa.table({"id": pa.array([-1], pa.int64()), "text": ["theirs"]}), mode="append")
    ingest(["a", "b"])
    assert DeltaTable(ingest.out).to_pyarrow_table().num_rows == 201
    assert codes(ingest.out) == set()


def test_verify_tells_rewritten_from_removed(ingest):
    ingest(["a"])
    DeltaTable(ingest.out).optimize.compact()
    assert codes(ingest.out) == {"rows-rewritten"}
    ingest(["a", "b"])
    DeltaTable(ingest.out).delete()
    assert codes(ingest.out) == {"rows-rewritten", "rows-removed"}
    assert ingest(["a", "b"]).nothing_to_do


def test_rows_that_a_restore_took_away_are_told(ingest):
    ingest(["a"])
    version = DeltaTable(ingest.out).version()
    ingest(["a", "b"])
    DeltaTable(ingest.out).restore(version)
    assert codes(ingest.out) == {"rows-removed"}


def test_a_table_that_was_made_again_is_behind_its_ledgers(ingest, tmp_path):
    ingest(["a"])
    (ingest.out / "_delta_log").rename(tmp_path / "log")
    DeltaTable.create(ingest.out, pa.schema([("id", pa.int64()), ("text", pa.string())]))
    with pytest.raises(IngestError, match=r"the table's last job is 0, the last ledger's 1"):
        ingest(["a", "b"])
    assert [problem.code for problem in verify(ingest.out).problems] == ["table-behind"]


@pytest.mark.parametrize("rule", ["id is NOT NULL", "delta.constraints.positive"])
def test_tables_whose_rules_files_do_not_follow_are_refused(ingest, rule):
    schema = pa.schema([pa.field("id", pa.int64(), nullable="NOT NULL" not in rule), ("text", pa.string())])
    table = DeltaTable.create(ingest.out, schema)
    if "constraints" in rule:
        table.alter.add_constraint({"positive": "id > 0"})
    with pytest.raises(IngestError, match=rf"\[table-unfit\](.|\n)*{rule}"):
        ingest(["a"])


def test_statistics_are_exact_or_too_wide(tmp_path):
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 678901, dt.UTC)
    columns = {
        "whole": pa.array([None, -5, 2**62]),
        "real": pa.array([1.5, float("nan"), float("inf")]),
        "text": pa.array(["b", "a" * 40, "\U0010ffff" * 33]),
        "exact": pa.array([Decimal("123456789012345678.91")] * 3, pa.decimal128(20, 2)),
        "day": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        "moment": pa.array([moment] * 3, pa.timestamp("us", "UTC")),
        "flag": pa.array([True, False, None]),
        "nothing": pa.array([None] * 3, pa.string()),
        "nested": pa.array([{"x": 1, "y": ["q"]}, None, {"x": 7, "y": []}]),
        "after": pa.array([3, 1, 2]),
    }
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    text = render_stats(pq.read_metadata(tmp_path / "a.parquet"), table.schema)
    assert "123456789012345678.91" in text
    stats = json.loads(text)
    least, most = stats["minValues"], stats["maxValues"]
    assert stats["numRecords"] == 3
    assert (least["whole"], most["whole"]) == (-5, 2**62)
    assert "real" not in most
    assert least["text"] == "a" * 32
    assert "text" not in most or most["text"] is None or most["text"] >= "\U0010ffff" * 33
    assert (least["day"], most["day"]) == ("0001-01-01", "9999-12-31")
    assert (least["moment"], most["moment"]) == ("2024-01-02T03:04:05.678Z", "2024-01-02T03:04:05.679Z")
    assert "flag" not in least
    assert "nothing" not in least
    assert stats["nullCount"]["nothing"] == 3
    assert (least["nested"], most["nested"], stats["nullCount"]["nested"]) == ({"x": 1}, {"x": 7}, {"x": 1})
    assert (least["after"], most["after"]) == (1, 3)


def test_a_filter_finds_the_same_rows_with_statistics_and_without(ingest):
    ingest(["a"])
    table = DeltaTable(ingest.out)
    rows = table.to_pyarrow_table()
    for value in range(-1, 101, 7):
        found = table.to_pyarrow_dataset().to_table(filter=pc.field("id") == value)
        assert found.num_rows == rows.filter(pc.field("id") == value).num_rows
    assert open_sink(ingest.out).table == "delta"
