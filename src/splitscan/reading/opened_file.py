"""A file that stays open for the ranges that are read of it, and whose line ends can be counted on the way."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from splitscan.blocks import FileMetadata
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.storage import ByteSource
from splitscan.errors import Where
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.reading.contents import preamble_for
from splitscan.reading.cursor import RecordCursor, Records, first_boundary
from splitscan.sizes import MIB

_FRESH_SECONDS = 5.0  # how long an open file is believed to be the one that was planned; opening may be a request
_OF_CONTENT = frozenset({"codec", "content_bytes", "damage"})  # of sources of content
_MOST_PLACES = 4 * MIB  # line ends whose places are kept; of parts further back only their number is
_RETURN, _FEED = 13, 10


class OpenedFile:
    """A file that stays open from one range to the next, and whose head is read once.

    It is opened when it is first needed, and again where that was long ago, so that a file which is replaced while
    its ranges are read is noticed.

    Args:
        open_source: Opens it, and raises if it is not the one that was planned.
        fresh_seconds: When to open it again.
    """

    def __init__(
        self,
        file: FileMetadata,
        open_source: Callable[[], ByteSource],
        *,
        max_record_bytes: int,
        read_bytes: int,
        fresh_seconds: float = _FRESH_SECONDS,
    ) -> None:
        self._file = file
        self._open_source = open_source
        self._max_record_bytes = max_record_bytes
        self._read_bytes = read_bytes
        self._fresh_seconds = fresh_seconds
        self._source: ByteSource | None = None
        self._opened_seconds = 0.0
        self._preambles: dict[tuple[RecordFormat, bool], Preamble] = {}

    @property
    def file(self) -> FileMetadata:
        """The file."""
        return self._file

    def lend(self) -> ByteSource:
        """The open file, for a reader that closes it: that leaves it open."""
        if self._source is not None and time.monotonic() - self._opened_seconds > self._fresh_seconds:
            self.close()
        return Lent(self._current())

    def preamble(self, format: RecordFormat, start: int) -> Preamble:
        """Preamble for a reader of a range from *start* on; looked at once."""
        key = (format, start == 0 or (format, True) in self._preambles)  # whoever began the file knows all of it
        if key not in self._preambles:
            try:
                self._preambles[key] = preamble_for(self._current(), self._file, format, start)
            except ContainerError as error:
                error.locate(Where(self._file.path, row=0))
                raise
        return self._preambles[key]

    def first_record_start(self, format: RecordFormat, boundary: int, position: int) -> int:
        """The first record boundary at or after *position*, found by framing from *boundary* on: nothing is decoded.

        No record starts between *position* and it; it is the file's size where none follows.
        """
        preamble = self.preamble(format, boundary)
        boundary = max(boundary, preamble.data_start)
        if boundary >= position:
            return boundary
        records = Records(self._current(), self._file, preamble, self._max_record_bytes, self._read_bytes)
        return first_boundary(RecordCursor(records, boundary), position)

    def close(self) -> None:
        """Close the file. Calling it again does nothing; reading on opens it again."""
        source, self._source = self._source, None
        if source is not None:
            source.close()

    def _current(self) -> ByteSource:
        if self._source is None:
            self._source = self._open_source()
            self._opened_seconds = time.monotonic()
        return self._source


class Lent:
    """A source that whoever borrowed it cannot close; it says of its content what that one says."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.path = source.path
        self.size_bytes = source.size_bytes
        self.fingerprint = source.fingerprint

    def __getattr__(self, name: str) -> Any:
        if name in _OF_CONTENT:
            return getattr(self._source, name)
        raise AttributeError(name)

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        return self._source.read_at(offset, length_bytes)

    def close(self) -> None:
        """Leave the file open: somebody else closes it."""


def line_ends(data: bytes | memoryview, before: bytes) -> npt.NDArray[np.int64]:
    r"""Places of the line ends in some bytes: of each feed or return, of both together that of the return.

    Example:
        >>> line_ends(b"a\r\nb\n\rc", b"").tolist(), line_ends(b"\na", b"\r").tolist()
        ([1, 4, 5], [])
    """
    symbols = np.frombuffer(data, dtype=np.uint8)
    is_feed, is_return = symbols == _FEED, symbols == _RETURN
    is_feed[1:] &= ~is_return[:-1]
    if before == b"\r":
        is_feed[:1] = False
    return np.flatnonzero(is_feed | is_return)


class CountedLines(NamedTuple):
    """How many line ends a part of a file has: a number to add to others."""

    start: int
    reached: int
    ends: int


@dataclass(slots=True)
class _Part:
    """Bytes from *start* on: how many line ends are in front of them, and the places of theirs, while they are kept."""

    start: int
    before: int
    places: npt.NDArray[np.int64] | None


class CountingSource(Lent):
    """A source that counts the line ends of a range, of what is read of it.

    What was not read by others is read when a number needs it.

    Args:
        stop: First byte after it; ``None`` for the end of the file.
        is_whole: Whether the range is counted to its end when the source is closed, if others read no further.
    """

    def __init__(self, source: ByteSource, start: int, stop: int | None, *, is_whole: bool = False) -> None:
        super().__init__(source)
        self.start, self._stop, self._is_whole = start, stop, is_whole
        self.reached, self.ends = start, 0
        self._parts: list[_Part] = []
        self._kept = 0
        self._last: bytes | None = None if start else b""  # the byte in front of what comes next; unknown at first

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        """Read up to *length_bytes* bytes from *offset*; fewer only at the end."""
        data = self._source.read_at(offset, length_bytes)
        if offset <= self.reached < offset + len(data):
            self._take(data, self.reached - offset)
        return data

    def close(self) -> None:
        """Close the source."""
        try:
            if self._is_whole and self._stop is not None:
                self.before(self._stop)
        finally:
            self._source.close()

    @property
    def counted(self) -> CountedLines:
        """Line ends counted so far."""
        return CountedLines(self.start, self.reached, self.ends)

    def before(self, offset: int) -> int:
        """Number of line ends in the range in front of *offset*, which lies in it."""
        while self.reached < offset and self.read_at(self.reached, min(MIB, offset - self.reached)):
            pass
        index = bisect_right(self._parts, offset, key=lambda part: part.start) - 1
        if index < 0:
            return 0
        part = self._parts[index]
        if part.places is not None:
            return part.before + int(np.searchsorted(part.places, offset))
        return part.before + self._count_again(part.start, offset)

    def _count_again(self, start: int, stop: int) -> int:
        """Line ends in a part further back whose places were dropped."""
        data = self._source.read_at(max(start - 1, 0), stop - max(start - 1, 0))
        return len(line_ends(data[1:], data[:1]) if start else line_ends(data, b""))

    def _take(self, data: bytes, begin: int) -> None:
        """Count in the bytes of *data* from *begin* on, which come next."""
        if self._last is None:
            self._last = bytes(data[begin - 1 : begin]) if begin else bytes(self._source.read_at(self.start - 1, 1))
        end = len(data) if self._stop is None else min(len(data), begin + self._stop - self.reached)
        new = memoryview(data)[begin:end]
        if not len(new):
            return
        places = line_ends(new, self._last) + self.reached
        self._parts.append(_Part(self.reached, self.ends, places))
        self._last = bytes(new[-1:])
        self.reached += len(new)
        self.ends += len(places)
        self._kept += len(places)
        for part in self._parts[:-1]:
            if self._kept <= _MOST_PLACES:
                break
            if part.places is not None:
                self._kept -= len(part.places)
                part.places = None
