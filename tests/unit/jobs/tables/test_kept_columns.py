"""Files read by the columns that a destination has: what else they bring is not read, or is rescued."""

import json

import pytest

from splitscan.errors import SchemaError, UsageError
from splitscan.jobs import SchemaEvolution

NONE, RESCUE = SchemaEvolution.NONE, SchemaEvolution.RESCUE
MISFITS = [("b.csv", "x,id,text", "7.5,2,b", "8,abc,c", "9,3000000000000000000000,d")]


def test_none_reads_no_column_that_the_destination_does_not_have(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(NONE)
    for name, *lines in MISFITS:
        target.write(name, *lines)
    report = target.ingest(NONE)
    assert (report.rows, report.rejects) == (3, 2)
    assert target.rows() == [
        {"id": 1, "text": "a"}, {"id": 2, "text": "b"}, {"id": None, "text": "c"}, {"id": None, "text": "d"},
    ]  # fmt: skip
    assert target.is_proved()


def test_rescue_keeps_what_has_no_place(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    for name, *lines in MISFITS:
        target.write(name, *lines)
    report = target.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    assert (report.rows, report.rejects) == (3, 0)
    found = target.rows()
    assert [row["id"] for row in found] == [1, 2, None, None]
    assert found[0]["_rescued_data"] is None
    kept = [json.loads(row["_rescued_data"]) for row in found[1:]]
    assert [(each["x"], each.get("id")) for each in kept] == [
        ("7.5", None), ("8", "abc"), ("9", "3000000000000000000000"),
    ]  # fmt: skip
    assert target.is_proved()


def test_a_column_that_appears_in_the_middle_of_a_file_is_not_lost(target):
    """Records longer than the header: the fields after the last column have no name."""
    target.write("a.csv", "id,text", "1,a")
    target.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    target.write("b.csv", "id,text", "2,b", "3,c,new")
    target.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    assert json.loads(target.rows()[2]["_rescued_data"])["_c2"] == "new"
    target.write("c.csv", "id,text", "4,d,lost?")
    report = target.ingest(NONE, rescuedDataColumn="_rescued_data")
    assert json.loads(target.rows()[3]["_rescued_data"])["_c2"] == "lost?"
    assert (report.rows, target.is_proved()) == (1, True)


def test_a_column_that_is_missing_is_null(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(NONE)
    target.write("b.csv", "text", "b")
    target.ingest(NONE)
    assert [row["id"] for row in target.rows()] == [1, None]


def test_partitions_and_schemas_of_the_user_follow_the_destination(target):
    target.write("a.csv", "id,text,kind", "1,a,5", "2,b,")
    target.ingest(NONE, by=("kind",))
    target.write("b.csv", "kind,y,id,text", "7,?,3,c")
    target.ingest(NONE, schema="id long, text string, kind int, y string")
    assert [row["kind"] for row in target.rows()] == [5, None, 7]
    assert [set(row) for row in target.rows()] == [{"id", "text", "kind"}] * 3
    assert target.is_proved()


def test_rescue_without_a_column_to_rescue_to_is_refused(target):
    target.write("a.csv", "id,text", "1,a")
    with pytest.raises(UsageError, match=r"no rescuedDataColumn\n.*rescuedDataColumn=_rescued_data"):
        target.ingest(RESCUE)
    target.ingest(NONE)
    target.write("b.csv", "id,text", "2,b")
    with pytest.raises(SchemaError, match=r"\[destination-schema\]"):
        target.ingest(RESCUE, rescuedDataColumn="_rescued_data")


def test_a_watch_reads_every_window_by_the_columns_of_the_destination(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(RESCUE, rescuedDataColumn="_rescued_data")
    target.write("b.csv", "id,x,text", "2,u,b")
    target.write("c.csv", "id,text,x", "3,c,v")
    target.watch(RESCUE, rescuedDataColumn="_rescued_data")
    assert [(row["id"], "x" in (row["_rescued_data"] or "")) for row in target.rows()] == [
        (1, False), (2, True), (3, True),
    ]  # fmt: skip
    assert target.is_proved()
