"""Which records Arrow reads, and which are taken apart one by one: clean data must never be slow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from splitscan.decoding.canonical import canonical, has_blank_edges
from splitscan.decoding.contract import Decoded
from splitscan.decoding.csv import CsvDecoder
from splitscan.decoding.csv_layout import CsvLayout
from splitscan.decoding.gather import gather
from splitscan.decoding.values import BinaryDecoder, TextDecoder
from splitscan.errors import InvariantError
from splitscan.framing.delimited import line_format
from splitscan.framing.encodings import resolve_encoding
from splitscan.framing.fixed import FixedFormat
from splitscan.framing.frames import Frames
from splitscan.framing.lines import LineFormat
from splitscan.framing.quoted import Dialect, QuotedFormat

UTF_8 = resolve_encoding("UTF-8")


@pytest.fixture(autouse=True)
def without_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested here is read by the kernel where that is installed."""
    monkeypatch.setenv("SPLITSCAN_ENGINE", "reference")


class OnlyFast(CsvDecoder):
    """Refuses to take records apart."""

    def _decode_slowly(self, data: memoryview, frames: Frames) -> Decoded:
        raise AssertionError(bytes(data))


def dialect(**settings: Any) -> Dialect:
    return Dialect(**{"encoding": UTF_8, "escape": '"', "multi_line": True, **settings})


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({}, 'a,"b\n""c"""\r\nd,e\r', [["a", 'b\n"c"'], ["d", "e"]]),
        ({"escape": "\\"}, '"a\\"b\\\\","\\n"\n', [['a"b\\', "\\n"]]),
        ({"sep": "||"}, 'a||"b||c"\n||d|\n', [["a", "b||c"], [None, "d|"]]),
        ({"sep": "§"}, 'a§"§"\n', [["a", "§"]]),
        ({"sep": "\t"}, 'a\t"b\tc"\n', [["a", "b\tc"]]),
        ({"line_sep": "|@|"}, 'a,"|@|"|@|b,c', [["a", "|@|"], ["b", "c"]]),
        ({"line_sep": "@"}, 'a,"x\ny"@@b,c@', [["a", "x\ny"], ["b", "c"]]),
        ({"comment": "#"}, '#x\na,"#"\n\n#\nb,#\n', [["a", "#"], ["b", "#"]]),
        ({"quote": None}, 'a",b"\n', [['a"', 'b"']]),
        ({"multi_line": False}, 'a,"b"\n', [["a", "b"]]),
        ({"encoding": resolve_encoding("UTF-16LE")}, 'é,"\n"\n', [["é", "\n"]]),
        ({"encoding": resolve_encoding("ISO-8859-1")}, 'é,"\xff"\n', [["é", "\xff"]]),
    ],
)
def test_clean_records_of_every_dialect_are_read_by_arrow(settings: Any, text: str, expected: list[Any]) -> None:
    chosen = dialect(**settings)
    layout = CsvLayout(("x", "y"), (pa.string(), pa.string()), (0, 1))
    for trim in (False, True):
        decoder = OnlyFast(chosen, QuotedFormat(chosen.in_utf8), layout, trim_trailing=trim)
        data = memoryview(chosen.encoding.encode(text))
        decoded = decoder.decode(data, QuotedFormat(chosen).frame(data, at_end=True))
        assert [list(row) for row in zip(*(c.to_pylist() for c in decoded.columns), strict=True)] == expected
        assert decoded.faults == []


def test_one_bad_value_does_not_make_its_neighbours_slow() -> None:
    layout = CsvLayout(("x", "y"), (pa.int32(), pa.date32()), (0, 1))
    data = memoryview(b"1,2020-01-01\nx,2020-02-30\n" * 100)
    decoder = OnlyFast(dialect(), QuotedFormat(dialect()), layout)
    decoded = decoder.decode(data, QuotedFormat(dialect()).frame(data, at_end=True))
    assert [column.null_count for column in decoded.columns] == [100, 100]
    assert len(decoded.faults) == 100


def test_only_odd_rows_are_taken_apart() -> None:
    taken: list[int] = []

    class Counting(CsvDecoder):
        def _decode_slowly(self, data: memoryview, frames: Frames) -> Decoded:
            taken.append(len(frames))
            return super()._decode_slowly(data, frames)

    layout = CsvLayout(("x", "y"), (pa.string(), pa.int32()), (0, 1))
    data = memoryview(b"a,1\n" * 500 + b"b\n" + b"c,2\n" * 500)
    decoded = Counting(dialect(), QuotedFormat(dialect()), layout).decode(
        data, QuotedFormat(dialect()).frame(data, at_end=True)
    )
    assert taken == [1]
    assert decoded.columns[0].to_pylist() == ["a"] * 500 + ["b"] + ["c"] * 500


@pytest.mark.parametrize(
    ("settings", "text", "expected"),
    [
        ({}, "a b,c\nd\n", False), ({}, "a ,b\n", True), ({}, "a, b\n", True), ({}, " a\n", True), ({}, "a \n", True),
        ({}, "a ", True), ({}, '"a , b"\n', False), ({}, "a\r\n\r\nb\n", False), ({"sep": "\t"}, "a\t\tb\n", False),
        ({"sep": "\t"}, "a\t b\n", True), ({"sep": ", "}, "a, b\n", True), ({"line_sep": "@"}, "a\n@b", True),
        ({"line_sep": "@"}, "a\nb@c", False), ({"escape": "\\"}, '"\\" , "\n', False),
    ],
)  # fmt: skip
def test_white_space_matters_only_beside_separators_and_terminators(settings: Any, text: str, expected: bool) -> None:
    assert has_blank_edges(memoryview(text.encode()), dialect(**settings)) is expected


def test_bytes_without_a_spare_separator_are_not_rewritten() -> None:
    text = "a||b" + "".join(map(chr, [0x1F, 0x1E, 0x1D, 0x1C, 1, 2, 3, 4])) + "\n"
    data = memoryview(text.encode())
    chosen = dialect(sep="||")
    assert canonical(data, QuotedFormat(chosen).frame(data, at_end=True), chosen) is None


def test_bytes_that_need_no_rewriting_are_not_copied() -> None:
    data = memoryview(b'a,"b"\nc,d\n')
    text, sep = canonical(data, QuotedFormat(dialect()).frame(data, at_end=True), dialect()) or (None, None)
    assert sep == ","
    assert text is not None
    assert np.shares_memory(np.frombuffer(text, np.uint8), np.frombuffer(data, np.uint8))


# ------------------------------------------------- records that are values


@pytest.mark.parametrize("gap", [b"\n", b"\r\n", b"|" * 9, b"-" * 100])
def test_contents_are_put_side_by_side_whatever_is_between_them(gap: bytes) -> None:
    parts = [b"abc", b"", b"d", b"\xff" * 20, b""]
    data = b"?" + gap.join(parts) + b"?"
    starts, position = [], 1
    for part in parts:
        starts.append(position)
        position += len(part) + len(gap)
    stops = [start + len(part) for start, part in zip(starts, parts, strict=True)]
    frames = Frames(np.array(starts), np.array(stops), len(data))
    assert gather(memoryview(data), frames, pa.binary()).to_pylist() == parts
    assert gather(memoryview(data), frames.head(1, 5), pa.binary()).to_pylist() == parts[:1]
    assert gather(memoryview(data), frames.head(0, 0), pa.binary()).to_pylist() == []


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16BE", "UTF-32LE", "ISO-8859-1", "windows-1252"])
def test_lines_are_decoded_and_faulty_bytes_replaced(encoding: str) -> None:
    format = line_format(encoding=encoding)
    assert isinstance(format, LineFormat)
    data = memoryview(format.encoding.encode("é\r\n\nx"))
    decoder = TextDecoder(format.encoding, LineFormat())
    frames = format.frame(data, at_end=True)
    assert decoder.decode(data, frames).columns[0].to_pylist() == ["é", "", "x"]
    assert TextDecoder(format.encoding, LineFormat(), wanted=False).decode(data, frames) == Decoded([], 3)


def test_only_the_line_that_is_no_text_is_changed() -> None:
    data = memoryview(b"\xc3\xa9\n\xff\xc3\na\n")
    decoded = TextDecoder(UTF_8, LineFormat()).decode(data, LineFormat().frame(data, at_end=True))
    assert decoded.columns[0].to_pylist() == ["é", "\ufffd\ufffd", "a"]


def test_bytes_beyond_ascii_are_faulty_in_ascii_whatever_their_neighbours() -> None:
    data = memoryview("é\na\n".encode() + b"\xff\n")
    decoder = TextDecoder(resolve_encoding("US-ASCII"), LineFormat())
    for stop in (5, len(data)):
        frames = LineFormat().frame(data[:stop], at_end=True)
        assert decoder.decode(data[:stop], frames).columns[0].to_pylist()[:2] == ["\ufffd\ufffd", "a"]


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"])
@pytest.mark.parametrize("text", ["a\n", "a\n\n", "a", "a\r\n", "a\r"])
def test_a_file_that_ends_inside_a_code_unit_keeps_its_records(encoding: str, text: str) -> None:
    wide = line_format(encoding=encoding)
    assert isinstance(wide, LineFormat)
    for extra in (b"\n", b"\xd8", b"\0", b"a"):
        data = memoryview(wide.encoding.encode(text) + extra)
        frames = wide.frame(data, at_end=True)
        lines = TextDecoder(wide.encoding, LineFormat()).decode(data, frames).columns[0]
        pairs = zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
        assert lines.to_pylist() == [bytes(data[a:b]).decode(wide.encoding.codec, "replace") for a, b in pairs]
        chosen = dialect(encoding=wide.encoding)
        decoder = CsvDecoder(chosen, QuotedFormat(chosen.in_utf8), CsvLayout(("x",), (pa.string(),), (0,)))
        assert decoder.decode(data, QuotedFormat(chosen).frame(data, at_end=True)).columns[0].to_pylist() == ["a"]


def test_half_a_pair_of_surrogates_is_one_faulty_character() -> None:
    data = memoryview(b"\x00\xd8\n\0a\0\x00\xdc\n\0")
    wide = line_format(encoding="UTF-16LE")
    assert isinstance(wide, LineFormat)
    decoded = TextDecoder(wide.encoding, LineFormat()).decode(data, wide.frame(data, at_end=True))
    assert decoded.columns[0].to_pylist() == ["\ufffd", "a\ufffd"]


def test_a_twin_that_finds_other_records_is_an_error_of_ours() -> None:
    data = memoryview("a\nb\n".encode("utf-16-le"))
    wide = line_format(encoding="UTF-16LE")
    with pytest.raises(InvariantError, match="transcoding must not change the number of records"):
        TextDecoder(resolve_encoding("UTF-16LE"), line_format(line_sep="|")).decode(data, wide.frame(data, at_end=True))


def test_a_short_last_record_is_delivered_and_reported() -> None:
    data = memoryview(b"abcde")
    decoded = BinaryDecoder().decode(data, FixedFormat(3).frame(data, at_end=True))
    assert decoded.columns[0].to_pylist() == [b"abc", b"de"]
    assert [(fault.record, fault.code, fault.structural) for fault in decoded.faults] == [(1, "short-record", True)]
