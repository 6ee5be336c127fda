"""Texts to values: what Spark's CSV reader accepts."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from splitscan.formats.decoding.conversions import Rules, all_convert, convert
from splitscan.formats.decoding.ddl import parse_ddl

BAD = object()


def moment(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("byte", "127", 127), ("byte", "128", BAD), ("byte", "-128", -128), ("byte", "-129", BAD),
        ("short", "32767", 32767), ("short", "32768", BAD), ("short", "-32768", -32768), ("short", "-32769", BAD),
        ("int", "-2147483648", -(2**31)), ("int", "-2147483649", BAD), ("int", "2147483647", 2**31 - 1),
        ("int", "2147483648", BAD),
        ("long", "-9223372036854775808", -(2**63)), ("long", "9223372036854775807", 2**63 - 1),
        ("long", "9223372036854775808", BAD), ("long", "-9223372036854775809", BAD), ("int", "+7", 7),
        ("int", " 7\t", 7), ("int", "007", 7), ("int", "1.0", BAD), ("int", "1e3", BAD), ("int", "", BAD),
        ("int", "0x10", BAD), ("int", "1_000", BAD), ("int", "٣", BAD), ("int", "--1", BAD),
        ("double", "1e3", 1000.0), ("double", ".5", 0.5), ("double", "5.", 5.0), ("double", "1d", 1.0),
        ("double", "1e400", math.inf), ("double", "Inf", math.inf), ("double", "-Infinity", -math.inf),
        ("double", "1,5", BAD), ("double", "0x1p3", BAD), ("double", "one", BAD), ("float", "16777217", 16777216.0),
        ("decimal(5,2)", "123.455", Decimal("123.46")), ("decimal(5,2)", "999.995", BAD), ("decimal(5,2)", "1d", BAD),
        ("decimal(5,2)", "-1.5e1", Decimal("-15.00")), ("decimal(10,0)", "1.5", Decimal("2")),
        ("decimal(5,2)", "NaN", BAD), ("decimal(8,2)", "1,234.5", Decimal("1234.50")), ("decimal(5,2)", "1,5", BAD),
        ("decimal(9,1)", "-12,345,678.95", Decimal("-12345679.0")), ("decimal(5,0)", "1,23,4", BAD),
        ("decimal(5,0)", "1234,567", BAD), ("decimal(5,0)", ",123", BAD), ("decimal(3,3)", "0.125", Decimal("0.125")),
        ("decimal(3,3)", "1.125", BAD), ("decimal(5,0)", "0001234", Decimal(1234)), ("int", "1,234", BAD),
        ("boolean", "true", True), ("boolean", "FALSE", False), ("boolean", "1", BAD), ("boolean", " true", BAD),
        ("date", "2020-02-29", date(2020, 2, 29)), ("date", "2021-02-29", BAD), ("date", "2020", date(2020, 1, 1)),
        ("date", "2020-2", date(2020, 2, 1)), ("date", "2020-2-3", date(2020, 2, 3)),
        ("date", "2020T10", BAD), ("date", "2020-02 10:00", BAD), ("date", "20200203", BAD),
        ("date", "2020-02-03T10:00:00", date(2020, 2, 3)), ("date", "31/01/2020", BAD),
        ("timestamp", "2020-01-02", moment(2020, 1, 2)), ("timestamp", "2020-01-02 3:4:5", moment(2020, 1, 2, 3, 4, 5)),
        ("timestamp", "2020-01-02T03:04:05.1234567Z", moment(2020, 1, 2, 3, 4, 5, 123456)),
        ("timestamp", "2020-01-02 03:04+05:30", moment(2020, 1, 1, 21, 34)), ("timestamp", "2020-01-02 24:00:00", BAD),
        ("timestamp", "0001-01-01 00:00:00", moment(1, 1, 1)),
        ("timestamp", "9999-12-31 23:59:59.999999", moment(9999, 12, 31, 23, 59, 59, 999999)),
        ("timestamp", "9999-12-31 23:59:59-00:01", BAD), ("timestamp", "0001-01-01 00:00:00+00:01", BAD),
        ("timestamp", "2020-01-02 03:04:60", BAD), ("timestamp", "noon", BAD),
        ("timestamp_ntz", "2020-01-02 03:04:05", datetime(2020, 1, 2, 3, 4, 5)),
        ("timestamp_ntz", "2020-01-02T03:04Z", BAD),
        ("string", " x ", " x "), ("binary", "é", "é".encode()),
    ],
)  # fmt: skip
def test_a_text_becomes_its_value_or_is_refused(kind: str, text: str, expected: Any) -> None:
    column, bad = convert(pa.array([text, None], pa.string()), parse_ddl(f"x {kind}").types[0], Rules())
    value = column[0].as_py()
    assert value is None if expected is BAD else value == expected, value
    assert (bad is not None and bad.tolist() == [True, False]) == (expected is BAD)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10:20", time(10, 20)), (" 1:2:3\t", time(1, 2, 3)), ("24:00:00", BAD),
        ("23:59:59.999999", time(23, 59, 59, 999999)), ("1:2:3.0000019", time(1, 2, 3, 1)),
        ("T10", time(10)), ("10", BAD), (" T10", BAD), ("12:01 am", time(0, 1)),
        ("12:01PM ", time(12, 1)), ("13:00 PM", BAD), ("0:00 AM", BAD), ("1:60", BAD),
        ("1:2:3Z", BAD), ("1:2:3+01:00", BAD), ("2020-01-02 10:20", BAD), ("", BAD),
        ("1:2:3.", time(1, 2, 3)), ("1:2.5", BAD), ("1:2\u00a0", BAD), ("1:2 PM\t", BAD),
        ("1:2:3.5", time(1, 2, 3, 500000)), ("1:2:60", BAD),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["time", "time(0)"])  # whose digits are kept, as Spark keeps them
def test_a_text_becomes_a_time_of_day_or_is_refused(kind: str, text: str, expected: Any) -> None:
    texts, type_ = pa.array([text, None], pa.string()), parse_ddl(f"x {kind}").types[0]
    column, bad = convert(texts, type_, Rules())
    assert all_convert(texts, type_, Rules()) is (bad is None)
    assert column.to_pylist() == [None if expected is BAD else expected, None]
    assert (bad is not None and bad.tolist() == [True, False]) == (expected is BAD)


def test_names_of_numbers_count_where_they_look_like_numbers() -> None:
    column, bad = convert(pa.array(["-1", " -1", "0", "1"]), pa.float64(), Rules(nan_value="-1", negative_inf="0"))
    assert [math.isnan(value) for value in column.to_pylist()[:2]] == [True, True]
    assert (column.to_pylist()[2:], bad) == ([-math.inf, 1.0], None)


def test_decimals_close_to_the_limit_are_exact() -> None:
    nines = "9" * 38
    column, bad = convert(pa.array([nines, f"{nines}.4", f"{nines}.5"]), pa.decimal128(38, 0), Rules())
    assert column.to_pylist() == [Decimal(nines), Decimal(nines), None]
    assert bad is not None
    assert bad.tolist() == [False, False, True]


def test_not_a_number_is_written_as_the_options_say() -> None:
    rules = Rules(nan_value="-", positive_inf="+++", negative_inf="---")
    column, bad = convert(pa.array(["-", "+++", "---", "NaN", "x"]), pa.float64(), rules)
    assert [repr(value) for value in column.to_pylist()] == ["nan", "inf", "-inf", "nan", "None"]
    assert bad is not None
    assert bad.tolist() == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("dd/MM/yyyy", "31/01/2020", date(2020, 1, 31)), ("yyyyMMdd", "20200131", date(2020, 1, 31)),
        ("d MMM yyyy", "3 Feb 2021", date(2021, 2, 3)), ("dd/MM/yyyy", "2020-01-31", None),
        ("yyyy'%'MM", "2020%02", date(2020, 2, 1)),
    ],
)  # fmt: skip
def test_a_pattern_replaces_the_usual_forms(pattern: str, text: str, expected: date | None) -> None:
    column, _ = convert(pa.array([text]), pa.date32(), Rules(date_format=pattern))
    assert column.to_pylist() == [expected]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("HHmmss", "102030", time(10, 20, 30)), ("HHmmss", "240000", None), ("hh:mm a", "12:00 am", time(0)),
        ("HH:mm:ss", "1:2:3", None), ("H[:mm]", "1", time(1)), ("kk:mm", "24:10", time(0, 10)),
        ("yyyy-MM-dd HH:mm", "2020-01-02 10:20", time(10, 20)), ("HH:mm XXX", "10:20 +01:00", time(10, 20)),
        ("yyyy-MM-dd HH:mm", "1900-01-02 10:20", time(10, 20)), ("HH:mm VV", "10:20 Europe/Nowhere", None),
        ("HH:mm VV", "10:20 Europe/Berlin", time(10, 20)), ("SSS", "123", time(0, 0, 0, 123000)),
    ],
)  # fmt: skip
def test_a_pattern_says_how_times_of_day_are_written(pattern: str, text: str, expected: time | None) -> None:
    """Of a day and a zone beside them it does not matter which they are."""
    column, _ = convert(pa.array([text]), pa.time64("us"), Rules(time_format=pattern))
    assert column.to_pylist() == [expected]


def test_years_of_two_digits_belong_to_this_century() -> None:
    texts = pa.array(["29.02.00", "01.01.68", "01.01.69", "29.02.96", "31.12.99"])
    column, _ = convert(texts, pa.date32(), Rules(date_format="dd.MM.yy"))
    assert [value.year for value in column.to_pylist()] == [2000, 2068, 2069, 2096, 2099]
    assert (
        convert(pa.array(["01.01.1969 %y"]), pa.date32(), Rules(date_format="dd.MM.yyyy' %y'"))[0][0].as_py().year
        == 1969
    )


@pytest.mark.parametrize("kind", ["int", "long", "double", "decimal(5,2)", "date", "timestamp", "boolean"])
@pytest.mark.parametrize(
    "texts",
    [[], [None], ["1", None, "22"], ["+1", "3"], ["1", "x"], ["1.5", "NaN"], ["2020-01-31"], ["2020-01-31T10", None],
     ["true", "FALSE"], ["2020-02-30"], ["é"], ["1234567", "1"], ["-0.5", "1e400"]],
)  # fmt: skip
def test_a_look_that_builds_no_column_says_what_conversion_says(kind, texts):
    strings, type_ = pa.array(texts, pa.string()), parse_ddl(f"a {kind}").field("a").type
    assert all_convert(strings, type_, Rules()) is (convert(strings, type_, Rules())[1] is None)


def test_a_number_that_stands_for_none_is_not_plain_in_either():
    strings, rules = pa.array(["-999", "1"]), Rules(nan_value="-999")
    assert math.isnan(convert(strings, pa.float64(), rules)[0][0].as_py())
    assert all_convert(strings, pa.float64(), rules)


@pytest.mark.parametrize(
    ("locale", "kind", "text", "expected"),
    [
        ("de", "decimal(9,2)", "1.234,56", Decimal("1234.56")), ("de", "decimal(9,2)", "-1.234", Decimal(-1234)),
        ("de", "decimal(9,2)", "1.5", BAD), ("de", "decimal(9,2)", "1,5", Decimal("1.5")),
        ("de", "decimal(9,2)", "12", Decimal(12)), ("de", "double", "1.5", 1.5), ("de", "double", "1,5", BAD),
        ("hi", "decimal(9,2)", "12,34,567.5", Decimal("1234567.5")), ("hi", "decimal(9,2)", "1,2,3", BAD),
        ("fr", "decimal(9,2)", "1\u202f234,5", Decimal("1234.5")),
        ("ar-EG", "decimal(9,2)", "\u0661\u0662\u066b\u0665", Decimal("12.5")),
        ("de-AT", "date", "1. JÄNNER 2020", date(2020, 1, 1)), ("de", "date", "1. Jänner 2020", BAD),
        ("tr", "date", "1. MAYIS 2020", date(2020, 5, 1)), ("ru", "date", "1. Мая 2020", date(2020, 5, 1)),
        ("zh", "date", "1. 十二月 2020", date(2020, 12, 1)), ("zh", "date", "1. 十三月 2020", BAD),
    ],
)  # fmt: skip
def test_a_locale_says_how_decimals_and_names_are_written(locale: str, kind: str, text: str, expected: Any) -> None:
    rules = Rules(date_format="d. MMMM yyyy", locale=locale)
    column, bad = convert(pa.array([text], pa.string()), parse_ddl(f"x {kind}").types[0], rules)
    assert column[0].as_py() == (None if expected is BAD else expected)
    assert (bad is not None) == (expected is BAD)


def test_digits_that_would_be_lost_are_looked_for_in_the_symbols_of_the_locale() -> None:
    rules = Rules(exact_numbers=True, locale="de")
    column, _ = convert(pa.array(["1,25", "1,255", "1.234,5", "01,5"]), pa.decimal128(9, 2), rules)
    assert column.to_pylist() == [Decimal("1.25"), None, None, None]
