"""A file in memory, and the contract of `ByteSource` as a check that any implementation must pass."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from splitscan.content.storage.contract import ByteSource
from splitscan.errors import SplitscanError
from splitscan.testing.laws import require

_RANDOM_READS = 50
_THREADS = 4


class MemorySource:
    """Bytes in memory that behave like an open file.

    Example:
        >>> source = MemorySource(b"abcdef")
        >>> source.read_at(4, 10), source.size_bytes
        (b'ef', 6)
    """

    def __init__(self, data: bytes, path: str = "memory://test", fingerprint: str | None = None) -> None:
        self._data = data
        self.path = path
        self.size_bytes = len(data)
        self.fingerprint = fingerprint or f"{len(data)}-{hashlib.sha256(data).hexdigest()[:16]}"
        self.closed = False

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        if offset < 0 or length_bytes < 0:
            raise ValueError(f"offset {offset}, length {length_bytes}")
        if self.closed:
            raise ValueError("this source is closed")
        return self._data[offset : offset + length_bytes]

    def close(self) -> None:
        self.closed = True


def check_byte_source(open_one: Callable[[], ByteSource], content: bytes) -> None:
    """Check the contract of `ByteSource` on an implementation.

    Example:
        >>> check_byte_source(lambda: MemorySource(b"hello world"), b"hello world")
    """
    if len(content) < 2:
        raise ValueError("the check needs a file of at least 2 bytes")
    source = open_one()
    try:
        _check_description(source, open_one, content)
        _check_reads(source, content)
        _check_threads(source, content)
        _check_refusals(source)
    finally:
        source.close()
    source.close()  # again, and nothing happens
    require(_is_refused(source, 0, 1), "read_at() after close() must raise a ValueError or SplitscanError")


def _check_description(source: ByteSource, open_one: Callable[[], ByteSource], content: bytes) -> None:
    require(isinstance(source, ByteSource), "it must have all members of ByteSource")
    require(source.size_bytes == len(content), f"size_bytes is {source.size_bytes}, the file has {len(content)}")
    require(bool(source.path) and bool(source.fingerprint), "path and fingerprint must not be empty")
    again = open_one()
    require(again.fingerprint == source.fingerprint, "opening the same version twice must give one fingerprint")
    again.close()


def _check_reads(source: ByteSource, content: bytes) -> None:
    size = len(content)
    dice = random.Random(0)
    ranges = [
        (0, 0),
        (0, 1),
        (0, size),
        (0, size + 1),
        (size - 1, 1),
        (size - 1, 2),
        (size, 1),
        (size, 0),
        (size + 7, 3),
    ]
    ranges += [(dice.randrange(size), dice.randrange(size + 2)) for _ in range(_RANDOM_READS)]
    for offset, length in ranges:
        found, wanted = source.read_at(offset, length), content[offset : offset + length]
        require(isinstance(found, bytes), f"read_at() must return bytes, not {type(found).__name__}")
        require(found == wanted, f"read_at({offset}, {length}) returned {len(found)} bytes that are not the file's")


def _check_threads(source: ByteSource, content: bytes) -> None:
    middle = len(content) // 2
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda offset: source.read_at(offset, middle), [0, middle] * _THREADS))
    require(
        found == [content[:middle], content[middle : 2 * middle]] * _THREADS, "reads in several threads must not mix"
    )


def _check_refusals(source: ByteSource) -> None:
    require(_is_refused(source, -1, 1), "a negative offset must raise a ValueError or SplitscanError")
    require(_is_refused(source, 0, -1), "a negative length must raise a ValueError or SplitscanError")


def _is_refused(source: ByteSource, offset: int, length_bytes: int) -> bool:
    try:
        source.read_at(offset, length_bytes)
    except (ValueError, SplitscanError):
        return True
    return False
