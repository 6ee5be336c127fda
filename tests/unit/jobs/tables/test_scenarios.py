"""Files whose columns change from job to job, into a folder and into both tables."""

import json

import pyarrow as pa
import pytest

from splitscan.errors import IngestError, SchemaError
from splitscan.jobs import SchemaEvolution, verify
from splitscan.jobs.ledger_files import read_ledgers
from splitscan.jobs.workplace import open_destination_storage

FAIL, ADD, NONE, RESCUE = (
    SchemaEvolution.FAIL, SchemaEvolution.ADD, SchemaEvolution.NONE, SchemaEvolution.RESCUE,
)  # fmt: skip
KEPT = "_rescued_data"


def columns_by_job(target):
    return [
        [column.name for column in ledger.columns]
        for ledger in read_ledgers(open_destination_storage(target.out).destination)
    ]


def data_bytes(target):
    return {path: path.read_bytes() for path in target.out.rglob("part-*.parquet")}


def carriers(target):
    return sorted(str(path.relative_to(target.out)) for path in target.out.rglob("part-0-columns-*"))


# --------------------------------------------------------- columns that are not added


def test_none_with_a_schema_does_not_read_a_new_column(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(NONE, schema="id int, text string")
    target.write("b.csv", "x,id,text", "u,2,b")
    report = target.ingest(NONE, schema="id int, text string")
    assert (report.rows, report.rejects, report.columns_added) == (1, 0, ())
    assert target.rows() == [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]


def test_by_position_a_new_column_is_an_error_and_nothing_is_published(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(NONE, headerMapping="byPosition")
    target.write("b.csv", "id,text,x", "2,b,u")
    with pytest.raises(SchemaError, match=r"b\.csv(.|\n)*\[?header"):
        target.ingest(NONE, headerMapping="byPosition")
    assert len(columns_by_job(target)) == 1


def test_none_with_a_rescued_column_keeps_a_new_column_there(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(NONE, rescuedDataColumn=KEPT)
    target.write("b.csv", "id,text,x", "2,b,u")
    assert target.ingest(NONE, rescuedDataColumn=KEPT).rejects == 0
    assert json.loads(target.rows()[1][KEPT])["x"] == "u"
    assert columns_by_job(target) == [["id", "text", KEPT]] * 2


def test_failing_names_the_file_and_the_column_and_fails_again_alike(target, runner):
    target.write("0.csv", "id,text", "0,z")
    target.ingest(FAIL)
    for name, header, record in [("a", "id,text", "1,a"), ("b", "id,x,text", "2,u,b"), ("c", "id,text", "3,c")]:
        target.write(f"{name}.csv", header, record)
    for _ in range(2):
        chosen = runner()
        with pytest.raises(SchemaError, match=r"\[destination-schema\]\n.*b\.csv, column 'x'\n.*column x string"):
            target.ingest(FAIL, chosen)
        assert (chosen.opened, len(columns_by_job(target))) == ([], 1)
    with pytest.raises(SchemaError, match=r"column x string\n.*destination has: id int, text string"):
        target.ingest(FAIL, schema="id int, text string, x string")
    assert target.ingest(ADD, schema="id int, text string, x string").columns_added == ("x string",)
    assert [row["x"] for row in target.rows()] == [None, "u", None, None]
    assert target.is_proved()


# --------------------------------------------------------- columns that are added


def test_the_first_job_has_the_columns_of_all_files(target):
    for number in range(40):  # more than a sample
        target.write(f"{number:02d}.csv", "id,text" + ",x" * (number == 4), f"{number},a" + ",5" * (number == 4))
    assert target.ingest(ADD).columns_added == ()
    assert columns_by_job(target) == [["id", "text", "x"]]
    assert [row["x"] for row in target.rows("id") if row["x"] is not None] == [5]
    assert carriers(target) == []


def test_a_later_job_adds_a_column_and_old_files_stay_as_they_were(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD)
    before = data_bytes(target)
    for number in range(40):
        target.write(f"b{number:02d}.csv", "id,text" + ",x" * (number == 4), f"2,b{number:02d}" + ",5" * (number == 4))
    assert target.plan(ADD).columns_added == ("x int",)
    report = target.ingest(ADD)
    assert (report.rows, report.columns_added) == (40, ("x int",))
    assert before.items() <= data_bytes(target).items()
    assert [row["x"] for row in target.rows()] == [None] * 5 + [5] + [None] * 35
    assert columns_by_job(target) == [["id", "text"], ["id", "text", "x"]]
    target.write("c.csv", "text,id", "c,3")  # and lacks one
    assert target.ingest(ADD).columns_added == ()
    assert (target.rows()[-1], target.is_proved()) == ({"id": 3, "text": "c", "x": None}, True)
    assert len(carriers(target)) == (target.kind == "none")


def test_killed_before_publishing_and_run_again_without_the_file_no_column_is_added(target, runner):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD)
    target.write("b.csv", "id,text", "2,b")
    target.write("c.csv", "id,text,x", "3,c,u")
    with pytest.raises(IngestError, match="the power failed"):
        target.ingest(ADD, runner(stop_after=1))
    (target.folder / "c.csv").unlink()
    target.ingest(ADD)
    assert target.rows() == [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]
    assert verify(target.out, deep=True).problems == ()


def test_of_two_jobs_that_add_columns_at_once_one_is_refused(target, runner):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD)
    target.write("b.csv", "id,text,x", "2,b,u")
    refused = []

    def twin(reports):
        with pytest.raises(IngestError) as caught:
            target.ingest(ADD)
        refused.append(caught.value.reason_code)
        return reports

    target.ingest(ADD, runner(spoil=twin))
    assert refused == ["destination-busy"]
    target.write("c.csv", "y,id,text", "v,3,c")
    target.ingest(ADD)
    assert columns_by_job(target)[-1] == ["id", "text", "x", "y"]
    assert target.is_proved()


def test_names_of_csv_are_the_same_in_any_case_and_those_of_json_are_not(target):
    target.write("a.csv", "id,text,x", "1,a,u")
    target.ingest(ADD)
    target.write("b.csv", "ID,text,X", "2,b,v")
    assert target.ingest(ADD).columns_added == ()
    assert [(row["id"], row["x"]) for row in target.rows()] == [(1, "u"), (2, "v")]


def test_a_name_of_json_that_differs_in_case_only_is_refused(target):
    target.write("a.json", '{"id": 1, "x": "u"}')
    target.ingest(ADD, format="json")
    target.write("b.json", '{"id": 2, "X": "v"}')
    with pytest.raises(SchemaError, match=r"case only \[destination-schema\]\n.*b\.json, column 'X'"):
        target.ingest(ADD, format="json")


@pytest.mark.thin(2)
@pytest.mark.parametrize(("hints", "kind"), [({}, pa.string()), ({"schemaHints": "x date"}, pa.date32())])
def test_a_new_column_without_values_is_text_unless_a_hint_says_more(target, hints, kind):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD)
    target.write("b.csv", "id,x,text", "2,,b")
    target.ingest(ADD, **hints)
    target.write("c.csv", "id,x,text", "3,2024-01-02,c")
    target.ingest(ADD, **hints)
    assert [str(row["x"]) for row in target.rows()] == ["None", "None", "2024-01-02"]
    assert isinstance(target.rows()[2]["x"], str) == (kind == pa.string())


@pytest.mark.parametrize("names", [("b", "c"), ("c", "b")])
def test_new_columns_come_in_the_order_of_the_paths(target, names):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD)
    headers = {"b": ("id,x,text", "2,u,b"), "c": ("id,y,text", "3,v,c")}
    for name in names:
        target.write(f"{name}.csv", *headers[name])
    target.ingest(ADD)
    assert columns_by_job(target)[-1] == ["id", "text", "x", "y"]


@pytest.mark.parametrize("rescued", [{}, {"rescuedDataColumn": KEPT}])
def test_values_that_a_column_cannot_hold_are_reported_or_rescued_and_it_stays(target, rescued):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD, **rescued)
    target.write("b.csv", "id,x,text", "abc,u,b", f"{2**40},v,c")
    report = target.ingest(ADD, **rescued)
    assert [(row["id"], row["x"]) for row in target.rows()] == [(1, None), (None, "u"), (None, "v")]
    assert (report.rejects, report.columns_added) == (0 if rescued else 2, ("x string",))
    if rescued:
        assert [json.loads(row[KEPT])["id"] for row in target.rows()[1:]] == ["abc", str(2**40)]
    assert target.is_proved()


def test_members_of_json_that_a_struct_does_not_have_are_never_lost(target):
    target.write("a.json", '{"id": 1, "text": "a", "m": {"x": 1}}')
    target.ingest(ADD, format="json", rescuedDataColumn=KEPT)
    target.write("b.json", '{"id": 2, "text": "b", "m": {"x": 2, "y": 3}}')
    with pytest.raises(SchemaError, match=r"\[destination-schema\]"):
        target.ingest(ADD, format="json")
    target.ingest(ADD, format="json", rescuedDataColumn=KEPT)
    assert json.loads(target.rows()[1][KEPT])["m"] == {"y": 3}


def test_rescuing_never_fails_and_never_adds_a_column(target):
    target.write("a.json", '{"id": 1, "text": "a", "m": {"x": 1}}')
    target.ingest(RESCUE, format="json", rescuedDataColumn=KEPT)
    target.write("b.json", '{"id": "abc", "text": "b", "m": {"x": 2, "y": 3}, "n": 5}')
    assert target.ingest(RESCUE, format="json", rescuedDataColumn=KEPT).rejects == 0
    kept = json.loads(target.rows()[1][KEPT])
    assert (kept["id"], kept["m"], kept["n"]) == ("abc", {"y": 3}, 5)
    assert columns_by_job(target)[0] == columns_by_job(target)[1]


@pytest.mark.thin(2)
@pytest.mark.parametrize("mode", [FAIL, ADD, NONE])
def test_a_column_that_files_lack_from_now_on_stays_and_is_null(target, mode):
    target.write("a.csv", "id,text,x", "1,a,u")
    target.ingest(mode)
    target.write("b.csv", "text,id", "b,2")
    target.write("c.csv", "")
    target.ingest(mode)
    assert target.rows() == [{"id": 1, "text": "a", "x": "u"}, {"id": 2, "text": "b", "x": None}]
    assert target.is_proved()


def test_a_renamed_column_is_a_new_one_and_the_report_says_so(target):
    target.write("a.csv", "id,text,old", "1,a,u")
    target.ingest(ADD)
    target.write("b.csv", "id,text,new", "2,b,v")
    assert target.ingest(ADD).columns_added == ("new string",)
    assert [(row["old"], row["new"]) for row in target.rows()] == [("u", None), (None, "v")]


def test_a_new_directory_of_partitions_is_named_unless_the_schema_has_it(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD)
    target.write("hour=7/b.csv", "id,text", "2,b")
    (target.folder / "a.csv").unlink()
    with pytest.raises(SchemaError, match=r"directories(.|\n)*column 'hour'\n.*column hour int"):
        target.ingest(ADD)
    target.ingest(ADD, schema="id int, text string, hour int")
    assert [row["hour"] for row in target.rows()] == [None, 7]


def test_types_that_the_user_names_must_be_those_of_the_destination(target):
    target.write("a.csv", "id,text", "1,a")
    target.ingest(ADD)
    target.write("b.csv", "id,text", "2,b")
    for given in ({"schema": "id string, text string"}, {"schemaHints": "id date"}):
        with pytest.raises(SchemaError, match=r"\[destination-schema\]"):
            target.ingest(ADD, **given)


# --------------------------------------------------------- proof


def test_verify_checks_every_job_by_its_own_columns(target):
    for number, names in enumerate(["id,text", "id,text,x", "id,text,x,y"]):
        target.write(f"{number}.csv", names, ",".join(str(number + 1) * 1 for _ in names.split(",")))
        target.ingest(ADD)
    assert target.is_proved()
    first, *_ = read_ledgers(open_destination_storage(target.out).destination)
    last = read_ledgers(open_destination_storage(target.out).destination)[2]
    (old,), new = [each.name for each in first.data_files], last.data_files[-1].name
    (target.out / old).write_bytes((target.out / new).read_bytes())
    assert {problem.code for problem in verify(target.out).problems} == {"data-file-changed"}
    (target.out / "_splitscan/ledger/00000002.jsonl").unlink()
    assert "ledger-damaged" in {problem.code for problem in verify(target.out).problems}


# --------------------------------------------------------- windows of a stream


def test_a_watch_adds_a_column_with_the_window_that_brings_it(target):
    for number in range(8):
        new = number == 6
        target.write(f"{number}.csv", "x,id,text" if new else "id,text", f"u,{number},t" if new else f"{number},t")
    assert target.watch(ADD) == [1] * 8
    assert [(row["id"], row["x"]) for row in target.rows("id")] == [(n, "u" if n == 6 else None) for n in range(8)]
    assert columns_by_job(target) == [["id", "text"]] * 6 + [["id", "text", "x"]] * 2
    target.write("8.csv", "id,y,text", "8,v,t")
    assert target.watch(ADD) == [1]
    assert (columns_by_job(target)[-1], target.is_proved()) == (["id", "text", "x", "y"], True)


def test_a_watch_that_nobody_told_refuses_a_new_column_and_goes_on_when_told(target):
    target.write("a.csv", "id,text", "1,a")
    assert target.watch(FAIL) == [1]
    target.write("b.csv", "id,text,x", "2,b,u")
    for _ in range(2):
        with pytest.raises(SchemaError, match=r"b\.csv, column 'x'\n.*column x string"):
            target.watch(FAIL)
    assert target.rows() == [{"id": 1, "text": "a"}]
    assert target.watch(ADD) == [1]
    assert [row["x"] for row in target.rows()] == [None, "u"]
    assert target.is_proved()


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("mode", "more"), [(NONE, {}), (NONE, {"schema": "id int, text string"}), (FAIL, {"schema": "id int, text string"})]
)
def test_a_watch_by_the_columns_it_was_told_does_not_read_others(target, mode, more):
    target.write("a.csv", "id,text", "1,a")
    target.watch(mode, **more)
    target.write("b.csv", "x,id,text", "u,2,b")
    assert target.watch(mode, **more) == [1]
    assert target.rows() == [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]


def test_types_of_later_windows_are_those_of_the_first(target):
    target.write("a.csv", "id,text", "1,7")
    target.watch(FAIL)
    target.write("b.csv", "id,text", "2,b", "3,9")
    target.watch(FAIL)
    assert [row["text"] for row in target.rows("id")] == [7, None, 9]
    assert target.is_proved()


def test_a_watch_rescues_what_the_first_window_did_not_have(target):
    target.write("a.csv", "id,text", "1,a")
    target.watch(ADD, rescuedDataColumn=KEPT)
    target.write("b.csv", "id,text", "abc,b")
    target.write("c.csv", "id,x,text", "3,u,c")
    target.watch(ADD, rescuedDataColumn=KEPT)
    assert json.loads(target.rows()[1][KEPT])["id"] == "abc"
    assert (target.rows()[2]["x"], target.rows()[2][KEPT]) == ("u", None)


def test_a_new_column_takes_the_type_of_its_hint(target):
    target.write("a.csv", "id,text", "1,a")
    target.watch(ADD, schemaHints="x decimal(9,2)")
    target.write("b.csv", "id,x,text", "2,5,b")
    target.watch(ADD, schemaHints="x decimal(9,2)")
    assert [str(row["x"]) for row in target.rows()] == ["None", "5.00"]


def test_a_window_read_again_after_a_kill_has_its_columns_once(target, runner):
    target.write("a.csv", "id,text", "1,a")
    target.watch(ADD)
    target.write("b.csv", "id,x,text", "2,u,b")
    with pytest.raises(IngestError, match="the power failed"):
        target.watch(ADD, runner(stop_after=0))
    target.write("c.csv", "id,y,text", "3,v,c")
    assert target.watch(ADD) == [1, 1]
    assert columns_by_job(target) == [["id", "text"], ["id", "text", "x"], ["id", "text", "x", "y"]]
    assert target.is_proved()
