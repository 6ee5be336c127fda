"""The cursor: steps from record to record, in few reads and bounded memory."""

from __future__ import annotations

import gzip
from contextlib import closing
from typing import Any

import pytest

from splitscan.blocks import Compression, FileMetadata
from splitscan.content.codecs.formats import CODECS
from splitscan.content.codecs.source import CompressedSource
from splitscan.errors import InvariantError, SourceChangedError
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.framing.frames import NO_OFFSETS, Frames
from splitscan.formats.text.lines import LineFormat, line_format
from splitscan.reading.cursor import RAW_BYTES, RecordChunk, RecordCursor, Records, Skipped, steps_until
from splitscan.testing.faults import MemorySource, RecordingSource

CSV = QuotedFormat(CsvGrammar(resolve_encoding("UTF-8"), escape='"', multi_line=True, comment="#"))


def cursor(data: bytes, format: Any = None, position: int = 0, **settings: Any) -> RecordCursor:
    source = settings.pop("source", MemorySource(data))
    file = FileMetadata("memory://test", len(data), 0, "v1", "test")
    limits = {"max_record_bytes": 1000, "read_bytes": 1000, **settings}
    return RecordCursor(Records(source, file, Preamble(0, format or line_format()), **limits), position)


def contents(step: RecordChunk | Skipped | None) -> list[bytes]:
    assert isinstance(step, RecordChunk)
    pairs = zip(step.frames.starts.tolist(), step.frames.stops.tolist(), strict=True)
    return [bytes(step.data[start:stop]) for start, stop in pairs]


def test_a_step_gives_the_complete_records_of_a_read() -> None:
    steps = cursor(b"a\nbb\nccc\n", read_bytes=4)
    first = steps.step(9)
    assert isinstance(first, RecordChunk)
    assert (contents(first), first.offset, bytes(first.data), steps.position) == ([b"a"], 0, b"a\n", 2)
    second = steps.step(9)
    assert isinstance(second, RecordChunk)
    assert (contents(second), second.offset, steps.position) == ([b"bb"], 2, 5)
    assert contents(steps.step(9)) == [b"ccc"]
    assert steps.step(9) is None


def test_reads_end_a_little_behind_the_stop_and_go_on_in_small_steps() -> None:
    data = b"x" * 200_000 + b"\n" + b"y" * 300_000
    source = RecordingSource(MemorySource(data))
    steps = cursor(data, source=source, read_bytes=1 << 20, max_record_bytes=1 << 20)
    assert len(contents(steps.step(1000))[0]) == 200_000
    assert source.reads == [(0, 17_384), (17_384, 65_536), (82_920, 131_072)]


def test_a_record_that_is_too_long_is_skipped_to_its_end_and_the_records_before_it_are_kept() -> None:
    data = b"a\n" + b"b" * 2000 + b"\nc\n"
    for read_bytes in (10, 1000, 10_000):
        steps = list(steps_until(cursor(data, max_record_bytes=500, read_bytes=read_bytes), len(data)))
        skipped = [step for step in steps if isinstance(step, Skipped)]
        assert skipped == [Skipped(2, 2001, "record-too-long", b"b" * 500)]
        assert [content for step in steps if isinstance(step, RecordChunk) for content in contents(step)] == [
            b"a",
            b"c",
        ]


def test_of_a_skipped_record_a_bounded_prefix_is_kept() -> None:
    data = b"b" * 200_000 + b"\n"
    step = cursor(data, max_record_bytes=100_000).step(len(data))
    assert isinstance(step, Skipped)
    assert (step.length_bytes, len(step.raw)) == (200_001, RAW_BYTES)
    short = cursor(b'"ab\nc\n', CSV).step(6)
    assert short == Skipped(0, 4, "unclosed-quote", b'"ab\n')


@pytest.mark.parametrize(
    ("data", "gap"), [(b"\n\r\na", 3), (b"#x\n\n#\na", 6), (b"a", 0), (b"", 0), (b"\n\n", 2), (b"#x", 2), (b"\r", 1)]
)
def test_the_gap_before_the_next_record_is_blank_lines_and_comments(data: bytes, gap: int) -> None:
    for read_bytes in (1, 2, 1000):
        assert cursor(data, CSV, read_bytes=read_bytes).gap_stop() == gap
        assert cursor(data, read_bytes=read_bytes).gap_stop() == 0


def test_a_format_that_stands_still_is_stopped() -> None:
    class Stuck(LineFormat):
        def frame(self, data: Any, *, at_end: bool) -> Frames:
            return Frames(NO_OFFSETS, NO_OFFSETS, 0)

        def resume_after(self, data: Any, *, at_end: bool) -> int | None:
            return 0

    with pytest.raises(InvariantError, match="a step must move forward"):
        list(steps_until(cursor(b"a\n", Stuck()), 2))


def test_a_file_that_ends_early_is_named_with_both_sizes() -> None:
    planned = b"a\n" * 50
    with pytest.raises(SourceChangedError) as raised:
        list(steps_until(cursor(planned, source=MemorySource(planned[:40]), read_bytes=30), len(planned)))
    assert str(raised.value) == (
        "the file became shorter while it was read [source-truncated]\n"
        "  where: memory://test, byte 40\n"
        "  seen:  40 bytes where 100 were planned\n"
        "  fix:   plan the scan again when the file is complete"
    )


def test_a_comment_that_damage_cuts_off_reaches_to_the_end_of_the_content() -> None:
    content = b"a\n" * 10 + b"#cut off"
    broken = MemorySource(gzip.compress(content, 0)[:-8])  # without checksum and length
    with closing(CompressedSource(broken, CODECS["gzip"], max_ratio=100, on_damage=print)) as source:
        file = FileMetadata("memory://test", broken.size_bytes, 0, "v1", "test", Compression("gzip"))
        steps = RecordCursor(Records(source, file, Preamble(0, CSV), max_record_bytes=1000, read_bytes=12), 0)
        assert len(list(steps_until(steps, 1000))) > 1
        assert (steps.is_torn, steps.position, steps.gap_stop()) == (True, 20, len(content))


def test_nothing_inside_a_record_that_was_given_up_is_a_boundary() -> None:
    skipped = Skipped(10, 5, "record-too-long", b"")
    assert [skipped.boundary_near(stop, 3) for stop in (12, 15, 16)] == [None, None, 15]
    framed = cursor(b"a\nbb\nccc\n").step(9)
    assert isinstance(framed, RecordChunk)
    assert [framed.boundary_near(stop, None) for stop in (0, 1, 2, 4, 5, 8)] == [0, 0, 2, 2, 5, 5]
