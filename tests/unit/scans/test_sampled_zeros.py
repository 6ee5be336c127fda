"""A leading zero that a sample did not show is no number of its column: counted and said by every door."""

import json
import logging
import random

import pyarrow as pa
import pytest
from tests.unit.jobs.conftest import InProcessRunner
from tests.unit.scans.test_sampled_types import DOORS

import splitscan as ss
from splitscan.cli import main
from splitscan.errors import IngestError, RecordError
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest

SAMPLED = {"header": True, "infer_schema": True, "sample_bytes": 256}
LOST = [  # values of a sample, and later ones that would lose a part of their text
    ("1", "007"), ("1", "00"), ("1", "-07"), ("1", "+01"), ("-1", " 01"), ("3000000000", "0000000000000000001"),
    ("1.5", "007.5"), ("1.5", "01"), ("1.5", "12D"), ("1.5", "1.5f"), ("1.5", "-00.5"), ("1e3", "01e3"),
    ("9" * 20, "0" + "9" * 19), ("9" * 20, "01"), ("1", "\t08"), ("1", "0" * 30),
]  # fmt: skip
KEPT = [  # and others that lose nothing
    ("1", "0"), ("1", "-0"), ("1", "10"), ("1", "+7"), ("1", " 7"), ("1.5", "0.5"), ("1.5", "-0.25"), ("1.5", "0"),
    ("1.5", "1e0"), ("9" * 20, "0"), ("1", "100000"),
]  # fmt: skip


def late(folder, first, *later):
    path = folder / "late.csv"
    path.write_text("\n".join(["k,v", *[f"k,{first}"] * 100, *(f"k,{value}" for value in later), ""]))
    return path


@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_how_many_there_are_and_where_the_first_is(tmp_path, caplog, door):
    path = late(tmp_path, "1", "007", "08")
    with caplog.at_level(logging.WARNING, "splitscan"):
        DOORS[door](ss.scan_csv(path, **SAMPLED))
    (message,) = [record.getMessage() for record in caplog.records]
    offset = path.read_bytes().index(b"k,007")
    assert "each of 2 records breaks a rule" in message
    assert f"byte {offset} of {path}: column 'v': '007' is no int [bad-value]" in message


@pytest.mark.parametrize(("first", "second"), LOST)
def test_what_would_lose_a_part_of_its_text_is_null_and_said(tmp_path, caplog, first, second):
    path = late(tmp_path, first, second)
    with caplog.at_level(logging.WARNING, "splitscan"):
        column = ss.scan_csv(path, **SAMPLED).to_arrow()["v"]
    assert (column.type == pa.string(), column.to_pylist()[-1]) == (False, None)
    assert "1 record breaks a rule" in caplog.text
    whole = ss.scan_csv(path, header=True, infer_schema=True).to_arrow()["v"]
    assert (whole.type, whole.null_count, whole.to_pylist()[-1]) == (pa.string(), 0, second)


@pytest.mark.parametrize(("first", "second"), KEPT)
def test_other_numbers_are_numbers(tmp_path, caplog, first, second):
    with caplog.at_level(logging.WARNING, "splitscan"):
        column = ss.scan_csv(late(tmp_path, first, second), **SAMPLED).to_arrow()["v"]
    assert float(column[-1].as_py()) == float(second)
    assert not caplog.records


@pytest.mark.parametrize(
    "said",
    [
        {"schema": "k string, v int"},
        {"infer_schema": True, "sample_bytes": 256, "schema_hints": "v int"},
        {"infer_schema": True, "sample_bytes": 256, "provided_schema": "k string, v int"},
        {"infer_schema": True, "sample_bytes": 256, "column_options": {"v": {"exactNumbers": False}}},
    ],
    ids=str,
)
def test_who_gives_the_type_means_numbers(tmp_path, caplog, said):
    with caplog.at_level(logging.WARNING, "splitscan"):
        column = ss.scan_csv(late(tmp_path, "1", "007"), header=True, **said).to_arrow()["v"]
    assert column.to_pylist()[-1] == 7
    assert not caplog.records


def test_who_wants_it_has_the_rule_for_columns_of_a_schema(tmp_path):
    path = late(tmp_path, "1", "007")
    scan = ss.scan_csv(path, "k string, v int", header=True, column_options={"v": {"exactNumbers": "true"}})
    assert [row["reason"] for row in scan.rejects().to_arrow().to_pylist()] == ["column 'v': '007' is no int"]


def test_failfast_and_the_reason_column_say_it_too(tmp_path):
    path = late(tmp_path, "1", "007")
    with pytest.raises(RecordError, match=r"'007' is no int"):
        ss.scan_csv(path, mode="FAILFAST", **SAMPLED).to_arrow()
    reasons = ss.scan_csv(path, reject_reason_column="why", **SAMPLED).to_arrow()["why"]
    assert reasons.to_pylist()[-1] == "[bad-value] column 'v': '007' is no int"


def test_elements_of_xml_are_told_alike(tmp_path, caplog):
    rows = [f"<r><a>{value}</a><m><b>{value}</b></m></r>" for value in ["1"] * 100 + ["007"]]
    path = tmp_path / "a.xml"
    path.write_text("<x>" + "\n".join(rows) + "</x>")
    with caplog.at_level(logging.WARNING, "splitscan"):
        row = ss.scan_xml(path, "r", sample_bytes=256).to_arrow().to_pylist()[-1]
    assert row == {"a": None, "m": {"b": None}}
    assert "1 record breaks a rule" in caplog.text
    assert ss.scan_xml(path, "r").to_arrow().to_pylist()[-1] == {"a": "007", "m": {"b": "007"}}


def test_numbers_of_json_have_no_leading_zeros_anyway(tmp_path, caplog):
    (tmp_path / "a.json").write_text(json.dumps({"v": 1}) + "\n" + '{"v": 007}\n')
    with caplog.at_level(logging.WARNING, "splitscan"):
        column = ss.scan_json(tmp_path / "a.json", sample_bytes=8, allow_numeric_leading_zeros=True).to_arrow()["v"]
    assert column.to_pylist() == [1, 7]
    assert not caplog.records


def ingest(path, out, **settings):
    scan = ss.scan_csv(path, header=True, sample_bytes=256)
    return run_ingest(FileSource(scan), IngestTarget(str(out), IngestSettings(**settings)), InProcessRunner())


def test_an_ingest_stops_and_publishes_nothing(tmp_path):
    path = late(tmp_path, "1", "007")
    with pytest.raises(IngestError, match=r"values do not fit the types that a sample showed") as stopped:
        ingest(path, tmp_path / "out")
    assert "column 'v': '007' is no int [bad-value]" in str(stopped.value)
    assert not list((tmp_path / "out").glob("*.parquet"))
    assert ingest(path, tmp_path / "out", max_rejects=1).rejects == 1


def test_a_later_job_keeps_to_the_rule_though_the_type_is_the_destinations(tmp_path):
    (tmp_path / "first").mkdir()
    ingest(late(tmp_path / "first", "1"), tmp_path / "out")
    with pytest.raises(IngestError, match=r"'007' is no int"):
        ingest(late(tmp_path, "1", "007"), tmp_path / "out")


def test_the_command_says_it(tmp_path, capfd):
    path = str(late(tmp_path, "1", "007"))
    given = [path, "--header", "-o", "inferSchema=true", "-o", "sampleBytes=256"]
    assert main(["check", *given]) == RecordError.exit_code
    assert "'007' is no int" in capfd.readouterr().out
    assert main(["convert", *given, "-o", "mode=FAILFAST", str(tmp_path / "a.parquet")]) != 0
    assert "'007' is no int" in capfd.readouterr().err


@pytest.mark.thin(3)
@pytest.mark.parametrize("seed", range(10))
def test_whatever_is_drawn_a_sampled_type_holds_what_it_would_hold_if_all_were_looked_at(tmp_path, seed):
    """A value is null exactly if the types of all data would not have been those of the sample because of it."""
    rng = random.Random(9400 + seed)
    first = rng.choice(["1", "1.5", "3000000000", "9" * 20])
    for _ in range(20):
        sign, blank = rng.choice(["", "-", "+"]), rng.choice(["", "", " ", "\t"])
        drawn = blank + sign + "".join(rng.choices("00012.dDe", k=rng.randint(1, 6))) + rng.choice(["", blank])
        path = late(tmp_path, first, drawn)
        sampled = ss.scan_csv(path, **SAMPLED)
        whole = ss.scan_csv(path, header=True, infer_schema=True).schema.field("v").type
        if whole == pa.string():
            assert sampled.to_arrow()["v"].null_count == (0 if drawn.strip() == "" else 1), drawn
        elif whole == sampled.schema.field("v").type:
            assert sampled.to_arrow()["v"].null_count == 0, drawn
