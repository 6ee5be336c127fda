r"""Records ended by a terminator, which may be escaped: any line end, or one delimiter of any length.

Terminators are found from left to right, the first one that fits, never overlapping: with ``||`` the text ``a|||b`` is
``a`` and ``|b``. A delimiter that can overlap itself makes a start in the middle of a file ambiguous: which of the
overlapping occurrences end a record depends on the first of them. So the look back goes over the *whole cluster*.

An escape makes one code unit data. An escaped occurrence therefore ends no record, and the search goes on one unit
after its first: with ``||`` the text ``a\|||b`` is ``a\|`` and ``b``.
"""

from __future__ import annotations

import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from splitscan.errors import bad_option
from splitscan.formats.framing.contract import EncodedRecords, Need, Splittability
from splitscan.formats.framing.encodings import CR, LF, UTF_8, Encoding, resolve_encoding
from splitscan.formats.framing.frames import Buffer, CountedRecords, Frames, NativeFraming, as_units, native_framing

MAX_DELIMITER_UNITS = 1024  # far beyond any real delimiter; keeps what must be remembered while skipping small
_NO_CHARACTER = 0xD800  # stands for units of UTF-32 that are no characters, and that no delimiter has


def find_terminators(text: Any, position: int, delimiter: Any, escape: Any) -> Iterator[tuple[int, int]]:
    """Occurrences of a terminator that are not escaped, from a position on that is not; they may overlap."""
    pattern = _pattern(delimiter, escape, is_wide=isinstance(text, str))
    return (found.span(1) for found in pattern.finditer(text, position) if found[1] is not None)


@lru_cache(maxsize=64)
def _pattern(delimiter: Any, escape: Any, *, is_wide: bool) -> re.Pattern[Any]:
    as_written: Callable[[str], Any] = str if is_wide else str.encode
    wanted = as_written(r"\r\n|\r|\n") if delimiter is None else re.escape(delimiter)
    escaped = as_written("") if escape is None else re.escape(escape) + as_written(r"[\s\S]|")
    return re.compile(escaped + as_written("(?=(") + wanted + as_written("))"))


def certain_from(text: Any, escape: Any) -> int:
    """From where on it is certain what is escaped, where the units before the text are unknown."""
    return 0 if escape is None else len(text) - len(text.lstrip(escape)) + 1


class TerminatedRecords(EncodedRecords):
    """A format of nothing but records and terminators. The last record needs none; two in a row hold an empty record.

    Attributes:
        encoding: Encoding of the file.
        escape: The escape character in *encoding* (one code unit), or ``None``. A terminator after an odd run of
            escapes is data; escapes stay in the record.
        delimiter: The delimiter in *encoding*; ``None`` for any of the usual line ends.
    """

    __slots__ = ()

    splittability = Splittability.LOCAL  # the terminators and escapes right before a position tell

    name: ClassVar[str]
    escape: bytes | None
    delimiter: bytes | None

    @abstractmethod
    def droppable(self, data: Buffer) -> int: ...

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        r"""Find the complete records at the front of *data*; a ``\r`` at its very end is undecided until *at_end*."""
        native = self._native
        if native is not None:
            return native.frame(data, at_end=at_end)
        width = self.unit_bytes
        stops, starts = [], [0]
        for stop, start in self._terminators(self.text_of(data), at_end=at_end):
            stops.append(stop * width)
            starts.append(start * width)
        if at_end and starts[-1] < len(data):
            stops.append(len(data))
            starts.append(len(data))
        return Frames(np.array(starts[:-1], np.int64), np.array(stops, np.int64), starts[-1])

    def count(self, data: Buffer) -> CountedRecords:
        native = self._native
        if native is not None:
            return native.count(data)
        return CountedRecords.of(self.frame(data, at_end=False))

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        """Find the first record start at or after a position, looking back over the whole cluster of terminators.

        Asks for more *before* when a cluster of overlapping delimiters, or a run of escapes, reaches its beginning:
        every delimiter of a cluster decides which of those after it count, so no shorter look is exact.
        """
        width = self.unit_bytes
        before = before[len(before) % width :]
        position, length = len(before) // width, self._least_units
        if position < length and not at_start:
            return Need.BEFORE
        if not before:
            return 0
        text, delimiter, escape = (
            self.text_of(before + after),
            self._written(self.delimiter),
            self._written(self.escape),
        )
        nothing = len(after) if at_end else Need.AFTER
        known = 0 if at_start else certain_from(text, escape)
        uncertain = next(find_terminators(text, known - 1, delimiter, None), None) if known else None
        if uncertain is not None and uncertain[0] == known - 1 and uncertain[1] >= position:
            return Need.BEFORE
        found = list(find_terminators(text, known, delimiter, escape))
        begin = next((start for start, _ in found if start >= position - length), None)
        if begin is None:
            return nothing
        for start, stop in reversed(found):
            begin = start if start < begin < stop else begin
        if begin < known + self._overlap and not at_start:
            return Need.BEFORE
        ends = (stop for _, stop in self._terminators(text, begin, at_end=at_end) if stop >= position)
        first = next(ends, None)
        return nothing if first is None else (first - position) * width

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        first = next(self._terminators(self.text_of(data), at_end=at_end), None)
        if first is not None:
            return first[1] * self.unit_bytes
        return len(data) if at_end else None

    def reference_framer(self) -> TextReferenceFramer:
        delimiter = None if self.delimiter is None else self.encoding.units(self.delimiter)
        return TextReferenceFramer(self.encoding, delimiter, self._escape_unit)

    def rest_of_terminator(self, around: bytes) -> int:
        """How many bytes, from the second code unit of *around* on, only finish the record of the first."""
        return 0

    def _terminators(self, text: Any, position: int = 0, *, at_end: bool) -> Iterator[tuple[int, int]]:
        """Start of each terminator and of the record after it, in units, from a position that is in none."""
        for start, stop in find_terminators(text, position, self._written(self.delimiter), self._written(self.escape)):
            if start >= position and (at_end or not self._is_open(text, stop)):
                yield start, stop
                position = stop

    def _is_open(self, text: Any, stop: int) -> bool:
        """True if a line feed after the text would still belong to the terminator that ends there."""
        return self.delimiter is None and stop == len(text) and text[-1:] == self._written(self.encoding.encode("\r"))

    def _closed(self, text: Any, position: int) -> int:
        """The position, or the one before it if an escape is open there."""
        if self.escape is None:
            return position
        shown = text[:position] if isinstance(text, str) else bytes(text[:position])
        return position - (position - len(shown.rstrip(self._written(self.escape)))) % 2

    @property
    def _native(self) -> NativeFraming | None:
        encoding = self.encoding
        return native_framing("Lines", self.delimiter, self.escape, encoding.unit_bytes, encoding.big_endian)

    @property
    @abstractmethod
    def _least_units(self) -> int:
        """Units of the shortest terminator."""

    @property
    def _overlap(self) -> int:
        """How many units before an occurrence another one may begin that overlaps it."""
        return 0

    @property
    def _escape_unit(self) -> int | None:
        return None if self.escape is None else self.encoding.units(self.escape)[0]

    def text_of(self, data: Buffer) -> Any:
        """The whole units of some bytes: bytes, or a character for each that is wider."""
        if self.unit_bytes == 1:
            return data
        units = as_units(data, self.unit_bytes, self.encoding.big_endian)
        shown = np.where(units > sys.maxunicode, _NO_CHARACTER, units).astype("<u4")
        return shown.tobytes().decode("utf-32-le", "surrogatepass")

    def _written(self, mark: bytes | None) -> Any:
        return None if mark is None else self.text_of(mark)


@dataclass(frozen=True, slots=True)
class LineFormat(TerminatedRecords):
    r"""Records are lines, ended by ``\n``, ``\r\n`` or ``\r``, mixed freely.

    ``\r\n`` is one terminator wherever a block is cut; an escaped ``\r`` before a ``\n`` is data, and the ``\n`` ends
    the record.

    Raises:
        UsageError: If the escape is not exactly one code unit, or is a terminator itself.

    Example:
        >>> frames = LineFormat(escape=b"\\").frame(b"a\nb\\\nc\r\n", at_end=True)
        >>> frames.starts.tolist(), frames.stops.tolist()
        ([0, 2], [1, 6])
    """

    name: ClassVar[str] = "lines"

    encoding: Encoding = UTF_8
    escape: bytes | None = None
    delimiter: None = field(default=None, init=False, repr=False)  # none of a fixed form

    def __post_init__(self) -> None:
        if _check_escape(self.escape, self.encoding) in (CR, LF):
            raise bad_option(
                "option escape must not be a line terminator",
                repr(self.escape),
                "choose another escape character, usually a backslash",
            )

    def in_encoding(self, encoding: Encoding) -> LineFormat:
        return replace(self, encoding=encoding, escape=_rewrite(self.escape, self.encoding, encoding))

    def droppable(self, data: Buffer) -> int:
        r"""All of *data* but an undecided ``\r``, an open escape, or a part of a code unit, at its end."""
        text = self.text_of(data)
        size = len(text)
        is_open = size > 0 and self._is_open(text, size) and self._closed(text, size - 1) == size - 1
        return (size - 1 if is_open else self._closed(text, size)) * self.unit_bytes

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

    @property
    def _least_units(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class DelimitedFormat(TerminatedRecords):
    r"""Records are ended by one fixed delimiter; a carriage return or a line feed outside of it is data.

    Raises:
        UsageError: If the delimiter is empty, too long, or contains the escape or a byte order mark, or the escape is
            not exactly one code unit.

    Example:
        >>> frames = DelimitedFormat(b"||").frame(b"a|||b||c", at_end=True)
        >>> [b"a|||b||c"[i:j] for i, j in zip(frames.starts, frames.stops)]
        [b'a', b'|b', b'c']
    """

    name: ClassVar[str] = "delimited"

    delimiter: bytes
    encoding: Encoding = UTF_8
    escape: bytes | None = None

    def __post_init__(self) -> None:
        width = self.encoding.unit_bytes
        if not self.delimiter or len(self.delimiter) % width or len(self.delimiter) > MAX_DELIMITER_UNITS * width:
            raise bad_option(
                f"option lineSep must be 1 to {MAX_DELIMITER_UNITS} code units of {self.encoding.name}",
                f"{len(self.delimiter)} bytes",
                "leave it out to split at line ends",
            )
        self.encoding.check_mark("lineSep", self.delimiter)
        if self.encoding.bom and self.encoding.bom in self.delimiter:
            raise bad_option(
                "option lineSep must not contain a byte order mark",
                repr(self.delimiter),
                "remove the character U+FEFF from it",
            )
        if _check_escape(self.escape, self.encoding) in self.encoding.units(self.delimiter):
            raise bad_option(
                "option lineSep must not contain the escape character",
                f"{self.delimiter!r} and {self.escape!r}",
                "choose another escape, or leave it out",
            )

    def in_encoding(self, encoding: Encoding) -> DelimitedFormat:
        delimiter = encoding.write_units(self.encoding.units(self.delimiter))
        escape = _rewrite(self.escape, self.encoding, encoding)
        return replace(self, delimiter=delimiter, encoding=encoding, escape=escape)

    def droppable(self, data: Buffer) -> int:
        """All of *data* but the end where a delimiter may have begun, and an escape that is open there."""
        text = self.text_of(data)
        return self._closed(text, max(0, len(text) - self._least_units + 1)) * self.unit_bytes

    @property
    def _least_units(self) -> int:
        return len(self.delimiter) // self.unit_bytes

    @property
    def _overlap(self) -> int:
        units = self.encoding.units(self.delimiter)
        overlaps = any(units[shift:] == units[:-shift] for shift in range(1, len(units)))
        return len(units) - 1 if overlaps else 0


class TextReferenceFramer:
    """The definition of both formats: one code unit at a time."""

    unfinished = None  # every tail of a file is a record

    def __init__(self, encoding: Encoding, delimiter: tuple[int, ...] | None, escape: int | None) -> None:
        self._encoding, self._delimiter, self._escape = encoding, delimiter, escape
        self._partial = b""  # bytes of a code unit that is not complete
        self._offset = 0  # bytes pushed
        self._start = 0  # of the current record
        self._is_escaped = self._after_return = False  # the next unit is
        self._tail: list[tuple[int, bool]] = []  # the record's last units, and whether each is escaped
        self.records: list[tuple[int, int]] = []

    def push(self, byte: int) -> None:
        self._partial += bytes([byte])
        self._offset += 1
        if len(self._partial) == self._encoding.unit_bytes:
            (unit,) = self._encoding.units(self._partial)
            self._partial = b""
            self._take(unit)

    def finish(self) -> None:
        if self._start < self._offset:
            self.records.append((self._start, self._offset))

    def _take(self, unit: int) -> None:
        is_escaped, after_return = self._is_escaped, self._after_return
        self._is_escaped = unit == self._escape and not is_escaped
        self._after_return = False
        if self._delimiter is not None:
            self._tail = [*self._tail, (unit, is_escaped)][-len(self._delimiter) :]
            if tuple(seen for seen, _ in self._tail) == self._delimiter and not self._tail[0][1]:
                self._end_record(len(self._delimiter))
                self._tail = []
        elif after_return and unit == LF:
            self._start = self._offset
        elif unit in (CR, LF) and not is_escaped:
            self._end_record(1)
            self._after_return = unit == CR

    def _end_record(self, terminator_units: int) -> None:
        self.records.append((self._start, self._offset - terminator_units * self._encoding.unit_bytes))
        self._start = self._offset


def line_format(
    line_sep: str | None = None, escape: str | None = None, encoding: str = "UTF-8"
) -> LineFormat | DelimitedFormat:
    r"""Build the format that text options describe.

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


def _rewrite(text: bytes | None, old: Encoding, new: Encoding) -> bytes | None:
    """Rewrite code units in the byte order of another encoding."""
    return None if text is None else new.write_units(old.units(text))


def _check_escape(escape: bytes | None, encoding: Encoding) -> int | None:
    """The escape as one code unit.

    Raises:
        UsageError: If it is not a character of ASCII.
    """
    if escape is None:
        return None
    if len(escape) != encoding.unit_bytes or encoding.units(escape)[0] >= 0x80:
        raise bad_option(
            "option escape must be one ASCII character", repr(escape), "choose an ASCII character, usually a backslash"
        )
    encoding.check_mark("escape", escape)
    return encoding.units(escape)[0]
