"""Patterns in Spark's letters: a text matches exactly, or not at all."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from splitscan.errors import UsageError
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.decoding.patterns import DateTimePattern


def offset(hours: float) -> timezone:
    return timezone(timedelta(hours=hours))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyyMMdd", "20110901", datetime(2011, 9, 1)), ("yyyyMMdd", "2011091", None),
        ("yyyyMMddHHmmss", "20151004162504", datetime(2015, 10, 4, 16, 25, 4)),
        ("yyyyMMddHHmmss", "201510416254", None), ("yMMdd", "9870102", datetime(987, 1, 2)),
        ("dd/MM/yyyy", "8/08/2055", None), ("d/M/yy", "8/12/69", datetime(2069, 12, 8)), ("d/M/yy", "8/12/1969", None),
        ("d/M/y", "08/012/1969", datetime(1969, 12, 8)), ("dM", "112", None), ("yyyy-MM-dd", "12020-01-01", None),
        ("yyyy-MM-dd", "0000-01-01", None), ("yyyy-MM-dd", "2021-02-29", None),
        ("uuuu-LL", "2020-03", datetime(2020, 3, 1)),
        ("yyyy-MM-dd", " 2020-01-01", None), ("y", "9999999999999999999", None), ("yyyy-MM-dd", "٢٠٢٠-01-01", None),
        ("MMM d, yyyy", "aug 1, 2038", datetime(2038, 8, 1)), ("MMM d, yyyy", "Aug 1,  2038", None),
        ("MMM d, yyyy", "August 1, 2038", None), ("d MMMM yyyy", "1 MAY 2020", datetime(2020, 5, 1)),
        ("yyyy-DDD", "2020-060", datetime(2020, 2, 29)), ("yyyy-DDD", "2021-366", None),
        ("yyyy-D", "2021-1", datetime(2021, 1, 1)),
        ("yyyy-MM DDD", "2020-02 060", datetime(2020, 2, 29)), ("EEE d/M/yyyy", "sat 22/2/2020", datetime(2020, 2, 22)),
        ("EEE d/M/yyyy", "sun 22/2/2020", None), ("EEEE d/M/yyyy", "Saturday 22/2/2020", datetime(2020, 2, 22)),
        ("HH:mm", "04:54", datetime(1970, 1, 1, 4, 54)), ("HH:mm", "24:00", None), ("HH:mm:ss", "10:00:60", None),
        ("kk:mm", "24:30", datetime(1970, 1, 1, 0, 30)), ("kk:mm", "00:30", None),
        ("h:mm a", "12:05 am", datetime(1970, 1, 1, 0, 5)), ("h:mm a", "12:05 PM", datetime(1970, 1, 1, 12, 5)),
        ("h:mm a", "13:05 PM", None), ("h:mm a", "0:05 PM", None), ("K:mm a", "0:05 PM", datetime(1970, 1, 1, 12, 5)),
        ("h:mm", "12:05", datetime(1970, 1, 1, 0, 5)),
        ("HH:mm a", "13:05 PM", datetime(1970, 1, 1, 13, 5)), ("HH:mm a", "13:05 AM", None),
        ("yyyy-MM-dd HH:mm:ss[.SSS]", "2045-03-25 19:22:49", datetime(2045, 3, 25, 19, 22, 49)),
        ("yyyy-MM-dd HH:mm:ss[.SSS]", "2045-03-25 19:22:49.5", datetime(2045, 3, 25, 19, 22, 49, 500000)),
        ("yyyy-MM-dd HH:mm:ss[.SSS]", "2045-03-25 19:22:49.1234", None),
        ("ss.SSSSSSSSS", "07.123456789", datetime(1970, 1, 1, 0, 0, 7, 123456)), ("ss.S", "07.", None),
        ("yyyy[-MM[-dd]]", "2020-07", datetime(2020, 7, 1)), ("yyyy[-MM[-dd]]", "2020-07-", None),
        ("[HH]mm", "07", None), ("yyyy'T'HH", "2020t05", datetime(2020, 1, 1, 5)),
        ("yyyy''MM'o''c'", "2020'03O'C", datetime(2020, 3, 1)),
        ("yyyy.MM", "2020x03", None), ("HHX", "10z", datetime(1970, 1, 1, 10, tzinfo=UTC)),
        ("HHX", "10+0530", datetime(1970, 1, 1, 10, tzinfo=offset(5.5))), ("HHX", "10+05:30", None),
        ("HHXXX", "10-05:30", datetime(1970, 1, 1, 10, tzinfo=offset(-5.5))), ("HHXXX", "10-0530", None),
        ("HHxx", "10Z", None), ("HHxx", "10+1900", None),
        ("HHZ", "10+0100", datetime(1970, 1, 1, 10, tzinfo=offset(1))),
        ("HHZ", "10Z", None), ("HH[XXX][XX]", "10+0100", datetime(1970, 1, 1, 10, tzinfo=offset(1))),
        ("HH VV", "10 PST", None), ("HH VV", "10 ../x", None), ("HH VV", "10 Nowhere/Land", None),
    ],
)  # fmt: skip
def test_a_text_matches_a_pattern_exactly(pattern: str, text: str, expected: datetime | None) -> None:
    found = DateTimePattern(pattern).parse(text)
    assert found == expected
    assert found is None or expected is None or found.utcoffset() == expected.utcoffset()


@pytest.mark.parametrize(
    ("pattern", "text", "micros"),
    [
        ("yyyy-MM-dd HH VV", "2020-07-01 12 Europe/Berlin", 1593597600),
        ("yyyy-MM-dd HH z", "2020-07-01 12 PST", 1593630000),
        ("yyyy-MM-dd HH z", "2020-01-01 12 EDT", 1577898000), ("yyyy-MM-dd HH", "2020-01-01 12", 1577876400),
        (None, "2020-01-01 12:00:00 America/New_York", 1577898000), (None, "2020-01-01 12:00GMT+1", 1577876400),
        (None, "2020-01-01 7", 1577858400), (None, "2020-01-01 07:00 Nowhere/Land", None),
        (None, "2020-01 07:00", None),
        (None, "2020-01-01T7+01", None), (None, "2020-01-01 12:00:00+19:00", None), (None, "07:00", None),
    ],
)  # fmt: skip
def test_zones_are_those_of_the_text_or_else_of_the_rules(pattern: str | None, text: str, micros: int | None) -> None:
    rules = Rules(timestamp_format=pattern, time_zone="Europe/Berlin")
    column, _ = convert(pa.array([text]), pa.timestamp("us", "UTC"), rules)
    assert column.cast(pa.int64()).to_pylist() == [None if micros is None else micros * 1_000_000]


@pytest.mark.parametrize(("text", "value"), [("2020-01-01+01:00", None), ("2020-01-01", datetime(2020, 1, 1))])
def test_a_time_without_zone_names_none(text: str, value: Any) -> None:
    column, _ = convert(pa.array([text]), pa.timestamp("us"), Rules(timestamp_ntz_format="yyyy-MM-dd[XXX]"))
    assert column.to_pylist() == [value]


def test_the_rest_of_a_time_does_not_change_a_date() -> None:
    column, _ = convert(
        pa.array(["31.12.2020 23:59 PM-05:00"]), pa.date32(), Rules(date_format="dd.MM.yyyy[ HH:mm aXXX]")
    )
    assert column.to_pylist() == [date(2020, 12, 31)]


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("yyyy-QQ", "QQ"),
        ("yyyyy", "yyyyy"),
        ("dd'T", "'T"),
        ("yyyy[-MM", "[-MM"),
        ("yyyy]-MM", "]-MM"),
        ("{yyyy}", "{yyyy}"),
    ],
)
def test_a_pattern_that_has_no_meaning_is_refused_by_its_place(pattern: str, place: str) -> None:
    with pytest.raises(UsageError, match="pattern uses letters that are not supported") as caught:
        DateTimePattern(pattern)
    assert f"at {place!r}" in str(caught.value)
