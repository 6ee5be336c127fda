"""Count the line ends of a file in the bytes that somebody reads of it anyway."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from splitscan.content.storage import ByteSource
from splitscan.reading.opened_file import Lent
from splitscan.sizes import MIB

_MOST_PLACES = 4 * MIB  # line ends whose places are kept; of parts further back only their number is
_RETURN, _FEED = 13, 10


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
        stop: First byte behind it; ``None`` for the end of the file.
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
