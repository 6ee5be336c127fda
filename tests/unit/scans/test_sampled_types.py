"""What contradicts types that were found in a sample is counted and said, with the first place, by every door."""

import json
import logging

import pyarrow as pa
import pytest
from tests.unit.jobs.conftest import InProcessRunner

import splitscan as ss
from splitscan.errors import IngestError, RecordError
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, run_ingest

SAMPLED = {"header": True, "infer_schema": True, "sample_bytes": 256}
VARIANTS = [  # values of a sample, and two later ones that do not fit
    ("1", "abc", "4,000"),
    ("1", "3000000000", "1.5"),
    ("3000000000", "9" * 20, "-"),
    ("1.5", "1,5", "x"),
    ("true", "yes", "2"),
    ("2024-01-31", "2024-02-30", "31/01/2024"),
    ("2024-01-31 10:00", "10:00", "2024-13-01 10:00"),
    ("-1", "- 1", "0x10"),
    ("9" * 20, "9" * 30, "1.5e"),
    ("0", "NaN", "$5"),
]


def late(folder, first="1", *later):
    path = folder / "late.csv"
    path.write_text("\n".join(["k,v", *[f"k,{first}"] * 100, *(f'k,"{value}"' for value in later or ("x", "y")), ""]))
    return path


def offset_in(path, value):
    return path.read_bytes().index(f'k,"{value}"'.encode())


DOORS = {
    "to_arrow": lambda scan: scan.to_arrow(),
    "to_batches": lambda scan: list(scan.to_batches()),
    "to_pandas": lambda scan: scan.to_pandas(),
    "to_polars": lambda scan: scan.to_polars(),
    "limit": lambda scan: scan.limit(102).to_arrow(),
    "select": lambda scan: scan.select("v").to_arrow(),
}


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
@pytest.mark.parametrize("door", DOORS)
def test_in_python_it_is_a_warning(tmp_path, caplog, door, mode):
    path = late(tmp_path)
    with caplog.at_level(logging.WARNING, "splitscan"):
        DOORS[door](ss.scan_csv(path, mode=mode, **SAMPLED))
    (message,) = [record.getMessage() for record in caplog.records]
    assert "each of 2 records breaks a rule, and has nulls where its values do not fit" in message
    assert f"byte {offset_in(path, 'x')} of {path}: column 'v': 'x' is no int [bad-value]" in message


@pytest.mark.parametrize(("first", "second", "third"), VARIANTS)
def test_whatever_the_types_are(tmp_path, caplog, first, second, third):
    path = late(tmp_path, first, second, third)
    with caplog.at_level(logging.WARNING, "splitscan"):
        table = ss.scan_csv(path, **SAMPLED).to_arrow()
    assert (table["v"].type == pa.string(), table["v"].null_count) == (False, 2)
    assert "each of 2 records breaks a rule" in caplog.text
    assert f"byte {offset_in(path, second)} of" in caplog.text
    assert ss.scan_csv(path, header=True, infer_schema=True).to_arrow()["v"].null_count == 0


def test_what_reads_no_value_says_nothing(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "splitscan"):
        scan = ss.scan_csv(late(tmp_path), **SAMPLED)
        assert (scan.count(), scan.select("k").to_arrow().num_rows, scan.limit(50).to_arrow().num_rows) == (
            102,
            102,
            50,
        )
    assert not caplog.records


def test_a_sample_of_files_and_json_are_told_alike(tmp_path, caplog):
    for number in range(5):
        (tmp_path / f"{number}.json").write_text(json.dumps({"v": 1 if number != 2 else "x"}) + "\n")
    with caplog.at_level(logging.WARNING, "splitscan"):
        ss.scan_json(tmp_path, sample_files=2).to_arrow()
    assert "1 record breaks a rule" in caplog.text
    assert "2.json" in caplog.text


def test_failfast_and_rejects_give_the_place(tmp_path):
    path = late(tmp_path)
    with pytest.raises(RecordError, match=r"a type that was found in a sample may be too narrow"):
        ss.scan_csv(path, mode="FAILFAST", **SAMPLED).to_arrow()
    rows = ss.scan_csv(path, **SAMPLED).rejects().to_arrow().to_pylist()
    assert [(row["line"], row["offset"]) for row in rows] == [(102, offset_in(path, "x")), (103, offset_in(path, "y"))]


def ingest(path, out, **settings):
    scan = ss.scan_csv(path, header=True, sample_bytes=256)
    return run_ingest(FileSource(scan), IngestTarget(str(out), IngestSettings(**settings)), InProcessRunner())


def test_an_ingest_stops_unless_a_limit_allows_it(tmp_path):
    path = late(tmp_path, "1", "x")  # one in a hundred, which is few enough of broken records
    with pytest.raises(IngestError, match=r"values do not fit the types that a sample showed") as stopped:
        ingest(path, tmp_path / "out")
    assert f"{path}, byte {offset_in(path, 'x')}: column 'v': 'x' is no int [bad-value]" in str(stopped.value)
    assert not list((tmp_path / "out").glob("*.parquet"))
    assert ingest(path, tmp_path / "out", max_rejects=1).rejects == 1
