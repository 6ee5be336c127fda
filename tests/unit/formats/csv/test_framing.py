"""CSV records: what one is, in every dialect."""

from __future__ import annotations

from typing import Any

import pytest

from splitscan.errors import RecordError, UsageError
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar, split_fields
from splitscan.formats.csv.reference import UNCLOSED_QUOTE, CsvReferenceFraming
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.encodings import Encoding, resolve_encoding
from splitscan.testing import laws
from splitscan.testing.memory_reader import read_range

UTF_8 = resolve_encoding("UTF-8")


def rfc(**settings: Any) -> CsvGrammar:
    return CsvGrammar(**{"encoding": UTF_8, "escape": '"', "multi_line": True, **settings})


def records(dialect: CsvGrammar, text: str) -> list[str]:
    data = dialect.encoding.encode(text)
    found = read_range(QuotedFormat(dialect), data, 0, len(data))
    laws.check_fast_path_law(QuotedFormat(dialect), data)
    return [record.content.decode(dialect.encoding.codec) for record in found]


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({}, 'a,"b\nc"\n"d""\n",e', ['a,"b\nc"', '"d""\n",e']),
        ({}, "a\r\nb\rc\n\r\n\n\r\rd", ["a", "b", "c", "d"]),
        ({}, '"a\r\n\r\nb"\r\nc', ['"a\r\n\r\nb"', "c"]),
        ({}, 'a"b\nc"d\n', ['a"b', 'c"d']),
        ({}, ' "a\nb"\n', [' "a', 'b"']),
        ({"trim_leading": True}, ' "a\nb"\n,\t"c\nd"', [' "a\nb"', ',\t"c\nd"']),
        ({}, '"a"b\nc\n', ['"a"b', "c"]),
        ({}, '"a"b"\nc"\n', ['"a"b"', 'c"']),
        ({}, '"\n""\n"\n', ['"\n""\n"']),
        ({"escape": "\\"}, '"a\\"\nb"\nc\\\nd', ['"a\\"\nb"', "c\\", "d"]),
        ({"escape": "\\"}, '"a\\\\"\n"b\\\\\\"\n"\n', ['"a\\\\"', '"b\\\\\\"\n"']),
        ({"escape": None}, '"a\\"\n"b""\nc"\n', ['"a\\"', '"b""', 'c"']),
        ({"quote": None}, '"a\nb"\n', ['"a', 'b"']),
        ({"multi_line": False}, '"a\nb"\nc', ['"a', 'b"', "c"]),
        ({"comment": "#"}, '#a"\nb\n "#"\n##\n"c\n#d"\n', ["b", ' "#"', '"c\n#d"']),
        ({"line_sep": "\n"}, "a\r\nb\rc\n", ["a\r", "b\rc"]),
        ({"line_sep": "|@|"}, 'a|@|"b|@|c"|@||@|d|@', ["a", '"b|@|c"', "d|@"]),
        ({"line_sep": "@@"}, 'a@@@b@@"@@"@@@@c', ["a", "@b", '"@@"', "c"]),
        ({"sep": "||"}, 'a||"b\n||c"\nd|"e\nf"', ['a||"b\n||c"', 'd|"e', 'f"']),
        ({"sep": "aba"}, 'ababa"\n"\naba"\n"\n', ['ababa"', '"\naba"', '"\n']),
        ({"sep": "||", "line_sep": "|@"}, "a|||@b||@c||d", ["a||", "b|", "c||d"]),
        ({"encoding": resolve_encoding("UTF-16LE")}, '"\u0a22\n","x"\n\u2022', ['"\u0a22\n","x"', "\u2022"]),
        ({"encoding": resolve_encoding("UTF-32BE")}, '"é\r\n"\r\ny', ['"é\r\n"', "y"]),
        ({"encoding": resolve_encoding("ISO-8859-1")}, '"\x85\n\xff"\nz', ['"\x85\n\xff"', "z"]),
    ],
)
def test_records_end_at_terminators_outside_quotes(settings: dict[str, Any], text: str, expected: list[str]) -> None:
    assert records(rfc(**settings), text) == expected


@pytest.mark.parametrize("size", [63, 64, 65, 127, 128, 129, 4096, 4097])
@pytest.mark.parametrize("middle", ['"\n"', '""""', '","', '"\r\n"', '"a"\r\n"b"'])
def test_quotes_at_the_edges_of_blocks_of_the_kernel_count(size: int, middle: str) -> None:
    for shift in range(len(middle) + 2):
        data = b'"' + b"x" * (size - shift - 3) + b'",' + middle.encode() + b',"\n"\ny\n'
        found = read_range(QuotedFormat(rfc()), data, 0, len(data), len(data))
        assert [record.content for record in found] == _by_reference(data)


def _by_reference(data: bytes) -> list[bytes]:
    frames = CsvReferenceFraming(rfc()).frame(data, at_end=True)
    return [data[a:b] for a, b in zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)]


def test_a_line_that_ends_inside_quotes_is_a_broken_record_without_multi_line() -> None:
    data = b'1,"a\n2,b"\n3,"c"\n"'
    found = read_range(QuotedFormat(rfc(multi_line=False)), data, 0, len(data))
    assert [(record.content, record.code) for record in found] == [
        (b'1,"a', UNCLOSED_QUOTE), (b'2,b"', None), (b'3,"c"', None), (b'"', UNCLOSED_QUOTE),
    ]  # fmt: skip


def test_a_tail_whose_quote_never_closes_is_left_over() -> None:
    frames = QuotedFormat(rfc()).frame(b'a\n"b\nc\n', at_end=True)
    assert (frames.starts.tolist(), frames.next_start) == ([0], 2)


def test_reading_resumes_at_the_next_physical_line() -> None:
    broken = b'5,"open\n6,b\n'
    for format in (QuotedFormat(rfc()), QuotedFormat(rfc(line_sep="\n"))):
        assert format.resume_after(broken, at_end=False) == 8
        assert format.resume_after(b'"x', at_end=False) is None
        assert format.resume_after(b'"x', at_end=True) == 2


def test_only_quotes_that_hide_terminators_need_context() -> None:
    assert QuotedFormat(rfc()).splittability is Splittability.CONTEXT
    assert QuotedFormat(rfc(multi_line=False)).splittability is Splittability.LOCAL
    assert QuotedFormat(rfc(quote=None)).splittability is Splittability.LOCAL


@pytest.mark.parametrize(
    ("text", "settings", "header", "data_start"),
    [
        ("a,b\n1,2\n", {}, ("a", "b"), 4),
        ("\n\n a,\"b\nc\"\n\n\n1,2\n", {}, (" a", "b\nc"), 13),
        ("#x\na,b\n#y\n1", {"comment": "#"}, ("a", "b"), 10),
        ("a,b", {}, ("a", "b"), 3),
        ("\n\n", {}, (), 2),
        ("", {}, (), 0),
        ('"a""b",,"c"\r\n1', {}, ('a"b', "", "c"), 13),
    ],
)  # fmt: skip
def test_the_header_is_the_first_record(text: str, settings: Any, header: tuple[str, ...], data_start: int) -> None:
    format = QuotedFormat(rfc(**settings), header=True)
    found = format.preamble(text.encode(), at_end=True)
    assert isinstance(found, Preamble)
    assert (found.data_start, found.format, found.header) == (data_start, format, header)
    assert (format.names(found.header_record) if found.header_record else ()) == header
    marked = format.preamble(b"\xef\xbb\xbf" + text.encode(), at_end=True)
    assert isinstance(marked, Preamble)
    assert (marked.header, marked.data_start) == (header, data_start + 3)


@pytest.mark.parametrize("encoding", [UTF_8, resolve_encoding("UTF-16LE")])
@pytest.mark.parametrize(("name", "gap"), [("a" * 9000, ""), ("a", "# no record\n" * 900), ("a" * 4095, "")])
def test_a_header_is_found_whatever_its_length_and_that_of_the_gap_after_it(
    encoding: Encoding, name: str, gap: str
) -> None:
    format = QuotedFormat(rfc(encoding=encoding, comment="#"), header=True)
    before = f'"{name}"\n{gap}'.encode(encoding.codec)
    for following in ("", "1\n", "1\n" * 9000):
        answer = format.preamble(before + following.encode(encoding.codec), at_end=True)
        assert isinstance(answer, Preamble)
        assert (answer.header, answer.data_start) == ((name,), len(before))


def test_skipped_lines_are_physical_ones_and_come_before_the_header() -> None:
    format = QuotedFormat(rfc(), header=True, skip_lines=2)
    answer = format.preamble(b'say "hi\r\n\r\na,b\n1,2\n', at_end=True)
    assert isinstance(answer, Preamble)
    assert (answer.header, answer.data_start) == (("a", "b"), 15)


def test_a_head_that_is_too_short_is_asked_for_more() -> None:
    format = QuotedFormat(rfc(), header=True, skip_lines=1)
    for head in (b"", b"\xef\xbb", b"skip", b"skipped\nab,c", b'skipped\n"a\nb'):
        assert format.preamble(head, at_end=False) is Need.AFTER


def test_a_header_whose_quotes_never_close_is_an_error_that_says_what_to_check() -> None:
    with pytest.raises(RecordError, match="the header's quotes never close") as caught:
        QuotedFormat(rfc(), header=True).preamble(b'a,"b\n1,2\n', at_end=True)
    assert caught.value.reason_code == "bad-header"
    assert "set header=false" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "record", "expected"),
    [
        ({}, b'a,"b",', [(b"a", False), (b"b", True), (b"", False)]),
        ({}, b'"a""b","",""""', [(b'a"b', True), (b"", True), (b'"', True)]),
        ({}, b'"a"x,"b" ,c"d', [(b'"a"x', False), (b"b", True), (b'c"d', False)]),
        ({}, b'1,"open,2', [(b"1", False), (b"open,2", True)]),
        (
            {"escape": "\\"},
            b'"a\\"b","\\\\","\\n",\\x',
            [(b'a"b', True), (b"\\", True), (b"\\n", True), (b"\\x", False)],
        ),
        (
            {"escape": "\\"},
            b'"x""","","a\\""",""" ,"x"" y"',
            [(b'x""', True), (b"", True), (b'a""', True), (b'"', True), (b'"x"" y"', False)],
        ),
        ({"escape": None}, b'"a\\","b"', [(b"a\\", True), (b"b", True)]),
        ({"quote": None}, b'"a",b', [(b'"a"', False), (b"b", False)]),
        ({"sep": "||"}, b'a|b||"c||d"||', [(b"a|b", False), (b"c||d", True), (b"", False)]),
        ({"trim_leading": True}, b'  "a", b', [(b"a", True), (b" b", False)]),
        (
            {"quote": "«", "escape": "«"},
            "«a««b«,««,©«".encode(),
            [("a«b".encode(), True), (b"", True), ("©«".encode(), False)],
        ),
        (
            {"quote": "«", "escape": "¬"},
            "«a¬«¬¬¬©«,«b«««,«c«d".encode(),
            [
                ("a«¬¬©".encode(), True),
                ("b««".encode(), True),
                ("«c«d".encode(), False),
            ],
        ),
        (
            {"quote": "«", "escape": "¬", "escape_escape": "¿"},
            "«¿¬«, «¬«¬¬«".encode(),
            [("¬".encode(), True), (" «¬«¬¬«".encode(), False)],
        ),
    ],
)
def test_fields_are_separated_and_unquoted(settings: Any, record: bytes, expected: list[Any]) -> None:
    assert split_fields(record, rfc(**settings)) == expected


@pytest.mark.parametrize("option", ["quote", "escape", "comment", "escape_escape"])
@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("UTF-8", "ab"),
        ("UTF-8", "\ufffd"),
        ("UTF-16LE", "\ufffd"),
        ("cp1006", "\ufe8e"),
        ("windows-1252", "Ж"),
        ("GBK", "※"),
    ],
)
def test_a_mark_that_could_be_something_else_in_a_file_is_refused(option: str, encoding: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        CsvGrammar(**{"encoding": resolve_encoding(encoding), option: text})
    assert caught.value.reason_code == "bad-option"


LONG: list[tuple[Any, str, list[str]]] = [
    ({"quote": "«", "escape": "«"}, "«a\n««©»\n«,b\n©«\n««,«\u00abc«\n", ["«a\n««©»\n«,b", "©«", "««,«\u00abc«"]),
    ({"quote": "†", "escape": "§"}, "†a§†\n‡†,§†\n†§§\n†\n", ["†a§†\n‡†,§†", "†§§\n†"]),
    ({"quote": "†", "escape": "§", "escape_escape": "¶"}, "†¶§†\n†§†\n†\n†¶§§†\n†", ["†¶§†", "†§†\n†", "†¶§§†\n†"]),
    ({"quote": "«", "escape": None}, "«a\n¬«««\nb«\n", ["«a\n¬«««", "b«"]),
    ({"comment": "¡"}, '¡a"\n©\n¡\n"\n¡"\n', ["©", '"\n¡"']),
    ({"sep": "¦", "quote": "§", "escape": "§"}, "a¦§\n¦§\n¦§§\n", ["a¦§\n¦§", "¦§§"]),
    ({"quote": "«", "escape": "«", "trim_leading": True}, " «a\n«\n a«\n", [" «a\n«", " a«"]),
    ({"quote": "«", "escape": "«", "line_sep": "»"}, "a»«b»«»c", ["a", "«b»«", "c"]),
]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16LE", "UTF-32BE", "windows-1252"])
@pytest.mark.parametrize(("settings", "text", "expected"), LONG)
def test_marks_beyond_ascii_are_whole_characters(settings: Any, text: str, expected: list[str], encoding: str) -> None:
    dialect = rfc(encoding=resolve_encoding(encoding), **settings)
    assert records(dialect, text) == expected
    data = dialect.encoding.encode(text)
    fast, slow = QuotedFormat(dialect), CsvReferenceFraming(dialect)
    for cut in range(len(data) + 1):  # inside of marks too
        for at_end in (False, True):
            one, other = fast.frame(data[:cut], at_end=at_end), slow.frame(data[:cut], at_end=at_end)
            assert (one.starts.tolist(), one.stops.tolist()) == (other.starts.tolist(), other.stops.tolist()), cut
            assert one.next_start == other.next_start, cut
        assert fast.gap_bytes(data[:cut], at_end=True) is not Need.AFTER


def test_a_comment_that_is_cut_in_its_mark_is_no_record_yet() -> None:
    format = QuotedFormat(rfc(comment="¡"))
    assert format.gap_bytes(b"\n\xc2", at_end=False) is Need.AFTER
    assert format.gap_bytes(b"\n\xc2", at_end=True) == 1
    assert format.gap_bytes(b"\n\xc2\xa1a\n\xc2\xa9", at_end=False) == 5
