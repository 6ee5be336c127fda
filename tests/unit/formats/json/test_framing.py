"""JSON records: what one is, in every layout, and what damage costs."""

from __future__ import annotations

import json
import pickle

import pytest

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import (
    Need,
    RecordFormat,
    Splittability,
    has,
)
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.lines import JsonLinesFormat, json_lines
from splitscan.formats.json.reference import JsonReferenceFraming, JsonShape, state_of
from splitscan.testing import laws
from splitscan.testing.memory_reader import UNFINISHED, read_range

DIFFICULT = (
    '[{"a": "}"},\n {"a": "\\""}, {"a": {"b": ["]", {"c": "\\\\"}]}}\n]\n',
    '\ufeff\n [\n  {\n    "a": [1, {"b": "{"}],\n    "c": "\\\\\\""\n  },\n  {}\n]',
    '{"a":1}{"a":2} {"a":3}\n\n{"a":{"b":{}}},\x1e{"é":"☃"}',
    '{\n"a":\n{\n"b":[\n{\n"c":"}{"\n}\n]\n}\n}\n{\n}\n',
    '[1, "x,]", {"a":1}, null, [2, [3]], true]',
    '{"a": "b\n{"a": 1}\n{"a": [1, 2\n{"a": 2}}\n]{"a": 3}',
    '{"a":1} x "y, z" , w\n{"a":2',
    "[",
    "[]",
    "",
    "  \n",
    "\ufeff",
    '"\\\\\\"{',
    '\\"{}\\\\"}{"',
)
LINES = ('{"a":1}\n\n \t\n{"a":2}\r\n\r \r{"a":3}', " \n", "\ufeff\n{}\n", "{}\n\x1c\n \n []\n  x")


def records(text: str, format: RecordFormat | None = None) -> list[str]:
    data = text.encode()
    return [record.content.decode() for record in read_range(format or JsonFormat(), data, 0, len(data))]


@pytest.mark.slow
@pytest.mark.parametrize("text", DIFFICULT)
def test_all_laws_hold_for_difficult_files(text: str) -> None:
    laws.check_format_laws(JsonFormat(), text.encode()[:64])
    laws.check_fast_path_law(JsonFormat(), text.encode())


@pytest.mark.slow
@pytest.mark.parametrize("text", LINES)
@pytest.mark.parametrize(
    ("line_sep", "encoding"),
    [(None, "UTF-8"), ("\n", "UTF-8"), (None, "UTF-16"), (None, "UTF-16LE"), ("\n", "UTF-32BE")],
)
def test_all_laws_hold_for_lines(text: str, line_sep: str | None, encoding: str) -> None:
    laws.check_format_laws(json_lines(line_sep, encoding), text.encode(resolve_encoding(encoding).codec))


def test_a_file_that_ends_inside_a_code_unit_ends_with_a_broken_record() -> None:
    for data in (b"\0", b" \0\0", b"{\0}\0\n\0 \0 ", b"\n\0\n"):
        laws.check_format_laws(json_lines(None, "UTF-16LE"), data)
        assert read_range(json_lines(None, "UTF-16LE"), data, 0, len(data))[-1].start % 2 == 0


@pytest.mark.slow
def test_all_laws_hold_for_lines_with_a_long_delimiter() -> None:
    laws.check_format_laws(json_lines("||", "UTF-8"), b"{}||||  |||[]|| || |")


def test_lines_of_white_space_are_no_records_wherever_reading_stops() -> None:
    format = json_lines("||", "UTF-8")
    assert format.gap_bytes(b" || |", at_end=False) is Need.AFTER
    assert format.gap_bytes(b" || | ", at_end=False) == 3
    assert format.gap_bytes(b" || |||{}", at_end=False) == 6
    assert json_lines(None, "UTF-8").gap_bytes(b" " * 10_000 + b"\n\r", at_end=True) == 10_002
    assert json_lines(None, "UTF-8").gap_bytes(b" " * 10_000 + b"x", at_end=False) == 0
    assert json_lines(None, "UTF-8").gap_bytes(b" " * 10_000, at_end=False) is Need.AFTER


@pytest.mark.parametrize("indent", [None, 0, 1, "\t"])
@pytest.mark.parametrize("is_array", [True, False])
def test_the_layout_makes_no_difference(indent: int | str | None, is_array: bool) -> None:
    rows = [{"a": i, "b": ["}", {"c": '"]'}], "d": {}} for i in range(5)]
    text = json.dumps(rows, indent=indent)
    if not is_array:
        text = "\n".join(json.dumps(row, indent=indent) for row in rows)
    assert [json.loads(record) for record in records(text)] == rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a":1},]', ['{"a":1}']),
        ('[{"a":1},,{"a":2}]', ['{"a":1}', '{"a":2}']),
        ('[{"a":1}]\n', ['{"a":1}']),
        ('[{"a":1} junk "x, y", {"a":2}]', ['{"a":1}', 'junk "x, y"', '{"a":2}']),
        ('{"a":1}}{"a":2}', ['{"a":1}', "}", '{"a":2}']),
        ('{"a":1}]{"a":2}', ['{"a":1}', "]", '{"a":2}']),
        ('{"a":1\n{"a":2}\n', ['{"a":1', '{"a":2}']),
        ('{"a":"x\n{"a":2}\n', ['{"a":"x', '{"a":2}']),
        ('{"a":"x,\n{"a":2}\n', ['{"a":"x,', '{"a":2}']),
        ('{\n "a": "x,\n "b": 1\n}\n{"a":2}', ['{\n "a": "x,\n "b": 1\n}', '{"a":2}']),
        ('{"a":[1, {"b":2}\n{"a":2}', ['{"a":[1, {"b":2}', '{"a":2}']),
        ("1, 2\n3 4", ["1", "2", "3 4"]),
        ('"unclosed\n{"a":1}', ['"unclosed', '{"a":1}']),
        ('[{"a":1}] [{"a":2}]', ['{"a":1}', '[{"a":2}]']),
    ],
)
def test_damage_costs_only_the_record_it_is_in(text: str, expected: list[str]) -> None:
    assert records(text) == expected


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_of_a_truncated_array_only_the_last_record_is_lost(indent: int | None) -> None:
    rows = [{"a": i, "b": [{"c": i}, {"c": i}]} for i in range(3)]
    text = json.dumps(rows, indent=indent)
    cut = text.rindex('"c"') + 1
    data = text[:cut].encode()
    found = read_range(JsonFormat(), data, 0, cut)
    assert [json.loads(record.content) for record in found[:2]] == rows[:2]
    assert [record.code for record in found] == [None, None, UNFINISHED]
    format = JsonFormat().preamble(data, at_end=True).format  # type: ignore[union-attr]
    assert format.resume_after(data[found[2].start :], at_end=True) == cut - found[2].start


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ('{"a":1}', '\n{"a":2}'),
        ('[\n\t{"a":1}', ',\n\t{"a":2}'),
        ('[{"a":1}', ',\n {"a":2}'),
        (' {"a":1}', '\n {"a":2}'),
    ],
)
def test_behind_a_record_that_never_ends_reading_resumes_where_a_line_begins_like_the_first_record(
    head: str, line: str
) -> None:
    format = JsonFormat().preamble(head.encode(), at_end=True).format  # type: ignore[union-attr]
    rest = '{"a": [\n      {"b": 1},\n   x'
    assert format.resume_after((rest + line).encode(), at_end=False) == len(rest + line) - len('{"a":2}')
    assert format.resume_after(rest.encode(), at_end=False) is None


def test_a_line_is_found_in_what_was_not_dropped() -> None:
    format = JsonFormat(shape=JsonShape.VALUES, indent=b"  ")
    data = b"x" * 70_000 + b"\n  {}"
    for shown in range(len(data) - 6, len(data) - 1):
        dropped = format.droppable(data[:shown])
        assert 0 < dropped <= shown
        assert format.resume_after(data[dropped:], at_end=True) == len(data) - 2 - dropped


@pytest.mark.parametrize(
    ("text", "shape", "start", "indent"),
    [
        ("{}", JsonShape.VALUES, 0, b""),
        ("\ufeff {}", JsonShape.VALUES, 3, b" "),
        (" [ {}", JsonShape.ARRAY, 2, None),
        ("\ufeff[\n  {}", JsonShape.ARRAY, 4, b"  "),
        ("", JsonShape.VALUES, 0, b""),
        ("[", JsonShape.ARRAY, 1, None),
        ("1", JsonShape.VALUES, 0, b""),
    ],
)
def test_the_head_tells_the_shape(text: str, shape: JsonShape, start: int, indent: bytes | None) -> None:
    preamble = JsonFormat().preamble(text.encode(), at_end=True)
    assert not isinstance(preamble, Need)
    assert preamble.data_start == start
    assert preamble.format == JsonFormat(shape=shape, indent=indent)
    assert preamble.format.preamble(text.encode(), at_end=True) == preamble


@pytest.mark.parametrize("shape", [JsonShape.VALUES, JsonShape.ARRAY])
def test_white_space_after_a_record_is_no_part_of_it(shape: JsonShape) -> None:
    text = 'x \t\n"y z"  ,1 [2 ] null \n'
    frames = JsonReferenceFraming(shape).frame(text.encode(), at_end=True)
    spans = zip(frames.starts, frames.stops, strict=True)
    assert [text[start:stop] for start, stop in spans] == ["x", '"y z"', "1", "[2 ]", "null"]
    if shape is JsonShape.VALUES:
        assert records(text) == ["x", '"y z"', "1", "[2 ]", "null"]


def test_a_head_of_white_space_tells_nothing_yet() -> None:
    assert JsonFormat().preamble(b"   \n", at_end=False) is Need.AFTER
    assert JsonFormat().preamble(b"  [ \n", at_end=False) is Need.AFTER
    assert JsonFormat().preamble(b"[{", at_end=False) is Need.AFTER


def test_wide_encodings_are_for_lines_only() -> None:
    with pytest.raises(UsageError, match="in UTF-8 and in encodings that extend ASCII") as caught:
        JsonFormat(resolve_encoding("UTF-16LE"))
    assert "multiLine=false" in str(caught.value)


def test_formats_are_frozen_values_of_their_kind() -> None:
    for format in (JsonFormat(), json_lines(None, "UTF-8")):
        assert pickle.loads(pickle.dumps(format)) == format
        assert hash(format) == hash(pickle.loads(pickle.dumps(format)))
        assert isinstance(format, RecordFormat)
        assert has(format, "gap_bytes")
    assert has(JsonFormat(), "summarise")
    assert JsonFormat().splittability is Splittability.CONTEXT
    assert has(JsonLinesFormat(json_lines(None, "UTF-8").lines), "first_start")


@pytest.fixture
def kernel_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the kernel knows more than the state at the start of the file."""
    pytest.importorskip("splitscan_kernel")
    monkeypatch.setenv("SPLITSCAN_ENGINE", "kernel")


def test_a_summary_answers_for_the_depths_that_the_piece_allows(kernel_engine: None) -> None:
    format = JsonFormat(shape=JsonShape.ARRAY)
    summary = format.summarise(b'1}]}, {"a": [{}', b"[", b"", 0)
    assert summary.run(state_of(1, in_string=False)) is None  # it would close more than is open
    deep = summary.run(state_of(3, in_string=False))
    assert deep is not None
    assert (deep.first, deep.last, deep.state) == (6, 6, state_of(2, in_string=False))
    deeper = summary.run(state_of(4, in_string=False))
    assert deeper is not None
    assert (deeper.first, deeper.state) == (None, state_of(3, in_string=False))
    assert summary.run(state_of(500, in_string=False)) is None
    assert summary.run(-1) is None


def test_files_are_cut_where_no_backslash_stands_before() -> None:
    format = JsonFormat(shape=JsonShape.ARRAY)
    assert format.safe_cut(b'"\\', b'\\\\"x') == 3
    assert format.safe_cut(b'"\\', b"\\") is Need.AFTER
    assert format.safe_cut(b"", b"{}") == 1
    assert format.safe_cut(b"x", b"") == 0


def test_a_summary_leaves_open_what_only_reading_tells(kernel_engine: None) -> None:
    format = JsonFormat(shape=JsonShape.VALUES)
    assert format.summarise(b'{"a":1}\n{"a":2}', b"", b"", 0).run(state_of(1, in_string=False)) is None  # misplaced
    assert format.summarise(b'{"a":1} x {"a":2}', b"", b"", 0).run(0) is None  # garbage
    assert format.summarise(b'{"a":"\n', b"", b"", 0).run(0) is None  # a string with a line feed
    assert format.summarise(b'{"a":1}', b'"x": ', b"", 0).run(state_of(1, in_string=False)) is not None
    assert format.summarise(b'{"a":1}', b'"x"  ', b"", 0).run(state_of(1, in_string=False)) is None


def test_behind_a_string_that_a_line_end_broke_only_reading_tells() -> None:
    format = JsonFormat(shape=JsonShape.VALUES)
    assert format.state_after(b'{"a": "x,\n ') == -1  # a brace would begin a record, whatever is before it
    assert format.state_after(b'{"a": "x,\n 1,') == state_of(1, in_string=False)
    assert format.state_after(b'{"a": "x,') == state_of(1, in_string=True)
    assert format.state_after(b'{"a": 1} x') == -1
    assert format.state_after(b'{"a": 1} ') == 0


@pytest.mark.parametrize("length", [1, 15, 16, 17, 63, 64, 65, 5456])
def test_braces_far_behind_white_space_are_judged_by_what_is_before_it(length: int) -> None:
    space = " " * length
    assert records(f'{{"a":{space}{{"b":1}}}}') == [f'{{"a":{space}{{"b":1}}}}']
    assert records(f'{{"a":1{space}{{"b":1}}') == ['{"a":1', '{"b":1}']
