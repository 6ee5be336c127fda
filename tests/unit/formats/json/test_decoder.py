"""JSON records to columns: both engines give the values that Spark gives, or say why not."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf, isnan
from typing import Any

import numpy as np
import pytest

from splitscan.formats.decoding.contract import Decoded
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.formats.json.lines import json_lines
from splitscan.formats.json.text import JsonDialect, JsonKind, NotJsonError, parse_json


def decoder(ddl: str, encoding: str = "UTF-8", **settings: Any) -> JsonDecoder:
    rules = Rules(**{name: settings.pop(name) for name in list(settings) if name in Rules.__dataclass_fields__})
    return JsonDecoder(resolve_encoding(encoding), tuple(parse_ddl(ddl)), JsonDialect(**settings), rules)


def decode(lines: list[str] | bytes, ddl: str, encoding: str = "UTF-8", **settings: Any) -> Decoded:
    """Decode lines."""
    codec = resolve_encoding(encoding).codec
    data = memoryview(lines if isinstance(lines, bytes) else "\n".join(lines).encode(codec))
    frames = json_lines(None, encoding).frame(data, at_end=True)
    chosen = decoder(ddl, encoding, **settings)
    found = chosen.decode(data, frames)
    assert [column.type for column in found.columns] == [field.type for field in chosen.fields]
    for column in found.columns:
        column.validate(full=True)
    return found


def values(texts: list[str], kind: str, **settings: Any) -> list[Any]:
    """What a column ``a`` of that type makes of values; "bad" where it is reported."""
    decoded = decode([f'{{"a":{text}}}' for text in texts], f"a {kind}", **settings)
    bad = {fault.record: fault.code for fault in decoded.faults}
    return [bad.get(i) or value for i, value in enumerate(decoded.columns[0].to_pylist())]


BAD = "bad-value"
NUMBERS = ["1", '"1"', "1.5", "true", "null", '{"x":1}', "[1]", "99999999999", "1.0", "1e2", "-0", '""']


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("int", NUMBERS, [1, BAD, BAD, BAD, None, BAD, BAD, BAD, BAD, BAD, 0, BAD]),
        ("bigint", NUMBERS, [1, BAD, BAD, BAD, None, BAD, BAD, 99999999999, BAD, BAD, 0, BAD]),
        ("tinyint", ["127", "-128", "128"], [127, -128, BAD]),
        ("boolean", ["true", "false", '"true"', "1", "null"], [True, False, BAD, BAD, None]),
        ("double", ["1", "1.5", "-1e-400", "1e400", '"1.5"', "true", '""'], [1.0, 1.5, -0.0, inf, BAD, BAD, BAD]),
        ("double", ["Infinity", "-Infinity", '"Infinity"', '"-INF"', '"INF"'], [inf, -inf, inf, -inf, BAD]),
        ("float", ["1e39", "16777217", "0.1"], [inf, 16777216.0, float(np.float32("0.1"))]),
        (
            "decimal(10,2)",
            ['"1"', "1", "1.555", "1.545", '"1.565"', "12345678901", "1e2", "true", '""'],
            [Decimal(t) for t in ("1.00", "1.00", "1.56", "1.55", "1.57")] + [BAD, Decimal("100.00"), BAD, BAD],
        ),
        ("binary", ['"aGVsbG8="', '"aGVsbA=="', '"!!"', "1", '""'], [b"hello", b"hell", BAD, BAD, b""]),
        ("date", ['"2020-01-02"', '"2020-1-2"', "18000", '"2020"', '"x"'],
         [date(2020, 1, 2), date(2020, 1, 2), BAD, date(2020, 1, 1), BAD]),
        (
            "timestamp",
            ['"2020-01-02T03:04:05Z"', '"2020-01-02T03:04:05.1+01:00"', '"2020-01-02 03:04"',
             "1577934245", "1.5", '""'],
            [
                datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
                datetime(2020, 1, 2, 2, 4, 5, 100_000, tzinfo=UTC),
                datetime(2020, 1, 2, 3, 4, tzinfo=UTC),
                datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC),
                BAD,
                BAD,
            ],
        ),
        ("timestamp", ["-62135596800", "-62135596801", "253402300799", "253402300800"],
         [datetime(1, 1, 1, tzinfo=UTC), BAD, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), BAD]),
        ("timestamp", ['"2020-01-02T03:04:05Z"', '"0000-01-01T00:00:00Z"', '"2020-02-30T00:00:00Z"'],
         [datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), BAD, BAD]),
        ("timestamp_ntz", ['"2020-01-02T03:04:05"', '"2020-01-02T03:04:05Z"', "1577934245"],
         [datetime(2020, 1, 2, 3, 4, 5), BAD, BAD]),
        (
            "string",
            ['"é"', "1.50", "true", "null", '{"x": 1,"y":[1, 2]}', "[1 ,2]", "1E5",
             r'"A\n\u0041\/"', r'{"x":"\u0041"}'],
            ["é", "1.50", "true", None, '{"x": 1,"y":[1, 2]}', "[1 ,2]", "1E5", "A\nA/", r'{"x":"\u0041"}'],
        ),
        ("string", [r'"\ud83d\ude00"', r'"\ud800"', r'"\ud800\ud83d\ude00\udc00"'], ["😀", "�", "�😀�"]),
        ("struct<x:int,y:string>", ['{"x":1,"y":"s"}', "{}", "[]", "5", '{"z":1}', "null"],
         [{"x": 1, "y": "s"}, {"x": None, "y": None}, BAD, BAD, {"x": None, "y": None}, None]),
        ("array<int>", ["[1,2,null]", "[]", "{}", "5", '[1,"x"]'], [[1, 2, None], [], BAD, BAD, BAD]),
        ("map<string,int>", ['{"k":1,"l":null}', "{}", '{"k":1,"k":2}', "[]", '{"k":"bad"}'],
         [[("k", 1), ("l", None)], [], [("k", 2)], BAD, BAD]),
        ("array<struct<at:timestamp,n:array<date>>>",
         ['[{"at":"2020-01-02T00:00:00Z","n":["2020-01-01",null]},null,{}]', "[]", "null"],
         [[{"at": datetime(2020, 1, 2, tzinfo=UTC), "n": [date(2020, 1, 1), None]}, None, {"at": None, "n": None}],
          [], None]),
    ],
)  # fmt: skip
def test_values_are_what_spark_makes_of_them(kind: str, texts: list[str], expected: list[Any]) -> None:
    assert values(texts, kind) == expected
    assert [values([text], kind)[0] for text in texts] == expected


def test_of_a_struct_only_the_field_that_does_not_convert_is_null() -> None:
    decoded = decode(['{"a":{"x":"bad","y":"s"}}', '{"a":{"x":1}}'], "a struct<x:int,y:string>")
    assert decoded.columns[0].to_pylist() == [{"x": None, "y": "s"}, {"x": 1, "y": None}]
    assert [(fault.record, fault.code, fault.structural) for fault in decoded.faults] == [(0, BAD, False)]
    assert decoded.faults[0].reason == "column 'x': '\"bad\"' is no int"


def test_of_a_name_that_comes_twice_the_last_counts() -> None:
    assert decode(['{"a":1,"a":2}', '{"b":1,"b":1,"a":3}'], "a int").columns[0].to_pylist() == [2, 3]


def test_names_are_told_apart_by_case_and_missing_ones_are_null() -> None:
    lines = ['{"A":1}', "{}", '{"a":3,"A":4}']
    assert decode(lines, "a int").columns[0].to_pylist() == [None, None, 3]
    assert decode(lines, "A int").columns[0].to_pylist() == [1, None, 4]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("5", "not-an-object"),
        ('"x"', "not-an-object"),
        ("null", "not-an-object"),
        ("[]", "not-an-object"),
        ('[{"a":1}]', "not-an-object"),
        ('{"a":2}x', "bad-json"),
        ('{"a":3}{"a":4}', "bad-json"),
        ('{"a":6', "bad-json"),
        ("{a:1}", "bad-json"),
        ('{"a":01}', "bad-json"),
        ('{"a":1.}', "bad-json"),
        ('{"a":.5}', "bad-json"),
        ('{"a":+1}', "bad-json"),
        ('{"a":/**/1}', "bad-json"),
        (r'{"a":"\q"}', "bad-json"),
        (r'{"a":"\u12"}', "bad-json"),
        ('{"a":"x\ty"}', "bad-json"),
        ('{"b":"x\ty"}', "bad-json"),
        ('{"b":tru}', "bad-json"),
        ('{"b":truex}', "bad-json"),
        ('{"a":1,}', "bad-json"),
        ('{"a" 1}', "bad-json"),
        ("[1,]", "bad-json"),
        ('{"a":[1}', "bad-json"),
        ('{"a":"\\', "bad-json"),
        ("{", "bad-json"),
        ("\ufeff{}", "bad-json"),
        ("\x00{}", "bad-json"),
    ],
)
def test_what_is_no_object_is_structurally_broken_whatever_columns_are_read(text: str, code: str) -> None:
    for ddl in ("a int", "b string, a array<int>", "c map<string,int>"):
        decoded = decode(['{"a":1}', text, '{"a":1}'], ddl)
        assert [(fault.record, fault.code, fault.structural) for fault in decoded.faults if fault.record == 1] == [
            (1, code, True)
        ]
        assert [column[1].as_py() for column in decoded.columns] == [None] * len(decoded.columns)
    nothing = JsonDecoder(resolve_encoding("UTF-8"), ())
    data = memoryview(f'{{"a":1}}\n{text}\n{{}}'.encode())
    found = nothing.decode(data, json_lines(None, "UTF-8").frame(data, at_end=True))
    assert (found.columns, found.rows, [fault.record for fault in found.faults]) == ([], 3, [1])


def test_lines_that_are_objects_only_together_are_broken_each() -> None:
    decoded = decode(['{"a":', "1}", '{"a":2}{"a":3}', '{"a":4}'], "a int")
    assert decoded.columns[0].to_pylist() == [None, None, None, 4]
    assert [fault.record for fault in decoded.faults] == [0, 1, 2]
    joined = decode(['{"a":{}', '{"b":1}}', '{"a":"}', '{"}'], "b int")
    assert [fault.record for fault in joined.faults] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("setting", "text", "expected"),
    [
        ("allow_unquoted_field_names", "{a: 1}", 1),
        ("allow_numeric_leading_zeros", '{"a": 007}', 7),
        ("allow_backslash_escaping_any_character", r'{"\a": 1}', 1),
        ("allow_unquoted_control_chars", '{"b": "\t", "a": 1}', 1),
        ("allow_single_quotes", "{'a': 1, \"b\": 'it\\'s'}", 1),
    ],
)
def test_leniencies_are_given_by_name(setting: str, text: str, expected: int) -> None:
    assert decode([text], "a int", **{setting: True}).columns[0].to_pylist() == [expected]
    assert [fault.code for fault in decode([text], "a int", **{setting: False}).faults] == ["bad-json"]


def test_without_non_numeric_numbers_they_are_no_json() -> None:
    assert [
        f.code for f in decode(['{"a":NaN}', '{"a":"NaN"}'], "a double", allow_non_numeric_numbers=False).faults
    ] == [
        "bad-json",
        "bad-value",
    ]
    assert all(isnan(value) for value in values(["NaN", '"NaN"', "-NaN"], "double"))


def test_patterns_say_how_times_are_written() -> None:
    settings = {"date_format": "dd/MM/yyyy", "timestamp_format": "dd.MM.yyyy HH:mm", "time_zone": "+02:00"}
    assert values(['"31/12/2020"', '"2020-12-31"'], "date", **settings) == [date(2020, 12, 31), BAD]
    assert values(['"10.20"', '"10:20"'], "time", time_format="HH.mm") == [time(10, 20), BAD]
    assert values(['"31.12.2020 10:00"'], "timestamp", **settings) == [datetime(2020, 12, 31, 8, tzinfo=UTC)]


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    decoded = decode(b'{"a":"\xff\xc3x"}\n{"a":"ok"}', "a string")
    assert decoded.columns[0].to_pylist() == ["��x", "ok"]
    assert decode(['{"a":"é☃"}', "{}"], "a string", encoding="UTF-16LE").columns[0].to_pylist() == ["é☃", None]
    assert decode(['{"a":"é"}'], "a string", encoding="ISO-8859-1").columns[0].to_pylist() == ["é"]


def test_one_bad_record_among_many_costs_only_itself() -> None:
    lines = [f'{{"a":{i}}}' for i in range(1000)]
    lines[777] = '{"a":"x"}'
    decoded = decode(lines, "a int")
    assert decoded.columns[0].to_pylist() == [None if i == 777 else i for i in range(1000)]
    assert [fault.record for fault in decoded.faults] == [777]


def test_records_far_apart_are_read_without_what_is_between_them() -> None:
    text = b'x[{"a":1} garbage,{"a":2}\x1e\x1e{\n"a"\n:3}{"a":4}'
    starts = [i for i in range(len(text)) if text[i : i + 1] == b"{"]
    stops = [i + 1 for i in range(len(text)) if text[i : i + 1] == b"}"]
    frames = Frames(np.array(starts), np.array(stops), len(text))
    assert decoder("a int").decode(memoryview(text), frames).columns[0].to_pylist() == [1, 2, 3, 4]


@pytest.mark.parametrize("before", [b"", b"x", b"\n" * 1000])
def test_records_in_the_middle_of_a_buffer_are_read_where_they_are(before: bytes) -> None:
    data = memoryview(before + b'{"a":1}\n{"a":22}\n')[len(before) :]
    frames = json_lines(None, "UTF-8").frame(data, at_end=True)
    found = decoder("a int").decode(data, frames)
    assert found.columns[0].to_pylist() == [1, 22]


def test_no_record_is_no_row() -> None:
    empty = np.empty(0, dtype=np.int64)
    assert decoder("a int").decode(memoryview(b""), Frames(empty, empty, 0)).rows == 0


def test_nesting_of_any_depth_is_read() -> None:
    deep = "[" * 5000 + "]" * 5000
    assert decode([f'{{"a":{deep}}}'], "a string").columns[0].to_pylist() == [deep]


def test_a_value_knows_where_it_stands() -> None:
    text = ' {"a" : [1.50, "x"], "b":{}} '
    record = parse_json(text, JsonDialect())
    inner = dict(record.value)
    assert (record.kind, text[record.start : record.stop]) == (JsonKind.OBJECT, text.strip())
    assert [text[item.start : item.stop] for item in inner["a"].value] == ["1.50", '"x"']
    assert inner["b"].value == []


def test_what_is_wrong_is_said_with_its_place() -> None:
    with pytest.raises(NotJsonError, match=r"no colon follows the name \(character 5\)"):
        parse_json('{"a" 1}', JsonDialect())
