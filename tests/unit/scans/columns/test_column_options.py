"""Defaults, patterns and blanks of single columns, and columns that must have a value."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.errors import RecordError, SchemaError, SplitscanError, UsageError
from splitscan.testing.scan_laws import check_block_law, check_projection_law

from ..results import rejects_of, rows_of

Write = Callable[..., str]
HEADER = {"header": True, "headerMapping": "byName"}


def refused(path: str, schema: str | None, **options: Any) -> SplitscanError:
    with pytest.raises(SplitscanError) as caught:
        ss.scan_csv(path, schema, **options).to_arrow()
    return caught.value


# ----------------------------------------------------------------- defaults

DEFAULTS = [
    ("tinyint", "-1", -1), ("smallint", "-1", -1), ("int", "-1", -1), ("bigint", "-1", -1), ("float", "1.5", 1.5),
    ("double", "-1.5", -1.5), ("decimal(5,2)", "1.005", Decimal("1.01")), ("boolean", "TRUE", True),
    ("string", "none", "none"), ("date", "2020-01-31", dt.date(2020, 1, 31)), ("binary", "x", b"x"),
    ("time", "10:20:30.5", dt.time(10, 20, 30, 500000)),
    ("timestamp_ntz", "2020-01-31 10:00", dt.datetime(2020, 1, 31, 10)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "value"), DEFAULTS, ids=[case[0] for case in DEFAULTS])
@pytest.mark.parametrize("null", ["", " NOT NULL"])
def test_a_default_stands_for_a_column_that_a_file_lacks(
    write: Write, kind: str, text: str, value: Any, null: str
) -> None:  # parity 36, 60
    options = {"columnOptions": {"b": {"default": text}}, **HEADER}
    assert rows_of(ss.scan_csv(write("a\n1\n2\n"), f"a int, b {kind}{null}", **options)) == [(1, value), (2, value)]


def test_a_column_that_a_file_lacks_without_a_default(write: Write) -> None:  # parity 35, 38, 60
    path = write("a\n1\n")
    assert rows_of(ss.scan_csv(path, "a int, b int", **HEADER)) == [(1, None)]
    error = refused(path, "a int, b int NOT NULL", **HEADER)
    assert (error.reason_code, error.where and error.where.column, error.where and error.where.offset) == (
        "null-in-not-null", "b", 2,
    )  # fmt: skip


def test_a_default_stands_for_what_a_short_record_lacks(write: Write) -> None:  # parity 61
    path = write("1,2,3\n4,5\n6\n,,\n7,,x\n")
    options = {"columnOptions": {"b": {"default": "-1"}, "c": {"default": "z"}}}
    scan = ss.scan_csv(path, "a int, b int, c string", **options)
    assert rows_of(scan) == [(1, 2, "3"), (4, 5, "z"), (6, -1, "z"), (None, None, None), (7, None, "x")]
    assert not rejects_of(scan)
    assert check_block_law(scan, range(1, 20)) > 0
    assert check_projection_law(scan) > 0
    assert ss.scan_csv(path, "a int, b int, c string", mode="FAILFAST", **options).count() == 5


def test_a_short_record_is_broken_before_the_last_column_without_default(write: Write) -> None:
    scan = ss.scan_csv(write("1,2,3\n4\n5,6\n"), "a int, b int, c int", columnOptions='{"c": {"default": 0}}')
    assert rows_of(scan) == [(1, 2, 3), (4, None, 0), (5, 6, 0)]
    assert [reject.code for reject in rejects_of(scan)] == ["field-count"]


def test_a_header_may_lack_last_columns_that_have_a_default(write: Write) -> None:
    paths = [write("a,b\n1,2\n", "1"), write("a\n3\n", "2")]
    options = {"header": True, "columnOptions": {"b": {"default": "9"}}}
    assert rows_of(ss.scan_csv(paths, "a int, b int", **options)) == [(1, 2), (3, 9)]
    assert refused(paths[1], "a int, b int", header=True).reason_code == "header-mismatch"


def test_nulls_of_a_column_that_must_have_a_value_become_its_default(write: Write) -> None:  # parity 58, 61
    path = write("a,b\n1,\n,\nx,2\n")
    options = {"columnOptions": {"a": {"default": "-1"}, "b": {"default": "-2"}}, **HEADER}
    scan = ss.scan_csv(path, "a int NOT NULL, b int", **options)
    assert rows_of(scan) == [(1, None), (-1, None), (-1, 2)]  # a null that a file has stays one where it may
    assert [(reject.code, reject.delivered) for reject in rejects_of(scan)] == [("bad-value", True)]


def test_json_takes_defaults_for_nulls_too(write: Write) -> None:
    path = write('{"a": 1}\n{"b": null}\n{"a": "x", "b": 2}\n')
    scan = ss.scan_json(path, "a int, b int NOT NULL", columnOptions={"a": {"default": 7}, "b": {"default": 8}})
    assert rows_of(scan) == [(1, 8), (7, 8), (7, 2)]
    assert len(rejects_of(scan)) == 1


# ---------------------------------------------------------- NOT NULL, modes


@pytest.mark.parametrize("text", ["1,2\n,3\n4,5\n", "1,2\nx,3\n4,5\n"])
def test_a_record_without_a_required_value_is_an_error_or_dropped(write: Write, text: str) -> None:  # parity 38
    path, schema = write(text), "a int NOT NULL, b int"
    error = refused(path, schema)
    assert (error.reason_code, error.where and error.where.offset) == ("null-in-not-null", 4)
    failed = refused(path, schema, mode="FAILFAST")
    assert isinstance(failed, RecordError)
    assert "column 'a'" in str(failed)
    assert failed.where is not None
    assert failed.where.offset == 4
    scan = ss.scan_csv(path, schema, mode="DROPMALFORMED")
    assert rows_of(scan) == [(1, 2), (4, 5)]
    assert scan.count() == scan.select("b").to_arrow().num_rows == 2
    assert [(reject.offset, reject.delivered) for reject in rejects_of(scan.select("b"))] == [(4, False)]
    assert check_block_law(scan, range(1, 12)) > 0
    assert check_projection_law(scan) > 0


# ----------------------------------------------------------------- patterns


def test_each_column_has_a_pattern_of_its_own(write: Write) -> None:  # parity 55
    path = write("day,at,other\n31/01/2020,2020.01.31 10,2020-02-01\n,x,\n")
    options = {"columnOptions": {"DAY": {"format": "dd/MM/yyyy"}, "at": {"format": "yyyy.MM.dd HH"}}, **HEADER}
    scan = ss.scan_csv(path, "day date, at timestamp_ntz, other date", **options)
    assert rows_of(scan)[0] == (dt.date(2020, 1, 31), dt.datetime(2020, 1, 31, 10), dt.date(2020, 2, 1))
    (reject,) = rejects_of(scan)
    assert reject.reason == "column 'at': 'x' is no timestamp_ntz (columnOptions: format=yyyy.MM.dd HH)"


def test_json_columns_have_patterns_too(write: Write) -> None:
    path = write('{"d": "31/01/2020", "e": "2020-01-31"}\n{"d": 1}\n{"d": null, "e": "2020-02-01"}\n')
    scan = ss.scan_json(path, "d date, e date", columnOptions={"d": {"format": "dd/MM/yyyy"}})
    day = dt.date(2020, 1, 31)
    assert rows_of(scan) == [(day, day), (None, None), (None, dt.date(2020, 2, 1))]
    assert len(rejects_of(scan)) == 1


@pytest.mark.parametrize(
    ("schema", "value", "options", "reason"),
    [
        ("a date", "2020-13-01", {}, "column 'a': '2020-13-01' is no date"),
        ("a date", "2020-01-01", {"dateFormat": "dd/MM/yyyy"}, "'2020-01-01' is no date (dateFormat=dd/MM/"),
        ("a time(0)", "24:00:00", {}, "column 'a': '24:00:00' is no time(6)"),
        ("a time", "10:20", {"timeFormat": "HHmm"}, "(timeFormat=HHmm)"),
        ("a timestamp", "x", {"timestampFormat": "yyyy"}, "(timestampFormat=yyyy)"),
        ("a tinyint", "128", {}, "column 'a': '128' is no tinyint"),  # parity 53: nothing wraps
        ("a int", "2147483648", {}, "'2147483648' is no int"),
        ("a bigint", "NaN", {}, "'NaN' is no bigint"),  # parity 54: no number is not 0
        ("a int", "1.5", {}, "'1.5' is no int"),
        ("a boolean", "yes", {}, "'yes' is no boolean"),  # parity 56: unknown is not false
        ("a decimal(5,2)", "1000", {}, "'1000' is no decimal(5,2)"),  # parity 57
    ],
)
def test_a_value_that_does_not_convert_is_told_with_all_that_helps(
    write: Write, schema: str, value: str, options: Any, reason: str
) -> None:  # parity 52
    path = write(f"{value}\n")
    (reject,) = rejects_of(ss.scan_csv(path, schema, **options))
    assert reason in reject.reason
    error = refused(path, schema, mode="FAILFAST", **options)
    assert path in str(error)
    assert "byte 0" in str(error)
    assert reason in str(error)


# ------------------------------------------------------------------- blanks


@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize(
    ("kind", "blank", "expected"),
    [
        ("int", None, ("null", "bad")), ("int", "null", ("null", "null")), ("int", "0", (0, 0)),
        ("double", "0", (0.0, 0.0)), ("decimal(3,1)", "0", (Decimal(0), Decimal(0))), ("date", "0", ("null", "null")),
        ("int", "empty", ("null", "null")), ("string", None, ("null", "  ")), ("string", "null", ("null", "null")),
        ("string", "empty", ("", "")), ("string", "0", ("null", "null")), ("binary", "empty", (b"", b"")),
    ],
)  # fmt: skip
def test_what_blanks_become(write: Write, kind: str, blank: str | None, expected: Any, null: bool) -> None:
    # parity 58: nullable and required, unset, null, 0 and empty
    given = {"blankAs": blank} if blank else {}
    default = {} if null else {"default": {"date": "1970-01-01"}.get(kind, "7")}
    path = write("k,a\n1,\n1,  \n")
    schema = f"k int, a {kind}" + ("" if null else " NOT NULL")
    scan = ss.scan_csv(path, schema, **HEADER, columnOptions={"a": {**given, **default}})
    filled = None if null else ss.scan_csv(write("k\n1\n", "d"), schema, **HEADER, columnOptions={"a": default})
    missing = rows_of(filled)[0][1] if filled else None
    wanted = [missing if each in ("null", "bad") else each for each in expected]
    assert [row[1] for row in rows_of(scan)] == wanted
    assert len(rejects_of(scan)) == expected.count("bad")


def test_a_null_text_is_no_blank(write: Write) -> None:
    path = write('1,NA\n2,\n3,""\n4,5\n,NA\n')
    scan = ss.scan_csv(path, "a int, b int", nullValue="NA", columnOptions={"b": {"blankAs": "0"}})
    assert rows_of(scan) == [(1, None), (2, 0), (3, 0), (4, 5), (None, None)]
    assert check_block_law(scan, range(1, 9)) > 0


@pytest.mark.parametrize("kind", ["int", "double", "decimal(4,1)", "date", "timestamp", "string"])
def test_a_null_text_that_reads_as_a_value_is_a_null_beside_a_blank_too(write: Write, kind: str) -> None:
    null, value = ("2020-01-01", "2021-02-03") if kind in ("date", "timestamp") else ("0", "5")
    path = write(f"{null},1\n{value},2\n{null},\n")
    scan = ss.scan_csv(path, f"a {kind}, b int", nullValue=null, columnOptions={"b": {"blankAs": "0"}})
    assert [(row[0] is None, row[1]) for row in rows_of(scan)] == [(True, 1), (False, 2), (True, 0)]


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"z": {"default": "1"}}, "unknown-column", "columnOptions names a column that there is not: 'z'"),
        ({"a": {"default": "x"}}, "bad-option", "the default of column 'a' is no int"),
        ({"a": {"default": "99999999999"}}, "bad-option", "the default of column 'a' is no int"),
        ({"a": {"format": "yyyy"}}, "bad-option", "column 'a' is int32, and has no pattern"),
        ({"d": {"format": "qq"}}, "bad-option", "pattern uses letters that are not supported"),
        ({"d": {"format": "dd/MM/yyyy", "default": "2020-01-01"}}, "bad-option", "the default of column 'd'"),
    ],
)
def test_column_options_that_do_not_fit(write: Write, options: Any, code: str, text: str) -> None:
    error = refused(write("1,2020-01-01\n"), "a int, d date", columnOptions=json.dumps(options))
    assert error.reason_code == code
    assert text in str(error)


@pytest.mark.parametrize(
    "value",
    ["x", "[]", '{"a": 1}', '{"a": {"defualt": 1}}', '{"a": {"blankAs": "none"}}', '{"a": {}, "A": {}}',
     '{"a": {"format": ""}}', '{"a": {"default": []}}'],
)  # fmt: skip
def test_column_options_without_meaning(value: str) -> None:
    with pytest.raises(UsageError, match="option columnOptions takes a JSON object"):
        ss.scan_csv("x", columnOptions=value)


def test_blanks_are_of_csv(write: Write) -> None:
    with pytest.raises(UsageError, match="blankAs is about fields of CSV"):
        ss.scan_json(write("{}"), "a int", columnOptions={"a": {"blankAs": "0"}}).to_arrow()


# ---------------------------------------------------------------- metadata


def test_metadata_of_fields_says_the_same(write: Write) -> None:  # parity 37, 51
    path = write("A\n31/01/2020\n\n")
    day = pa.field("a", pa.date32(), metadata={"splitscan.format": "dd/MM/yyyy", "other": "x"})
    number = pa.field("n", pa.int64(), metadata={"splitscan.default": "5", "splitscan.blank_as": "0"})
    scan = ss.scan_csv(path, pa.schema([day, number]), **HEADER)
    assert rows_of(scan) == [(dt.date(2020, 1, 31), 5)]
    assert all(field.metadata is None for field in scan.schema)
    provided = ss.scan_csv(path, header=True, provided_schema=pa.schema([number, day]))
    assert rows_of(provided) == [(5, dt.date(2020, 1, 31))]
    column = provided.explain_schema().columns[0]
    assert (column.name, column.source.value, column.default) == ("n", "default", "5")
    stronger = ss.scan_csv(path, pa.schema([number, day]), **HEADER, columnOptions={"n": {"default": "6"}})
    assert rows_of(stronger)[0][0] == 6
    wrong = pa.field("a", pa.int64(), metadata={"splitscan.defualt": "5"})
    with pytest.raises(UsageError, match="metadata of column 'a' has no meaning"):
        ss.scan_csv(path, pa.schema([wrong]), **HEADER).to_arrow()


def test_a_schema_with_column_options_is_another_job(write: Write) -> None:
    path = write("a\n")
    field = pa.field("n", pa.int64(), metadata={"splitscan.default": "5"})
    specs = [ss.scan_csv(path, pa.schema([each]), **HEADER).spec for each in (field, field.remove_metadata())]
    assert specs[0].schema == specs[1].schema
    assert specs[0].fields.field(0).metadata != specs[1].fields.field(0).metadata
    with pytest.raises(SchemaError, match="does not agree"):
        ss.scan_csv(path, pa.schema([field]), **HEADER).to_arrow()
