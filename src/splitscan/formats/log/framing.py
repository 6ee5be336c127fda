"""Records of several lines, found by what their first line begins with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from splitscan.formats.framing.contract import BEFORE_FIRST_RECORD, EncodedRecords, Need, Splittability
from splitscan.formats.framing.encodings import CR, UTF_8, Encoding
from splitscan.formats.framing.frames import NO_OFFSETS, Buffer, CountedRecords, Frames, WholeReference, pushed
from splitscan.formats.log.options import begins
from splitscan.formats.text.lines import LineFormat

HEAD_BYTES = 4096
"""How many bytes of a line say whether a record begins with it."""


@dataclass(frozen=True, slots=True)
class LogFormat(EncodedRecords):
    r"""A record is a line that begins one, and all lines up to the next such line.

    The first record begins where the file does, whatever its first line is; it is broken if that begins none. Only the
    first :data:`HEAD_BYTES` of a line are looked at, so a start is found from any place of a file.

    Args:
        pattern: What lines begin with that begin a record, or that do not.
        continues: Whether it is those that do not.
        encoding: Encoding of the file; ASCII is written in single bytes.

    Example:
        >>> frames = LogFormat("[0-9]").frame(b"1 a\n  b\n2 c", at_end=True)
        >>> frames.starts.tolist(), frames.stops.tolist()
        ([0, 8], [7, 11])
    """

    name = "log"
    splittability = Splittability.LOCAL  # a look at whole lines from the position on tells

    pattern: str
    continues: bool = False
    encoding: Encoding = UTF_8

    @property
    def _lines(self) -> LineFormat:
        return LineFormat(self.encoding)

    def in_encoding(self, encoding: Encoding) -> LogFormat:
        return LogFormat(self.pattern, self.continues, encoding)

    def begin(self, lines: Iterable[bytes]) -> list[bool]:
        """Flags of the lines that begin a record."""
        found = begins(self.pattern, (self.encoding.text(line[:HEAD_BYTES]) for line in lines))
        return [flag is not self.continues for flag in found]

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find the complete records: those after which another one begins, and *at_end* the last one."""
        lines = self._lines.frame(data, at_end=at_end)
        starts, stops = lines.starts.tolist(), lines.stops.tolist()
        if not starts:
            return Frames(NO_OFFSETS, NO_OFFSETS, 0)
        is_first = self.begin(_contents(memoryview(data), lines))
        first = [0, *(line for line in range(1, len(starts)) if is_first[line])]
        ends = [stops[line - 1] for line in first[1:]]
        next_start = starts[first[-1]]
        if at_end or self._next_begins(memoryview(data)[lines.next_start :]):
            ends.append(stops[-1])
            next_start = lines.next_start
        malformed = {0: BEFORE_FIRST_RECORD} if ends and not is_first[0] else {}
        begun = [starts[line] for line in first[: len(ends)]]
        return Frames(np.array(begun, np.int64), np.array(ends, np.int64), next_start, malformed)

    def _next_begins(self, part: memoryview) -> bool:
        """True if what is shown of the last line tells that a record begins with it."""
        shown = len(part) - (len(part) > 0 and part[-1] == CR)
        return shown >= HEAD_BYTES and self.begin([bytes(part[:HEAD_BYTES])])[0]

    def count(self, data: Buffer) -> CountedRecords:
        return CountedRecords.of(self.frame(data, at_end=False))

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        if at_start and not before:
            return 0
        line = self._lines.first_start(before, after, at_start=at_start, at_end=at_end)
        if isinstance(line, Need):
            return line
        found = self._first(memoryview(after), line, at_end=at_end)
        return Need.AFTER if found is None else found

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        line = self._lines.resume_after(data, at_end=at_end)
        return None if line is None else self._first(memoryview(data), line, at_end=at_end)

    def droppable(self, data: Buffer) -> int:
        """All before the end of the last whole line; all of *data* where the line after it begins no record."""
        lines = self._lines.frame(data, at_end=False)
        part = memoryview(data)[lines.next_start :]
        is_cr = len(data) > 0 and data[-1] == CR
        if len(lines) and len(part) - is_cr < HEAD_BYTES:
            return int(lines.stops[-1])
        return len(data) - is_cr

    def rest_of_terminator(self, around: bytes) -> int:
        return self._lines.rest_of_terminator(around)

    def reference_framer(self) -> WholeReference:
        return WholeReference(self._records)

    def _records(self, data: bytes) -> list[tuple[int, int]]:
        """The definition: lines one byte at a time, then which of them begin a record."""
        found: list[tuple[int, int]] = []
        for start, stop in pushed(self._lines.reference_framer(), data):
            if found and not self.begin([data[start:stop]])[0]:
                found[-1] = found[-1][0], stop
            else:
                found.append((start, stop))
        return found

    def _first(self, data: memoryview, start: int, *, at_end: bool) -> int | None:
        lines = self._lines.frame(data[start:], at_end=at_end)
        for line, is_first in zip(lines.starts.tolist(), self.begin(_contents(data[start:], lines)), strict=True):
            if is_first:
                return start + int(line)
        rest = start + lines.next_start
        if not at_end and self._next_begins(data[rest:]):
            return rest
        return len(data) if at_end else None


def _contents(data: memoryview, lines: Frames) -> Iterable[bytes]:
    for start, stop in zip(lines.starts.tolist(), lines.stops.tolist(), strict=True):
        yield bytes(data[start : min(stop, start + HEAD_BYTES)])
