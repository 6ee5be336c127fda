"""JSON Lines: every line is a record, and lines of white space are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from splitscan.engine import kernel
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import (
    Buffer,
    CountedRecords,
    Frames,
    NativeFraming,
    WholeReference,
    native,
    pushed,
    records_of,
)
from splitscan.formats.text.lines import MAX_DELIMITER_UNITS, DelimitedFormat, LineFormat, line_format

_WHITE = bytes(range(0x21))  # the blank and all control characters before it, as for Spark


@dataclass(frozen=True)
class JsonLinesFormat:
    r"""Records are lines that hold more than white space.

    Args:
        lines: How lines are found.

    Thread safety: immutable.
    Pickling: plain values only.

    Example:
        >>> JsonLinesFormat(line_format()).frame(b"{}\n \n\n[]", at_end=True).starts.tolist()
        [0, 6]
    """

    name = "json lines"
    splittability = Splittability.LOCAL

    lines: LineFormat | DelimitedFormat

    @property
    def unit_bytes(self) -> int:
        return self.lines.unit_bytes

    @property
    def encoding(self) -> Encoding:
        return self.lines.encoding

    def needs_head(self, start: int) -> bool:
        return self.lines.needs_head(start)

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        found = self.lines.preamble(head, at_end=at_end)
        if isinstance(found, Need) or not isinstance(found.format, LineFormat | DelimitedFormat):
            return Need.AFTER
        return Preamble(found.data_start, self if found.format is self.lines else replace(self, lines=found.format))

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        native = self._native
        if native is not None:
            return native.frame(data, at_end=at_end)
        found = self.lines.frame(data, at_end=at_end)
        keep = np.array(list(map(self._is_full, records_of(memoryview(data), found))), dtype=bool)
        return Frames(found.starts[keep], found.stops[keep], found.next_start)

    def count(self, data: Buffer) -> CountedRecords:
        native = self._native
        if native is not None:
            return native.count(data)
        return CountedRecords.of(self.frame(data, at_end=False))

    @property
    def _native(self) -> NativeFraming | None:
        return None if kernel() is None else _native_lines(self.lines.delimiter, self.encoding)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """Length of the blank lines at the front of *data*."""
        lines, spaces = self._gaps
        text, width = self.lines.text_of(data), self.unit_bytes
        stop = lines.match(text).end()
        rest = spaces.match(text, stop).end()
        if at_end:  # a part of a code unit is a record
            return len(data) if rest * width == len(data) else int(stop) * width
        left = bytes(memoryview(data)[rest * width : len(text) * width][: MAX_DELIMITER_UNITS * width])
        may_end = not left or (self.lines.delimiter is not None and self.lines.delimiter.startswith(left))
        return Need.AFTER if may_end else int(stop) * width

    @cached_property
    def _gaps(self) -> tuple[Any, Any]:
        """Patterns of blank lines, and of what is blank in a line."""
        as_written: Any = str.encode if self.unit_bytes == 1 else str
        delimiter = self.lines.delimiter
        end = as_written(r"\r\n|\r|\n") if delimiter is None else re.escape(self.lines.text_of(delimiter))
        blank = as_written("(?:(?!") + end + as_written(r")[\x00-\x20])*+")
        line = as_written("(?:") + blank + as_written("(?:") + end + as_written("))*+")
        return re.compile(line), re.compile(as_written(r"[\x00-\x20]*+"))

    def _is_full(self, line: bytes) -> bool:
        """True if a line holds more than white space, as a part of a code unit is."""
        text: bytes | str = self.lines.text_of(line)
        rest = text.strip(_WHITE.decode()) if isinstance(text, str) else text.strip(_WHITE)
        return bool(rest) or len(text) * self.unit_bytes < len(line)

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        return self.lines.first_start(before, after, at_start=at_start, at_end=at_end)

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        return self.lines.resume_after(data, at_end=at_end)

    def droppable(self, data: Buffer) -> int:
        return self.lines.droppable(data)

    def reference_framer(self) -> WholeReference:
        return WholeReference(self._full_lines)

    def _full_lines(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The definition: lines, one byte at a time, without the blank ones."""
        for start, stop in pushed(self.lines.reference_framer(), data):
            if self._is_full(data[start:stop]):
                yield start, stop


@lru_cache(maxsize=64)
def _native_lines(delimiter: bytes | None, encoding: Encoding) -> NativeFraming | None:
    lines = native("Json.lines", delimiter, encoding.unit_bytes, encoding.big_endian)
    return None if lines is None else NativeFraming(lines)


def json_lines(line_sep: str | None, encoding: str) -> JsonLinesFormat:
    """Build the format that options describe.

    Raises:
        UsageError: If the encoding is unknown, or has no such delimiter.
    """
    return JsonLinesFormat(line_format(line_sep, None, encoding))
