"""What a context is told, and what becomes of what it says and of what it does wrong."""

from __future__ import annotations

import contextlib
import io
import pickle
from hashlib import sha256
from typing import Any

import pytest

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, RecordError, SchemaError, SourceError, SplitscanError, UsageError
from splitscan.formats.framing.contract import Splittability
from splitscan.formats.text.lines import DelimitedFormat
from splitscan.reading.cursor import Skipped
from splitscan.reading.framed_contexts import (
    FixedBytesReaderContext,
    LineReaderContext,
    ReadAheadLineReaderContext,
)
from splitscan.reading.own_formats import ContextReading, as_reading
from splitscan.reading.reader_context import ContextReader, Converted, Entity, ReaderContext, open_stream
from splitscan.testing.faults import FailingSource, MemorySource, RecordingSource, TruncatedSource

DATA = b"aa\nbb\ncc\n"
FILE = FileMetadata("dir/notes.txt", len(DATA), 0, "v1", "notes.txt")
MIDDLE = BlockMetadata(FILE, 2, 5, 1)


class Lines:
    """Lines that end in a line feed."""

    def initialize(self, stream: Any, block: BlockMetadata, consecutive: bool) -> None:
        self.told = stream.tell(), block, consecutive
        self.stream, self.stop = stream, block.stop
        if block.start > 0:
            stream.seek(block.start - 1)
            stream.readline()

    def next(self) -> Entity | None:
        line = self.stream.readline() if self.stream.tell() < self.stop else b""
        return Entity(line.removesuffix(b"\n"), len(line)) if line else None


def reader_of(context: ReaderContext, block: BlockMetadata = MIDDLE, **options: Any) -> ContextReader:
    source = options.pop("source", MemorySource(DATA, block.file.path))
    return ContextReader(source, block, context, **{"max_record_bytes": 100, "read_bytes": 64, **options})


def test_a_context_is_told_its_block_and_gets_a_stream_that_stands_at_its_start() -> None:
    context = Lines()
    list(reader_of(context))
    assert context.told == (2, MIDDLE, False)


def test_records_come_with_their_offsets_and_the_reader_with_its_span_and_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPLITSCAN_ENGINE", "reference")
    reader = reader_of(Lines(), with_digest=True)
    with pytest.raises(InvariantError, match="known only after it was read"):
        _ = reader.span
    (step,) = reader
    assert isinstance(step, Converted)
    assert (step.values, step.record_offsets.tolist(), bytes(step.data)) == ((b"bb",), [3], b"bb")
    assert tuple(reader.span) == (3, 6)
    assert reader.digest == "sha256:" + sha256(DATA[3:6]).hexdigest()


def test_a_block_at_the_start_of_a_file_answers_for_what_stands_before_its_first_record() -> None:
    data = b"\xef\xbb\xbfab\n"
    file = FileMetadata("f", len(data), 0, "v1", "f")
    reader = reader_of(ReadAheadLineReaderContext(), BlockMetadata(file, 0, 6, 0), source=MemorySource(data))
    (step,) = reader
    assert isinstance(step, Converted)
    assert (step.record_offsets.tolist(), tuple(reader.span)) == ([3], (0, 6))


def test_what_a_context_rejects_is_reported_between_the_records_around_it() -> None:
    class Choosy(Lines):
        def next(self) -> Entity | None:
            entity = super().next()
            return entity._replace(reject="bad-b") if entity and entity.record == b"bb" else entity

    steps = list(reader_of(Choosy(), BlockMetadata(FILE, 0, 9, 0)))
    assert [step.values if isinstance(step, Converted) else step for step in steps] == [
        (b"aa",), Skipped(3, 3, "bad-b", b"bb"), (b"cc",),
    ]  # fmt: skip


def test_a_record_that_is_too_long_is_rejected() -> None:
    steps = list(reader_of(Lines(), BlockMetadata(FILE, 0, 3, 0), max_record_bytes=1))
    assert steps == [Skipped(0, 3, "record-too-long", b"aa")]


def test_what_is_converted_to_nothing_is_dropped_and_answered_for() -> None:
    class WithoutB(Lines):
        def convert_to_record(self, record: bytes) -> str | None:
            return None if record == b"bb" else record.decode()

    reader = reader_of(WithoutB(), BlockMetadata(FILE, 0, 9, 0))
    assert [step.values for step in reader if isinstance(step, Converted)] == [("aa", "cc")]
    assert tuple(reader.span) == (0, 9)
    alone = reader_of(WithoutB())
    assert list(alone) == []
    assert tuple(alone.span) == (3, 6)  # no fragment: this context gives none


def test_only_the_first_record_of_a_block_can_be_a_fragment() -> None:
    class LongLines(LineReaderContext):
        def convert_to_record(self, record: bytes) -> bytes | None:
            return record if len(record) > 1 else None

    data = b"aaaa\nb\ncc\n"
    file = FileMetadata("f", len(data), 0, "v1", "f")
    reader = reader_of(LongLines(), BlockMetadata(file, 3, len(data), 1), source=MemorySource(data))
    assert [step.values for step in reader if isinstance(step, Converted)] == [(b"cc",)]
    assert tuple(reader.span) == (5, 10)  # "a" is of the block before; "b" was read here, and dropped


def test_many_records_come_in_steps() -> None:
    data = b"x\n" * 10_000
    file = FileMetadata("f", len(data), 0, "v1", "f")
    steps = list(reader_of(Lines(), BlockMetadata(file, 0, len(data), 0), source=MemorySource(data)))
    assert len(steps) > 2
    assert sum(len(step.frames) for step in steps if isinstance(step, Converted)) == 10_000


# ------------------------------------------------------------ what goes wrong


class StandsStill(Lines):
    def next(self) -> Entity | None:
        return Entity(b"x", 0)


class LeavesEarly(Lines):
    def next(self) -> Entity | None:
        return None


class GoesTooFar(Lines):
    def next(self) -> Entity | None:
        return Entity(b"x", 1)


class ReachesBeyondTheFile(Lines):
    def next(self) -> Entity | None:
        return Entity(b"x", 1000)


class StartsBeforeItsBlock(Lines):
    def initialize(self, stream: Any, block: BlockMetadata, consecutive: bool) -> None:
        stream.seek(0)


@pytest.mark.parametrize(
    ("context", "rule", "offset"),
    [
        (StandsStill(), "a record must use at least one byte", 3),
        (LeavesEarly(), r"next\(\) must not return None before the block's stop", 3),
        (GoesTooFar(), "a record that begins at or after the block's stop is the next block's", 5),
        (ReachesBeyondTheFile(), "a record must not reach beyond the end of the file", 3),
        (StartsBeforeItsBlock(), r"initialize\(\) must leave the stream at or after the block's start", 0),
    ],
)
def test_a_context_that_does_not_keep_its_promises_is_stopped(context: Lines, rule: str, offset: int) -> None:
    name = type(context).__name__
    place = rf"\[context-broken\]\n  where: dir/notes.txt, byte {offset}, in block \[2, 5\)"
    with pytest.raises(UsageError, match=rf"^reader context {name}: {rule} {place}"):
        list(reader_of(context))


def test_a_context_that_leaves_a_single_byte_unread_is_stopped() -> None:
    with pytest.raises(UsageError, match=r"next\(\) must not return None before the block's stop"):
        list(reader_of(LeavesEarly(), BlockMetadata(FILE, 2, 4, 1)))


class FailsToStart(Lines):
    def initialize(self, stream: Any, block: BlockMetadata, consecutive: bool) -> None:
        raise OSError("no power")


class FailsToRead(Lines):
    def next(self) -> Entity | None:
        raise KeyError("b")


class FailsToConvert(Lines):
    def convert_to_record(self, record: bytes) -> int:
        return int(record)


@pytest.mark.parametrize(
    ("context", "method", "offset", "seen"),
    [
        (FailsToStart(), "initialize", 2, "OSError: no power"),
        (FailsToRead(), "next", 3, "KeyError: 'b'"),
        (FailsToConvert(), "convert_to_record", 3, "ValueError: invalid literal for int"),
    ],
)
def test_an_exception_names_file_block_offset_and_context(context: Lines, method: str, offset: int, seen: str) -> None:
    place = rf"\[context-failed\]\n  where: dir/notes.txt, byte {offset}, in block \[2, 5\)\n  seen:  {seen}"
    rule = rf"^reader context {type(context).__name__}\.{method}\(\) failed"
    with pytest.raises(RecordError, match=rf"{rule} {place}") as caught:
        list(reader_of(context))
    assert type(caught.value.__cause__).__name__ in seen


def test_what_the_storage_says_is_passed_on_as_it_is() -> None:
    with pytest.raises(SourceError, match="injected fault") as caught:
        list(reader_of(Lines(), source=FailingSource(MemorySource(DATA), good_reads=0)))
    assert caught.value.reason_code == "storage-failed"


@pytest.mark.parametrize("context", [Lines(), FailsToStart(), FailsToRead(), StandsStill()])
def test_the_stream_is_closed_whatever_happens_and_the_source_is_left_to_its_owner(context: Lines) -> None:
    streams = []
    initialize = context.initialize

    def spy(stream: Any, block: BlockMetadata, consecutive: bool) -> None:
        streams.append(stream)
        initialize(stream, block, consecutive)

    context.initialize = spy  # type: ignore[method-assign]
    source = RecordingSource(MemorySource(DATA))
    with contextlib.suppress(SplitscanError):
        list(reader_of(context, source=source))
    assert [stream.closed for stream in streams] == [True]
    assert source.closes == 0


# ------------------------------------------------------------------- streams


def test_a_stream_reads_and_seeks_as_a_file_does() -> None:
    stream, twin = open_stream(MemorySource(DATA), FILE, 4), io.BytesIO(DATA)
    for whence, offset, count in [(0, 3, 2), (1, -2, 5), (2, -4, 10), (0, 50, 1), (0, 0, 0)]:
        assert stream.seek(offset, whence) == twin.seek(offset, whence)
        assert stream.read(count) == twin.read(count)
        assert stream.tell() == twin.tell()
    stream.seek(0)
    assert stream.readlines() == DATA.splitlines(keepends=True)
    assert stream.readable()
    assert not stream.writable()
    with pytest.raises(OSError, match="before the beginning"):
        stream.seek(-1)


def test_a_stream_ends_where_the_file_was_planned_to_end() -> None:
    stream = open_stream(MemorySource(DATA + b"more"), FILE, 4)
    assert stream.read() == DATA


def test_a_stream_of_a_file_that_became_shorter_is_an_error() -> None:
    with pytest.raises(SourceError, match=r"\[source-truncated\]"):
        open_stream(TruncatedSource(MemorySource(DATA), 4), FILE, 4).read()


# --------------------------------------------------- formats of one's own


def test_an_object_is_copied_for_every_block_and_a_class_is_called() -> None:
    context = Lines()
    reading = as_reading(context)
    assert isinstance(reading, ContextReading)
    first, second = reading.make(), reading.make()
    assert len({id(context), id(first), id(second)}) == 3
    for given in (Lines, lambda: FixedBytesReaderContext(3), FixedBytesReaderContext(3)):
        assert isinstance(as_reading(given), ContextReading)


def test_a_record_format_stays_what_it_is() -> None:
    format = DelimitedFormat(b"|")
    assert as_reading(format) is format
    assert as_reading(lambda: format) is format
    reading = as_reading(Lines)
    assert as_reading(reading) is reading


class HalfAContext:
    def initialize(self, stream: Any, block: BlockMetadata, consecutive: bool) -> None: ...


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (7, "int, which has no initialize and no next"),
        (HalfAContext(), "HalfAContext, which has no next"),
        (HalfAContext, "HalfAContext, which has no next"),
    ],
)
def test_what_is_no_format_is_refused(given: Any, seen: str) -> None:
    with pytest.raises(UsageError, match=rf"\[bad-format\]\n  seen:  {seen}"):
        as_reading(given)


def test_the_same_configuration_has_the_same_text_in_every_process() -> None:
    class Configured(Lines):
        def __init__(self, mark: Any) -> None:
            self.mark = mark

    texts = [repr(as_reading(Configured(mark))) for mark in (b"#", b"#", b"%")]
    assert texts[0] == texts[1] != texts[2]
    assert repr(as_reading(Configured(object()))) == repr(as_reading(Configured(object())))
    assert repr(as_reading(FixedBytesReaderContext(3))) == repr(as_reading(lambda: FixedBytesReaderContext(3)))
    assert repr(as_reading(ReadAheadLineReaderContext(";"))) != repr(as_reading(ReadAheadLineReaderContext("|")))
    assert " at 0x" not in repr(as_reading(LineReaderContext()))


def test_contexts_travel_before_they_are_initialised() -> None:
    for context in (ReadAheadLineReaderContext(";"), LineReaderContext(), FixedBytesReaderContext(3), Lines()):
        reading = as_reading(context)
        assert repr(pickle.loads(pickle.dumps(reading))) == repr(reading)


def test_a_context_can_say_that_only_whole_files_can_be_read() -> None:
    class Whole(Lines):
        splittable = False

    assert as_reading(Whole).splittability is Splittability.WHOLE
    assert as_reading(Lines).splittability is Splittability.LOCAL
    assert as_reading(Whole).name == "Whole"


def test_a_schema_error_is_no_failure_of_the_context() -> None:
    class Refuses(Lines):
        def convert_to_record(self, record: bytes) -> None:
            raise SchemaError("this file has other columns")

    with pytest.raises(SchemaError, match="this file has other columns"):
        list(reader_of(Refuses()))
