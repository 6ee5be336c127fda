"""Each classic mistake in reading CSV breaks a law: with the mistake the law fails, without it the law holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pytest

from splitscan.formats.csv import framing
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.grammar import CsvGrammar
from splitscan.formats.csv.reference import CsvReferenceFraming, CsvState, QuotedReferenceFramer
from splitscan.formats.framing.contract import Need
from splitscan.formats.framing.encodings import CR, resolve_encoding
from splitscan.formats.framing.frames import Buffer, Frames, Summary
from splitscan.reading import block_reader, boundaries, cursor
from splitscan.testing import check_fast_path_law, check_reader_law, check_summary_law, reader_laws

Patch = Callable[[pytest.MonkeyPatch], None]
UTF_8 = resolve_encoding("UTF-8")
frame, summarise, first_start = QuotedFormat.frame, QuotedFormat.summarise, QuotedFormat.first_start


@pytest.fixture(autouse=True)
def kernel_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the reference shows where the kernel differs."""
    pytest.importorskip("splitscan_kernel")
    monkeypatch.setenv("SPLITSCAN_ENGINE", "kernel")


def csv(**settings: Any) -> QuotedFormat:
    return QuotedFormat(CsvGrammar(**{"encoding": UTF_8, "escape": '"', "multi_line": True, **settings}))


def every_escape_hides_a_quote(patch: pytest.MonkeyPatch) -> None:
    inside = QuotedReferenceFramer._inside

    def forgets_parity(self: QuotedReferenceFramer, unit: int) -> CsvState:
        after_escape = self._run[-2:-1] == [self._dialect.escape_unit]
        return CsvState.QUOTED if after_escape and unit == self._dialect.quote_unit else inside(self, unit)

    patch.setattr(QuotedReferenceFramer, "_inside", forgets_parity)


def the_tail_is_lost(patch: pytest.MonkeyPatch) -> None:
    def frame_without_tail(self: QuotedFormat, data: Buffer, *, at_end: bool) -> Frames:
        frames = frame(self, data, at_end=False)
        return Frames(frames.starts, frames.stops, len(data), frames.malformed) if at_end else frames

    patch.setattr(QuotedFormat, "frame", frame_without_tail)


def a_line_feed_alone_ends_a_record(patch: pytest.MonkeyPatch) -> None:
    ends_line = QuotedReferenceFramer._ends_line
    patch.setattr(QuotedReferenceFramer, "_ends_line", lambda self, unit: unit != CR and ends_line(self, unit))


def a_stray_quote_opens_a_field(patch: pytest.MonkeyPatch) -> None:
    next_state = QuotedReferenceFramer._next_state

    def opens(self: QuotedReferenceFramer, unit: int) -> CsvState:
        is_stray = self.state is CsvState.UNQUOTED and unit == self._dialect.quote_unit
        return CsvState.QUOTED if is_stray else next_state(self, unit)

    patch.setattr(QuotedReferenceFramer, "_next_state", opens)


def a_record_at_the_stop_is_mine(patch: pytest.MonkeyPatch) -> None:
    init = block_reader.FramedRecords.__init__

    def greedy(self: block_reader.FramedRecords, *args: Any, **more: Any) -> None:
        init(self, *args, **more)
        self._stop += 1

    patch.setattr(block_reader.FramedRecords, "__init__", greedy)


def the_states_of_a_summary_are_swapped(patch: pytest.MonkeyPatch) -> None:
    def swapped(self: QuotedFormat, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        summary = summarise(self, data, before, after, mark)
        return Summary(summary.length_bytes, summary.runs[1::-1] + summary.runs[2:]) if before else summary

    patch.setattr(QuotedFormat, "summarise", swapped)


def a_cut_may_lie_behind_an_escape(patch: pytest.MonkeyPatch) -> None:
    safe_cut = QuotedFormat.safe_cut

    def unsafe(self: QuotedFormat, before: bytes, after: bytes) -> int | Need:
        return 0 if before.endswith(b"\\") else safe_cut(self, before, after)

    patch.setattr(QuotedFormat, "safe_cut", unsafe)


def the_index_is_off_by_one(patch: pytest.MonkeyPatch) -> None:
    index = reader_laws.index_file

    def off_by_one(*args: Any) -> boundaries.FileIndex:
        found = index(*args)
        starts = [(block.first_record_start or 0) + (block.start > 0) for block in found.blocks]
        return replace(found, blocks=[b.starting_at(start) for b, start in zip(found.blocks, starts, strict=True)])

    patch.setattr(reader_laws, "index_file", off_by_one)


def the_index_says_where_blocks_start(patch: pytest.MonkeyPatch) -> None:
    index = reader_laws.index_file

    def of_blocks(*args: Any) -> boundaries.FileIndex:
        found = index(*args)
        return replace(found, blocks=[block.starting_at(block.start) for block in found.blocks])

    patch.setattr(reader_laws, "index_file", of_blocks)


def a_block_starts_with_a_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QuotedFormat, "first_start", lambda *args, **more: 0)


def a_summary_is_believed_whatever_the_length_of_records(patch: pytest.MonkeyPatch) -> None:
    index = reader_laws.index_file
    patch.setattr(
        reader_laws, "index_file", lambda records, *more: index(records._replace(max_record_bytes=1000), *more)
    )


def reading_resumes_at_the_end_of_the_buffer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QuotedFormat, "resume_after", lambda self, data, *, at_end: len(data))


def the_gap_behind_a_block_is_not_its_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cursor.RecordCursor, "gap_stop", lambda self: self.position)


def an_escape_hides_nothing(patch: pytest.MonkeyPatch) -> None:
    inside = QuotedReferenceFramer._inside

    def sees_no_escape(self: QuotedReferenceFramer, unit: int) -> CsvState:
        return CsvState.QUOTED if unit == self._dialect.escape_unit else inside(self, unit)

    patch.setattr(QuotedReferenceFramer, "_inside", sees_no_escape)


def a_record_is_counted_in_the_summary_and_when_it_is_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(boundaries._Tally, "begin_reading", lambda self: None)


def a_line_of_blanks_is_a_record(patch: pytest.MonkeyPatch) -> None:
    gaps = vars(QuotedFormat)["_gaps"].func
    with_one_blank = lambda self: gaps(replace(self, dialect=replace(self.dialect, sep=" ")))  # noqa: E731
    patch.setattr(QuotedFormat, "_gaps", property(with_one_blank))


def blanks_before_a_field_hide_its_quote(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QuotedReferenceFramer, "_after_blank", lambda self: CsvState.UNQUOTED)


def a_cut_may_lie_in_blanks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(QuotedFormat, "_safe_unit", re.compile(rb'[^\r"]'))
    patch.setattr(CsvReferenceFraming, "_enter_outside", lambda *args: True)
    patch.setattr(framing, "framing_of", CsvReferenceFraming)


class Case(NamedTuple):
    """A mistake, the law that it breaks, and on what."""

    mistake: Patch
    law: Callable[..., Any]
    arguments: tuple[Any, ...]


ESCAPED, RFC, LINES = csv(escape="\\"), csv(), csv(multi_line=False)
RUNS = csv(sep=r"\s+")
ROWS = b'a,"b\nc"\r\n"d""\n",\n\r\n"e\rf"\rg,h\n\n"i\n'
SMALL = (range(1, len(ROWS)), (1, 1000))
CASES = [
    Case(every_escape_hides_a_quote, check_fast_path_law, (ESCAPED, b'"a\\\\","\n"\nb\n"\\""\nc\n')),
    Case(a_stray_quote_opens_a_field, check_fast_path_law, (RFC, b'a"b\nc"d\ne\n')),
    Case(the_tail_is_lost, check_fast_path_law, (RFC, b"a\nb")),
    Case(a_line_feed_alone_ends_a_record, check_fast_path_law, (RFC, b"a\rb\r\nc\n")),
    Case(a_record_at_the_stop_is_mine, check_reader_law, (RFC, ROWS, *SMALL)),
    Case(a_record_at_the_stop_is_mine, check_reader_law, (LINES, b"a\nb\nc\n", (1, 2, 3))),
    Case(the_states_of_a_summary_are_swapped, check_summary_law, (RFC, b'a,"b', b"\nc\nd")),
    Case(the_states_of_a_summary_are_swapped, check_reader_law, (RFC, ROWS, *SMALL)),
    Case(a_cut_may_lie_behind_an_escape, check_summary_law, (ESCAPED, b'"a\\', b'",\n",b\nc\nd')),
    Case(the_index_is_off_by_one, check_reader_law, (RFC, ROWS, *SMALL)),
    Case(the_index_says_where_blocks_start, check_reader_law, (RFC, ROWS, *SMALL)),
    Case(a_block_starts_with_a_record, check_reader_law, (LINES, b"abc\ndef\n", (2, 3))),
    Case(
        a_summary_is_believed_whatever_the_length_of_records,
        check_reader_law,
        (RFC, b'a\n"' + b"b\n" * 20 + b'"\nc\nd\n', (1, 5, 9), (1, 1000), 10),
    ),
    Case(
        reading_resumes_at_the_end_of_the_buffer,
        check_reader_law,
        (RFC, b"a" * 6000 + b"\nb\n", (7000,), (1000, 1 << 20), 10),
    ),
    Case(
        the_gap_behind_a_block_is_not_its_own,
        check_reader_law,
        (csv(comment="#"), b"a\n" + b"#\n" * 20_000, (9000,), (1000,)),
    ),
    Case(
        a_record_is_counted_in_the_summary_and_when_it_is_read,
        check_reader_law,
        (RFC, b',\r\r\r\r"\r\n"a""', (2, 3, 5, 9), (1, 1000), 6),
    ),
    Case(
        a_line_of_blanks_is_a_record,
        check_reader_law,
        (csv(sep=r"\s+", multi_line=False), b"aa\n" + b" \t\n" * 20_000, (9000,), (1000,)),
    ),
    Case(blanks_before_a_field_hide_its_quote, check_fast_path_law, (RUNS, b'a  "b\n"\nc\n')),
    Case(a_cut_may_lie_in_blanks, check_reader_law, (RUNS, b'a "b\nc"  "d\n"\n  "e\nf" g\n', range(1, 24), (1, 1000))),
    Case(an_escape_hides_nothing, check_fast_path_law, (ESCAPED, b'x"\n"a\\"\n"\nb\n')),
]


@pytest.mark.thin(8)
@pytest.mark.parametrize("case", CASES, ids=[f"{i} {case.mistake.__name__}" for i, case in enumerate(CASES)])
def test_the_mistake_breaks_the_law_and_the_real_code_does_not(case: Case) -> None:
    check_that_it_holds(case.law, case.arguments)
    format, *more = case.arguments
    with pytest.MonkeyPatch.context() as patch:
        case.mistake(patch)
        with pytest.raises(AssertionError, match=r"law|block"):
            case.law(replace(format), *more)  # a new one each time: formats keep what they have computed


@cache
def check_that_it_holds(law: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Check a law on the real code, once."""
    format, *more = arguments
    law(replace(format), *more)
