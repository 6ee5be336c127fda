"""Lines and delimited records: what a record is, where a block begins, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Need
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import Frames
from splitscan.formats.text.lines import MAX_DELIMITER_UNITS, DelimitedFormat, LineFormat, line_format
from splitscan.testing.memory_reader import read_range

ESCAPED = LineFormat(escape=b"\\")


def records(
    text_format: LineFormat | DelimitedFormat, data: bytes, start: int = 0, stop: int | None = None
) -> list[bytes]:
    return [record.content for record in read_range(text_format, data, start, len(data) if stop is None else stop)]


def ranges(frames: Frames) -> tuple[list[tuple[int, int]], int]:
    return list(zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)), frames.next_start


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\nb\rc\nd", [b"a", b"b", b"c", b"d"]),
        (b"\n\n\n", [b"", b"", b""]),
        (b"\r\r\n\n", [b"", b"", b""]),
        (b"\n\na\n", [b"", b"", b"a"]),
        (b"a\n\n\nb", [b"a", b"", b"", b"b"]),
        ("é\nü☃\n".encode(), ["é".encode(), "ü☃".encode()]),
        (b"\xff\0\xfe\n\0", [b"\xff\0\xfe", b"\0"]),
    ],
)
def test_lines_end_at_any_terminator_and_empty_ones_count(data: bytes, expected: list[bytes]) -> None:
    assert records(LineFormat(), data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\\\nb\nc", [b"a\\\nb", b"c"]),
        (b"a\\\\\nb", [b"a\\\\", b"b"]),
        (b"a" + b"\\" * 5 + b"\nb", [b"a" + b"\\" * 5 + b"\nb"]),
        (b"a" + b"\\" * 6 + b"\nb", [b"a" + b"\\" * 6, b"b"]),
        (b"a\\\n\nb\nc", [b"a\\\n", b"b", b"c"]),
        (b"a\\\r\nb", [b"a\\\r", b"b"]),
        (b"a\\\r\\\nb\r\nc", [b"a\\\r\\\nb", b"c"]),
        (b"a\r\\\nb", [b"a", b"\\\nb"]),
        (b"a\\xb\n\\", [b"a\\xb", b"\\"]),
    ],
)
def test_an_odd_run_of_escapes_makes_a_terminator_data(data: bytes, expected: list[bytes]) -> None:
    assert records(ESCAPED, data) == expected


@pytest.mark.parametrize(
    ("delimiter", "data", "expected"),
    [
        (b"||", b"a|||b||c|", [b"a", b"|b", b"c|"]),
        (b"aab", b"xaaabyaabzaab", [b"xa", b"y", b"z"]),
        (b"@#*", b"@#*a@#*b@#*", [b"", b"a", b"b"]),
        (b"ABC", b"ABABCD", [b"AB", b"D"]),
        (b"*=-", b"a*=b*=-c*=", [b"a*=b", b"c*="]),
        (b"\r\n", b"a\nb\r\nc\r", [b"a\nb", b"c\r"]),
        (b"\n", b"a\r\nb", [b"a\r", b"b"]),
        (b"aba", b"xababay", [b"x", b"bay"]),
    ],
)
def test_a_delimiter_is_found_from_left_to_right_without_overlap(
    delimiter: bytes, data: bytes, expected: list[bytes]
) -> None:
    delimited = DelimitedFormat(delimiter)
    assert records(delimited, data) == expected
    for cut in range(len(data) + 1):
        assert records(delimited, data, 0, cut) + records(delimited, data, cut) == expected


def test_an_escaped_delimiter_is_data_and_the_search_goes_on_one_unit_behind_its_first() -> None:
    bars = DelimitedFormat(b"||", escape=b"\\")
    assert records(bars, b"a\\|||b") == [b"a\\|", b"b"]
    assert records(bars, b"a\\||b||c") == [b"a\\||b", b"c"]
    assert records(bars, b"a\\\\||b") == [b"a\\\\", b"b"]
    feed = DelimitedFormat(b"\n", escape=b"\\")
    assert records(feed, b"a\\\n\nb\nc") == [b"a\\\n", b"b", b"c"]
    assert records(feed, b"a\\\n\nb\nc", 4) == [b"b", b"c"]


def test_a_line_may_be_longer_than_blocks_and_buffers() -> None:
    data = b"a\n" + b"x" * 20_000 + b"\nb"
    blocks = [records(LineFormat(), data, start, min(start + 5000, len(data))) for start in range(0, len(data), 5000)]
    assert blocks == [[b"a", b"x" * 20_000], [], [], [], [b"b"]]


def test_a_carriage_return_at_the_end_of_a_buffer_is_undecided() -> None:
    assert ranges(LineFormat().frame(b"a\r", at_end=False)) == ([], 0)
    assert ranges(LineFormat().frame(b"a\r\n", at_end=False)) == ([(0, 1)], 3)
    assert ranges(LineFormat().frame(b"a\rb", at_end=False)) == ([(0, 1)], 2)
    assert ranges(LineFormat().frame(b"a\r", at_end=True)) == ([(0, 1)], 2)
    assert ranges(LineFormat().frame(b"a\nb\n", at_end=False)) == ([(0, 1), (2, 3)], 4)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_frames_do_not_depend_on_the_kind_of_buffer(kind: type) -> None:
    assert ranges(LineFormat().frame(kind(b"a\nb"), at_end=True)) == ([(0, 1), (2, 3)], 3)
    assert ranges(DelimitedFormat(b"||").frame(kind(b"a||b"), at_end=True)) == ([(0, 1), (3, 4)], 4)


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        (b"a\n", b"b", 0),
        (b"a\r", b"\nb", 1),
        (b"a\r", b"b", 0),
        (b"a\r", b"", Need.AFTER),
        (b"a", b"\r", Need.AFTER),
        (b"a", b"b\nc", 2),
        (b"a", b"bc", Need.AFTER),
        (b"", b"b\nc", Need.BEFORE),
        (b"\n", b"b", Need.BEFORE),
        (b"\\\\", b"\nb", Need.BEFORE),
        (b"a\\", b"\nb\nc", 3),
        (b"a\\\\", b"\nb\nc", 1),
        (b"a\\\n", b"b\nc", 2),
        (b"a\\\\\n", b"b\nc", 0),
        (b"a\\\r", b"\nb", 1),
    ],
)
def test_a_line_start_is_found_from_the_middle(before: bytes, after: bytes, answer: int | Need) -> None:
    assert ESCAPED.first_start(before, after, at_start=False, at_end=False) == answer


def test_lines_without_escape_need_one_unit_before_the_position() -> None:
    assert LineFormat().first_start(b"\n", b"a", at_start=False, at_end=False) == 0
    assert LineFormat().first_start(b"", b"a", at_start=True, at_end=False) == 0
    assert LineFormat().first_start(b"a", b"bc", at_start=False, at_end=True) == 2
    assert LineFormat().first_start(b"a\r", b"", at_start=False, at_end=True) == 0


@pytest.mark.parametrize(
    ("before", "after", "at_start", "answer"),
    [
        (b"a||", b"b", False, 0),
        (b"a|", b"|b", False, 1),
        (b"|", b"b", False, Need.BEFORE),
        (b"||", b"b", False, Need.BEFORE),
        (b"||", b"b", True, 0),
        (b"||||", b"b", False, Need.BEFORE),
        (b"a|||", b"b||", False, 3),
        (b"a||||", b"b", False, 0),
        (b"a", b"b|", False, Need.BEFORE),
        (b"aa", b"b|", False, Need.AFTER),
        (b"", b"b||", True, 0),
    ],
)
def test_a_delimited_start_is_found_from_the_middle(
    before: bytes, after: bytes, at_start: bool, answer: int | Need
) -> None:
    assert DelimitedFormat(b"||").first_start(before, after, at_start=at_start, at_end=False) == answer


def test_the_look_back_stops_where_delimiters_meet_without_overlap() -> None:
    assert DelimitedFormat(b"aba").first_start(b"xabaaba", b"y", at_start=False, at_end=False) == 0
    assert DelimitedFormat(b"aba").first_start(b"xababa", b"y", at_start=False, at_end=False) is Need.BEFORE
    assert DelimitedFormat(b"aba").first_start(b"xxababa", b"yaba", at_start=False, at_end=False) == 4


def test_no_start_in_the_rest_of_the_file_is_its_end() -> None:
    assert DelimitedFormat(b"||").first_start(b"aa", b"bc|", at_start=False, at_end=True) == 3
    assert DelimitedFormat(b"||").first_start(b"a|", b"||", at_start=False, at_end=True) == 1
    assert DelimitedFormat(b"||").first_start(b"xx||", b"|", at_start=False, at_end=True) == 0


def test_giving_up_on_a_record_goes_on_behind_its_terminator() -> None:
    assert LineFormat().resume_after(b"abc\r\nd", at_end=False) == 5
    assert LineFormat().resume_after(b"abc\r", at_end=False) is None
    assert LineFormat().resume_after(b"abc\r", at_end=True) == 4
    assert ESCAPED.resume_after(b"a\\\nb\nc", at_end=False) == 5
    assert DelimitedFormat(b"||").resume_after(b"a|b||c", at_end=False) == 5
    assert DelimitedFormat(b"||").resume_after(b"a|b", at_end=True) == 3


@pytest.mark.parametrize(
    ("text_format", "data", "dropped"),
    [
        (LineFormat(), b"abc", 3),
        (LineFormat(), b"abc\r", 3),
        (ESCAPED, b"ab\\", 2),
        (ESCAPED, b"ab\\\\", 4),
        (ESCAPED, b"ab\\\r", 4),
        (ESCAPED, b"ab\\\\\r", 4),
        (DelimitedFormat(b"abcd"), b"xxabc", 2),
        (DelimitedFormat(b"abcd", escape=b"\\"), b"xx\\abc", 2),
        (DelimitedFormat(b"abcd", escape=b"\\"), b"x\\\\abc", 3),
        (DelimitedFormat(b"abcd"), b"xx", 0),
        (line_format(encoding="UTF-16LE"), b"a\0b\0c", 4),
    ],
)
def test_only_what_can_still_matter_is_kept_while_skipping(
    text_format: LineFormat | DelimitedFormat, data: bytes, dropped: int
) -> None:
    assert text_format.droppable(data) == dropped


def test_a_byte_order_mark_is_no_data() -> None:
    assert records(LineFormat(), b"\xef\xbb\xbfa\nb") == [b"a", b"b"]
    assert records(LineFormat(), b"\xef\xbb\xbf") == []
    for start in (1, 2, 3):
        assert records(LineFormat(), b"\xef\xbb\xbfa\nb", start) == [b"a", b"b"]
    assert records(line_format(encoding="ISO-8859-1"), b"\xef\xbb\xbfa") == [b"\xef\xbb\xbfa"]


def test_the_head_is_looked_at_only_where_it_matters() -> None:
    assert [LineFormat().needs_head(start) for start in (0, 3, 4, 100)] == [True, True, False, False]
    assert not line_format(encoding="ISO-8859-1").needs_head(0)
    assert [line_format(encoding="UTF-16LE").needs_head(start) for start in (0, 2, 3)] == [True, True, False]
    assert line_format(encoding="UTF-16").needs_head(10**12)
    assert line_format("||", encoding="UTF-32").needs_head(10**12)
    assert LineFormat().preamble(b"abc", at_end=False) is Need.AFTER


def test_a_byte_order_mark_turns_delimiter_and_escape_around() -> None:
    bars = line_format("|-", "\\", "UTF-16")
    assert bars == DelimitedFormat(b"\0|\0-", resolve_encoding("UTF-16"), b"\0\\")
    preamble = bars.preamble(b"\xff\xfea\0", at_end=False)
    assert not isinstance(preamble, Need)
    assert (preamble.data_start, preamble.format) == (
        2,
        DelimitedFormat(b"|\0-\0", resolve_encoding("UTF-16LE"), b"\\\0"),
    )


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE", "UTF-16", "UTF-32"])
def test_wide_code_units_that_contain_terminator_bytes_are_data(encoding: str) -> None:
    wide = line_format(encoding=encoding)
    texts = ["\u0a0a\u0d0d", "\u0a00", "x\u010a", ""]
    data = "\n".join([*texts, "end"]).encode(wide.encoding.codec)
    assert [record.decode(wide.encoding.codec) for record in records(wide, data)] == [*texts, "end"]


def test_options_choose_the_format() -> None:
    assert line_format() == LineFormat()
    assert line_format(escape="\\") == ESCAPED
    assert line_format(line_sep="☃") == DelimitedFormat("☃".encode())
    assert line_format("þ", encoding="latin1").delimiter == b"\xfe"  # type: ignore[union-attr]


NO_UNITS = "option lineSep must be 1 to 1024 code units of "
NO_ESCAPE = "option escape must be one ASCII character"
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "empty delimiter": (lambda: line_format(line_sep=""), NO_UNITS + "UTF-8"),
    "endless delimiter": (lambda: DelimitedFormat(b"x" * (MAX_DELIMITER_UNITS + 1)), NO_UNITS + "UTF-8"),
    "half a unit": (lambda: DelimitedFormat(b"abc", resolve_encoding("UTF-16LE")), NO_UNITS + "UTF-16LE"),
    "mark": (lambda: line_format(line_sep="\ufeff"), "option lineSep must not contain a byte order mark"),
    "escape inside": (
        lambda: line_format(line_sep="a\\b", escape="\\"),
        "option lineSep must not contain the escape character",
    ),
    "line feed": (lambda: line_format(escape="\n"), "option escape must not be a line terminator"),
    "wide return": (lambda: line_format(escape="\r", encoding="UTF-16"), "option escape must not be a line terminator"),
    "empty escape": (lambda: line_format(escape=""), NO_ESCAPE),
    "two-byte escape": (lambda: line_format(escape="¬"), NO_ESCAPE),
    "two escapes": (lambda: line_format("||", escape="\\\\"), NO_ESCAPE),
    "foreign character": (
        lambda: line_format(line_sep="☃", encoding="latin1"),
        "text cannot be written in encoding ISO-8859-1",
    ),
    "foreign encoding": (lambda: line_format(encoding="EUC-JP"), "option encoding names no encoding"),
    "bar in a character": (
        lambda: line_format("|,", encoding="Shift_JIS"),
        "option lineSep must not be, or begin with,",
    ),
    "kanji": (lambda: line_format("表", encoding="Shift_JIS"), "may be part of another character of Shift_JIS"),
    "backslash in a character": (
        lambda: line_format(escape="\\", encoding="GBK"),
        "option escape must not be, or begin",
    ),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_options_without_meaning_are_refused(mistake: str) -> None:
    build, message = REFUSED[mistake]
    with pytest.raises(UsageError) as caught:
        build()
    assert message in str(caught.value)
    assert "[bad-option]" in str(caught.value)
    assert "fix:" in str(caught.value)


def test_the_reference_delivers_records_as_soon_as_they_end() -> None:
    framer = LineFormat().reference_framer()
    seen = []
    for byte in b"a\r\nb":
        framer.push(byte)
        seen.append(len(framer.records))
    framer.finish()
    assert (seen, framer.records, framer.unfinished) == ([0, 1, 1, 1], [(0, 1), (3, 4)], None)
