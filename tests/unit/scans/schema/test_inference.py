"""Schemas that are found: merged over files, hinted at, provided in part; and why they are as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import splitscan as ss
from splitscan.blocks import FileMetadata
from splitscan.errors import SchemaError, SourceMissingError, SplitscanError, UsageError
from splitscan.formats.contract import spread
from splitscan.formats.decoding.contract import format_ddl
from splitscan.scans.schema import ColumnSource, SeenType

from ..results import rows_of

Write = Callable[..., str]
BY_NAME = {"header": True, "headerMapping": "byName"}


def ddl(paths: Any, format: str = "csv", **options: Any) -> str:
    return format_ddl(ss.scan(paths, format, **options).schema)


def refused(call: Callable[[], Any]) -> SplitscanError:
    with pytest.raises(SplitscanError) as caught:
        call()
    return caught.value


# ------------------------------------------------------------------ merging


def test_files_with_other_headers_merge_by_name(write: Write) -> None:  # parity 23, 24, 26, 28, 29
    paths = [write("id,n\n1,2\n", "1"), write("N,ID,extra\n2.5,3,x\n", "2"), write("id\n9999999999\n", "3")]
    for order in (paths, paths[::-1]):
        scan = ss.scan_csv(order, inferSchema=True, **BY_NAME)
        assert format_ddl(scan.schema) == "id bigint, n double, extra string"
        assert sorted(rows_of(scan), key=str) == [(1, 2.0, None), (3, 2.5, "x"), (9999999999, None, None)]


def test_headers_that_differ_are_an_error_by_position(write: Write) -> None:  # parity 26
    paths = [write("a,b\n1,2\n", "1"), write("b,a\n1,2\n", "2")]
    error = refused(lambda: ss.scan_csv(paths, header=True, inferSchema=True).schema)
    assert (error.reason_code, error.where and error.where.path) == ("header-mismatch", paths[1])
    assert ddl(paths, header=True, enforceSchema=True, inferSchema=True) == "a int, b int"
    assert ddl(paths, header=True) == "a string, b string"  # the other header is compared when it is read
    assert refused(lambda: ss.scan_csv(paths, header=True).to_arrow()).reason_code == "header-mismatch"


def test_a_file_that_is_wider_adds_columns_by_position(write: Write) -> None:  # parity 22, 24
    paths = [write("1,2\n", "1"), write("1,2,x\n", "2")]
    assert ddl(paths, inferSchema=True) == "_c0 int, _c1 int, _c2 string"
    assert rows_of(ss.scan_csv(paths, inferSchema=True)) == [(1, 2, None), (1, 2, "x")]


def test_empty_files_and_null_columns_have_no_say(write: Write) -> None:  # parity 21, 35
    paths = [write("", "1"), write("a,b\n", "2"), write("a,b\n,1\n", "3"), write("a,b\n2.5,\n", "4")]
    assert ddl(paths, inferSchema=True, **BY_NAME) == "a double, b int"
    assert ddl(paths[:2], inferSchema=True, **BY_NAME) == "a string, b string"


def test_types_that_disagree_are_text_and_told(write: Write) -> None:  # parity 25, 27
    paths = [write("a\n1\n", "1"), write("a\n2.5\n", "2"), write("a\ntrue\n", "3")]
    explained = ss.scan_csv(paths, header=True, inferSchema=True).explain_schema()
    assert explained.ddl == "a string"
    (conflict,) = explained.conflicts
    assert (conflict.column, conflict.outcome) == ("a", "string")
    seen = tuple(SeenType(kind, path) for kind, path in zip(("int", "double", "boolean"), paths, strict=True))
    assert conflict.seen == explained.columns[0].seen == seen
    error = refused(lambda: ss.scan_csv(paths, header=True, inferSchema=True, schemaConflicts="error").schema)
    assert error.reason_code == "schema-conflict"
    assert 'schemaHints="a string"' in str(error)
    hinted = ss.scan_csv(paths, header=True, inferSchema=True, schemaConflicts="error", schemaHints="A string")
    assert not hinted.explain_schema().conflicts


def test_conflicts_inside_of_structs_have_a_path(write: Write) -> None:
    paths = [write('{"m": {"x": 1, "y": 1}}\n', "1"), write('{"m": {"x": [2], "y": true}}\n', "2")]
    explained = ss.scan_json(paths).explain_schema()
    assert [conflict.column for conflict in explained.conflicts] == ["m.x", "m.y"]
    settled = ss.scan_json(paths, schemaHints="m.x array<int>").explain_schema()
    assert [conflict.column for conflict in settled.conflicts] == ["m.y"]
    assert settled.ddl == "m struct<x: array<int>, y: string>"


def test_json_fields_that_differ_in_case_are_an_error_across_files(write: Write) -> None:
    paths = [write('{"a": 1}\n', "1"), write('{"A": 1}\n', "2")]
    assert refused(lambda: ss.scan_json(paths).schema).reason_code == "bad-schema"


def test_a_sample_is_spread_over_all_files(write: Write) -> None:
    files = [FileMetadata(f"{i:02}", i % 10, 0, "", "") for i in range(30)]
    assert [file.path for file in spread(files[::-1], 4)] == ["01", "09", "19", "29"]
    assert [file.path for file in spread(files, 1)] == ["01"]
    paths = [write("a\n1\n", f"{i:02}") for i in range(5)] + [write("a,z\n1,2\n", "99")]
    assert ddl(paths, sampleFiles=2, **BY_NAME) == "a string, z string"
    assert ddl(paths, sampleFiles=1, **BY_NAME) == "a string"
    explained = ss.scan_csv(paths, sampleFiles=2, **BY_NAME).explain_schema()
    assert (explained.files, explained.sampled_files) == (6, 2)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_file_that_vanished_has_no_say_if_it_may(write: Write, format: str) -> None:
    paths = [write('{"a": 1}\n', "1"), write('{"a": 1}\n', "2")]
    for ignored in (True, False):
        scan = ss.scan(paths, format, ignoreMissingFiles=ignored)
        scan.files()
        Path(paths[0]).unlink()
        if ignored:
            assert scan.schema.names == ["a" if format == "json" else "_c0"]
            write('{"a": 1}\n', "1")
        else:
            with pytest.raises(SourceMissingError):
                _ = scan.schema


# -------------------------------------------------------------------- hints


def test_hints_decide_some_types(write: Write) -> None:
    path = write("id,day,n\n1,2020-01-02,3\n")
    assert ddl(path, header=True, schemaHints="ID long, `n` decimal(5,2) NOT NULL") == (
        "id bigint, day string, n decimal(5,2) NOT NULL"
    )
    assert ddl(path, header=True, inferSchema=True, schemaHints="id string") == "id string, day date, n int"
    column = ss.scan_csv(path, header=True, schemaHints="id long").explain_schema().columns[0]
    assert (column.source, column.path, column.seen) == (ColumnSource.HINT, path, (SeenType("string", path),))


def test_hints_lead_into_json(write: Write) -> None:
    path = write('{"m": {"x": 1, "l": [{"a": 1}]}, "k": 1}\n')
    assert ddl(path, "json", schemaHints="m.x double, m.l.element.b date, z.y int") == (
        "m struct<x: double, l: array<struct<a: bigint, b: date>>>, k bigint, z struct<y: int>"
    )


def test_a_hint_for_a_column_that_is_nowhere(write: Write) -> None:
    path = write("a\n1\n")
    error = refused(lambda: ss.scan_csv(path, header=True, schemaHints="b int").schema)
    assert error.reason_code == "unknown-column"
    assert ddl(path, schemaHints="b int", **BY_NAME) == "a string, b int"  # a later file may have it
    assert rows_of(ss.scan_csv(path, schemaHints="b int", **BY_NAME)) == [("1", None)]


def test_a_hint_names_a_csv_column_with_a_dot(write: Write) -> None:
    path = write("m.x,y\n1,2\n")
    assert ddl(path, header=True, schemaHints="m.x int") == "`m.x` int, y string"
    assert ddl(path, header=True, schemaHints="`m.x` int") == "`m.x` int, y string"


@pytest.mark.parametrize("text", ["id", "id long,", "m. long", "id long, id int", "x long y"])
def test_hints_without_meaning_are_refused(write: Write, text: str) -> None:
    assert refused(lambda: ss.scan_csv(write("id\n"), schemaHints=text).schema).reason_code == "bad-schema"


# ----------------------------------------------------------------- provided


def test_lenient_is_provided_columns_first_and_then_the_others(write: Write) -> None:  # parity 41, 42, 45, 46
    path = write("a,b,c\n1,2,3\n")
    scan = ss.scan_csv(path, header=True, providedSchema="C int, missing date, A long")
    assert format_ddl(scan.schema) == "C int, missing date, A bigint, b string"
    assert rows_of(scan) == [(3, None, 1, "2")]
    sources = [(c.name, c.source.value, c.path) for c in scan.explain_schema().columns]
    assert sources == [
        ("C", "provided", path),
        ("missing", "default", None),
        ("A", "provided", path),
        ("b", "file", path),
    ]


def test_strict_is_provided_columns_and_nothing_else(write: Write) -> None:  # parity 42, 45
    path = write("a,b,c\n1,2,3\n")
    scan = ss.scan_csv(path, header=True, providedSchema="c int, a long", schemaMode="strict")
    assert format_ddl(scan.schema) == "c int, a bigint"
    assert rows_of(scan) == [(3, 1)]


def test_without_header_provided_columns_are_the_first_ones(write: Write) -> None:  # parity 104
    path = write("1,2,3\n")
    assert ddl(path, providedSchema="x int") == "x int, _c1 string, _c2 string"
    strict = ss.scan_csv(path, providedSchema="x int, y long", schemaMode="strict")
    assert rows_of(strict) == [(1, 2)]
    assert strict.schema.names == ["x", "y"]
    assert ddl(write(""), providedSchema="x int") == "x int"
    enforced = {"header": True, "enforceSchema": True}
    assert ddl(write("a,b\n1,2\n"), providedSchema="x int", **enforced) == "x int, b string"


def test_metadata_columns_and_projection_stay_beside_a_strict_schema(write: Write) -> None:
    path = write("1,2,3\n")
    options = {"providedSchema": "x int, y long", "schemaMode": "strict", "metadataColumns": "record_offset"}
    assert ss.scan_csv(path, **options).schema.names == ["x", "y", "record_offset"]
    assert rows_of(ss.scan_csv(path, columns="y", **options)) == [(2,)]


def test_json_takes_provided_columns_by_exact_name(write: Write) -> None:  # parity 45, 49
    path = write('{"b": {"x": 1}, "a": 2}\n')
    assert ddl(path, "json", providedSchema="a string, m struct<p: int>") == (
        "a string, m struct<p: int>, b struct<x: bigint>"
    )
    assert ddl(path, "json", providedSchema="a string", schemaMode="strict") == "a string"
    error = refused(lambda: ss.scan_json(path, providedSchema="A string").schema)
    assert "differ in case only" in str(error)


def test_a_provided_type_wins_over_what_files_have(write: Write) -> None:  # parity 44
    path = write("a\nx\n")
    scan = ss.scan_csv(path, header=True, inferSchema=True, providedSchema="a int")
    assert rows_of(scan) == [(None,)]
    with pytest.raises(SplitscanError, match="column 'a': 'x' is no int"):
        ss.scan_csv(path, header=True, providedSchema="a int", mode="FAILFAST").to_arrow()


@pytest.mark.parametrize(
    ("options", "schema", "rule"),
    [
        ({"schemaMode": "strict"}, None, "schemaMode=strict has no meaning without providedSchema"),
        ({"providedSchema": "a int"}, "a int", "providedSchema has no meaning beside a full schema"),
        ({"schemaHints": "a int"}, "a int", "schemaHints has no meaning beside a full schema"),
        ({"providedSchema": "a int", "schemaHints": "a long"}, None, "both say what one column is"),
        ({"providedSchema": "a in"}, None, "a schema must be written as columns with types"),
        ({"schemaMode": "loose"}, None, "option schemaMode takes lenient or strict"),
        ({"sampleFiles": 0}, None, "option sampleFiles takes a whole number"),
    ],
)
def test_what_contradicts_itself_is_refused(write: Write, options: Any, schema: str | None, rule: str) -> None:
    path = write("a\n1\n")
    with pytest.raises(UsageError, match=rule):
        _ = ss.scan_csv(path, schema, header=True, **options).schema


def test_formats_without_columns_have_no_such_options(write: Write) -> None:
    error = refused(lambda: ss.scan_text(write(""), schemaHints="value int"))
    assert error.reason_code == "unknown-option"


# -------------------------------------------------------------- explanation


def test_every_column_of_a_scan_has_a_source(write: Write) -> None:
    path = write('{"a": 1}\nrubbish\n')
    scan = ss.scan_json(path, metadataColumns="file_name", schemaHints="b date")
    explained = scan.explain_schema()
    assert explained.schema == scan.schema
    assert [(c.name, c.source.value) for c in explained.columns] == [
        ("a", "file"),
        ("_corrupt_record", "option"),
        ("b", "hint"),
        ("file_name", "option"),
    ]
    assert ss.scan_csv(path, "a int").explain_schema().columns[0].source is ColumnSource.SCHEMA
    assert ss.scan_text(path).explain_schema().columns[0].source is ColumnSource.FORMAT
    assert ss.scan_csv(path).select("_c0").explain_schema().ddl == "_c0 string"


def test_a_column_that_no_file_has_and_no_header_is_an_error(write: Write) -> None:
    error = refused(lambda: ss.scan_json(write("\n")).schema)
    assert isinstance(error, SchemaError)
    assert error.reason_code == "no-schema"


def test_files_that_are_empty_are_called_so(write: Write) -> None:
    empty, blank = write("", name="a.json"), write("\n", name="b.json")
    assert "the file is empty" in str(refused(lambda: ss.scan_json(empty).schema))
    assert "2 files, 1 of them empty" in str(refused(lambda: ss.scan_json([empty, blank]).schema))


# ------------------------------------------------- schemas that are given in full


GIVEN = {
    "the same": ("a int, b string", [(1, "x")]),
    "another order": ("b string, a int", [("x", 1)]),
    "fewer": ("b string", [("x",)]),
    "more": ("a int, c date, b string", [(1, None, "x")]),
    "another case": ("B string, A int", [("x", 1)]),
    "other types": ("a double, b int", [(1.0, None)]),
}


@pytest.mark.parametrize("case", GIVEN)
def test_a_full_schema_is_what_is_delivered_whatever_the_files_have(write: Write, case: str) -> None:  # parity 50
    schema, expected = GIVEN[case]
    scan = ss.scan_csv(write("a,b\n1,x\n"), schema, **BY_NAME)
    assert format_ddl(scan.schema) == schema
    assert rows_of(scan) == rows_of(scan.select("*")) == expected
    assert scan.select().to_arrow().num_rows == scan.count() == 1
    if case != "another case":  # names of JSON are matched exactly
        assert rows_of(ss.scan_json(write('{"a": 1, "b": "x"}\n'), schema)) == expected
    error = refused(lambda: scan.select("a", "nowhere").schema)
    assert error.reason_code == "unknown-column"


def test_a_full_schema_of_other_columns_is_that_of_another_file(write: Write) -> None:  # parity 50
    path = write("a,b\n1,x\n")
    assert refused(lambda: ss.scan_csv(path, "y int", **BY_NAME).to_arrow()).reason_code == "header-mismatch"
    for short_or_long in ("a int", "a int, b string, c int"):
        error = refused(lambda ddl=short_or_long: ss.scan_csv(path, ddl, header=True).to_arrow())  # type: ignore[misc]
        assert error.reason_code == "header-mismatch"
    assert rows_of(ss.scan_json(write('{"a": 1}\n'), "y int")) == [(None,)]
    assert refused(lambda: ss.scan_csv(path, "a").schema).reason_code == "bad-schema"  # a column has a type


def test_a_provided_schema_has_a_column(write: Write) -> None:  # parity 43
    for empty in ("", " "):
        assert refused(lambda text=empty: ss.scan_csv(write("1\n"), providedSchema=text).schema)  # type: ignore[misc]


@pytest.mark.parametrize("mode", ["lenient", "strict"])
@pytest.mark.parametrize(
    ("provided", "others"),
    [("b int, a int", []), ("a int", ["b"]), ("b int, z date, a int", []), ("z date", ["a", "b"])],
)
def test_provided_columns_may_be_fewer_the_same_or_more(  # parity 45, 46
    write: Write, mode: str, provided: str, others: list[str]
) -> None:
    scan = ss.scan_csv(write("a,b\n1,2\n"), providedSchema=provided, schemaMode=mode, **BY_NAME)
    own = [part.split()[0] for part in provided.split(", ")]
    expected = own + (others if mode == "lenient" else [])
    assert scan.schema.names == scan.select("*").schema.names == expected
    for names in ((expected[-1], "*"), ("*", expected[-1]), (own[0], "*", expected[-1])):
        assert scan.select(*names).schema.names == expected
    if mode == "strict" and others:
        assert refused(lambda: scan.select("*", others[0]).schema).reason_code == "unknown-column"
    if expected != ["z"]:
        values: dict[str, Any] = {"a": 1, "b": 2, "z": None}
        assert rows_of(scan) == [tuple(str(values[n]) if n in others else values[n] for n in expected)]


def test_a_provided_struct_is_closed_and_a_hint_leaves_it_open(write: Write) -> None:  # parity 49
    path = write('{"m": {"x": 1, "p": 2, "n": {"u": 1, "v": 2}}}\n')
    for mode in ("lenient", "strict"):
        given = {"providedSchema": "m struct<p: int, n: struct<v: int, w: int>>", "schemaMode": mode}
        assert rows_of(ss.scan_json(path, **given)) == [({"p": 2, "n": {"v": 2, "w": None}},)]
        assert rows_of(ss.scan_json(path, **given).select("m.n.v")) == [({"n": {"v": 2}},)]
    assert ddl(path, "json", schemaHints="m.p int") == "m struct<x: bigint, p: int, n: struct<u: bigint, v: bigint>>"


@pytest.mark.parametrize("record", ["2,bob", "2", "2,bob,3", '"2","b,ob"', "id_2,name_2"])
@pytest.mark.parametrize("name", ["b.csv", "0.csv"])  # after the file with a header, and before it
def test_a_record_is_no_header_that_is_matched_by_name(tmp_path, record, name):
    (tmp_path / "a.csv").write_text("id,name\n1,ann\n")
    (tmp_path / name).write_text(f"{record}\n3,cy\n")
    scan = ss.scan_csv(tmp_path, header=True, header_mapping="byName", escape='"')
    with pytest.raises(SchemaError, match="no name in common with that of any other") as caught:
        _ = scan.schema
    assert caught.value.reason_code == "header-mismatch"
    assert "header=false" in caught.value.fix


def test_headers_with_one_name_in_common_are_matched_by_name(tmp_path):
    (tmp_path / "a.csv").write_text("id,name\n1,ann\n")
    (tmp_path / "b.csv").write_text("ID,age\n2,30\n")
    (tmp_path / "c.csv").write_text("age,town\n40,Oslo\n")
    rows = ss.scan_csv(tmp_path, header=True, header_mapping="byName").to_arrow().to_pylist()
    assert [row["id"] for row in rows] == ["1", "2", None]
    assert rows[2] == {"id": None, "name": None, "age": "40", "town": "Oslo"}
