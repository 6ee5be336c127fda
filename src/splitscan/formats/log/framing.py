"""Records of several lines, found by what their first line begins with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from splitscan.formats.framing.contract import EncodedRecords, Need, Splittability
from splitscan.formats.framing.encodings import CR, LF, UTF_8, Encoding
from splitscan.formats.framing.frames import NO_OFFSETS, Buffer, CountedRecords, Frames
from splitscan.formats.log.matching import begins
from splitscan.formats.text.lines import LineFormat

HEAD_BYTES = 4096
"""How many bytes of a line say whether a record begins with it."""

BEFORE_FIRST_RECORD = "before-first-record"
"""Reject code of the lines before the first one that begins a record."""


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

    def begin(self, lines: Iterable[bytes]) -> npt.NDArray[np.bool_]:
        """Flags of the lines that begin a record."""
        found: npt.NDArray[np.bool_] = begins(self.pattern, (self.encoding.text(line[:HEAD_BYTES]) for line in lines))
        return ~found if self.continues else found

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find the complete records: those after which another one begins, and *at_end* the last one."""
        view = memoryview(data)
        lines = self._lines.frame(data, at_end=at_end)
        if not len(lines):
            return Frames(NO_OFFSETS, NO_OFFSETS, 0)
        is_first = self.begin(_contents(view, lines))
        malformed = {} if is_first[0] else {0: BEFORE_FIRST_RECORD}
        first = np.flatnonzero(is_first[1:]) + 1  # lines of the records after the first one
        starts = lines.starts[np.concatenate(([0], first))]
        stops = lines.stops[np.append(first, len(lines)) - 1]
        if at_end or self._next_begins(view[lines.next_start :]):
            return Frames(starts, stops, lines.next_start, malformed)
        kept = malformed if len(first) else {}
        return Frames(starts[:-1], stops[:-1], int(starts[-1]), kept)

    def _next_begins(self, part: memoryview) -> bool:
        """True if what is shown of the last line tells that a record begins with it."""
        shown = len(part) - (len(part) > 0 and part[-1] == CR)
        return shown >= HEAD_BYTES and bool(self.begin([bytes(part[:HEAD_BYTES])])[0])

    def count(self, data: Buffer) -> CountedRecords:
        frames = self.frame(data, at_end=False)
        return CountedRecords(len(frames), frames.next_start)

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

    def reference_framer(self) -> LogReferenceFramer:
        return LogReferenceFramer(self)

    def _first(self, data: memoryview, start: int, *, at_end: bool) -> int | None:
        lines = self._lines.frame(data[start:], at_end=at_end)
        found = np.flatnonzero(self.begin(_contents(data[start:], lines))) if len(lines) else NO_OFFSETS
        if len(found):
            return start + int(lines.starts[found[0]])
        rest = start + lines.next_start
        if not at_end and self._next_begins(data[rest:]):
            return rest
        return len(data) if at_end else None


def _contents(data: memoryview, lines: Frames) -> Iterable[bytes]:
    for start, stop in zip(lines.starts.tolist(), lines.stops.tolist(), strict=True):
        yield bytes(data[start : min(stop, start + HEAD_BYTES)])


class LogReferenceFramer:
    """The definition of :class:`LogFormat`: one byte at a time, lines first."""

    unfinished = None  # every tail of a file is a record

    def __init__(self, format: LogFormat) -> None:
        self._format = format
        self._data = bytearray()
        self._line = 0  # where the current one starts
        self._after_return = False
        self.records: list[tuple[int, int]] = []
        self._open: tuple[int, int] | None = None

    def push(self, byte: int) -> None:
        if self._after_return and byte == LF:
            self._line = len(self._data) + 1
        elif byte in (CR, LF):
            self._end_line()
        self._after_return = byte == CR
        self._data.append(byte)

    def finish(self) -> None:
        if self._line < len(self._data):
            self._end_line()
        if self._open is not None:
            self.records.append(self._open)
            self._open = None

    def _end_line(self) -> None:
        start, stop = self._line, len(self._data)
        if self._open is not None and self._format.begin([bytes(self._data[start:stop])])[0]:
            self.records.append(self._open)
            self._open = None
        self._open = (start if self._open is None else self._open[0], stop)
        self._line = stop + 1
