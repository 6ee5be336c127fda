"""Finding records: what all ways to do it share, those of a fixed length, and lines."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from splitscan.engine import kernel
from splitscan.formats.cobol.notation import Segments
from splitscan.formats.framing.contract import SHORT_RECORD, Need, Preamble, Splittability, has
from splitscan.formats.framing.encodings import US_ASCII
from splitscan.formats.framing.frames import Buffer, CountedRecords, Frames, NativeFraming, WholeReference, native
from splitscan.formats.text.lines import DelimitedFormat, LineFormat

BAD_RECORD_HEADER = "bad-record-header"
"""Reject code of the rest of a file, or of a block of it, where nothing says how long a record is."""


@dataclass(frozen=True, slots=True)
class CobolRecords(ABC):
    """Base of the ways to find records.

    Args:
        start: Bytes in front of the first one.
        trailer: Bytes after the last one.
        segments: Which are read; ``None`` for all. The others are bytes between records.
    """

    name: ClassVar[str] = "cobol"
    unit_bytes: ClassVar[int] = 1
    may_be_packed: ClassVar[bool] = True
    splittability: ClassVar[Splittability]

    start: int = 0
    trailer: int = 0
    segments: Segments | None = None

    @abstractmethod
    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None: ...

    @abstractmethod
    def droppable(self, data: Buffer) -> int: ...

    @abstractmethod
    def records_spelled(self) -> dict[str, Any] | str:
        """The way, as the kernel is told it."""

    @abstractmethod
    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        """Start, stop, where the next one starts, and what is wrong, of each record in front of the trailer."""

    def gap_in_front(self, content: memoryview) -> int:
        """Bytes in front of all records that *content* has, which a reader may pass alone."""
        return 0

    def joined(self, record: bytes) -> bytes:
        """A record without what lies between its parts."""
        return record

    def spelled(self) -> dict[str, Any]:
        """Words in which the kernel is told of it."""
        segments = None if self.segments is None else self.segments.spelled()
        return {"records": self.records_spelled(), "file_end": self.trailer, "segments": segments}

    def needs_head(self, start: int) -> bool:
        return self.start > 0

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Records begin after the header; there are none in a file that is shorter."""
        if len(head) < self.start and not at_end:
            return Need.AFTER
        return Preamble(min(self.start, len(head)), self)

    def content(self, data: Buffer) -> memoryview:
        """The bytes in front of a trailer, as far as they are known."""
        return memoryview(data)[: max(0, len(data) - self.trailer)]

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find the complete records in front of the trailer; one that is cut off is one only *at_end*."""
        view = self.content(data)
        found = _finder(self)
        if found is not None:
            frames = found.frame(data, at_end=at_end)
            codes = {i: next(self.each(view[int(frames.starts[i]) :], at_end=True))[3] or "" for i in frames.malformed}
            return Frames(frames.starts, frames.stops, frames.next_start, codes)
        starts: list[int] = []
        stops: list[int] = []
        malformed: dict[int, str] = {}
        passed = self.gap_in_front(view)
        for start, stop, next_start, code in self.each(view, at_end=at_end):
            passed = next_start
            if self.is_read(view[start:stop], code):
                malformed |= {} if code is None else {len(starts): code}
                starts.append(start)
                stops.append(stop)
        first, last = (np.array(positions, dtype=np.int64) for positions in (starts, stops))
        return Frames(first, last, len(data) if at_end and passed == len(view) else passed, malformed)

    def count(self, data: Buffer) -> CountedRecords:
        found = _finder(self)
        if found is not None:
            return found.count(data)
        return CountedRecords.of(self.frame(data, at_end=False))

    def is_read(self, record: memoryview, code: str | None) -> bool:
        """True if a record, or what is flagged with a code, is one of those that are read."""
        return self.segments is None or code is not None or self.segments.has(self.joined(bytes(record)))

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        view = self.content(data)
        if self.segments is None and (view or not self.trailer):
            return 0
        for start, stop, _, code in self.each(view, at_end=at_end):
            if self.is_read(view[start:stop], code):
                return start
        return len(data) if at_end else Need.AFTER

    def reference_framer(self) -> WholeReference:
        return WholeReference(self._read_records)

    def _read_records(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The definition: from record to record."""
        content = self.content(data)
        for start, stop, _, code in self.each(content, at_end=True):
            if self.is_read(content[start:stop], code):
                yield start, stop


@dataclass(frozen=True, slots=True)
class FixedRecords(CobolRecords):
    """Records of ``record_length`` bytes each; a shorter rest is one that is flagged ``short-record``.

    Example:
        >>> frames = FixedRecords(record_length=4, trailer=1).frame(b"aaaabbb!", at_end=True)
        >>> frames.stops.tolist(), frames.malformed, frames.next_start
        ([4, 7], {1: 'short-record'}, 8)
    """

    splittability: ClassVar[Splittability] = Splittability.ARITHMETIC

    record_length: int = 1

    def records_spelled(self) -> dict[str, Any]:
        return {"fixed": self.record_length}

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        for start in range(0, len(content), self.record_length):
            stop = min(start + self.record_length, len(content))
            if stop == start + self.record_length:
                yield start, stop, stop, None
            elif at_end:
                yield start, stop, stop, SHORT_RECORD

    def first_start_after(self, position: int, data_start: int) -> int:
        return data_start + -(-max(0, position - data_start) // self.record_length) * self.record_length

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        if at_end:
            return min(self.record_length, len(data))
        return self.record_length if len(data) >= self.record_length + self.trailer else None

    def droppable(self, data: Buffer) -> int:
        """Nothing: no record is longer than the length that was compared with the limit."""
        return 0


@dataclass(frozen=True, slots=True)
class LineRecords(CobolRecords):
    """Lines; those that are not read are bytes between records."""

    splittability: ClassVar[Splittability] = Splittability.LOCAL

    delimiter: bytes | None = None

    def records_spelled(self) -> dict[str, Any]:
        return {"lines": None if self.delimiter is None else list(self.delimiter)}

    @property
    def _lines(self) -> LineFormat | DelimitedFormat:
        return LineFormat(US_ASCII) if self.delimiter is None else DelimitedFormat(self.delimiter, US_ASCII)

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        frames = self._lines.frame(content, at_end=at_end)
        starts = [*frames.starts.tolist(), frames.next_start]
        for number, stop in enumerate(frames.stops.tolist()):
            yield starts[number], stop, starts[number + 1], None

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        return self._lines.first_start(before, after, at_start=at_start, at_end=at_end)

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        return self._lines.resume_after(data, at_end=at_end)

    def droppable(self, data: Buffer) -> int:
        return self._lines.droppable(data)

    def rest_of_terminator(self, around: bytes) -> int:
        return self._lines.rest_of_terminator(around)


def _finder(format: CobolRecords) -> NativeFraming | None:
    return None if kernel() is None or has(format, "left_bytes") else _native(format)


@lru_cache(maxsize=64)
def _native(format: CobolRecords) -> NativeFraming | None:
    found = native("CobolRecords", json.dumps(format.spelled()))
    return None if found is None else NativeFraming(found)
