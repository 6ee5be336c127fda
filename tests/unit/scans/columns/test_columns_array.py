"""CSV without header as one array of all fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import splitscan as ss
from splitscan.errors import RecordError, SchemaError, UsageError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law, check_projection_law

RAGGED = b'a,b,c,d\n1,"x,y"\n\n"q""q",,"",4,5\n,\nlast'


@pytest.fixture
def ragged(tmp_path: Path) -> str:
    path = tmp_path / "a.csv"
    path.write_bytes(RAGGED)
    return str(path)


def arrays(scan: ss.Scan) -> list[list[str | None]]:
    return [row["columns"] for row in scan.to_arrow().to_pylist()]


def test_records_are_arrays_as_long_as_they_are(ragged: str) -> None:  # parity 93, 95, 97
    expected = [["a", "b", "c", "d"], ["1", "x,y"], ['q"q', None, None, "4", "5"], [None, None], ["last"]]
    scan = ss.scan_csv(ragged, columnsArray=True, escape='"')
    assert format_ddl(scan.schema) == "columns array<string>"
    assert arrays(scan) == arrays(scan.select("*")) == arrays(scan.select("COLUMNS")) == expected
    assert arrays(scan.select("columns", "columns[1]")) == arrays(scan.select("columns[9]", "*")) == expected
    assert arrays(ss.scan_csv(ragged, "columns array<string>", escape='"')) == expected
    assert arrays(ss.scan_csv(ragged, escape='"').select("columns")) == expected
    assert arrays(ss.scan_csv(ragged, escape='"', columns="columns")) == expected
    assert check_block_law(scan, [1, 2, 3, 7, 100]) == scan.count() == 5
    assert check_projection_law(ss.scan_csv(ragged, columnsArray=True, escape='"', metadata_columns="filename")) == 5


def test_only_the_wanted_elements_are_filled(ragged: str) -> None:  # parity 95
    scan = ss.scan_csv(ragged, escape='"').select("columns[3]", "columns[1]", "filename")
    assert arrays(scan) == [["", "b", "", "d"], ["", "x,y"], ["", None, "", "4"], ["", None], [""]]
    assert scan.to_arrow().to_pylist()[0]["filename"] == "a.csv"
    assert arrays(ss.scan_csv(ragged, escape='"').select("columns[0]")) == [["a"], ["1"], ['q"q'], [None], ["last"]]


def test_files_of_the_array_may_be_empty_or_partitioned(tmp_path: Path) -> None:  # parity 97
    (tmp_path / "p=1").mkdir()
    (tmp_path / "p=1" / "a.csv").write_text("x,y\n")
    (tmp_path / "p=1" / "b.csv").write_text("")
    rows = ss.scan_csv(str(tmp_path), columnsArray=True).to_arrow().to_pylist()
    assert rows == [{"columns": ["x", "y"], "p": 1}]
    assert ss.scan_csv(str(tmp_path / "p=1" / "b.csv"), columnsArray=True).to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("paths", "rule"),
    [
        pytest.param(("columns", "_c0"), "no column of a record has a name of its own", id="parity 96 columns and a"),
        pytest.param(("a", "columns"), "no column of a record has a name of its own", id="parity 96 a and columns"),
        pytest.param(("columns.x",), "the projection takes 'columns' for a struct", id="parity 96 members"),
        pytest.param(("columns[0].x",), "the projection takes 'columns' for a struct", id="parity 96 deeper"),
        pytest.param(("columns[0][1]",), "the projection takes 'columns' for an array", id="two dimensions"),
        pytest.param(("columns[70000]",), "at most 65536 elements", id="parity 96 index"),
        pytest.param(("columns[65536]",), "at most 65536 elements", id="parity 96 first index that is too large"),
    ],
)
def test_rules_of_the_array(ragged: str, paths: tuple[str, ...], rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        _ = ss.scan_csv(ragged).select(*paths).schema
    assert ss.scan_csv(ragged).select("columns[65535]").count() == 5


def test_only_a_is_an_error_where_the_array_is_asked_for(ragged: str) -> None:  # parity 96
    with pytest.raises(SchemaError, match="no column of a record has a name of its own"):
        _ = ss.scan_csv(ragged, columnsArray=True).select("a").schema


def test_names_and_the_array_exclude_each_other(ragged: str, tmp_path: Path) -> None:  # parity 93, 102, 104
    with pytest.raises(UsageError, match="columnsArray and header contradict"):
        ss.scan_csv(ragged, columnsArray=True, header=True)
    with pytest.raises(UsageError, match="only where they have no names"):
        _ = ss.scan_csv(ragged, "columns array<string>", header=True).schema
    with pytest.raises(SchemaError, match="the fields of a record are one array"):
        _ = ss.scan_csv(ragged, "a string", columnsArray=True).schema  # parity 94
    with pytest.raises(SchemaError, match="only CSV without header") as caught:
        _ = ss.scan_csv(ragged, header=True).select("columns[0]").schema
    assert caught.value.reason_code == "columns-array"
    with pytest.raises(SchemaError, match="only CSV without header"):
        _ = ss.scan_csv(ragged, "a string, b string").select("columns").schema
    named = tmp_path / "named.csv"
    named.write_text("columns,b\n1,2\n")
    assert ss.scan_csv(str(named), header=True).select("columns").to_arrow().to_pylist() == [{"columns": "1"}]
    with pytest.raises(SchemaError, match="takes 'columns' for an array"):
        _ = ss.scan_csv(str(named), header=True).select("columns[0]").schema
    with pytest.raises(UsageError, match="one value"):
        _ = ss.scan_csv(ragged, "columns array<int>").schema
    assert arrays(ss.scan_csv(str(named), columnsArray=True, skipRows=1)) == [["1", "2"]]  # parity 103


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_a_record_with_too_many_fields_is_broken(ragged: str, mode: str) -> None:
    scan = ss.scan_csv(ragged, "columns array<string>, _corrupt_record string", escape='"', maxColumns=4, mode=mode)
    if mode == "FAILFAST":
        with pytest.raises(RecordError, match="5 fields where maxColumns=4"):
            scan.to_arrow()
        return
    rows = scan.to_arrow().to_pylist()
    assert len(rows) == scan.count() == scan.select("columns[1]").to_arrow().num_rows == {"PERMISSIVE": 5}.get(mode, 4)
    assert max(map(len, arrays(scan.select("columns[9]")))) <= 4
    broken = [row for row in rows if row["_corrupt_record"] is not None]
    expected = {"columns": ['q"q', None, None, "4"], "_corrupt_record": '"q""q",,"",4,5'}
    assert broken == ([expected] if mode == "PERMISSIVE" else [])


def test_long_fields_break_a_record_whichever_elements_are_wanted(ragged: str) -> None:
    scan = ss.scan_csv(ragged, columnsArray=True, escape='"', maxCharsPerColumn=2, mode="DROPMALFORMED")
    assert [scan.count(), scan.select("columns[0]").to_arrow().num_rows, len(arrays(scan))] == [2, 2, 2]


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "options",
    [
        {"nullValue": "4"}, {"emptyValue": "E"}, {"nullValue": "-", "emptyValue": "-"}, {"nullValue": "NA"},
        {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}, {"encoding": "UTF-16"}, {"quote": ""},
        {"multiLine": True}, {"escape": "\\"},
    ],
    ids=str,
)  # fmt: skip
def test_elements_are_what_text_columns_would_hold(tmp_path: Path, options: dict[str, Any]) -> None:
    text = 'a, b ,"c"\n4,,""\n"x""y"," z " ,-\n"\\"q\\"","\\\\",\\\\\nNA,"NA","é\\n"\n'
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(options.get("encoding", "UTF-8")))
    chosen = {"escape": '"', **options}
    named = ss.scan_csv(str(path), "a string, b string, c string", **chosen).to_arrow()
    array = ss.scan_csv(str(path), columnsArray=True, **chosen)
    assert [(row + [None] * 3)[:3] for row in arrays(array)] == [list(row.values()) for row in named.to_pylist()]
    assert check_block_law(array, [1, 5, 1000]) == 5


def test_escapes_outside_quotes_are_data_and_inside_them_are_not(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(
        rb"""
"\"q","\\n\\",\\b\
\\,"x,\\","\\\""
""".lstrip()
    )
    named = ss.scan_csv(str(path), "a string, b string, c string").to_arrow().to_pylist()
    assert arrays(ss.scan_csv(str(path), columnsArray=True)) == [list(row.values()) for row in named]
    assert named[0] == {"a": '"q', "b": r"\n" + "\\", "c": r"\\b" + "\\"}
