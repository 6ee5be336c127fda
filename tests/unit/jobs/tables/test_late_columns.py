"""Columns that no header and no sample shows: they appear in the middle of files of JSON and XML."""

import json

import pytest

from splitscan.errors import IngestError, SchemaError
from splitscan.jobs import SchemaEvolution

FAIL, ADD, NONE, RESCUE = (
    SchemaEvolution.FAIL, SchemaEvolution.ADD, SchemaEvolution.NONE, SchemaEvolution.RESCUE,
)  # fmt: skip
SMALL = {"sampleBytes": 64, "blockSize": 400}
JSON = {"format": "json", **SMALL}
XML = {"format": "xml", "rowTag": "r", **SMALL}
ROWS = 60


def record(kind, number, **more):
    members = {"id": number, "text": f"t{number:02d}", **more}
    if kind is JSON:
        return json.dumps(members)
    return "<r>" + "".join(f"<{name}>{value}</{name}>" for name, value in members.items()) + "</r>"


def late(number):
    """What some records of the middle have besides."""
    return {"x": number} if number % 20 == 7 else {"y": "why"} if number == 33 else {}


def write(target, kind, name, first=0, more=late):
    target.write(name, *(record(kind, n, **more(n)) for n in range(first, first + ROWS)))


def expected():
    return [{"x": n if n % 20 == 7 else None, "y": "why" if n == 33 else None} for n in range(ROWS)]


def values(rows):
    return [{name: row[name] for name in ("x", "y")} for row in rows]


@pytest.mark.parametrize("kind", [JSON, XML], ids=["json", "xml"])
def test_the_first_job_reads_again_by_the_columns_that_appear_late(target, kind):
    write(target, kind, "a.jsonl")
    report = target.ingest(ADD, **kind)
    assert (report.rows, report.rejects, report.columns_added, report.columns_left_out) == (ROWS, 0, (), ())
    assert values(target.rows()) == expected()
    assert target.is_proved()


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", [JSON, XML], ids=["json", "xml"])
def test_a_later_job_adds_the_columns_that_appear_late(target, kind):
    write(target, kind, "a.jsonl", 100, lambda _: {})
    target.ingest(ADD, **kind)
    write(target, kind, "b.jsonl")
    report = target.ingest(ADD, **kind)
    assert (report.rows, report.columns_added) == (ROWS, ("x bigint", "y string"))
    known = {f"t{n:02d}": each for n, each in enumerate(expected())}
    rows = target.rows()
    assert values(rows) == [known.get(row["text"], {"x": None, "y": None}) for row in rows]
    assert (len(rows), target.is_proved()) == (2 * ROWS, True)


@pytest.mark.parametrize("kind", [JSON, XML], ids=["json", "xml"])
@pytest.mark.parametrize("begun", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_failing_names_file_and_column_and_publishes_nothing(target, kind, begun):
    if begun:
        write(target, kind, "a.jsonl", 100, lambda _: {})
        target.ingest(FAIL, **kind)
    write(target, kind, "b.jsonl")
    for _ in range(2):
        with pytest.raises(SchemaError, match=r"\[destination-schema\]\n.*b\.jsonl, column 'x'\n.*column x bigint"):
            target.ingest(FAIL, **kind)
    assert len(list((target.out / "_splitscan/ledger").glob("*.jsonl"))) == begun
    assert target.ingest(ADD, **kind).rows == ROWS
    assert [row["x"] for row in target.rows() if row["x"] is not None] == [7, 27, 47]
    assert target.is_proved()


@pytest.mark.parametrize("kind", [JSON, XML], ids=["json", "xml"])
def test_what_is_left_out_is_reported(target, kind):
    write(target, kind, "a.jsonl", 100, lambda _: {})
    target.ingest(NONE, **kind)
    write(target, kind, "b.jsonl")
    report = target.ingest(NONE, **kind)
    assert (report.rows, report.rejects, report.columns_left_out) == (ROWS, 0, ("x", "y"))
    assert set(target.rows()[0]) == {"id", "text"}
    target.write("c.jsonl", record(kind, 1, z=2))
    assert target.ingest(NONE, **kind).columns_left_out == ("z",)


def test_headers_that_name_what_is_left_out_are_reported(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(NONE)
    for number in range(20):
        target.write(f"b{number}.csv", "id,text" + ",x" * (number == 13), f"2,b{number}" + ",5" * (number == 13))
    assert target.ingest(NONE).columns_left_out == ("x",)


@pytest.mark.parametrize("kind", [JSON, XML], ids=["json", "xml"])
def test_beside_a_schema_that_was_given_they_are_ignored_without_a_word(target, kind):
    given = {"schema": "id long, text string", **kind}
    for name, first in [("a.jsonl", 100), ("b.jsonl", 0)]:
        write(target, kind, name, first)
        report = target.ingest(NONE, **given)
        assert (report.rows, report.rejects, report.columns_added, report.columns_left_out) == (ROWS, 0, (), ())
    assert {name for row in target.rows() for name in row} == {"id", "text"}
    assert target.is_proved()


@pytest.mark.parametrize("kind", [JSON, XML], ids=["json", "xml"])
def test_rescuing_keeps_them(target, kind):
    write(target, kind, "a.jsonl")
    report = target.ingest(RESCUE, rescuedDataColumn="_rescued_data", **kind)
    assert (report.rows, report.rejects, report.columns_left_out) == (ROWS, 0, ())
    kept = [json.loads(row["_rescued_data"]) for row in target.rows() if row["_rescued_data"]]
    assert [str(each["x"]) for each in kept if "x" in each] == ["7", "27", "47"]


def test_a_value_of_another_type_is_still_a_reject(target):
    odd = ['{"id":"abc","text":"z"}', '{"id":1,"text":"y","x":2}']
    target.write("a.jsonl", *(record(JSON, n) for n in range(20)), *odd)
    report = target.ingest(ADD, **JSON)
    assert (report.rows, report.rejects) == (22, 1)
    assert [(row["id"], row["x"]) for row in target.rows()[-2:]] == [(1, 2), (None, None)]
    assert target.is_proved()


def test_a_killed_second_read_is_continued(target, runner):
    write(target, JSON, "a.jsonl")
    first = runner()
    blocks = 0
    with pytest.raises(SchemaError):
        target.ingest(FAIL, first, **JSON)
    blocks = len(first.opened)
    with pytest.raises(IngestError, match="the power failed"):
        target.ingest(ADD, runner(stop_after=2), **JSON)
    again = runner()
    assert target.ingest(ADD, again, **JSON).rows == ROWS
    assert len(again.opened) < blocks + 1  # what the first read has found is known
    assert (values(target.rows()), target.is_proved()) == (expected(), True)


def test_a_watch_adds_the_columns_that_appear_late_with_their_window(target):
    write(target, JSON, "a.jsonl", 100, lambda _: {})
    assert target.watch(ADD, **JSON) == [ROWS]
    write(target, JSON, "b.jsonl")
    assert target.watch(ADD, **JSON) == [ROWS]
    assert [row["x"] for row in target.rows() if row["x"] is not None] == [7, 27, 47]
    assert target.is_proved()


def test_a_watch_that_nobody_told_fails_and_goes_on_when_told(target):
    write(target, JSON, "a.jsonl", 100, lambda _: {})
    target.watch(FAIL, **JSON)
    write(target, JSON, "b.jsonl")
    with pytest.raises(SchemaError, match=r"b\.jsonl, column 'x'"):
        target.watch(FAIL, **JSON)
    assert target.watch(ADD, **JSON) == [ROWS]
    assert [row["x"] for row in target.rows() if row["x"] is not None] == [7, 27, 47]


def test_a_schema_that_the_user_gave_is_what_is_read(target):
    write(target, JSON, "a.jsonl")
    assert target.ingest(FAIL, schema="id long, text string", **JSON).rows == ROWS
    assert set(target.rows()[0]) == {"id", "text"}


def test_members_of_a_struct_that_appear_late_are_never_lost(target):
    lines = [json.dumps({"text": f"t{n:02d}", "m": {"a": n, **({"b": 1} if n == 30 else {})}}) for n in range(ROWS)]
    target.write("a.jsonl", *lines)
    assert target.ingest(ADD, **JSON).rows == ROWS
    assert target.rows()[30]["m"] == {"a": 30, "b": 1}
    target.write("b.jsonl", *[line.replace('"b"', '"c"') for line in lines])
    with pytest.raises(SchemaError, match=r"\[destination-schema\]"):
        target.ingest(ADD, **JSON)


def test_what_a_run_that_did_not_look_has_read_is_read_again(target, runner):
    write(target, JSON, "a.jsonl")
    small = {"taskSize": "100", "openCostInBytes": 0, **JSON}
    with pytest.raises(IngestError, match="the power failed"):
        target.ingest(FAIL, runner(stop_after=3), schema="id long, text string", **small)
    assert target.ingest(ADD, **small).rows == ROWS
    assert [row["x"] for row in target.rows() if row["x"] is not None] == [7, 27, 47]


def test_what_a_run_that_looked_at_some_records_has_read_is_read_again(target, runner):
    """Nothing tells one job from the other but in how many records it looks for columns."""
    unfit = [json.dumps({"id": "none", "text": f"t{n}"}) for n in range(1000)]  # as many as are looked at
    target.write("a.jsonl", *(record(JSON, n) for n in range(10)), *unfit, record(JSON, 11, x=7))
    target.write("b.jsonl", record(JSON, 12))
    large = {**JSON, "blockSize": "1m", "taskSize": "100", "openCostInBytes": 0}
    with pytest.raises(IngestError, match="the power failed"):
        target.ingest(NONE, runner(stop_after=1), **large)
    assert target.ingest(ADD, **large).rows == 1012
    assert [row["x"] for row in target.rows() if row["x"] is not None] == [7]


@pytest.mark.parametrize("mode", [FAIL, ADD])
def test_an_element_that_is_repeated_late_is_an_error_and_no_lost_value(target, mode):
    rows = [record(XML, n) for n in range(ROWS)]
    target.write("a.xml", *rows, "<r><id>60</id><text>a</text><text>b</text></r>")
    with pytest.raises(SchemaError, match=r"\[destination-schema\]\n.*column 'text'\n.*text array<string>") as caught:
        target.ingest(mode, **XML)
    assert mode is FAIL or "give a schema in which it is an array" in str(caught.value)
    assert not list((target.out / "_splitscan/ledger").glob("*.jsonl"))
