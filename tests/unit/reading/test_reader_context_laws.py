"""The built-in contexts at every cut and every block size of files that hurt, and mistakes that the laws catch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.errors import SplitscanError
from splitscan.formats.fixed.framing import SliceFormat
from splitscan.formats.framing.contract import RecordFormat
from splitscan.formats.text.lines import line_format
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.framed_contexts import (
    FixedBytesReaderContext,
    LineReaderContext,
    ReadAheadLineReaderContext,
)
from splitscan.reading.reader_context import Entity
from splitscan.testing.context_laws import check_context_laws, read_context_range
from splitscan.testing.memory_reader import read_range
from splitscan.testing.strategies import files_of

NASTY_FILES = {
    "line feeds": b"ab\ncd\n\nefg\n",
    "both characters": b"ab\r\ncd\r\n\r\nefg\r\n",
    "carriage returns": b"ab\rcd\r\refg\r",
    "mixed": b"a\n\rb\r\n\n\rc\r\r\nd",
    "empty lines first": b"\n\n\r\n\na\n",
    "empty lines only": b"\n\n\n\n",
    "empty lines last": b"a\n\n\r\n\r\n\r",
    "no line end at all": b"abcdefghij",
    "no final line end": b"ab\ncdefghijklmn",
    "wide characters": "é\nüñ\r\n☃☃\n𝄞".encode(),
    "bytes that are no text": b"\xff\xfe\n\x80\n\xc3\n\xe2\x98",
    "nulls": b"\0\n\0\0\r\n\0",
    "a byte order mark": b"\xef\xbb\xbfab\ncd\n",
    "one byte": b"\n",
    "nothing": b"",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "any line end": {},
    "a wide delimiter": {"line_sep": "\r\n"},
    "a delimiter that overlaps itself": {"line_sep": "\n\n"},
    "an escape": {"escape": "a"},
    "UTF-16": {"encoding": "UTF-16LE"},
}


class MarkedLineReaderContext(LineReaderContext):
    """Lines of this file begin with ``#``, so that fragments are told from lines."""

    def convert_to_record(self, record: bytes) -> Any | None:
        return record if record.startswith(b"#") else None


def contents(format: RecordFormat, data: bytes) -> list[bytes]:
    return [record.content for record in read_range(format, data, 0, len(data))]


@pytest.mark.slow
@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("data", NASTY_FILES.values(), ids=NASTY_FILES)
def test_reading_ahead_gives_each_line_once_at_every_block_size(data: bytes, options: dict[str, Any]) -> None:
    context = ReadAheadLineReaderContext(**options)
    check_context_laws(context, data)
    found = [value for _, value in read_context_range(context, data, 0, len(data))] if data else []
    assert found == contents(line_format(**options), data)


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("data", NASTY_FILES.values(), ids=NASTY_FILES)
def test_fixed_lengths_are_counted_from_the_start_of_the_file_at_every_block_size(data: bytes, length: int) -> None:
    context = FixedBytesReaderContext(length)
    check_context_laws(context, data)
    found = [value for _, value in read_context_range(context, data, 0, len(data))] if data else []
    assert found == [data[start : start + length] for start in range(0, len(data), length)]
    assert found == contents(SliceFormat(length), data)


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_lines_that_a_validator_knows_come_once_at_every_block_size(line_end: bytes) -> None:
    data = line_end.join([b"#one", b"#", b"#two and more", "#é".encode(), b"#\0\xff"])
    check_context_laws(MarkedLineReaderContext(), data)
    check_context_laws(MarkedLineReaderContext(), data + line_end)


def test_aligned_blocks_need_no_validator() -> None:
    data = b"".join(b"line %03d\r\n" % number for number in range(30))
    found = []
    for start in range(0, len(data), 20):
        found += read_context_range(LineReaderContext(), data, start, start + 20)
    assert found == [(10 * number, b"line %03d" % number) for number in range(30)]


def test_a_block_without_aligned_start_begins_with_a_fragment() -> None:
    data = b"abc\ndefgh\n"
    blocks = [[value for _, value in read_context_range(LineReaderContext(), data, i, i + 3)] for i in (0, 3, 6, 9)]
    assert blocks == [[b"abc"], [b"defgh"], [b"fgh"], []]


def test_fragments_that_a_validator_misses_break_the_laws() -> None:
    with pytest.raises(AssertionError, match=r"partition law, cut at \[1\]"):
        check_context_laws(LineReaderContext(), b"ab\ncd\n")


def test_a_whole_line_that_a_validator_drops_leaves_a_gap() -> None:
    data = b"#a\nxx\n#b\n"
    with pytest.raises(AssertionError, match=re.escape("[3, 6) is read by no block")):
        check_context_laws(MarkedLineReaderContext(), data)


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 4)
@given(files_of([b"a", b"\n", b"\r", b"\r\n", b"\xc3", b"\0"], max_words=9))
def test_reading_ahead_agrees_with_framing_on_random_files(data: bytes) -> None:
    check_context_laws(ReadAheadLineReaderContext(), data)
    found = [value for _, value in read_context_range(ReadAheadLineReaderContext(), data, 0, len(data) or 1)]
    assert found == contents(line_format(), data)


@settings(max_examples=settings().max_examples // 3)
@given(st.binary(max_size=30), st.integers(1, 12))
def test_fixed_lengths_keep_the_laws_on_random_files(data: bytes, length: int) -> None:
    check_context_laws(FixedBytesReaderContext(length), data)


# ------------------------------------------------------- mistakes on purpose


class HandWritten:
    """Lines ended by a line feed, by hand; subclasses make one mistake each."""

    def initialize(self, stream: Any, block: Any, consecutive: bool) -> None:
        self.stream, self.stop = stream, block.stop
        if block.start > 0:
            stream.seek(block.start - 1)
            stream.readline()

    def next(self) -> Entity | None:
        line = self.stream.readline() if self.stream.tell() < self.stop else b""
        return Entity(line.removesuffix(b"\n"), len(line)) if line else None


class OwnsItsStopToo(HandWritten):
    def next(self) -> Entity | None:
        self.stop += 1
        entity = super().next()
        self.stop -= 1
        return entity


class LooksFromItsStart(HandWritten):
    def initialize(self, stream: Any, block: Any, consecutive: bool) -> None:
        self.stream, self.stop = stream, block.stop
        if block.start > 0:
            stream.readline()


class StopsAtItsStop(HandWritten):
    def next(self) -> Entity | None:
        line = self.stream.readline(max(0, self.stop - self.stream.tell()))
        return Entity(line.removesuffix(b"\n"), len(line)) if line else None


class CountsNoLineEnds(HandWritten):
    def next(self) -> Entity | None:
        entity = super().next()
        return Entity(entity.record, len(entity.record)) if entity else None


class RemembersTheLastBlock(HandWritten):
    calls = 0

    def next(self) -> Entity | None:
        self.calls += 1
        return None if self.calls > 3 else super().next()


class TakesShortReadsForTheEnd(HandWritten):
    def next(self) -> Entity | None:
        line = b""
        while self.stream.tell() < self.stop or line:
            piece = self.stream.read1(4)
            line += piece
            if len(piece) < 4 or b"\n" in line:
                break
        line, newline, rest = line.partition(b"\n")
        self.stream.seek(-len(rest), 1)
        return Entity(line, len(line + newline)) if line + newline else None


def test_a_context_by_hand_keeps_the_laws() -> None:
    check_context_laws(HandWritten, b"ab\ncdef\n\nghi\nj")


@pytest.mark.parametrize(
    "mistaken",
    [
        OwnsItsStopToo,
        LooksFromItsStart,
        StopsAtItsStop,
        CountsNoLineEnds,
        RemembersTheLastBlock,
        TakesShortReadsForTheEnd,
    ],
)
def test_the_laws_catch_every_mistake(mistaken: Callable[[], HandWritten]) -> None:
    with pytest.raises((AssertionError, SplitscanError)):
        check_context_laws(mistaken, b"ab\ncdef\n\nghi\nj")


@pytest.mark.parametrize("mutant", ["claims too much", "starts too late", "never looks"])
def test_the_laws_catch_a_broken_reader_below_the_built_in_context(
    mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = FramedRecords._entry
    wrong: dict[str, Callable[[FramedRecords], int]] = {
        "claims too much": lambda reader: max(0, entry(reader) - 1),
        "starts too late": lambda reader: min(reader._block.file.size_bytes, entry(reader) + 1),
        "never looks": lambda reader: reader._block.start,
    }
    monkeypatch.setattr(FramedRecords, "_entry", wrong[mutant])
    with pytest.raises((AssertionError, SplitscanError)):
        check_context_laws(ReadAheadLineReaderContext(), b"ab\ncdef\n\nghi\nj")
