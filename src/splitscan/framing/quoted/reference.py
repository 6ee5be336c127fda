"""The definition of the CSV grammar: a state machine that takes one byte at a time."""

from __future__ import annotations

import enum

from splitscan.framing.encodings import CR, LF
from splitscan.framing.quoted.dialect import Dialect


class State(enum.Enum):
    """Where the machine is between two code units."""

    RECORD_START = "a record, a blank line or a comment may begin"
    FIELD_START = "the next unit may be an opening quote"
    UNQUOTED = "in a plain field, or behind a closing quote and what follows it"
    QUOTED = "inside quotes"
    ESCAPED = "inside quotes, behind an escape"
    QUOTE_SEEN = "behind a quote inside quotes: closed, or half of a doubled one"
    COMMENT = "in a line that is skipped"
    CR_SEEN = "behind a carriage return that ended a record; a line feed still belongs to it"


_IN_QUOTES = frozenset({State.QUOTED, State.ESCAPED})


class QuotedReferenceFramer:
    """Byte-at-a-time framer for one dialect. Slow; everything else is compared with it."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._records: list[tuple[int, int]] = []
        self.malformed: list[int] = []
        self.settled = 0  # bytes before this are dealt with for good
        self._unfinished: int | None = None
        self._partial = b""
        self._position = 0  # in units
        self._record_start = 0
        self.state = State.RECORD_START
        self._run: list[int] = []  # units since the last thing that was recognised; separators are matched at its end
        self._line_run: list[int] = []  # the same without regard to separators, for terminators

    @property
    def records(self) -> list[tuple[int, int]]:
        """Content ranges of the records known so far, in bytes."""
        return self._records

    @property
    def unfinished(self) -> int | None:
        """Start of a tail whose quote never closes."""
        return self._unfinished

    def push(self, byte: int) -> None:
        """Take the next byte."""
        width = self._dialect.encoding.unit_bytes
        self._partial += bytes([byte])
        if len(self._partial) == width:
            unit = int.from_bytes(self._partial, "big" if self._dialect.encoding.big_endian else "little")
            self._partial = b""
            self._take(unit)
            self._position += 1

    def finish(self) -> None:
        """End of the stream: the last record needs no terminator, but its quotes must be closed."""
        if self.state is State.CR_SEEN:
            self._close_line(self._position)
        if self.state in _IN_QUOTES and self._dialect.multi_line:
            self._unfinished = self._record_start * self._dialect.encoding.unit_bytes
            return
        if self._position > self._record_start:
            self._emit(self._position)
        self._close_line(self._position)

    def _take(self, unit: int) -> None:
        if self.state is State.CR_SEEN:
            if unit == LF:
                self._close_line(self._position + 1)
                return
            self._close_line(self._position)
        if self.state is State.RECORD_START and unit == self._dialect.comment_unit:
            self.state = State.COMMENT
        self._run.append(unit)
        self._line_run.append(unit)
        if unit == self._dialect.quote_unit:
            self._line_run.clear()
        if self._ends_line(unit):
            return
        self.state = self._next_state(unit)

    def _next_state(self, unit: int) -> State:  # noqa: PLR0911 - one line per state of the table
        dialect = self._dialect
        state = self.state
        if state is State.COMMENT:
            return state
        if state is State.QUOTED:
            return self._inside(unit)
        if state is State.ESCAPED:
            return State.QUOTED
        if state is State.QUOTE_SEEN and unit == dialect.quote_unit and dialect.doubled:
            self._run.clear()
            return State.QUOTED
        if state in {State.RECORD_START, State.FIELD_START} and unit == dialect.quote_unit:
            self._run.clear()
            return State.QUOTED
        if _ends_with(self._run, dialect.sep_units):
            self._run.clear()
            return State.FIELD_START
        blank = unit <= 0x20 and dialect.trim_leading
        if blank and state in {State.RECORD_START, State.FIELD_START}:
            return State.FIELD_START
        return State.UNQUOTED

    def _inside(self, unit: int) -> State:
        dialect = self._dialect
        if unit == dialect.quote_unit:
            self._run.clear()
            return State.QUOTE_SEEN
        if unit == dialect.escape_unit:
            return State.ESCAPED
        return State.QUOTED

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
        if begin > self._record_start:
            self._emit(begin)
        if unit == CR and dialect.line_sep_units is None:
            self.state = State.CR_SEEN
        else:
            self._close_line(self._position + 1)
        return True

    def _emit(self, stop: int) -> None:
        if self.state is State.COMMENT:
            return
        if self.state in _IN_QUOTES:
            self.malformed.append(len(self._records))
        width = self._dialect.encoding.unit_bytes
        self._records.append((self._record_start * width, stop * width))

    def _close_line(self, position: int) -> None:
        self._record_start = position
        self.settled = position * self._dialect.encoding.unit_bytes
        self._run.clear()
        self._line_run.clear()
        self.state = State.RECORD_START

    @property
    def inside_quotes(self) -> bool:
        """Whether the last unit taken was inside quotes."""
        return self.state in _IN_QUOTES


def _ends_with(run: list[int], symbols: tuple[int, ...]) -> bool:
    return tuple(run[-len(symbols) :]) == symbols
