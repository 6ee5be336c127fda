"""CSV from file to rows: dialects, headers, files of unequal columns. Numbers are those of the parity list."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import splitscan as ss
from splitscan.errors import SchemaError, SourceMissingError
from splitscan.formats.decoding.contract import format_ddl
from splitscan.testing.scan_laws import check_block_law

from .results import rows_of

Write = Callable[..., str]
BY_NAME: dict[str, Any] = {"header": True, "headerMapping": "byName"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        pytest.param("a\tb\n1\t2\n", {"sep": "\\t"}, [("a", "b"), ("1", "2")], id="tab"),
        pytest.param("a b\n1 2\n", {"sep": " "}, [("a", "b"), ("1", "2")], id="space"),
        pytest.param("a|b\n1|2\n", {"sep": "|"}, [("a", "b"), ("1", "2")], id="pipe"),
        pytest.param("a\x01b\n1\x012\n", {"sep": "\x01"}, [("a", "b"), ("1", "2")], id="control character"),
        pytest.param("a~|~b\n1~|~2\n", {"sep": "~|~"}, [("a", "b"), ("1", "2")], id="several characters"),
        pytest.param("#a,b\n1,2\n", {"comment": "#"}, [("1", "2")], id="comment"),
        pytest.param("#a,b\n1,2\n", {}, [("#a", "b"), ("1", "2")], id="no comment"),
        pytest.param("'a,b',c\n", {"quote": "'"}, [("a,b", "c")], id="quote"),
        pytest.param('"a,b"\n', {"quote": ""}, [('"a', 'b"')], id="no quote"),
        pytest.param('"a^"b",^c\n', {"escape": "^"}, [('a"b', "^c")], id="escape"),
        pytest.param('"a""b","c"\n', {"escape": '"'}, [('a"b', "c")], id="doubled quote"),
        pytest.param("a,b;1,2;", {"lineSep": ";"}, [("a", "b"), ("1", "2")], id="line end of one's own"),
        pytest.param("a,b||1,2", {"lineSep": "||"}, [("a", "b"), ("1", "2")], id="line end of two characters"),
        pytest.param("a,b\r1,2\r", {}, [("a", "b"), ("1", "2")], id="CR"),
        pytest.param("a,b\r\n1,2\r\n", {}, [("a", "b"), ("1", "2")], id="CRLF"),
        pytest.param('a"b,c"\nd, "e"\n', {}, [('a"b', 'c"'), ("d", ' "e"')], id="stray quotes are data"),
        pytest.param('"a" ,"b"x\n', {}, [("a", '"b"x')], id="text after a quote"),
        pytest.param(" a b , c\n", {}, [(" a b ", " c")], id="blanks are data"),
        pytest.param(
            ' a b ," c "\n', {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}, [("a b", " c ")],
            id="trimmed at the edges alone",
        ),
        pytest.param("a,b\n\n1,\n", {}, [("a", "b"), ("1", None)], id="empty lines and fields"),
    ],
)  # fmt: skip
def test_dialects(write: Write, text: str, options: dict[str, Any], expected: list[Any]) -> None:  # parity 105
    for multi_line in (False, True):
        scan = ss.scan_csv(write(text), "x string, y string", multiLine=multi_line, **options)
        assert rows_of(scan) == expected
        assert check_block_law(scan, [1, 2, 5]) == len(expected)


# ---------------------------------------------------------------- headers


@pytest.mark.parametrize("text", ["a,b\n1,2", "a,b\n1,2\n", "\n\na,b\n1,2\n", "\ufeffa,b\r\n1,2"])
def test_the_first_record_is_the_header_and_the_last_needs_no_line_end(write: Write, text: str) -> None:  # parity 98
    assert ss.scan_csv(write(text), header=True).to_arrow().to_pylist() == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("Überß,名", ["Überß", "名"]), ("a-b,1x", ["a-b", "1x"]), ("$,#", ["$", "#"]), ('"x, y",z', ["x, y", "z"]),
        (",b", ["_c0", "b"]), ("a,A", ["a0", "A1"]), (" a ,\tb", [" a ", "\tb"]),
        (f"{'n' * 2000},b", ["n" * 2000, "b"]),
    ],
)  # fmt: skip
def test_names_are_as_the_header_has_them(write: Write, header: str, names: list[str]) -> None:  # parity 99
    scan = ss.scan_csv(write(f"{header}\n1,2\n"), header=True)
    assert scan.schema.names == names
    assert rows_of(scan) == [("1", "2")]
    assert rows_of(scan.select(f"`{names[1]}`")) == [("2",)]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"ignoreLeadingWhiteSpace": True}, ["a ", "b", " c "]),
        ({"ignoreTrailingWhiteSpace": True}, [" a", " b", " c "]),
        ({"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}, ["a", "b", " c "]),
        ({}, [" a ", " b", " c "]),
    ],
)
def test_names_are_trimmed_as_values_are(write: Write, options: Any, names: list[str]) -> None:  # parity 99
    path = write(' a , b," c "\n1,2,3\n')
    scan = ss.scan_csv(path, header=True, **options)
    assert scan.schema.names == names
    ddl = ", ".join(f"`{name}` int" for name in names)
    assert rows_of(ss.scan_csv(path, ddl, header=True, **options)) == [(1, 2, 3)]
    assert rows_of(ss.scan_csv(path, ddl, **BY_NAME, **options).select(f"`{names[1]}`")) == [(2,)]


def test_columns_are_selected_in_any_case_and_once(write: Write) -> None:  # parity 100
    paths = [write("a,b,c\n1,2,3\n", "1.csv"), write("C,B\n6,5\n", "2.csv")]
    scan = ss.scan_csv(paths, **BY_NAME)
    assert rows_of(scan.select("B", "a", "b")) == [("2", "1"), ("5", None)]
    assert scan.select("c", "*").schema.names == ["a", "b", "c"]
    assert scan.count() == scan.select("a").count() == 2


def test_empty_last_fields_of_many_records(write: Write) -> None:  # parity 103
    path = write("a,b,c\n" + "1,2,\n" * 10_000)
    scan = ss.scan_csv(path, "a int, b int, c int", header=True, blockSize=7000)
    assert scan.select("c").to_arrow()["c"].null_count == 10_000
    assert scan.select("a").to_arrow()["a"].to_pylist() == [1] * 10_000
    assert ss.scan_csv(path, columnsArray=True, skipRows=1).limit(1).to_arrow().to_pylist() == [
        {"columns": ["1", "2", None]}
    ]


@pytest.mark.parametrize(
    ("options", "schema", "names", "rows"),
    [
        ({}, None, ["_c0", "_c1"], [("a", "b"), ("1", "2"), ("3", "4")]),
        ({}, "x string, y string", ["x", "y"], [("a", "b"), ("1", "2"), ("3", "4")]),
        ({"skipRows": 1}, None, ["_c0", "_c1"], [("1", "2"), ("3", "4")]),
        ({"skipRows": 1}, "x int, y int", ["x", "y"], [(1, 2), (3, 4)]),
        ({"header": True}, None, ["a", "b"], [("1", "2"), ("3", "4")]),
        ({"header": True}, "a int, b int", ["a", "b"], [(1, 2), (3, 4)]),
        ({"header": True, "enforceSchema": True}, "x int, y int", ["x", "y"], [(1, 2), (3, 4)]),
        ({"header": True, "skipRows": 1}, None, ["1", "2"], [("3", "4")]),
        ({"header": True, "skipRows": 1, "enforceSchema": True}, "x int, y int", ["x", "y"], [(3, 4)]),
    ],
)  # fmt: skip
def test_header_skipped_lines_and_schema(  # parity 103, 104
    write: Write, options: Any, schema: str | None, names: list[str], rows: list[Any]
) -> None:
    scan = ss.scan_csv(write("a,b\n1,2\n3,4\n"), schema, **options)
    assert scan.schema.names == names
    assert rows_of(scan) == rows
    assert check_block_law(scan, [1, 3]) == scan.count() == len(rows)


@pytest.mark.parametrize("header", [True, False])
def test_fields_that_the_schema_does_not_have_are_cut_and_reported(write: Write, header: bool) -> None:  # parity 104
    path = write(f"{'a,b' if header else '0,0'}\n1,2,3\n4\n")
    rejects: list[Any] = []
    scan = ss.scan_csv(path, "a int, b int", header=header)
    found = [tuple(row.values()) for batch in scan.to_batches(rejects.append) for row in batch.to_pylist()]
    assert found[-2:] == [(1, 2), (4, None)]
    assert [reject.code for reject in rejects] == ["field-count"] * 2


def test_a_huge_field_is_a_value_like_others(write: Write) -> None:  # parity 97
    huge = "x," * 1_000_000
    path = write(f'"{huge}",b\n1,2\n')
    assert rows_of(ss.scan_csv(path, "a string, b string")) == [(huge, "b"), ("1", "2")]
    arrays = ss.scan_csv(path, columnsArray=True).to_arrow().to_pylist()
    assert [row["columns"] for row in arrays] == [[huge, "b"], ["1", "2"]]


# ------------------------------------------------------------ files of a table


def test_an_array_has_no_names_and_a_header_no_array(write: Write) -> None:  # parity 102
    path = write("columns,b\n1,2\n")
    assert rows_of(ss.scan_csv(path, header=True).select("b", "columns")) == [("2", "1")]
    with pytest.raises(SchemaError, match="columns-array"):
        ss.scan_csv(write("a,b\n1,2\n"), header=True).select("columns").to_arrow()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_files_of_other_columns_in_any_order(write: Write, seed: int, mode: str) -> None:  # parity 106
    texts = ["id,n,s\n1,10,a\n", "s,id\nb,2\n", "n,id\n30,3\n", "id\n4\n", "id,extra\n5,e\n", ""]
    paths = [write(text, f"{number}.csv") for number, text in enumerate(texts)]
    random.Random(seed).shuffle(paths)
    scan = ss.scan_csv(paths, providedSchema="N bigint, id int", schemaMode=mode, inferSchema=True, **BY_NAME)
    lenient = mode == "lenient"
    assert format_ddl(scan.schema) == "N bigint, id int" + (", s string, extra string" if lenient else "")
    rows = [(10, 1, "a", None), (None, 2, "b", None), (30, 3, None, None), (None, 4, None, None), (None, 5, None, "e")]
    assert sorted(rows_of(scan), key=lambda row: row[1]) == [row[: 4 if lenient else 2] for row in rows]
    assert rows_of(scan.select("id", "N").limit(100)) == [(row[1], row[0]) for row in rows_of(scan)]
    full = ss.scan_csv(paths, "s string, id bigint", **BY_NAME)
    assert sorted(rows_of(full), key=lambda row: row[1]) == [(row[2], row[1]) for row in rows]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
@pytest.mark.parametrize("size", ["1g", "8"])  # one block, and the index of many
@pytest.mark.parametrize("multi_line", [False, True])
@pytest.mark.parametrize(
    ("options", "schema", "agrees"),
    [
        ({}, "a int, b int", False), ({}, None, False), ({"enforceSchema": True}, "a int, b int", True),
        ({"headerMapping": "byName"}, "a int, b int", True), ({"headerMapping": "byName"}, "c int", False),
    ],
)  # fmt: skip
def test_counting_compares_headers_as_reading_does(
    write: Write, mode: str, size: str, multi_line: bool, options: dict[str, Any], schema: str | None, agrees: bool
) -> None:
    paths = [write("a,b\n" + "1,2\n" * 5, "1.csv"), write("a,d\n" + "1,2\n" * 5, "2.csv")]
    scan = ss.scan_csv(paths, schema, header=True, mode=mode, blockSize=size, multiLine=multi_line, **options)
    if agrees:
        assert scan.count() == scan.to_arrow().num_rows == 10
        return
    for read in (scan.to_arrow, scan.count, scan.select("*").count):
        with pytest.raises(SchemaError, match="header-mismatch"):
            read()


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_where_no_file_has_a_record_there_is_none_to_count(write: Write, tmp_path: Path, mode: str) -> None:
    with pytest.raises(SourceMissingError, match="no-files"):
        ss.scan_csv(str(tmp_path), header=True, mode=mode).count()
    assert ss.scan_csv(write(""), header=True, mode=mode).count() == 0
