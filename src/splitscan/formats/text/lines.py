r"""Lines: records ended by ``\n``, ``\r\n`` or ``\r``, mixed freely, which may be escaped.

Empty lines are records. The last record needs no terminator, and a terminator at the very end of a file is followed
by no record. ``\r\n`` is one terminator wherever a block is cut; an escaped ``\r`` before a ``\n`` is data, and the
``\n`` ends the record.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace

import numpy as np

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Need
from splitscan.formats.framing.encodings import CR, LF, UTF_8, Encoding
from splitscan.formats.framing.frames import Buffer, Offsets, UnitFramer, Units, as_units
from splitscan.formats.text.terminated import (
    TerminatedRecords,
    check_escape,
    droppable_before,
    keep_unescaped,
    rewrite,
    run_before,
)


@dataclass(frozen=True, slots=True)
class LineFormat(TerminatedRecords):
    r"""Records are lines, whatever ends them.

    Args:
        encoding: Encoding of the file.
        escape: The escape character in *encoding* (one code unit), or ``None``. A terminator after an odd run of
            escapes is data; escapes stay in the record.

    Raises:
        UsageError: If the escape is not exactly one code unit, or is a terminator itself.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> frames = LineFormat(escape=b"\\").frame(b"a\nb\\\nc\r\n", at_end=True)
        >>> frames.starts.tolist(), frames.stops.tolist()
        ([0, 2], [1, 6])
    """

    name = "lines"

    encoding: Encoding = UTF_8
    escape: bytes | None = None
    delimiter: None = field(default=None, init=False, repr=False)  # none of a fixed form

    def __post_init__(self) -> None:
        if check_escape(self.escape, self.encoding) in (CR, LF):
            raise UsageError(
                "option escape must not be a line terminator", seen=repr(self.escape),
                fix="choose another escape character, usually a backslash", code="bad-option",
            )  # fmt: skip

    def in_encoding(self, encoding: Encoding) -> LineFormat:
        """This format for files in *encoding*."""
        return replace(self, encoding=encoding, escape=rewrite(self.escape, self.encoding, encoding))

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        width, big_endian = self.unit_bytes, self.encoding.big_endian
        seen = as_units(before[len(before) % width :], width, big_endian)
        if not len(seen):
            return 0 if at_start else Need.BEFORE
        is_terminator = seen[-1] in (CR, LF)
        last = len(seen) - 1 if is_terminator else len(seen)
        run = run_before(seen, last, self._escape_unit)
        if run == len(seen):
            units = as_units(after, width, big_endian)
            if run_before(units, len(units), self._escape_unit) == len(units):
                return len(after) if at_end else Need.AFTER  # what follows the run is not escaped, or is
        if run == last and not at_start and self.escape is not None:
            return Need.BEFORE
        is_terminator = is_terminator and run % 2 == 0
        if is_terminator and seen[-1] == LF:
            return 0
        # Search from the terminator or from the open escape before the position, so that both keep their effect.
        back = 1 if is_terminator or (run % 2 and last == len(seen)) else 0
        units = as_units(before[len(before) - back * width :] + after, width, big_endian)
        _, resumes = self._terminators(units, at_end=at_end)
        if len(resumes):
            return (int(resumes[0]) - back) * width
        return len(after) if at_end else Need.AFTER

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        units = as_units(data, self.unit_bytes, self.encoding.big_endian)
        _, resumes = self._terminators(units, at_end=at_end)
        if len(resumes):
            return int(resumes[0]) * self.unit_bytes
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        r"""All of *data* but an undecided ``\r``, an open escape, or a part of a code unit, at its end."""
        units = as_units(data, self.unit_bytes, self.encoding.big_endian)
        size = len(units)
        if size and units[-1] == CR and run_before(units, size - 1, self._escape_unit) % 2 == 0:
            return (size - 1) * self.unit_bytes
        return droppable_before(units, size, self._escape_unit) * self.unit_bytes

    def rest_of_terminator(self, around: bytes) -> int:
        r"""How many bytes, from the second code unit of *around* on, only finish the line that the first belongs to.

        Example:
            >>> [LineFormat().rest_of_terminator(text) for text in (b"a\r\n", b"\r\na", b"\n\na", b"a\na", b"ab\n")]
            [2, 1, 0, 1, 0]
        """
        width = self.unit_bytes
        before, here, after = (*self.encoding.units(around[: len(around) // width * width]), 0, 0, 0)[:3]
        if here == LF and before == CR:
            return width
        if here not in (CR, LF) or before in (CR, LF):
            return 0
        return 2 * width if here == CR and after == LF else width

    def reference_framer(self) -> LineReferenceFramer:
        return LineReferenceFramer(self.encoding, self._escape_unit)

    def _terminators(self, units: Units, *, at_end: bool) -> tuple[Offsets, Offsets]:
        """Starts of each terminator and of the record after it, in units."""
        escape = self._escape_unit
        is_cr = units == CR
        if not is_cr.any():
            feeds = keep_unescaped(units, np.flatnonzero(units == LF), escape)
            return feeds, feeds + 1
        marks = keep_unescaped(units, np.flatnonzero(is_cr | (units == LF)), escape)
        ends_with_feed = np.zeros(len(marks), dtype=bool)
        if len(marks) > 1:
            ends_with_feed[:-1] = (units[marks[:-1]] == CR) & (units[marks[1:]] == LF) & (np.diff(marks) == 1)
        is_second = np.zeros(len(marks), dtype=bool)
        is_second[1:] = ends_with_feed[:-1]
        stops = marks[~is_second]
        resumes = stops + 1 + ends_with_feed[~is_second]
        if not at_end and len(stops) and stops[-1] == len(units) - 1 and units[-1] == CR:
            return stops[:-1], resumes[:-1]  # a line feed may still follow
        return stops, resumes


class _LineState(enum.Enum):
    """State of the reference framer between two code units."""

    IN_RECORD = "the next unit is what it looks like"
    ESCAPED = "the next unit is data"
    AFTER_RETURN = "a line feed would belong to the carriage return before it"


class LineReferenceFramer(UnitFramer):
    """The definition of :class:`LineFormat`: one code unit at a time."""

    def __init__(self, encoding: Encoding, escape: int | None) -> None:
        super().__init__(encoding)
        self._escape = escape
        self._state = _LineState.IN_RECORD

    def _take(self, unit: int) -> None:
        state, self._state = self._state, _LineState.IN_RECORD
        if state is _LineState.ESCAPED:
            return
        if state is _LineState.AFTER_RETURN and unit == LF:
            self._start = self._offset
        elif unit == self._escape:
            self._state = _LineState.ESCAPED
        elif unit in (CR, LF):
            self._end_record(self._encoding.unit_bytes)
            if unit == CR:
                self._state = _LineState.AFTER_RETURN
