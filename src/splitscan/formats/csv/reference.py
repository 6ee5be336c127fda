"""The definition of the CSV grammar: a state machine that takes one byte at a time."""

from __future__ import annotations

import enum
import itertools
import re
from dataclasses import replace

import numpy as np

from splitscan.formats.csv.grammar import CsvGrammar, last_split_point
from splitscan.formats.framing.encodings import CR, LF
from splitscan.formats.framing.frames import (
    NO_OFFSETS,
    Buffer,
    Frames,
    Offsets,
    RecordFinder,
    Run,
    Summary,
)

UNCLOSED_QUOTE = "unclosed-quote"
OUTSIDE, INSIDE, COMMENT = range(3)  # the states that a summary knows


class CsvState(enum.Enum):
    """State of the machine between two code units."""

    RECORD_START = "a record, a blank line or a comment may begin"
    FIELD_START = "the next unit may be an opening quote"
    UNQUOTED = "in a plain field, or after a closing quote and what follows it"
    QUOTED = "inside quotes"
    ESCAPED = "inside quotes, after an escape"
    ESCAPE_ESCAPED = "inside quotes, after the character that makes an escape data"
    QUOTE_SEEN = "after a quote inside quotes: closed, or half of a doubled one"
    COMMENT = "in a line that is skipped"
    CR_SEEN = "after a carriage return that ended a record; a line feed still belongs to it"


_IN_QUOTES = frozenset({CsvState.QUOTED, CsvState.ESCAPED, CsvState.ESCAPE_ESCAPED})
_IN_RUNS = frozenset({CsvState.UNQUOTED, CsvState.QUOTED, CsvState.COMMENT})


class QuotedReferenceFramer:
    """Byte-at-a-time framer for one dialect. Slow; everything else is compared with it."""

    def __init__(self, dialect: CsvGrammar) -> None:
        self._dialect = dialect
        self.records: list[tuple[int, int]] = []  # content ranges of those known so far, in bytes
        self.malformed: list[int] = []
        self.settled = 0  # bytes before this are dealt with for good
        self.unfinished: int | None = None  # start of a tail whose quote never closes
        self._partial = b""
        self._position = 0  # in units
        self._record_start = 0
        self._content_start = 0  # after blanks that are part of no field
        self.state = CsvState.RECORD_START
        self.boundaries: list[int] = []  # where lines begin, in bytes; the first one is not among them
        self._run: list[int] = []  # units since the last thing that was recognised; separators are matched at its end
        self._line_run: list[int] = []  # the same without regard to separators, for terminators

    def push(self, byte: int) -> None:
        marks, partial = self._dialect.long_marks, self._partial + bytes([byte])
        if marks and len(partial) > 1 and not any(mark.startswith(partial) for mark in marks):
            self.flush()  # no mark begins inside of another
            partial = partial[-1:]
        self._partial = partial
        if any(len(mark) > len(partial) and mark.startswith(partial) for mark in marks):
            if self.state is CsvState.CR_SEEN:
                self._close_line(self._position)  # it is no line feed
        elif len(partial) >= self._dialect.encoding.unit_bytes:
            self.flush()

    def flush(self) -> None:
        """Take the bytes that wait for more: a mark of several units at once, other units one by one."""
        encoding, partial = self._dialect.encoding, self._partial
        size = len(partial) if partial in self._dialect.long_marks else encoding.unit_bytes
        for stop in range(size, len(partial) + 1, size):
            self._take(int.from_bytes(partial[stop - size : stop], "big" if encoding.big_endian else "little"))
            self._position += size // encoding.unit_bytes
        self._partial = b""

    @property
    def is_in_a_run(self) -> bool:
        """True if bytes that are part of no mark change nothing."""
        return self.state in _IN_RUNS and not self._partial

    def pass_over(self, count: int) -> None:
        """Take bytes that are part of no mark, in a run (units of one byte only)."""
        if count:
            self._position += count
            self._run.clear()
            self._line_run.clear()

    def finish(self) -> None:
        """End of the stream: the last record needs no terminator, but its quotes must be closed."""
        self.flush()
        if self.state is CsvState.CR_SEEN:
            self._close_line(self._position)
        if self.state in _IN_QUOTES and self._dialect.multi_line:
            self.unfinished = self._record_start * self._dialect.encoding.unit_bytes
            return
        if self._position > self._content_start:
            self._emit(self._position)
        self._close_line(self._position)

    def _take(self, unit: int) -> None:
        if self.state is CsvState.CR_SEEN:
            if unit == LF:
                self._close_line(self._position + 1)
                return
            self._close_line(self._position)
        if self.state is CsvState.RECORD_START and unit == self._dialect.comment_unit:
            self.state = CsvState.COMMENT
        self._run.append(unit)
        self._line_run.append(unit)
        if unit == self._dialect.quote_unit:
            self._line_run.clear()
        if self._ends_line(unit):
            return
        self.state = self._next_state(unit)

    def _next_state(self, unit: int) -> CsvState:  # noqa: PLR0911 - one line per state of the table
        dialect = self._dialect
        state = self.state
        if state is CsvState.COMMENT:
            return state
        if state in _IN_QUOTES:
            return self._inside(unit)
        if state is CsvState.QUOTE_SEEN and unit == dialect.quote_unit and dialect.doubled:
            self._run.clear()
            return CsvState.QUOTED
        if state in {CsvState.RECORD_START, CsvState.FIELD_START} and unit == dialect.quote_unit:
            self._run.clear()
            return CsvState.QUOTED
        if dialect.runs and unit in dialect.sep_units:
            self._run.clear()
            return self._after_blank()
        if not dialect.runs and _ends_with(self._run, dialect.sep_units):
            self._run.clear()
            return CsvState.FIELD_START
        blank = unit <= 0x20 and dialect.trim_leading
        if blank and state in {CsvState.RECORD_START, CsvState.FIELD_START}:
            return CsvState.FIELD_START
        return CsvState.UNQUOTED

    def _after_blank(self) -> CsvState:
        if self.state is not CsvState.RECORD_START:
            return CsvState.FIELD_START
        self._content_start = self._position + 1
        return CsvState.RECORD_START

    def _inside(self, unit: int) -> CsvState:
        dialect = self._dialect
        hides = dialect.escapes_itself or unit == dialect.quote_unit
        if self.state is CsvState.ESCAPED and hides:
            return CsvState.QUOTED
        if unit == dialect.quote_unit:
            self._run.clear()
            return CsvState.QUOTE_SEEN
        if unit == dialect.escape_unit:
            return CsvState.QUOTED if self.state is CsvState.ESCAPE_ESCAPED else CsvState.ESCAPED
        return CsvState.ESCAPE_ESCAPED if unit == dialect.escape_escape_unit else CsvState.QUOTED

    def _ends_line(self, unit: int) -> bool:
        """Recognise a terminator that ends at this unit, and end the record or comment."""
        dialect = self._dialect
        if self.state in _IN_QUOTES and dialect.multi_line:
            return False
        if dialect.line_sep_units is None:
            if unit not in {CR, LF}:
                return False
            begin = self._position
        else:
            if not _ends_with(self._line_run, dialect.line_sep_units):
                return False
            begin = self._position - len(dialect.line_sep_units) + 1
        if begin > self._content_start:
            self._emit(begin)
        if unit == CR and dialect.line_sep_units is None:
            self.state = CsvState.CR_SEEN
        else:
            self._close_line(self._position + 1)
        return True

    def _emit(self, stop: int) -> None:
        if self.state is CsvState.COMMENT:
            return
        if self.state in _IN_QUOTES:
            self.malformed.append(len(self.records))
        width = self._dialect.encoding.unit_bytes
        self.records.append((self._record_start * width, stop * width))

    def _close_line(self, position: int) -> None:
        self._record_start = self._content_start = position
        self.boundaries.append(position * self._dialect.encoding.unit_bytes)
        self.settled = position * self._dialect.encoding.unit_bytes
        self._run.clear()
        self._line_run.clear()
        self.state = CsvState.RECORD_START

    def enter(self, state: CsvState, before: tuple[int, ...] = ()) -> None:
        """Begin in the middle of a record, or of a comment.

        Args:
            state: Where the machine is.
            before: The units right before, outside quotes, of which a separator or terminator may be a part.
        """
        self.state = state
        self._record_start = self._content_start = -1
        self._run, self._line_run = list(before), list(before)

    @property
    def summary_state(self) -> int:
        """The state as a summary knows it."""
        if self.state in _IN_QUOTES and self._dialect.multi_line:
            return INSIDE
        return COMMENT if self.state is CsvState.COMMENT else OUTSIDE

    @property
    def has_tail(self) -> bool:
        """True if a record has begun that has not ended."""
        return self._position > self._content_start >= 0 and self.state not in {CsvState.COMMENT, CsvState.CR_SEEN}


class CsvReferenceFraming(RecordFinder):
    """Finds records by the state machine: right, and slow.

    Args:
        dialect: The grammar.
    """

    def __init__(self, dialect: CsvGrammar) -> None:
        self._dialect = dialect
        marks = (
            dialect.sep_marks, dialect.quote, dialect.escape, dialect.escape_escape, dialect.line_sep or "\r\n",
        )  # fmt: skip
        special = b"".join(dialect.encoding.encode(mark) for mark in marks if mark)
        one_byte = dialect.encoding.unit_bytes == 1
        self._special = re.compile(b"[" + re.escape(special) + b"]") if one_byte else None

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        machine = self._run(data)
        if at_end:
            machine.finish()
        settled = [record for record in machine.records if record[0] < machine.settled]
        starts, stops = np.array(settled, dtype=np.int64).reshape(-1, 2).T.copy()
        malformed = dict.fromkeys((i for i in machine.malformed if i < len(settled)), UNCLOSED_QUOTE)
        width = self._dialect.encoding.unit_bytes
        whole = at_end and machine.settled + len(data) % width == len(data)
        return Frames(starts, stops, len(data) if whole else machine.settled, malformed)

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets:
        if not self._dialect.multi_line or self._dialect.quote is None:
            return NO_OFFSETS  # no record begins in another
        lines = self._run(data, QuotedReferenceFramer(replace(self._dialect, quote=None, comment=None)))
        raw, stops = bytes(data), dict(lines.records)
        whole = len(raw) - len(raw) % self._dialect.encoding.unit_bytes
        quote, cut = (
            self._dialect.encoding.encode(mark) for mark in (self._dialect.quote, self._dialect.line_sep or "\r")
        )
        open_ones: list[int] = []
        waiting: list[int] = []  # for the quote that closes
        for start, next_start in itertools.pairwise([0, *lines.boundaries, len(raw)]):
            line = raw[start:next_start]
            if waiting and not self._ends_inside(quote + line):
                stop = stops.get(start, whole - len(cut))  # that may be the beginning of a terminator
                open_ones += [begin for begin in waiting if stop - begin > longest_bytes]
                waiting = []
            if self._ends_inside(line):
                waiting.append(start)
        return np.array([*open_ones, *waiting], np.int64)

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """One run for each state; ``None`` where *before* does not tell whether a quote would open a field."""
        del after  # the machine needs not look ahead
        states = (OUTSIDE, INSIDE) if self._dialect.comment is None else (OUTSIDE, INSIDE, COMMENT)
        return Summary(len(data), tuple(self._summary(data, before, mark, state) for state in states))

    def last_split_point(self, data: bytes) -> int | None:
        """The last record boundary that *data* shows whatever comes before it."""
        return last_split_point(data, self._dialect, self._ends_inside)

    def _ends_inside(self, data: bytes) -> bool:
        return self._run(data).summary_state == INSIDE

    def _run(self, data: Buffer, machine: QuotedReferenceFramer | None = None) -> QuotedReferenceFramer:
        machine = machine or QuotedReferenceFramer(self._dialect)
        raw, position = bytes(data), 0
        while position < len(raw):
            if machine.is_in_a_run and self._special is not None:
                found = self._special.search(raw, position)
                stop = len(raw) if found is None else found.start()
                machine.pass_over(stop - position)
                position = stop
                if found is None:
                    break
            machine.push(raw[position])
            position += 1
        machine.flush()
        return machine

    def _summary(self, data: Buffer, before: bytes, mark: int, state: int) -> Run | None:
        machine = QuotedReferenceFramer(self._dialect)
        if state == INSIDE:
            machine.enter(CsvState.QUOTED)
        elif state == COMMENT:
            machine.enter(CsvState.COMMENT)
        elif before and not self._enter_outside(machine, before):
            return None
        boundaries = self._run(data, machine).boundaries
        records = sum(start >= 0 for start, _ in machine.records) + machine.has_tail
        if not boundaries:
            return Run(machine.summary_state, None, None, None, records)
        marked = next((boundary for boundary in boundaries if boundary >= mark), None)
        return Run(machine.summary_state, boundaries[0], boundaries[-1], marked, records)

    def _enter_outside(self, machine: QuotedReferenceFramer, before: bytes) -> bool:
        """Enter the state that *before* leads to outside quotes; ``False`` if it does not tell."""
        dialect = self._dialect
        units = dialect.encoding.units(before[len(before) % dialect.encoding.unit_bytes :])
        line_sep = dialect.line_sep_units
        if units[-1] in (CR, LF) if line_sep is None else units[-len(line_sep) :] == line_sep:
            return True
        if dialect.runs:
            machine.enter(CsvState.UNQUOTED)
            return units[-1] not in dialect.sep_units  # of which the record may begin with some
        while dialect.trim_leading and units and units[-1] <= 0x20 and units[-1:] != dialect.sep_units:
            units = units[:-1]
        if not units:
            return False
        is_edge = units[-len(dialect.sep_units) :] == dialect.sep_units
        machine.enter(CsvState.FIELD_START if is_edge else CsvState.UNQUOTED)
        return True


def _ends_with(run: list[int], symbols: tuple[int, ...]) -> bool:
    return tuple(run[-len(symbols) :]) == symbols
