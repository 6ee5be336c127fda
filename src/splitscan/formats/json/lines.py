"""JSON Lines: every line is a record, and lines of white space are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from splitscan.engine import kernel
from splitscan.formats.framing.contract import Need, Preamble, Splittability
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import (
    Buffer,
    CountedRecords,
    Frames,
    NativeFraming,
    Units,
    WholeReference,
    as_units,
    native,
    pushed,
)
from splitscan.formats.text.lines import DelimitedFormat, LineFormat, line_format

_SPACE = 0x20  # this and all control characters are white space, as for Spark
_LOOK_BYTES = 1 << 12


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
        keep = ~self._blank(data, found)
        return found if keep.all() else Frames(found.starts[keep], found.stops[keep], found.next_start)

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
        position, length = 0, _LOOK_BYTES
        while position < len(data):
            window = memoryview(data)[position : position + length]
            is_last = position + len(window) == len(data)
            found = self.lines.frame(window, at_end=at_end and is_last)
            full = np.flatnonzero(~self._blank(window, found))
            if len(full):
                return position + int(found.starts[full[0]])
            if found.next_start:
                position += found.next_start
            elif not self._could_be_blank(window):
                return position
            elif is_last:
                return Need.AFTER
            else:
                length *= 4
        return len(data) if at_end else Need.AFTER

    def _could_be_blank(self, window: Buffer) -> bool:
        """True if an unfinished line holds only white space and perhaps a part of a delimiter."""
        units = self._units(window)
        rest = units[int(np.argmax(units > _SPACE)) :].tobytes() if (units > _SPACE).any() else b""
        return not rest or (self.lines.delimiter is not None and self.lines.delimiter.startswith(rest))

    def _blank(self, data: Buffer, frames: Frames) -> npt.NDArray[np.bool_]:
        """Which lines hold only white space; a part of a code unit at the end of a file is none."""
        units = self._units(data)
        at, stops = frames.starts // self.unit_bytes, frames.stops // self.unit_bytes
        blank: npt.NDArray[np.bool_] = frames.starts == frames.stops
        left = np.flatnonzero(~blank & ((frames.stops - frames.starts) % self.unit_bytes == 0))
        while len(left):
            left = left[units[at[left]] <= _SPACE]
            at[left] += 1
            blank[left] = at[left] == stops[left]
            left = left[~blank[left]]
        return blank

    def _units(self, data: Buffer) -> Units:
        return as_units(data, self.unit_bytes, self.encoding.big_endian)

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
            text = data[start:stop].decode(self.encoding.codec, "replace")
            if any(character > chr(_SPACE) for character in text):
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
