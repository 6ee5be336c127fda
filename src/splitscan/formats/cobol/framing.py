"""Finding records: of a fixed length, behind their lengths, or lines; between a header and a trailer of the file."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from splitscan.engine import kernel
from splitscan.formats.cobol.notation import Segments
from splitscan.formats.fixed.framing import SHORT_RECORD
from splitscan.formats.framing.contract import Need, Preamble, Skipping, Splittability
from splitscan.formats.framing.encodings import US_ASCII
from splitscan.formats.framing.frames import Buffer, CountedRecords, Frames, NativeFraming, Summary, native
from splitscan.formats.text.lines import DelimitedFormat, LineFormat

HEADER_BYTES = 4
"""Bytes in front of a record that say how long it is."""

BAD_RECORD_HEADER = "bad-record-header"
"""Reject code of the rest of a file, where four bytes are no length of a record."""


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
        passed = 0
        for start, stop, next_start, code in self.each(view, at_end=at_end):
            passed = next_start
            if self._is_read(view[start:stop], code):
                malformed |= {} if code is None else {len(starts): code}
                starts.append(start)
                stops.append(stop)
        first, last = (np.array(positions, dtype=np.int64) for positions in (starts, stops))
        return Frames(first, last, len(data) if at_end else passed, malformed)

    def count(self, data: Buffer) -> CountedRecords:
        found = _finder(self)
        if found is not None:
            return found.count(data)
        frames = self.frame(data, at_end=False)
        return CountedRecords(len(frames), frames.next_start)

    def _is_read(self, record: memoryview, code: str | None) -> bool:
        return self.segments is None or code is not None or self.segments.has(bytes(record))

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        view = self.content(data)
        if self.segments is None and (view or not self.trailer):
            return 0
        for start, stop, _, code in self.each(view, at_end=at_end):
            if self._is_read(view[start:stop], code):
                return start
        return len(data) if at_end else Need.AFTER

    def reference_framer(self) -> CobolReferenceFramer:
        return CobolReferenceFramer(self)


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
class HeaderRecords(CobolRecords):
    r"""Records with four bytes in front that say how long they are: two of a number, and two of zeros.

    A record begins with its header. Where that says no length, the rest of the file is one record that is flagged.

    Args:
        big_endian: Whether the number comes first, from the highest byte on; else it comes last, from the lowest on.
            ``None`` for either: the zeros tell.
        adjustment: How many bytes a record has more than that number says.
        is_lost: Whether bytes were dropped, so that nothing tells where another record is before the trailer.

    Example:
        >>> frames = HeaderRecords().frame(b"\0\2\0\0ab\0\1\0\0c\0\0\0\0d", at_end=True)
        >>> frames.starts.tolist(), frames.malformed
        ([0, 6, 11], {2: 'bad-record-header'})
    """

    splittability: ClassVar[Splittability] = Splittability.CONTEXT

    is_walked: ClassVar[bool] = True

    big_endian: bool | None = None
    adjustment: int = 0
    is_lost: bool = False

    def records_spelled(self) -> dict[str, Any]:
        return {"headers": {"big_endian": self.big_endian, "adjustment": self.adjustment}}

    def length(self, header: bytes) -> int | None:
        """Bytes of a record with its header; ``None`` if that says none."""
        high, low = int.from_bytes(header[:2], "big"), int.from_bytes(header[2:4], "little")
        if self.is_lost or (high and low) or not (high or low) or self.big_endian is (not high):
            return None
        length = (high or low) + self.adjustment
        return length + HEADER_BYTES if length >= 0 else None

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        start, size = 0, len(content)
        while size - start >= HEADER_BYTES:
            length = self.length(bytes(content[start : start + HEADER_BYTES]))
            if length is None or start + length > size:
                break
            yield start, start + length, start + length, None
            start += length
        if at_end and start < size:
            header = bytes(content[start : start + HEADER_BYTES])
            is_bad = len(header) == HEADER_BYTES and self.length(header) is None
            yield start, size, size, BAD_RECORD_HEADER if is_bad else SHORT_RECORD

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """After so many bytes; at the end of all where nothing tells how many."""
        content = self.content(data)
        length = self.length(bytes(content[:HEADER_BYTES])) if len(content) >= HEADER_BYTES else None
        if length is not None and length <= len(content):
            return length
        return len(content) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """All in front of the trailer, where nothing tells how long a record is."""
        content = self.content(data)
        is_open = len(content) < HEADER_BYTES and not self.is_lost
        return 0 if is_open or self.length(bytes(content[:HEADER_BYTES])) is not None else len(content)

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        """After what is dropped nothing tells where another record is."""
        dropped = self.droppable(data)
        return dropped, replace(self, is_lost=True) if dropped else self

    # ------------------------------------------------------------- the index

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        return 0

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Nothing: only a walk from header to header tells where records are."""
        return Summary(len(data), ())

    def state_after(self, data: Buffer) -> int:
        """How many bytes of the last record are still to come, or of its header, at least."""
        frames = self.frame(data, at_end=False)
        return 0 if frames.next_start == len(data) else 1


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


class CobolReferenceFramer:
    """The definition: all bytes of a file, from record to record."""

    unfinished = None  # every tail of a file is a record

    def __init__(self, format: CobolRecords) -> None:
        self._format = format
        self._data = bytearray()
        self.records: list[tuple[int, int]] = []

    def push(self, byte: int) -> None:
        self._data.append(byte)

    def finish(self) -> None:
        content = self._format.content(bytes(self._data))
        found = self._format.each(content, at_end=True)
        segments = self._format.segments
        self.records = [
            (start, stop)
            for start, stop, _, code in found
            if segments is None or code is not None or segments.has(bytes(content[start:stop]))
        ]


def _finder(format: CobolRecords) -> NativeFraming | None:
    return None if kernel() is None else _native(format)


@lru_cache(maxsize=64)
def _native(format: CobolRecords) -> NativeFraming | None:
    found = native("CobolRecords", json.dumps(format.spelled()))
    return None if found is None else NativeFraming(found)
