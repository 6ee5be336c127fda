"""Files read by the columns that a destination has: what else they bring is not read, or is rescued."""

import json

import pytest

from splitscan.errors import SchemaError, UsageError
from splitscan.jobs import SchemaEvolution

NONE, RESCUE = SchemaEvolution.NONE, SchemaEvolution.RESCUE
MISFITS = [("b.csv", "x,id,text", "7.5,2,b", "8,abc,c", "9,3000000000000000000000,d")]


def test_none_reads_no_column_that_the_destination_does_not_have(sink):
    sink.write("a.csv", "id,text", "1,a")
    sink.ingest(NONE)
    for name, *lines in MISFITS:
        sink.write(name, *lines)
    report = sink.ingest(NONE)
    assert (report.rows, report.rejects) == (3, 2)
    assert sink.rows() == [
        {"id": 1, "text": "a"}, {"id": 2, "text": "b"}, {"id": None, "text": "c"}, {"id": None, "text": "d"},
    ]  # fmt: skip
    assert sink.is_proved()


def test_rescue_keeps_what_has_no_place(sink):
    sink.write("a.csv", "id,text", "1,a")
    sink.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    for name, *lines in MISFITS:
        sink.write(name, *lines)
    report = sink.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    assert (report.rows, report.rejects) == (3, 0)
    found = sink.rows()
    assert [row["id"] for row in found] == [1, 2, None, None]
    assert found[0]["_rescued_data"] is None
    kept = [json.loads(row["_rescued_data"]) for row in found[1:]]
    assert [(each["x"], each.get("id")) for each in kept] == [
        ("7.5", None), ("8", "abc"), ("9", "3000000000000000000000"),
    ]  # fmt: skip
    assert sink.is_proved()


def test_a_column_that_appears_in_the_middle_of_a_file_is_not_lost(sink):
    """Records longer than the header: the fields after the last column have no name."""
    sink.write("a.csv", "id,text", "1,a")
    sink.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    sink.write("b.csv", "id,text", "2,b", "3,c,new")
    sink.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    assert json.loads(sink.rows()[2]["_rescued_data"])["_c2"] == "new"
    sink.write("c.csv", "id,text", "4,d,lost?")
    report = sink.ingest(NONE, rescuedDataColumn="_rescued_data")
    assert json.loads(sink.rows()[3]["_rescued_data"])["_c2"] == "lost?"
    assert (report.rows, sink.is_proved()) == (1, True)


def test_a_column_that_is_missing_is_null(sink):
    sink.write("a.csv", "id,text", "1,a")
    sink.ingest(NONE)
    sink.write("b.csv", "text", "b")
    sink.ingest(NONE)
    assert [row["id"] for row in sink.rows()] == [1, None]


def test_partitions_and_schemas_of_the_user_follow_the_destination(sink):
    sink.write("a.csv", "id,text,kind", "1,a,5", "2,b,")
    sink.ingest(NONE, by=("kind",))
    sink.write("b.csv", "kind,y,id,text", "7,?,3,c")
    sink.ingest(NONE, schema="id long, text string, kind int, y string")
    assert [row["kind"] for row in sink.rows()] == [5, None, 7]
    assert [set(row) for row in sink.rows()] == [{"id", "text", "kind"}] * 3
    assert sink.is_proved()


def test_rescue_without_a_column_to_rescue_to_is_refused(sink):
    sink.write("a.csv", "id,text", "1,a")
    with pytest.raises(UsageError, match=r"no rescuedDataColumn\n.*rescuedDataColumn=_rescued_data"):
        sink.ingest(RESCUE)
    sink.ingest(NONE)
    sink.write("b.csv", "id,text", "2,b")
    with pytest.raises(SchemaError, match=r"\[destination-schema\]"):
        sink.ingest(RESCUE, rescuedDataColumn="_rescued_data")


def test_a_watch_reads_every_window_by_the_columns_of_the_destination(sink):
    sink.write("a.csv", "id,text", "1,a")
    sink.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    sink.write("b.csv", "id,x,text", "2,u,b")
    sink.write("c.csv", "id,text,x", "3,c,v")
    sink.watch(RESCUE, rescuedDataColumn="_rescued_data")
    assert [(row["id"], "x" in (row["_rescued_data"] or "")) for row in sink.rows()] == [
        (1, False), (2, True), (3, True),
    ]  # fmt: skip
    assert sink.is_proved()
