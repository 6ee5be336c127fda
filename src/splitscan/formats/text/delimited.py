r"""Records ended by a delimiter of any length, which may be escaped.

Delimiters are found from left to right, the first one that fits, never overlapping: with ``||`` the text ``a|||b`` is
``a`` and ``|b``. A delimiter that can overlap itself makes a start in the middle of a file ambiguous: which of the
overlapping occurrences end a record depends on the first of them. So the look back goes over the *whole cluster*.

An escape makes one code unit data. An escaped occurrence therefore ends no record, and the search goes on one unit
after its first: with ``||`` the text ``a\|||b`` is ``a\|`` and ``b``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np

from splitscan.errors import UsageError
from splitscan.formats.framing.contract import Need
from splitscan.formats.framing.encodings import UTF_8, Encoding, resolve_encoding
from splitscan.formats.framing.frames import Buffer, Offsets, UnitFramer, Units, as_units
from splitscan.formats.text.lines import LineFormat
from splitscan.formats.text.terminated import (
    TerminatedRecords,
    check_escape,
    droppable_before,
    keep_unescaped,
    rewrite,
)

__all__ = ["MAX_DELIMITER_UNITS", "DelimitedFormat", "DelimitedReferenceFramer", "LineFormat", "line_format"]

MAX_DELIMITER_UNITS = 1024  # far beyond any real delimiter; keeps what must be remembered while skipping small


@dataclass(frozen=True, slots=True)
class DelimitedFormat(TerminatedRecords):
    r"""Records are ended by one fixed delimiter; a carriage return or a line feed outside of it is data.

    The last record needs no delimiter. Two delimiters in a row hold an empty record.

    Args:
        delimiter: The delimiter in *encoding*: one or more code units.
        encoding: Encoding of the file.
        escape: The escape character in *encoding* (one code unit), or ``None``. An occurrence of the delimiter after
            an odd run of escapes is data; escapes stay in the record.

    Raises:
        UsageError: If the delimiter is empty, too long, or contains the escape or a byte order mark, or the escape is
            not exactly one code unit.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> frames = DelimitedFormat(b"||").frame(b"a|||b||c", at_end=True)
        >>> [b"a|||b||c"[i:j] for i, j in zip(frames.starts, frames.stops)]
        [b'a', b'|b', b'c']
    """

    name = "delimited"

    delimiter: bytes
    encoding: Encoding = UTF_8
    escape: bytes | None = None

    def __post_init__(self) -> None:
        width = self.encoding.unit_bytes
        if not self.delimiter or len(self.delimiter) % width or len(self.delimiter) > MAX_DELIMITER_UNITS * width:
            raise UsageError(
                f"option lineSep must be 1 to {MAX_DELIMITER_UNITS} code units of {self.encoding.name}",
                seen=f"{len(self.delimiter)} bytes", fix="leave it out to split at line ends", code="bad-option",
            )  # fmt: skip
        self.encoding.check_mark("lineSep", self.delimiter)
        if self.encoding.bom and self.encoding.bom in self.delimiter:
            raise UsageError(
                "option lineSep must not contain a byte order mark", seen=repr(self.delimiter),
                fix="remove the character U+FEFF from it", code="bad-option",
            )  # fmt: skip
        if check_escape(self.escape, self.encoding) in self._delimiter_units:
            raise UsageError(
                "option lineSep must not contain the escape character", seen=f"{self.delimiter!r} and {self.escape!r}",
                fix="choose another escape, or leave it out", code="bad-option",
            )  # fmt: skip

    def in_encoding(self, encoding: Encoding) -> DelimitedFormat:
        """This format for files in *encoding*."""
        delimiter = encoding.write_units(self._delimiter_units)
        escape = rewrite(self.escape, self.encoding, encoding)
        return replace(self, delimiter=delimiter, encoding=encoding, escape=escape)

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        """Find the first record start at or after a position, looking back over the whole cluster of delimiters.

        Asks for more *before* when the cluster of overlapping delimiters, or a run of escapes, reaches its beginning:
        every delimiter of a cluster decides which of those after it count, so no shorter look is exact.
        """
        width, length = self.unit_bytes, len(self._delimiter_units)
        before = before[len(before) % width :]
        if at_start and not before:
            return 0
        position = len(before) // width
        units = as_units(before + after, width, self.encoding.big_endian)
        known_from = 0 if at_start else self._first_certain(units)
        first_that_counts = position - length  # a delimiter that begins earlier ends before the position
        if known_from > first_that_counts and not at_start:
            return Need.BEFORE
        found = self._occurrences(units)
        wanted = int(np.searchsorted(found, first_that_counts))
        if wanted == len(found):
            return len(after) if at_end else Need.AFTER
        heads = self._cluster_heads(found)
        if not at_start and self._overlaps_itself:
            heads[0] = found[0] - length + 1 >= known_from
        anchors = np.flatnonzero(heads[: wanted + 1])
        if not len(anchors):
            return Need.BEFORE
        ends = self._leftmost(found[anchors[-1] :]) + length
        reached = int(np.searchsorted(ends, position))
        if reached == len(ends):
            return len(after) if at_end else Need.AFTER
        return (int(ends[reached]) - position) * width

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        found = self._occurrences(as_units(data, self.unit_bytes, self.encoding.big_endian))
        if len(found):
            return (int(found[0]) + len(self._delimiter_units)) * self.unit_bytes
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """All of *data* but the end where a delimiter may have begun, and an escape that is open there."""
        units = as_units(data, self.unit_bytes, self.encoding.big_endian)
        keep_from = max(0, len(units) - len(self._delimiter_units) + 1)
        return droppable_before(units, keep_from, self._escape_unit) * self.unit_bytes

    def reference_framer(self) -> DelimitedReferenceFramer:
        return DelimitedReferenceFramer(self.encoding, self._delimiter_units, self._escape_unit)

    @property
    def _delimiter_units(self) -> tuple[int, ...]:
        return self.encoding.units(self.delimiter)

    @property
    def _overlaps_itself(self) -> bool:
        """True if some end of the delimiter is also a beginning of it."""
        units = self._delimiter_units
        return any(units[shift:] == units[:-shift] for shift in range(1, len(units)))

    def _terminators(self, units: Units, *, at_end: bool) -> tuple[Offsets, Offsets]:
        del at_end  # a delimiter is whole or none
        stops = self._leftmost(self._occurrences(units))
        return stops, stops + len(self._delimiter_units)

    def _occurrences(self, units: Units) -> Offsets:
        """Positions of the unescaped delimiter, overlapping occurrences included."""
        wanted = self._delimiter_units
        room = len(units) - len(wanted) + 1
        if room <= 0:
            return np.empty(0, dtype=np.int64)
        matches = units[:room] == wanted[0]
        if len(wanted) > 1:
            matches &= units[1 : room + 1] == wanted[1]
        found = np.flatnonzero(matches)
        for shift in range(2, len(wanted)):  # per unit of the delimiter, over ever fewer candidates
            found = found[units[found + shift] == wanted[shift]]
        return keep_unescaped(units, found, self._escape_unit)

    def _first_certain(self, units: Units) -> int:
        """From where on it is certain what is escaped, when the units before ``units[0]`` are unknown."""
        if self._escape_unit is None or not len(units):
            return 0
        others = units != self._escape_unit
        return int(others.argmax()) + 1 if others.any() else 0  # escapes alone hold no delimiter

    def _cluster_heads(self, found: Offsets) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which occurrences no occurrence before them overlaps; a delimiter that cannot overlap has only those."""
        heads = np.ones(len(found), dtype=bool)
        if self._overlaps_itself:
            heads[1:] = np.diff(found) >= len(self._delimiter_units)
        return heads

    def _leftmost(self, found: Offsets) -> Offsets:
        """Choose occurrences from left to right, never overlapping; the first one is always chosen.

        Starts from the heads of all clusters at once and doubles the distance of the jump to the next choice,
        so that a cluster of n occurrences takes log2(n) rounds.
        """
        chosen = self._cluster_heads(found)
        if chosen.all():
            return found
        jump = np.searchsorted(found, found + len(self._delimiter_units))
        jump = np.append(jump, len(found))  # the end stays where it is
        chosen = np.append(chosen, True)
        one_step = jump
        while not chosen[one_step[chosen]].all():
            chosen[jump[chosen]] = True
            jump = jump[jump]
        return found[chosen[:-1]]


class _DelimitedState(enum.Enum):
    """State of the reference framer between two code units."""

    IN_RECORD = "the next unit is what it looks like"
    ESCAPED = "the next unit is data"


class DelimitedReferenceFramer(UnitFramer):
    """The definition of :class:`DelimitedFormat`: one code unit at a time."""

    def __init__(self, encoding: Encoding, delimiter: tuple[int, ...], escape: int | None) -> None:
        super().__init__(encoding)
        self._delimiter = delimiter
        self._escape = escape
        self._state = _DelimitedState.IN_RECORD
        self._tail: list[tuple[int, bool]] = []  # the record's last units, and whether each is escaped

    def _take(self, unit: int) -> None:
        is_escaped = self._state is _DelimitedState.ESCAPED
        is_escape = unit == self._escape and not is_escaped
        self._state = _DelimitedState.ESCAPED if is_escape else _DelimitedState.IN_RECORD
        self._tail = [*self._tail, (unit, is_escaped)][-len(self._delimiter) :]
        if tuple(seen for seen, _ in self._tail) == self._delimiter and not self._tail[0][1]:
            self._end_record(len(self._delimiter) * self._encoding.unit_bytes)
            self._tail = []


def line_format(
    line_sep: str | None = None, escape: str | None = None, encoding: str = "UTF-8"
) -> LineFormat | DelimitedFormat:
    r"""Build the format that text options describe.

    Args:
        line_sep: The delimiter; ``None`` for any of ``\n``, ``\r\n`` and ``\r``.
        escape: The escape character, or ``None``.
        encoding: Name of the file's encoding.

    Raises:
        UsageError: If an option has no meaning, or two do not fit together.

    Example:
        >>> line_format().name, line_format(line_sep="||").name
        ('lines', 'delimited')
        >>> line_format(escape="\\", encoding="UTF-16LE").escape
        b'\\\x00'
    """
    resolved = resolve_encoding(encoding)
    escape_bytes = None if escape is None else resolved.encode(escape)
    if line_sep is None:
        return LineFormat(resolved, escape_bytes)
    return DelimitedFormat(resolved.encode(line_sep), resolved, escape_bytes)
