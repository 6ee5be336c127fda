"""Finding records of several segments, each with its length in front, and with which of the record it is."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from splitscan.formats.cobol.framing import BAD_RECORD_HEADER
from splitscan.formats.cobol.headers import HEADER_BYTES, HeaderRecords
from splitscan.formats.framing.contract import SHORT_RECORD, Skipping
from splitscan.formats.framing.frames import Buffer

MISSING_SEGMENT = "missing-segment"
"""Reject code of segments that are no record."""

_ONLY, _FIRST, _LAST, _MIDDLE = range(4)
"""Which segment of a record one is: the third byte of its header."""


class Ending(enum.Enum):
    """Knowledge of the end of a record."""

    WHOLE = "whole"
    BROKEN = "broken"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class SpannedRecords(HeaderRecords):
    r"""Records as those of the base, or of segments: a first one, some in the middle, and a last one.

    Such a header has its number first, then which segment it is, and a zero. Segments that do not follow each other
    like this are one record that is flagged: up to the one that has another place, or ends a record.

    Args:
        is_open: Whether segments of a record were dropped, and others may follow.

    Example:
        >>> records = SpannedRecords()
        >>> frames = records.frame(b"\0\1\1\0a" b"\0\1\2\0b" b"\0\1\2\0c", at_end=True)
        >>> frames.starts.tolist(), frames.malformed, records.joined(b"\0\1\1\0a" b"\0\1\2\0b")
        ([0, 10], {1: 'missing-segment'}, b'\x00\x01\x01\x00ab')
    """

    is_open: bool = False

    def records_spelled(self) -> dict[str, Any]:
        return {"spanned": HeaderRecords.records_spelled(self)["headers"]}

    def _segment(self, content: Buffer) -> tuple[int, int] | None:
        """Length of the segment that begins here, and which it is; ``None`` if its header says no length."""
        header = bytes(content[:HEADER_BYTES])
        part = header[2] if any(header[:2]) and header[2] <= _MIDDLE and not header[3] else _ONLY
        length = self.length(header[:2] + bytes(2) if part else header)
        return None if length is None else (length, part)

    def _follow(self, content: Buffer, stop: int) -> tuple[int, Ending]:
        """End of segments that begin after others of a record, as far as they are shown."""
        while stop + HEADER_BYTES <= len(content):
            length, part = self._segment(content[stop : stop + HEADER_BYTES]) or (0, _ONLY)
            if part not in {_LAST, _MIDDLE}:
                return stop, Ending.BROKEN
            stop += length
            if part == _LAST:
                return stop, Ending.WHOLE
        return stop, Ending.OPEN

    def _extent(self, content: Buffer) -> tuple[int, Ending] | None:
        """End of the record at hand, as far as that is told; ``None`` if it is not."""
        if self.is_open:
            return self._follow(content, self.rest_bytes)
        if self.rest_bytes:
            return self.rest_bytes, Ending.WHOLE
        if self.is_lost or len(content) < HEADER_BYTES or (segment := self._segment(content)) is None:
            return None
        length, part = segment
        if part == _ONLY:
            return length, Ending.WHOLE
        if part == _LAST:
            return length, Ending.BROKEN
        stop, ending = self._follow(content, length)
        return stop, Ending.BROKEN if part == _MIDDLE and ending is Ending.WHOLE else ending

    def known_length(self, content: memoryview) -> int | None:
        extent = self._extent(content)
        return None if extent is None or extent[1] is Ending.OPEN else extent[0]

    def is_untold(self, content: memoryview) -> bool:
        return len(content) >= HEADER_BYTES and self._extent(content) is None

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        start, size = 0, len(content)
        while (extent := self._extent(content[start:])) is not None:
            stop, ending = start + extent[0], extent[1]
            if ending is Ending.OPEN or stop > size:
                break
            yield start, stop, stop, MISSING_SEGMENT if ending is Ending.BROKEN else None
            start = stop
        if at_end and start < size:
            yield start, size, size, BAD_RECORD_HEADER if self.is_untold(content[start:]) else SHORT_RECORD

    def droppable(self, data: Buffer) -> int:
        return self.drop(data)[0]

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        """Drop the segments that are shown; all in front of the trailer where nothing tells how long one is."""
        content = self.content(data)
        extent = self._extent(content)
        if extent is None:
            is_lost = self.is_lost or self.is_untold(content)
            return (len(content), replace(self, is_lost=True)) if is_lost else (0, self)
        stop, ending = extent
        dropped = min(stop, len(content))
        return dropped, replace(self, rest_bytes=stop - dropped, is_open=ending is Ending.OPEN) if dropped else self

    def joined(self, record: bytes) -> bytes:
        """A record as one segment: without the headers of all but the first."""
        found = bytearray(record[:HEADER_BYTES])
        start = 0
        while (
            start + HEADER_BYTES <= len(record)
            and (segment := self._segment(record[start : start + HEADER_BYTES])) is not None
        ):
            found += record[start + HEADER_BYTES : start + segment[0]]
            start += segment[0]
        return bytes(found)
