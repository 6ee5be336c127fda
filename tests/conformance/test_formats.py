"""All laws of framing on all formats. A new format adds its cases to FORMATS."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.formats.cobol.format import Cobol
from splitscan.formats.cobol.framing import FixedRecords, LineRecords
from splitscan.formats.cobol.headers import HeaderRecords
from splitscan.formats.cobol.options import CobolOptions, Occurring, Recfm
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.fixed.framing import FixedFormat, SliceFormat
from splitscan.formats.framing.contract import (
    Need,
    RecordFormat,
    Splittability,
    has,
)
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.lines import json_lines
from splitscan.formats.log.framing import LogFormat
from splitscan.formats.text.lines import DelimitedFormat, LineFormat, line_format
from splitscan.formats.xml.framing import XmlFormat
from splitscan.testing import laws, strategies
from splitscan.testing.memory_reader import read_range

BOOK = "       01 R.\n          05 K PIC X.\n          05 A.\n             10 L PIC 9.\n"
LISTS = "       01 R.\n          05 N PIC 9.\n          05 A OCCURS 0 TO 3 DEPENDING ON N PIC X.\n"
OTHER = "          05 B REDEFINES A.\n             10 M PIC X(2).\n"
FAMILY = {
    "segment_field": "K", "redefine_segment_id_map": (("A", ("a",)), ("B", ("b",))),
    "segment_children": (("A", ("B",)),),
}  # fmt: skip


def by_copybook(text: str, **options: Any) -> RecordFormat:
    return Cobol().framing(CobolOptions(copybook=text, encoding="ascii", **options))


class Case(NamedTuple):
    """A format, files that mix its difficulties, and the words of which random files are made."""

    name: str
    format: RecordFormat
    files: tuple[bytes, ...]
    words: tuple[bytes, ...]


def encoded(encoding: str, *texts: str) -> tuple[bytes, ...]:
    return tuple(text.encode(resolve_encoding(encoding).codec) for text in texts)


BOM = "\ufeff"
MESSY_LINES = ("ab\r\n\r\ncd\n\n\ref\r\r\n\nxyz", "\n\n\n", "\r\n", "\r", "ab\r", "\n\ra", "ab", "")
ESCAPED_LINES = (
    "a\\\nb\\\\\nc\\\\\\\nd\n",
    "a\\\r\nb\r\n",
    "\\\\\\\\\\\n\\\\\\\\\n\\",
    "\\\n\n\\\r\r\n\\\\\r\n\\",
    "\r\\\n\\\\\r\\\r\n",
)
BARS = ("a|||b||c|", "||||||", "|||", "a|b", "|", "||", "x||||||y||||z|||", "")
LINE_ROWS = ('a,"b\n"c""\r\n\n"d",e\r"', '"\n"\n"', '\n"\n')
BLANK_ROWS = (' a  "b \n\tc" d \r\n \t\r\n\t\n"x"y z', ' "\n  " \n  "', "  ", "\t\r \n", 'a" b\r  c\n')
ROWS = ('a,"b\nc"\r\n"d""\n",\n\n"\n"x\ny"z', '"\r\n"\r\n\r', 'a\n"b\nc', '""\n""""\n"', "")


def csv_case(name: str, settings: dict[str, Any], *texts: str) -> Case:
    dialect = CsvGrammar(**{"encoding": resolve_encoding("UTF-8"), "escape": '"', "multi_line": True, **settings})
    marks = [
        *(dialect.sep_marks if dialect.runs else [dialect.sep]),
        dialect.quote,
        dialect.escape,
        dialect.escape_escape,
        dialect.comment,
        dialect.line_sep,
        "a",
        '"',
        "\n",
        "\r",
        "\r\n",
    ]
    words = tuple(dialect.encoding.encode(mark) for mark in marks if mark is not None)
    return Case(name, QuotedFormat(dialect), tuple(dialect.encoding.encode(text) for text in texts), words)


FORMATS = [
    Case("lines", LineFormat(), encoded("UTF-8", *MESSY_LINES, "é\n☃\r\nx\0y\r"), (b"a", b"\n", b"\r", b"\xff")),
    Case(
        "log",
        LogFormat("[0-9]"),
        (b"1 a\n  b\r\n2\r\r\n 3\n4", b" x\n1\ra\r\r\n\n2\n", b"a\n\xff\n1\xff", b"\n\n", b""),
        (b"1", b" ", b"\n", b"\r", b"\n2", b"\xff"),
    ),
    Case(
        "log, continued", LogFormat("[ \t]", continues=True), (b"a\n b\r\nc\r\t\n\n d", b" a\nb\n"), (b"a", b" ", b"\n")
    ),
    Case("lines, escaped", LineFormat(escape=b"\\"), encoded("UTF-8", *ESCAPED_LINES), (b"a", b"\n", b"\r", b"\\")),
    Case(
        "lines, UTF-8 with mark",
        LineFormat(),
        encoded("UTF-8", BOM + "ab\n\ncd", BOM, BOM + "\nx\n", BOM + BOM + "\n"),
        (b"\xef\xbb\xbf", b"\n", b"a", b"\xbf"),
    ),
    Case(
        "lines, Latin-1", line_format(encoding="ISO-8859-1"), (b"\xef\xbb\xbf\r\n\x85\n\xff",), (b"\x85", b"\n", b"\r")
    ),
    Case(
        "lines, UTF-16LE",
        line_format(encoding="UTF-16LE", escape="\\"),
        (*encoded("UTF-16LE", "a\r\n\n\u0a0a\u0d0d\r", BOM + "\\\nb\\\\\n☃"), b"a\0\n\0b", b"\n\0\n"),
        (b"a\0", b"\n\0", b"\r\0", b"\\\0", b"\0\n"),
    ),
    Case(
        "lines, UTF-16 by mark",
        line_format(encoding="UTF-16", escape="/"),
        (
            b"\xff\xfe" + "a/\nb\r\n\u0a00\n".encode("utf-16-le"),
            b"\xfe\xff" + "a/\nb\r\n\u0a00\n".encode("utf-16-be"),
            "a\n\nb".encode("utf-16-be"),
            b"\xff\xfe",
            b"\xff",
        ),
        (b"\xff\xfe", b"\n\0", b"\0\n", b"\0/", b"/\0"),
    ),
    Case(
        "lines, UTF-32 by mark",
        line_format(encoding="UTF-32"),
        (b"\xff\xfe\0\0" + "a\r\n\n𝄞\r".encode("utf-32-le"), "a\n\nb".encode("utf-32-be")),
        (b"\xff\xfe\0\0", b"\n\0\0\0", b"\0\0\0\n", b"\r\0\0\0", b"\0"),
    ),
    Case("one byte", DelimitedFormat(b"\n"), (b"a\r\nb\n\n\rc", b"\n\n", b""), (b"a", b"\n", b"\r")),
    Case("two bars", DelimitedFormat(b"||"), encoded("UTF-8", *BARS), (b"|", b"a")),
    Case(
        "two bars, escaped",
        DelimitedFormat(b"||", escape=b"\\"),
        (b"a\\|||b||c\\||", b"\\\\||\\\\\\||||", b"|\\||||\\|||||", b"||||\\||||\\"),
        (b"|", b"||", b"\\", b"a"),
    ),
    Case(
        "one byte, escaped",
        DelimitedFormat(b"\n", escape=b"\\"),
        (b"a\\\n\nb\nc", b"\\\\\\\n\\\\\n\\"),
        (b"a", b"\\", b"\n"),
    ),
    Case(
        "three bytes", DelimitedFormat(b"@#*"), (b"@#*a@#*b@#*", b"@#*!a@#*!b", b"@#@#*@#"), (b"@", b"#*", b"a", b"@#*")
    ),
    Case("aab", DelimitedFormat(b"aab"), (b"xaaabyaabzaab",), (b"a", b"b", b"aab")),
    Case("ABC after AB", DelimitedFormat(b"ABC"), (b"ABABCD", b"ABAB", b"ABCAB"), (b"AB", b"C", b"D")),
    Case("aabaa", DelimitedFormat(b"aabaa"), (b"aabaabaabaaaabaa", b"aabaaabaabaabaa"), (b"aab", b"aa", b"b")),
    Case("abab", DelimitedFormat(b"abab"), (b"abababababab", b"xababab"), (b"ab", b"a", b"b")),
    Case(
        "snowmen",
        line_format(line_sep="☃☃", escape="\\"),
        encoded("UTF-8", "a☃☃☃b☃☃\\☃☃☃c"),
        ("☃".encode(), b"\\", b"\x83", b"a"),
    ),
    Case(
        "bars, UTF-16 by mark",
        line_format(line_sep="||", escape="\\", encoding="UTF-16"),
        (b"\xff\xfe" + "a|||b\\|||".encode("utf-16-le"), b"\xfe\xff" + "|||\\||||".encode("utf-16-be")),
        (b"\xff\xfe", b"|\0", b"\0|", b"\\\0"),
    ),
    Case(
        "XML",
        XmlFormat("r"),
        (
            b"<c><!--<r>--><r a='<r>'>1</r>\n<r/><r><r>2</r ></r></c>",
            b"<r><![CDATA[</r>]]></r><?p <r>?><a b='<r/>'/><r/>",
            b"<!DOCTYPE c [<!ENTITY e '<r>'>]><r>&e;</r></r><r x='></r><r/><r",
            b"\xef\xbb\xbf<rr/><r\n>< r></r\n",
            b"<r/><!-- <r>",
            b"<r><a x='></r><r y='1'>2</r>",
        ),
        (
            b"<r>",
            b"</r>",
            b"</r>",
            b"<r ",
            b"/>",
            b"<!--",
            b"-->",
            b"<![CDATA[",
            b"]]>",
            b"<",
            b"'",
            b'"',
            b"?>",
            b"<a ",
        ),
    ),
    Case(
        "XML, UTF-16 by mark",
        XmlFormat("\u0141", resolve_encoding("UTF-16")),
        (
            b"\xff\xfe" + "<\u0141>\u3c3c</\u0141 > <A/><\u0141/>\u4100".encode("utf-16-le"),
            "<!--<\u0141/>--><\u0141 a='<'>".encode("utf-16-be"),
            b"\xff\xfe<\0\x41",
        ),
        (
            b"\xff\xfe",
            "<\u0141>".encode("utf-16-le"),
            "</\u0141>".encode("utf-16-le"),
            b"<\0",
            b"\0<",
            b"/\0>\0",
            b"\x41",
        ),
    ),
    Case(
        "JSON lines",
        json_lines(None, "UTF-8"),
        encoded("UTF-8", '{"a":1}\n \t\n\n{}\r\n\r[]', BOM + "\n{}", " \n", ""),
        (b"{}", b" ", b"\n", b"\r", b"\t"),
    ),
    Case(
        "JSON lines, two bars, UTF-16",
        json_lines("||", "UTF-16LE"),
        encoded("UTF-16LE", "{}|| |||{}||||", BOM + "||"),
        (b"{\0", b"|\0", b"|\0|\0", b" \0", b"\0"),
    ),
    Case(
        "JSON",
        JsonFormat(),
        encoded("UTF-8", '[{"a":"}\\""},\n [] ]', '{}{"a":{"b":[\n{}]}}\n{', BOM + ' \n[1, "x"', ""),
        (b"{", b"}", b"[", b"]", b'"', b"\\", b",", b"\n", b" ", b":", b"1", b"\xff"),
    ),
    Case("fixed", FixedFormat(4), (b"aaaabbbbcccc", b"aaaabb", b"a", b""), (b"a", b"\n")),
    Case(
        "fixed, before a trailer",
        FixedRecords(record_length=4, trailer=3),
        (b"aaaabbbbccc!!!", b"aaaabb", b"a!!!", b""),
        (b"a", b"\n"),
    ),
    Case("fixed, after a header", FixedRecords(record_length=2, start=3), (b"#\n#aabb", b"###a", b"##"), (b"a", b"\n")),
    Case(
        "behind their lengths",
        HeaderRecords(),
        (b"\0\2\0\0ab\0\0\1\0c\0\3\0\0de", b"\0\1\0\0a\0\0\0\0bcdef", b"\0\1\0", b""),
        (b"\0\1\0\0a", b"\0\0\2\0ab", b"\0", b"\1"),
    ),
    Case(
        "behind lengths that count themselves, before a trailer",
        HeaderRecords(start=1, trailer=2, big_endian=True, adjustment=-4),
        (b"#\0\6\0\0ab\0\5\0\0c!!", b"#\0\3\0\0ab", b"#!", b""),
        (b"\0\5\0\0a", b"\0\6\0\0ab", b"\0", b"\1"),
    ),
    Case(
        "in segments",
        by_copybook(BOOK, recfm=Recfm.VARIABLE),
        (b"\0\1\1\0a\0\1\3\0b\0\1\2\0c\0\1\0\0d", b"\0\1\1\0a\0\1\0\0b\0\1\2\0c", b"\0\1\1\0a\0\1", b""),
        (b"\0\1\1\0a", b"\0\1\2\0b", b"\0\1\3\0c", b"\0\1\0\0d", b"\0"),
    ),
    Case(
        "with their lengths in an item",
        by_copybook(BOOK, record_length_field="L"),
        (b"a2b3xa2", b"a2a9", b"a2b1a2", b""),
        (b"a2", b"b3x", b"a", b"9"),
    ),
    Case(
        "as long as their lists",
        by_copybook(LISTS, variable_size_occurs=Occurring.SHIFT),
        (b"02ab1c0", b"3ab", b"07ab", b""),
        (b"0", b"1a", b"2bc", b"7"),
    ),
    Case(
        "with children",
        by_copybook(BOOK + OTHER, recfm=Recfm.VARIABLE, **FAMILY),
        (b"\0\2\0\0a1\0\3\0\0bxy\0\1\0\0a", b"\0\1\0\0b\0\1\0\0a\0\1\0\0x", b"\0\1\0\0a\0\3\0\0b", b""),
        (b"\0\1\0\0a", b"\0\1\0\0b", b"\0\2\0\0bx", b"\0", b"\1"),
    ),
    Case(
        "of a fixed length with children",
        by_copybook(BOOK + OTHER, **FAMILY),
        (b"a1_bxya2_a3_bx", b"bxya1_", b"b", b""),
        (b"a1_", b"bxy", b"x", b"a"),
    ),
    Case("lines of records", LineRecords(delimiter=b"\x15"), (b"ab\x15\x15c", b"\x15"), (b"a", b"\x15")),
    Case("fixed, one byte", FixedFormat(1), (b"abc",), (b"a",)),
    csv_case("CSV, one line each", {"multi_line": False}, *LINE_ROWS),
    csv_case("CSV, one line each, escaped", {"multi_line": False, "escape": "\\"}, *LINE_ROWS, '"\\"\n"\n\\\n"\\\\"\n'),
    csv_case("CSV, one line each, bars", {"multi_line": False, "sep": "||", "line_sep": "|@"}, 'a|||@b||@@"|@'),
    csv_case("CSV, quotes off", {"quote": None, "comment": "#"}, 'a"\n#b\n\n#\r\n"c'),
    csv_case("CSV, RFC 4180", {}, *ROWS),
    csv_case("CSV, escaped", {"escape": "\\"}, *ROWS, '"\\"\n",\\\n"\\\\"\n"\\\\\\"\n"'),
    csv_case(
        "CSV, an escape of escapes",
        {"escape": "\\", "escape_escape": "^"},
        *ROWS,
        '"^\\"\n"\\\\"^\\\n",\\\n"^^\\"\n"^""\n"',
    ),
    csv_case("CSV, an escape of quotes only", {"escape": "\\", "escape_escape": ""}, *ROWS, '"\\\\"\n",\\\n"\\a\\""\n'),
    csv_case("CSV, no escape", {"escape": None}, *ROWS),
    csv_case("CSV, comments and trimming", {"comment": "#", "trim_leading": True}, ' "a\n#"\n#"\n#\r\n\n "b', *ROWS),
    csv_case("CSV, line feeds only", {"line_sep": "\n"}, 'a\r\n"b\r\n\n"\n\r\n'),
    csv_case("CSV, long delimiters", {"sep": "~|", "line_sep": "|@#"}, 'a~|"b|@#"|@#~|@#"~|"|@#|@#"x'),
    csv_case("CSV, delimiters that overlap themselves", {"sep": "aba", "line_sep": "@@"}, 'ababa"@@"@@@"aba"@@aba"@@"'),
    csv_case("CSV, Latin-1", {"encoding": resolve_encoding("ISO-8859-1")}, '\x85"\n"\xff,"\n\xe9"\r\n'),
    csv_case("CSV, UTF-16LE", {"encoding": resolve_encoding("UTF-16LE")}, BOM + '"\u0a22\n",\u2022\r\n"x"\n'),
    csv_case("CSV, UTF-32BE", {"encoding": resolve_encoding("UTF-32BE")}, '"\n\n",x\r\n'),
    csv_case("CSV, blanks", {"sep": r"\s+"}, *BLANK_ROWS),
    csv_case("CSV, blanks and comments", {"sep": r"\s+", "comment": "#", "line_sep": "@#"}, ' a@#\t#" @# @#b '),
    csv_case("CSV, blanks, UTF-16LE", {"sep": r"\s+", "encoding": resolve_encoding("UTF-16LE")}, *BLANK_ROWS[:2]),
    csv_case(
        "CSV, blanks, in lines", {"sep": r"\s+", "multi_line": False, "comment": "#"}, *BLANK_ROWS, " #\n  \n\t#x"
    ),
    Case("slices", SliceFormat(5), (b"aaaaabbbbbcc", b"a", b""), (b"a", b"\n")),
]
EACH = pytest.mark.parametrize("case", FORMATS, ids=lambda case: case.name)


@pytest.mark.slow
@EACH
def test_all_laws_hold_at_every_cut_and_every_buffer_size(case: Case) -> None:
    for data in case.files:
        laws.check_format_laws(case.format, data)


@EACH
@settings(max_examples=max(1, settings().max_examples // 25))
@given(draw=st.data())
def test_all_laws_hold_for_random_files(case: Case, draw: st.DataObject) -> None:
    data = draw.draw(strategies.files_of(case.words, max_words=8), label="file")
    laws.check_format_laws(case.format, data)


@EACH
@settings(max_examples=settings().max_examples // 8)
@given(draw=st.data())
def test_larger_random_files_read_the_same_in_any_blocks(case: Case, draw: st.DataObject) -> None:
    data = draw.draw(strategies.files_of(case.words, max_words=200), label="file")
    cuts = draw.draw(strategies.cuts(len(data)), label="cuts")
    buffer_bytes = draw.draw(st.integers(1, 64), label="buffer")
    laws.check_fast_path_law(case.format, data)
    laws.check_chunking_law(case.format, data, draw.draw(strategies.deliveries(), label="deliveries"))
    laws.check_partition_law(
        lambda start, stop: read_range(case.format, data, start, stop, buffer_bytes), len(data), cuts
    )


@EACH
def test_a_format_is_a_frozen_value_that_travels(case: Case) -> None:
    copy = pickle.loads(pickle.dumps(case.format))
    assert copy == case.format
    assert hash(copy) == hash(case.format)
    assert isinstance(case.format, RecordFormat)
    assert dataclasses.is_dataclass(case.format)
    for field in dataclasses.fields(case.format):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(case.format, field.name, None)


@EACH
def test_a_format_has_the_methods_that_its_kind_needs(case: Case) -> None:
    kind = case.format.splittability
    assert has(case.format, "first_start") or kind is not Splittability.LOCAL
    assert has(case.format, "summarise") or kind is not Splittability.CONTEXT
    assert has(case.format, "first_start_after") == (kind is Splittability.ARITHMETIC)


@EACH
def test_the_preamble_settles_the_format(case: Case) -> None:
    for data in case.files:
        preamble = case.format.preamble(data, at_end=True)
        assert not isinstance(preamble, Need)
        again = preamble.format.preamble(data, at_end=True)
        assert again == preamble
