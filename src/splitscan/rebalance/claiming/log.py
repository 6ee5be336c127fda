"""The log of one partition: chunks that were claimed. It grows at its end and is never changed otherwise."""

from __future__ import annotations

import zlib
from array import array
from functools import lru_cache
from itertools import chain

_ENTRIES_PER_PAGE = 256
_OPEN_PAGES = 128  # of all logs together: one for each of as many replaying readers


class ChunkLog:
    """An append-only list of ranges ``(start, stop)``; full pages of it are compressed, and still answer.

    Memory: about 4 bytes per entry where chunks follow each other, and one page that grows.

    Example:
        >>> log = ChunkLog()
        >>> log.append(0, 10); log.append(10, 30)
        >>> len(log), log[1]
        (2, (10, 30))
    """

    __slots__ = ("_length", "_pages", "_tail")

    def __init__(self) -> None:
        self._length = 0
        self._pages: list[bytes] = []
        self._tail: list[tuple[int, int]] = []  # the page that still grows

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> tuple[int, int]:
        page, row = divmod(index, _ENTRIES_PER_PAGE)
        return (_unpacked(self._pages[page]) if page < len(self._pages) else self._tail)[row]

    def append(self, start: int, stop: int) -> None:
        """Add an entry behind all others."""
        self._tail.append((start, stop))
        self._length += 1
        if len(self._tail) == _ENTRIES_PER_PAGE:
            self.seal()

    def seal(self) -> None:
        """Compress what is not compressed yet, as nothing will be added for now."""
        if self._tail:
            self._pages.append(_packed(self._tail))
            self._tail = []

    def entries(self) -> list[tuple[int, int]]:
        """All entries, in order."""
        return [*chain.from_iterable(_unpacked(page) for page in self._pages), *self._tail]


def _packed(entries: list[tuple[int, int]]) -> bytes:
    """Gaps before the entries, then their lengths: gaps are mostly 0, and lengths alike."""
    numbers = array("q")
    reached = 0
    for start, stop in entries:
        numbers.append(start - reached)
        reached = stop
    numbers.extend(stop - start for start, stop in entries)
    return zlib.compress(numbers.tobytes(), 6)


@lru_cache(maxsize=_OPEN_PAGES)
def _unpacked(packed: bytes) -> tuple[tuple[int, int], ...]:
    numbers = array("q", zlib.decompress(packed))
    count = len(numbers) // 2
    entries = []
    reached = 0
    for gap, length in zip(numbers[:count], numbers[count:], strict=True):
        entries.append((reached + gap, reached + gap + length))
        reached += gap + length
    return tuple(entries)
