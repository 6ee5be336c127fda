"""Which records leave Arrow's road: only the odd ones, and of many odd ones only the odd columns; all read the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from splitscan.decoding.conversions import Rules
from splitscan.decoding.json import JsonDecoder
from splitscan.decoding.json_arrow import ArrowReader, RefusedError
from splitscan.decoding.json_records import RecordReader
from splitscan.decoding.json_text import JsonDialect
from splitscan.framing.contract import counted_frames
from splitscan.framing.encodings import UTF_8
from splitscan.framing.frames import Frames
from splitscan.framing.json import JsonFormat, JsonLinesFormat, Shape, json_lines
from splitscan.scan import parse_ddl

RECORDS = 1500
Line = Callable[[int], str]


class Counted:
    """How much work which road had."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.values = 0
        read_many, read_some = ArrowReader.read, RecordReader.read

        def count_calls(reader, *args):
            self.calls += 1
            return read_many(reader, *args)

        def count_values(reader, texts, fields):
            listed = list(texts)
            self.values += len(listed) * len(fields)
            return read_some(reader, listed, fields)

        monkeypatch.setattr(ArrowReader, "read", count_calls)
        monkeypatch.setattr(RecordReader, "read", count_values)


@pytest.fixture
def counted(monkeypatch):
    return Counted(monkeypatch)


def decode(line: Line, ddl: str, records: int = RECORDS, **leniencies: bool):
    """Decode generated lines, and make sure that the exact parser reads the same."""
    data = memoryview("\n".join(map(line, range(records))).encode())
    frames = json_lines(None, "UTF-8").frame(data, at_end=True)
    decoder = JsonDecoder(UTF_8, tuple(parse_ddl(ddl)) if ddl else (), JsonDialect(**leniencies))
    found, exact = decoder.decode(data, frames), decoder.decode_exactly(data, frames)
    assert found.rows == exact.rows == records
    assert found.faults == exact.faults
    for one, other in zip(found.columns, exact.columns, strict=True):
        one.validate(full=True)
        assert repr(one.to_pylist()) == repr(other.to_pylist())
    return found


@pytest.mark.parametrize("ddl", ["a long, b string", "b string", ""])
def test_counted_records_are_handed_to_arrow_as_they_lie_there(counted, ddl):
    fields = tuple(parse_ddl(ddl)) if ddl else ()
    objects = [b'{"a": %d,\n "b": "\\\\ {", "c": [{}]}' % number for number in range(RECORDS)]
    for format, divider in (
        (json_lines(None, "UTF-8"), b"\n"),
        (JsonFormat(shape=Shape.VALUES), b"\n"),
        (JsonFormat(shape=Shape.ARRAY), b" ,\n"),
    ):
        is_lines = isinstance(format, JsonLinesFormat)
        data = b"".join((one.replace(b"\n", b"") if is_lines else one) + divider for one in objects)
        if is_lines:
            assert format.count_regular(data) == (RECORDS, len(data))
        frames = counted_frames(format, data, RECORDS)
        decoder = JsonDecoder(UTF_8, fields, is_array=divider == b" ,\n")
        found = decoder.decode(memoryview(data), frames)
        assert counted.calls == counted.values == 0
        exact = decoder.decode_exactly(memoryview(data), frames)
        assert [column.to_pylist() for column in found.columns] == [column.to_pylist() for column in exact.columns]


@pytest.mark.parametrize(
    ("elements", "count"),
    [('{"a": 1}, null', 2), ('{"a": 1} {"a": 2}', 2), ('{"a": 1}', 2), ("", 1), ('{"a": 1}' + " " * 5000, 1)],
)
def test_what_is_no_array_of_so_many_objects_is_not_counted(elements, count):
    with pytest.raises(RefusedError):
        ArrowReader(Rules()).read_counted(
            memoryview(elements.encode()), count, tuple(parse_ddl("a int")), is_array=True
        )


def test_an_object_over_two_lines_does_not_make_up_for_two_in_one_line():
    lines = b'{"a": {"b": 1}\n,"b": 2}\n{"b": 3}{"b": 4}\n'
    assert json_lines(None, "UTF-8").count_regular(lines) is None
    assert len(ArrowReader(Rules()).read_counted(memoryview(lines), 3, tuple(parse_ddl("b int")), is_array=False)[0])


def rarely(odd: str, usual: str) -> Line:
    return lambda number: odd if number % 700 == 5 else usual


@pytest.mark.parametrize(
    ("ddl", "odd", "usual"),
    [
        ("a long", '{"a":"1"}', '{"a":1}'),
        ("a long", '{"a":1', '{"a":1}'),
        ("a long", '{"a":1,"a":2}', '{"a":1}'),
        ("a long", "5", ' {"a":1} '),
        ("a long", "{'a':1}", '{"a":1}'),
        ("a string", '{"a":"\\ud800"}', '{"a":"x"}'),
        ("a string", '{"a":[1, 2]}', '{"a":"x"}'),
        ("a struct<b: long>", '{"a":{"b":"x"}}', '{"a":{"b":1}}'),
        ("a date", '{"a":"x"}', '{"a":"2024-01-02"}'),
        ("a double", '{"a":1e400}', '{"a":1.5}'),
        ("", '{"a":tru}', '{"a":true}'),
    ],
)
def test_of_rare_odd_records_no_other_leaves_the_fast_road(counted, ddl, odd, usual):
    decode(rarely(odd, usual), ddl)
    assert counted.values == (3 if ddl else 0)
    assert counted.calls < 60


def test_values_that_only_the_conversion_refuses_are_found_by_halving(counted):
    decode(rarely('{"a":1.5}', '{"a":1}'), "a long")
    assert counted.values <= 3 * 16
    assert counted.calls < 150


@pytest.mark.parametrize(
    ("ddl", "line"),
    [
        ("a string, b long", lambda number: f'{{"a":{number}.50,"b":{number}}}'),
        ("b long, a string", lambda number: f'{{"a":{number if number % 9 else "true"},"b":{number}}}'),
        ("b long, a timestamp", lambda number: f'{{"a":{number},"b":{number}}}'),
        ("a decimal(9,2), b long", lambda number: f'{{"a":{number}.125,"b":{number}}}'),
        ("a double, b long", lambda number: f'{{"a":"NaN","b":{number}}}'),
        ("a int, b long", lambda number: f'{{"a":9{number}00000000,"b":{number}}}'),
    ],
)
def test_where_a_column_is_often_odd_the_others_stay_on_the_fast_road(counted, ddl, line):
    found = decode(line, ddl)
    assert found.columns["ab".index("b") if ddl.startswith("a") else 0].to_pylist() == list(range(RECORDS))
    assert RECORDS * 0.9 < counted.values < RECORDS * 1.2
    assert counted.calls < 300


def test_types_that_arrow_does_not_read_take_no_other_column_with_them(counted):
    decode(lambda number: f'{{"m":{{"k":{number}}},"b":"aGk=","n":{number}}}', "m map<string,int>, n int, b binary")
    assert (counted.values, counted.calls) == (2 * RECORDS, 1)
    decode(lambda number: f'{{"m":{{"k":{number}}}}}', "m map<string,int>")
    assert counted.calls == 1  # nothing is left to ask for


@pytest.mark.parametrize("ddl", ["a long, b string", "a long", ""])
@pytest.mark.parametrize("text", ["{'a':1}", '{"a":1]', "[]", '{"a":1}{"a":2}'])
def test_where_hardly_a_record_is_whole_arrow_is_asked_no_more(counted, ddl, text):
    decode(lambda number: text if number % 10 else '{"a":1,"b":"x"}', ddl)
    assert counted.calls < 200


def test_columns_become_odd_one_after_the_other(counted):
    def line(number: int) -> str:
        first = '"x"' if number < RECORDS // 3 else number
        return f'{{"a":{first},"b":{number if number < 2 * RECORDS // 3 else "true"},"c":{number}}}'

    decode(line, "a string, b long, c long")
    assert counted.values < 2 * 2 * RECORDS // 3 + 500
    assert counted.calls < 300


@pytest.mark.parametrize(
    ("written", "is_exact"),
    [
        (r"\ud83d\ude00", False),
        (r"\\\uD83D\uDE00\n\u00e9", False),
        (r"\\ud83d", False),
        (r"\ud7ff", False),
        (r"\ud83d", True),
        (r"\ude00", True),
        (r"\\ud83d\ude00", True),
        (r"\ud83d\ude00\ude00", True),
        (r"\ud83d\n\ude00", True),
    ],
)
def test_only_halves_of_characters_need_the_exact_parser(monkeypatch, written, is_exact):
    seen = []
    read = RecordReader.read_exactly
    monkeypatch.setattr(RecordReader, "read_exactly", lambda *args: seen.append(args) or read(*args))
    reader = RecordReader(JsonDialect(), Rules())
    columns, faults = reader.read([(0, f'{{"a":"{written}"}}')], tuple(parse_ddl("a string")))
    row, _ = read(reader, 0, f'{{"a":"{written}"}}', tuple(parse_ddl("a string")))
    assert (columns[0].to_pylist(), faults, bool(seen)) == (row, [], is_exact)


@pytest.mark.parametrize(
    ("kind", "written", "is_exact"),
    [
        ("int", "99999999999", False),
        ("int", '"x"', False),
        ("int", '"' + "x" * 100 + '"', False),
        ("int", "true", False),
        ("boolean", "1", False),
        ("array<int>", '[1,"x"]', False),
        ("struct<b: int, c: struct<d: int>>", '{"b":"x","c":{"d":1.5}}', False),
        ("array<struct<b: int>>", '[{"b":"x"},3]', False),
        ("map<string, int>", "5", False),
        ("date", "18000", False),
        ("int", '"x\\n"', True),
        ("int", "[ 1 ]", True),
        ("struct<b: int>", "[]", True),
    ],
)
def test_values_that_do_not_convert_need_the_exact_parser_only_for_how_they_are_written(
    monkeypatch, kind, written, is_exact
):
    seen = []
    read = RecordReader.read_exactly
    monkeypatch.setattr(RecordReader, "read_exactly", lambda *args: seen.append(args) or read(*args))
    reader, fields, text = RecordReader(JsonDialect(), Rules()), tuple(parse_ddl(f"a {kind}")), f'{{"a":{written}}}'
    columns, faults = reader.read([(7, text)], fields)
    assert bool(seen) == is_exact
    row, fault = read(reader, 7, text, fields)
    assert (columns[0].to_pylist(), faults) == (row, [fault])


def test_faults_stay_in_the_order_of_records_on_mixed_roads():
    def line(number: int) -> str:
        return ('{"a":"x","b":1}', '{"a":1', '{"a":1,"b":"y"}', '{"a":1,"b":1}')[number % 97 % 4 if number < 600 else 3]

    found = decode(line, "a long, b long")
    assert [fault.record for fault in found.faults] == sorted(fault.record for fault in found.faults)


def test_nothing_that_is_lenient_is_asked_of_arrow(counted):
    found = decode(lambda _: '{"a":NaN}', "a double", allow_non_numeric_numbers=False)
    assert (counted.calls, len(found.faults)) == (0, RECORDS)


def test_damaged_stretches_are_not_asked_of_arrow(counted):
    data = memoryview(b'{"a":1}\n{"a":2}')
    starts, stops = np.array([0, 8]), np.array([7, 15])
    decoder = JsonDecoder(UTF_8, tuple(parse_ddl("a int")))
    assert decoder.decode(data, Frames(starts, stops, 15, regular=False)).columns[0].to_pylist() == [1, 2]
    assert (counted.calls, counted.values) == (0, 2)
