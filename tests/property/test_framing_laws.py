"""The laws of framing hold for any delimiter, escape and cut, and each classic mistake breaks one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.formats.fixed.framing import FixedFormat
from splitscan.formats.framing.contract import Need, RecordFormat
from splitscan.formats.framing.frames import Buffer, CountedRecords, Frames, as_units
from splitscan.formats.log.framing import LogFormat
from splitscan.formats.text import lines as lines_module
from splitscan.formats.text.lines import DelimitedFormat, LineFormat, find_terminators, line_format
from splitscan.formats.xml.framing import XmlFormat
from splitscan.testing import laws, strategies
from splitscan.testing.memory_reader import UNFINISHED, FramedRecord, read_range

FEW = settings(max_examples=settings().max_examples // 2)


@pytest.mark.slow
@FEW
@given(delimiter=strategies.delimiters(), escape=st.sampled_from([None, b"\\"]), draw=st.data())
def test_any_delimiter_obeys_all_laws(delimiter: bytes, escape: bytes | None, draw: st.DataObject) -> None:
    words = [delimiter, delimiter[:1], delimiter[:-1] or delimiter, b"\\", b"x"]
    data = draw.draw(strategies.files_of(words, max_words=8))
    laws.check_format_laws(DelimitedFormat(delimiter, escape=escape), data)


@pytest.mark.slow
@FEW
@given(pattern=st.sampled_from(["[0-9]", "1 ?a", "(?:12)+"]), continues=st.booleans(), draw=st.data())
def test_any_log_obeys_all_laws(pattern: str, continues: bool, draw: st.DataObject) -> None:
    data = draw.draw(strategies.files_of([b"1", b"2", b"\n", b"\r", b" a", b"\n1", b"\xff", b"\xc3\xa9"], max_words=10))
    laws.check_format_laws(LogFormat(pattern, continues), data)


@FEW
@given(
    text=strategies.messy_texts(max_words=40),
    encoding=st.sampled_from(["UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32LE"]),
    line_sep=st.sampled_from([None, "\n", "\r\n", "||", "☃"]),
    draw=st.data(),
)
def test_any_text_reads_the_same_in_any_blocks(
    text: str, encoding: str, line_sep: str | None, draw: st.DataObject
) -> None:
    text_format = line_format(line_sep, "\\", encoding)
    data = text_format.encoding.encode(text)
    laws.check_fast_path_law(text_format, data)
    laws.check_chunking_law(text_format, data, draw.draw(strategies.deliveries()))
    laws.check_partition_law(
        lambda start, stop: read_range(text_format, data, start, stop, 5),
        len(data),
        draw.draw(strategies.cuts(len(data))),
    )


@given(data=st.binary(max_size=60))
def test_lines_of_any_bytes_are_what_python_splits(data: bytes) -> None:
    split = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    expected = split[:-1] if split[-1] == b"" else split
    read = read_range(LineFormat(), data, 0, len(data))
    assert [record.content for record in read] == expected


@given(data=st.text("|ab", max_size=40).map(str.encode), delimiter=st.sampled_from([b"||", b"aba", b"aab", b"|"]))
def test_delimited_records_are_what_python_splits(data: bytes, delimiter: bytes) -> None:
    split = data.split(delimiter)
    expected = split[:-1] if split[-1] == b"" else split
    read = read_range(DelimitedFormat(delimiter), data, 0, len(data))
    assert [record.content for record in read] == expected


@given(size=st.integers(0, 60), length=st.integers(1, 12), draw=st.data())
def test_fixed_records_are_owned_by_the_range_of_their_first_byte(size: int, length: int, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, size))
    stop = draw.draw(st.integers(start, size))
    read = read_range(FixedFormat(length), bytes(size), start, stop)
    assert [record.start for record in read] == [first for first in range(0, size, length) if start <= first < stop]


def test_a_run_of_escapes_longer_than_any_window_is_looked_at_whole() -> None:
    for run in (4095, 4096, 4097, 8192, 8193):
        data = b"a" + b"\\" * run + b"\nb\nc"
        records = read_range(LineFormat(escape=b"\\"), data, 0, len(data))
        assert len(records) == (2 if run % 2 else 3)
        cuts = [run // 2, run, run + 1, run + 2, run + 3]
        for escaped in (LineFormat(escape=b"\\"), DelimitedFormat(b"\n", escape=b"\\")):
            for cut in cuts:
                laws.check_partition_law(partial(read_range, escaped, data, buffer_bytes=1000), len(data), [cut])


def test_a_cluster_of_overlapping_delimiters_longer_than_any_buffer_is_looked_at_whole() -> None:
    for bars in (2001, 2002):
        data = b"x" + b"|" * bars + b"y||z"
        for cut in (1, 2, 1000, 1001, bars, bars + 1, bars + 2):
            laws.check_partition_law(
                partial(read_range, DelimitedFormat(b"||"), data, buffer_bytes=500), len(data), [cut]
            )


def test_a_skipped_record_of_any_length_is_held_in_bounded_memory() -> None:
    window = 64 * 1024
    for skipping, filler in [
        (LineFormat(escape=b"\\"), b"\\"),
        (LineFormat(escape=b"\\"), b"x"),
        (DelimitedFormat(b"||", escape=b"\\"), b"\\"),
        (DelimitedFormat(b"|-"), b"|"),
        (DelimitedFormat(b"a" * 1023 + b"b"), b"a"),
        (line_format(encoding="UTF-16LE"), b"x"),
        (XmlFormat("r"), b"<!-- <r>"),
        (XmlFormat("r"), b"<r><![CDATA[</r><r>"),
        (XmlFormat("r"), b"<r><a b='<r>"),
        (XmlFormat("r"), b"</r" + b" " * 100),
        (XmlFormat("r"), b"<r>x</r" + b" " * 100),
    ]:
        data = filler + filler[-1:] * window if isinstance(skipping, XmlFormat) else filler * window
        dropped = skipping.droppable(data)
        assert dropped >= window - 1024, skipping
        assert skipping.resume_after(data, at_end=False) is None


# Mistakes that real readers made. A law that does not notice them proves nothing.


def read_owning_stop_too(data: bytes) -> Callable[[int, int], list[FramedRecord]]:
    everything = read_range(LineFormat(), data, 0, len(data))
    return lambda start, stop: [record for record in everything if start <= record.start <= stop]


def read_seeking_from_start(data: bytes) -> Callable[[int, int], list[FramedRecord]]:
    def read(start: int, stop: int) -> list[FramedRecord]:
        first = 0 if start == 0 else data.find(b"\n", start) + 1 or len(data)  # right: from start - 1
        return read_range(LineFormat(), data, first, max(first, stop))

    return read


def test_a_range_that_also_owns_its_stop_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"partition law, cut at \[3\]: item 2 should be 'nothing', is .*start=3"):
        laws.check_partition_law(read_owning_stop_too(b"ab\ncd\n"), 6, [3])


def test_a_search_that_begins_at_the_start_instead_of_before_it_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"partition law, cut at \[3\]: item 1 should be .*, is 'nothing'"):
        laws.check_partition_law(read_seeking_from_start(b"ab\ncd\n"), 6, [3])


def look_at_one_escape(text: Any, position: int, delimiter: Any, escape: Any) -> Iterator[tuple[int, int]]:
    for start, stop in find_terminators(text, position, delimiter, None):
        if escape is None or text[start - 1 : start] != escape:
            yield start, stop


def test_an_escape_without_its_parity_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPLITSCAN_ENGINE", "reference")
    monkeypatch.setattr(lines_module, "find_terminators", look_at_one_escape)
    laws.check_fast_path_law(LineFormat(escape=b"\\"), b"a\\\nb\nc")
    with pytest.raises(AssertionError, match=r"fast path law: item 0 should be \(0, 3\), is \(0, 5\)"):
        laws.check_fast_path_law(LineFormat(escape=b"\\"), b"a\\\\\nb\nc")


def test_an_escape_parity_that_ignores_what_is_before_the_block_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "certain_from", lambda text, escape: 0)
    data = b"a\\\\\nb\nc"
    laws.check_fast_path_law(LineFormat(escape=b"\\"), data)
    with pytest.raises(AssertionError, match=r"first start law, from 3 "):
        laws.check_first_start_law(LineFormat(escape=b"\\"), data, 1)


@dataclass(frozen=True, slots=True)
class LooksBackOneDelimiter(DelimitedFormat):
    """Looks at no more bytes before the position than one delimiter has."""

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        length = len(self.delimiter)
        if len(before) < length and not at_start:
            return Need.BEFORE
        near = before[-length:] + after
        found = near.find(self.delimiter)
        if at_start and not before:
            return 0
        return len(after) if found < 0 else found + length - len(before[-length:])


def test_a_look_back_over_one_delimiter_only_is_caught() -> None:
    single = LooksBackOneDelimiter(b"|-")
    laws.check_first_start_law(single, b"a|-b|-c", 16)
    with pytest.raises(AssertionError, match=r"first start law, from 4 "):
        laws.check_first_start_law(LooksBackOneDelimiter(b"||"), b"a|||b||c", 16)
    with pytest.raises(AssertionError, match=r"partition law, cut at \[4\]"):
        laws.check_partition_law(lambda a, b: read_range(LooksBackOneDelimiter(b"||"), b"a|||b||c", a, b), 8, [4])


@dataclass(frozen=True, slots=True)
class LosesTheTail(LineFormat):
    """Drops a last record without a terminator."""

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        frames = LineFormat.frame(self, data, at_end=False)
        return Frames(frames.starts, frames.stops, len(data) if at_end else frames.next_start)


@dataclass(frozen=True, slots=True)
class DecidesTooEarly(LineFormat):
    """Takes a carriage return at the end of a buffer, or before a block, for a whole terminator."""

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        if at_end or not bytes(data).endswith(b"\r"):
            return LineFormat.frame(self, data, at_end=at_end)
        return LineFormat.frame(self, bytes(data) + b"x", at_end=False)

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        if before.endswith(b"\r"):
            return 0
        return LineFormat.first_start(self, before, after, at_start=at_start, at_end=at_end)


def test_a_carriage_return_and_line_feed_counted_twice_when_cut_apart_are_caught() -> None:
    data = b"ab\r\ncd"
    laws.check_fast_path_law(DecidesTooEarly(), data)
    with pytest.raises(AssertionError, match=r"chunking law, deliveries of \[3\] bytes: item 1 should be .*'cd'.*b''"):
        laws.check_chunking_law(DecidesTooEarly(), data, [3])
    with pytest.raises(AssertionError, match=r"first start law, from 3 "):
        laws.check_first_start_law(DecidesTooEarly(), data, 8)
    with pytest.raises(AssertionError, match=r"partition law, cut at \[3\]: item 1 should be .*'cd'.*b''"):
        laws.check_partition_law(lambda a, b: read_range(DecidesTooEarly(), data, a, b), len(data))


@dataclass(frozen=True, slots=True)
class DropsTheOpenEscape(LineFormat):
    """Forgets, while skipping a record, that an escape was open."""

    def droppable(self, data: Buffer) -> int:
        return len(as_units(data, 1, False))


class AsksForMoreThanThereIs(LineFormat):
    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        return Need.BEFORE


def test_a_request_for_bytes_that_do_not_exist_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"lines: at 0, Need\.BEFORE was asked for and there is none"):
        laws.check_first_start_law(AsksForMoreThanThereIs(), b"a\nb", 4)


class OverlapsItsRecords(LineFormat):
    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        return Frames(np.array([0, 1]), np.array([2, 2]), len(data))


class HasARecordTwice(LineFormat):
    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        return Frames(np.array([0, 0]), np.array([0, 1]), len(data))


def test_records_that_overlap_are_caught() -> None:
    out_of_order = r"record \[0, 2\) is out of order: after -1, and the next begins at 1"
    with pytest.raises(AssertionError, match=out_of_order):
        laws.check_fast_path_law(OverlapsItsRecords(), b"a\nb")
    with pytest.raises(AssertionError, match=out_of_order):
        read_range(OverlapsItsRecords(), b"a\nb", 0, 4, 2)
    with pytest.raises(AssertionError, match=r"record \[0, 1\) is out of order: after 0"):
        laws.check_fast_path_law(HasARecordTwice(), b"a\nb")


def test_a_tail_that_never_ends_is_a_record_of_its_own() -> None:
    data = b"<r>1</r> <r>2"
    for buffer_bytes in (1, 64):
        found = read_range(XmlFormat("r"), data, 0, len(data), buffer_bytes)
        assert [(record.start, record.code) for record in found] == [(0, None), (9, UNFINISHED)]


class LosesTheUnfinished(XmlFormat):
    """Passes over a last record without an end."""

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        frames = XmlFormat.frame(self, data, at_end=at_end)
        return Frames(frames.starts, frames.stops, len(data) if at_end else frames.next_start)


class CountsOneMore(LineFormat):
    def count(self, data: Buffer) -> CountedRecords:
        counted = LineFormat.count(self, data)
        return counted._replace(records=counted.records + 1)


class GoesOnAtTheEnd(LineFormat):
    """Where a record is given up, gives up all others too."""

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        return len(data) if at_end else None


class NeverGoesOn(LineFormat):
    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        return None


class FindsAStartBefore(LineFormat):
    """Answers with a start before the position that it was asked for."""

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        return -len(before) if at_start else Need.BEFORE


class LooksForItsHeadTooSeldom(LineFormat):
    """Believes that a mark at the beginning of the file matters to the first byte only."""

    def needs_head(self, start: int) -> bool:
        return start == 0


@dataclass(frozen=True, slots=True)
class SwallowsBuffersOf(LineFormat):
    size: int = 0

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        if not at_end and len(data) == self.size:
            return Frames(np.array([], np.int64), np.array([], np.int64), len(data))
        return LineFormat.frame(self, data, at_end=at_end)


@pytest.mark.parametrize(
    ("mistaken", "data", "law"),
    [
        (LosesTheTail(), b"a\nb", r"fast path law: item 1 should be \(2, 3\), is 'nothing'"),
        (LosesTheUnfinished("r"), b"<r>1</r> <r>2", "fast path law, where the unfinished tail begins"),
        (CountsOneMore(), b"a\nb", "count law, first 0 bytes"),
        (DropsTheOpenEscape(escape=b"\\"), b"a\\\nb\nc", "resume law, after dropping 2 of 2: item 0 should be 5, is 3"),
        (GoesOnAtTheEnd(), b"a\nb\nc", "resume law, after the record at 0"),
        (NeverGoesOn(), b"a\nb\nc", "resume law, record at 0: None is not in"),
        (DecidesTooEarly(), b"ab\r\ncd", r"chunking law, deliveries of \[1\] bytes"),
        (SwallowsBuffersOf(size=1), b"a\nb\n", r"chunking law, deliveries of \[1\] bytes"),
        (SwallowsBuffersOf(size=5), b"a\nb\nc", r"chunking law, deliveries of \[5\] bytes"),
        (LooksForItsHeadTooSeldom(), b"\xef\xbb\xbfa\nb", r"partition law, cut at \[0, 1, 2, 3, 4, 5\]"),
    ],
)
def test_all_laws_of_a_format_are_checked_together(
    mistaken: RecordFormat, data: bytes, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("splitscan_kernel")
    monkeypatch.setenv("SPLITSCAN_ENGINE", "kernel")  # the reference counts by framing: there another law breaks first
    with pytest.raises(AssertionError, match=law):
        laws.check_format_laws(mistaken, data)


def test_a_start_before_the_position_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"first start law, from 1 .*, is not before the position"):
        laws.check_first_start_law(FindsAStartBefore(), b"a\nb")


def test_larger_inputs_are_cut_at_evenly_spread_offsets() -> None:
    assert laws.check_partition_law(lambda start, stop: [], 512) == 513
    assert 500 <= laws.check_partition_law(lambda start, stop: [], 100_000) <= 513


def test_deliveries_of_nothing_are_refused() -> None:
    for sizes in ([], [0], [3, -1]):
        with pytest.raises(ValueError, match="chunk_sizes must be positive"):
            laws.check_chunking_law(LineFormat(), b"a", sizes)
