"""The bugs of the reader contexts that ours descend from, tried on ours; ``docs/reader-contexts.md`` lists them."""

from __future__ import annotations

from typing import Any

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import SourceChangedError, SourceError, SplitscanError, UsageError
from splitscan.reading.cursor import Skipped
from splitscan.reading.framed_contexts import (
    FixedBytesReaderContext,
    LineReaderContext,
    ReadAheadLineReaderContext,
)
from splitscan.reading.reader_context import ContextReader, Converted, ReaderContext
from splitscan.testing.faults import FailingSource, MemorySource, RecordingSource, ShortReadSource, TruncatedSource

KIB = 1024
MIB = 1024 * KIB


def file_of(data: bytes, path: str = "memory://test") -> FileMetadata:
    return FileMetadata(path, len(data), 0, "v1", path)


def blocks_of(file: FileMetadata, size: int) -> list[BlockMetadata]:
    starts = range(0, file.size_bytes, size)
    return [BlockMetadata(file, s, min(s + size, file.size_bytes), i) for i, s in enumerate(starts)]


def values_of(reader: ContextReader) -> list[Any]:
    steps = list(reader)
    assert all(isinstance(step, Converted) for step in steps)
    return [value for step in steps for value in step.values]  # type: ignore[union-attr]


def read(
    context: ReaderContext, data: bytes, block_bytes: int, source: ByteSource | None = None, read_bytes: int = 8 * KIB
) -> list[Any]:
    """All blocks of a file, one after the other, with one context."""
    found: list[Any] = []
    for block in blocks_of(file_of(data), block_bytes):
        reader = ContextReader(
            source or MemorySource(data), block, context, max_record_bytes=MIB, read_bytes=read_bytes
        )
        found += values_of(reader)
    return found


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 5, 100])
def test_b1_characters_of_several_bytes_are_neither_corrupted_nor_read_for_ever(block_bytes: int) -> None:
    lines = ["é", "", "☃ü", "𝄞"]
    data = "\n".join(lines).encode() + b"\n\xff\xfe\xc3"
    expected = [line.encode() for line in lines] + [b"\xff\xfe\xc3"]
    assert read(ReadAheadLineReaderContext(), data, block_bytes) == expected


@pytest.mark.parametrize("tail_bytes", [8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("block_bytes", [1000, 8192, 100_000])
def test_b2_a_last_line_without_newline_is_read_however_long_it_is(tail_bytes: int, block_bytes: int) -> None:
    data = b"one\n" + b"x" * tail_bytes
    assert read(ReadAheadLineReaderContext(), data, block_bytes) == [b"one", b"x" * tail_bytes]


@pytest.mark.parametrize("short_bytes", [1, 7, 4000])
def test_b3_a_short_read_is_not_the_end_of_the_file(short_bytes: int) -> None:
    data = b"".join(b"line %05d\n" % number for number in range(800))
    source = ShortReadSource(MemorySource(data), short_bytes)
    expected = data.splitlines()
    assert read(ReadAheadLineReaderContext(), data, 3000, source) == expected
    assert read(FixedBytesReaderContext(11), data, 3000, source) == [line + b"\n" for line in expected]


def test_b3_a_file_that_became_shorter_is_an_error_and_not_an_endless_loop() -> None:
    data = b"one\ntwo\nthree\n"
    source = TruncatedSource(MemorySource(data), 9)
    with pytest.raises(SourceChangedError, match=r"\[source-truncated\]"):
        read(ReadAheadLineReaderContext(), data, 100, source)


@pytest.mark.parametrize("read_bytes", [1, 2, 3, 4, 7, 8 * KIB])
@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_b4_no_empty_record_appears_at_the_edge_of_a_buffer(read_bytes: int, line_end: bytes) -> None:
    data = (b"abcde" + line_end) * 6
    assert read(ReadAheadLineReaderContext(), data, 100, read_bytes=read_bytes) == [b"abcde"] * 6


def test_b4_no_empty_record_appears_at_the_edge_of_a_large_buffer() -> None:
    line = b"x" * 98
    data = (line + b"\r\n") * 30_000  # the originals find 17 more rows per 16 MiB
    assert read(ReadAheadLineReaderContext(), data, MIB + 1) == [line] * 30_000
    assert read(LineReaderContext(), data, 999 * 100) == [line] * 30_000


def test_b4_a_return_and_a_feed_that_a_cut_divides_are_one_line_end() -> None:
    data = b"abc\r\ndef\r\nghi\r\n"
    assert read(LineReaderContext(), data, 4) == [b"abc", b"def", b"ghi", b"i"]  # the originals: abc, "", def, "", ...
    assert read(ReadAheadLineReaderContext(), data, 4) == [b"abc", b"def", b"ghi"]
    for encoding, codec in [("UTF-16LE", "utf-16-le"), ("UTF-16BE", "utf-16-be"), ("UTF-16", "utf-16-be")]:
        wide = "ab\r\ncd\u0a00\r\n".encode(codec)
        found = read(LineReaderContext(encoding=encoding), wide, 6)
        assert found == ["ab".encode(codec), "cd\u0a00".encode(codec), "\u0a00".encode(codec)]
    marked = "\ufeffa\r\ncd\r\n".encode("utf-16-le")  # only the mark at its head says which byte comes first
    assert read(LineReaderContext(encoding="UTF-16"), marked, 6) == ["a".encode("utf-16-le"), "cd".encode("utf-16-le")]


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 4, 100])
def test_b5_empty_lines_are_records_wherever_they_stand(block_bytes: int) -> None:
    context = ReadAheadLineReaderContext()
    assert read(context, b"\n\na\n\n\nb\n\n", block_bytes) == [b"", b"", b"a", b"", b"", b"b", b""]
    assert read(context, b"\n\n\n", block_bytes) == [b"", b"", b""]


def test_b6_the_delimiter_is_the_users() -> None:
    data = b"a\rb;\\;c;d"
    for block_bytes in range(1, len(data) + 1):
        assert read(ReadAheadLineReaderContext(";", escape="\\"), data, block_bytes) == [b"a\rb", b"\\;c", b"d"]


def test_b7_a_fragment_that_a_validator_lets_pass_shows_in_the_spans() -> None:
    data = b"first line\nsecond line\n"
    file = file_of(data)
    spans = []
    for block in blocks_of(file, 15):
        reader = ContextReader(MemorySource(data), block, LineReaderContext(), max_record_bytes=MIB, read_bytes=KIB)
        list(reader)
        spans.append(tuple(reader.span))
    assert spans == [(0, 23), (15, 23)]  # an ingest refuses spans that overlap


@pytest.mark.parametrize("block_bytes", [1, 3, 10, 24])
def test_b8_records_of_fixed_length_are_not_cut_at_the_end_of_a_block(block_bytes: int) -> None:
    data = b"01234567abcdefghijklmnop"
    assert read(FixedBytesReaderContext(8), data, block_bytes) == [b"01234567", b"abcdefgh", b"ijklmnop"]


def test_b9_nothing_overrides_the_length_that_the_user_gives() -> None:
    data = b"x" * 10_000
    found = read(FixedBytesReaderContext(4096), data, 1000, read_bytes=100)
    assert [len(value) for value in found] == [4096, 4096, 1808]


@pytest.mark.parametrize("length", [0, -1])
def test_b9_a_length_that_never_advances_is_refused(length: int) -> None:
    with pytest.raises(UsageError, match=r"\[bad-option\]"):
        FixedBytesReaderContext(length)


@pytest.mark.parametrize("context", [ReadAheadLineReaderContext(), LineReaderContext(), FixedBytesReaderContext(4)])
def test_b10_a_context_reads_the_file_of_its_block_and_not_the_one_before(context: ReaderContext) -> None:
    contents = {"a": b"aa1\naa2\naa3\n", "b": b"bb1\nbb2\nbb3\n"}
    files = {path: file_of(data, path) for path, data in contents.items()}
    found = {}
    for path, start in [("a", 0), ("b", 4), ("a", 4), ("b", 0)]:
        block = BlockMetadata(files[path], start, start + 4, start // 4)
        reader = ContextReader(MemorySource(contents[path]), block, context, max_record_bytes=MIB, read_bytes=4)
        found[path, start] = [bytes(value).strip() for value in values_of(reader)]
    assert found == {("a", 0): [b"aa1"], ("b", 4): [b"bb2"], ("a", 4): [b"aa2"], ("b", 0): [b"bb1"]}


@pytest.mark.parametrize("context", [ReadAheadLineReaderContext(), FixedBytesReaderContext(12)])
def test_b11_a_block_in_which_no_record_begins_is_empty(context: ReaderContext) -> None:
    data = b"a long line\nanother one\n"
    file = file_of(data)
    read(context, data, 12)  # something that it could serve again
    reader = ContextReader(
        MemorySource(data), BlockMetadata(file, 3, 9, 1), context, max_record_bytes=MIB, read_bytes=KIB
    )
    assert values_of(reader) == []
    assert tuple(reader.span) == (9, 9)


class NotesStreams(ReadAheadLineReaderContext):
    def initialize(self, stream: Any, block: BlockMetadata, consecutive: bool) -> None:
        assert not consecutive
        self.streams = [*getattr(self, "streams", []), stream]
        super().initialize(stream, block, consecutive)


def test_b12_a_stream_is_never_reused() -> None:
    first, second = file_of(b"aa\nbb\n", "first"), file_of(b"cc\ndd\n", "second")
    context = NotesStreams()
    # the second block follows the first by its numbers, and belongs to another file; the third is the same again
    for data, block, expected in [
        (b"aa\nbb\n", BlockMetadata(first, 0, 3, 0), [b"aa"]),
        (b"cc\ndd\n", BlockMetadata(second, 3, 6, 1), [b"dd"]),
        (b"cc\ndd\n", BlockMetadata(second, 3, 6, 1), [b"dd"]),
    ]:
        reader = ContextReader(MemorySource(data), block, context, max_record_bytes=MIB, read_bytes=KIB)
        assert values_of(reader) == expected
    assert len(set(map(id, context.streams))) == 3


def test_b14_bytes_that_are_appended_after_planning_do_not_extend_the_last_record() -> None:
    planned = b"aa\nbb-partial"
    source = MemorySource(planned + b"-GROWN\ncc\n")
    assert read(ReadAheadLineReaderContext(), planned, 4, source) == [b"aa", b"bb-partial"]


class Breaks(NotesStreams):
    def next(self) -> Any:
        raise KeyError("boom")


def test_b16_streams_are_closed_after_reading_after_an_error_and_when_reading_is_given_up() -> None:
    data = b"aa\nbb\n"
    block, *_ = blocks_of(file_of(data), 3)

    def reader_of(context: ReaderContext) -> ContextReader:
        return ContextReader(MemorySource(data), block, context, max_record_bytes=MIB, read_bytes=KIB)

    reading = NotesStreams()
    list(reader_of(reading))
    assert [stream.closed for stream in reading.streams] == [True]

    failing = Breaks()
    with pytest.raises(SplitscanError, match="boom"):
        list(reader_of(failing))
    assert [stream.closed for stream in failing.streams] == [True]

    given_up = NotesStreams()
    steps = iter(reader_of(given_up))
    next(steps)
    assert [stream.closed for stream in given_up.streams] == [False]
    steps.close()  # type: ignore[attr-defined]
    assert [stream.closed for stream in given_up.streams] == [True]


def test_b16_a_context_goes_on_after_a_failure_with_a_new_stream() -> None:
    data = b"aa\nbb\n"
    block, *_ = blocks_of(file_of(data), 3)
    context = NotesStreams()
    failing = FailingSource(MemorySource(data), good_reads=0)
    with pytest.raises(SourceError, match="injected fault"):
        list(ContextReader(failing, block, context, max_record_bytes=MIB, read_bytes=KIB))
    assert values_of(ContextReader(MemorySource(data), block, context, max_record_bytes=MIB, read_bytes=KIB)) == [b"aa"]


def test_b17_a_line_that_never_ends_is_one_reject() -> None:
    data = b"ok\n" + b"x" * 5000 + b"\nfine\n"
    context = ReadAheadLineReaderContext(max_record_bytes=100)
    steps: list[Any] = []
    for block in blocks_of(file_of(data), 64):
        steps += ContextReader(MemorySource(data), block, context, max_record_bytes=100, read_bytes=KIB)
    values = [value for step in steps if isinstance(step, Converted) for value in step.values]
    (reject,) = [step for step in steps if isinstance(step, Skipped)]
    assert values == [b"ok", b"fine"]
    assert (reject.offset, reject.length_bytes, reject.code) == (3, 5001, "record-too-long")


def test_b17_a_block_is_read_in_few_reads() -> None:
    data = (b"x" * 99 + b"\n") * 20_000
    source = RecordingSource(MemorySource(data))
    read(ReadAheadLineReaderContext(), data, len(data), source, read_bytes=8 * MIB)
    assert len(source.reads) <= 6
