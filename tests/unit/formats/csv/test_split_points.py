"""Split points of CSV: record boundaries that are some whatever comes before them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.reference import CsvReferenceFraming, CsvState, QuotedReferenceFramer
from splitscan.formats.framing.encodings import resolve_encoding

UTF_8 = resolve_encoding("UTF-8")
BEFORE = (b"", b"a", b",", b'"', b'a"', b'"a\n', b'"a"', b'"\\', b'a\n"\r', b"\xc2", b"\xc2\xab", b"\xc2\xab\xc2")


def csv(**settings: Any) -> CsvGrammar:
    return CsvGrammar(**{"encoding": UTF_8, "escape": '"', "multi_line": True, **settings})


def is_boundary(dialect: CsvGrammar, before: bytes, data: bytes) -> bool:
    """Whether a record may begin after *data*, if the bytes before it begin at a boundary."""
    framer = QuotedReferenceFramer(dialect)
    for byte in before + data:
        framer.push(byte)
    return framer.state is CsvState.RECORD_START


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("dialect", "alphabet"),
    [
        (csv(), b'a,"\n\r'),
        (csv(escape="\\"), b'a,"\n\\'),
        (csv(escape=None, trim_leading=True), b' ,"\n'),
        (csv(line_sep="\n"), b'a,"\n\r'),
        (csv(quote="«", escape="«"), b",\xc2\xab\n"),
        (csv(quote="«", escape="¬"), b"\xc2\xab\xac\n"),
    ],
)
def test_a_split_point_is_a_boundary_whatever_comes_before(dialect: CsvGrammar, alphabet: bytes) -> None:
    found = 0
    for length in range(7):
        for each in product(alphabet, repeat=length):
            data = bytes(each)
            point = CsvReferenceFraming(dialect).last_split_point(data)
            if point is not None:
                found += 1
                assert all(is_boundary(dialect, before, data[:point]) for before in BEFORE), data
    assert found > 20


@pytest.mark.parametrize(
    ("sure", "rest"),
    [
        (b'\n1,"Ann",2\n', b""),
        (b'\r\n1,"Ann",2\r\n', b"3"),
        (b'\n1,"a\nb",2\n', b""),  # the last line closes what it began with, or has a quote as data
        (b'\n1,"a ""b"" c",2\n', b"3,"),
        (b'\n1,"Ann",2\n', b'3,"a\n4,5\n'),  # the last one before a line that opens
    ],
)
def test_a_line_that_ends_outside_quotes_however_it_begins_tells(sure: bytes, rest: bytes) -> None:
    assert QuotedFormat(csv()).last_split_point(sure + rest) == len(sure)


@pytest.mark.parametrize(
    "data",
    [
        b'1,"Ann",2\n',  # what comes before belongs to the line
        b'\n1,"Ann",2',
        b"\n1,2\n3,4\n",  # no quote tells anything
        b'\n1,"",2\n',  # inside quotes that is a doubled one
        b'\n1,"Ann"\r2\n',  # two lines
        b'\na"b,"c\r"d\n',  # two lines: who gives up a record that begins with the first goes on with the second
        b"",
    ],
)
def test_other_lines_do_not_tell(data: bytes) -> None:
    assert CsvReferenceFraming(csv()).last_split_point(data) is None


@pytest.mark.parametrize(
    "dialect",
    [
        csv(encoding=resolve_encoding("UTF-16LE")),
        csv(comment="#"),
        csv(sep="||"),
        csv(line_sep=";"),
        csv(quote=None, escape=None),
        csv(escape="\n"),
        csv(escape="\r"),
    ],
)
def test_dialects_in_which_a_line_feed_may_not_end_a_line_show_none(dialect: CsvGrammar) -> None:
    assert CsvReferenceFraming(dialect).last_split_point(dialect.encoding.encode('\n1,"Ann",2\n')) is None
