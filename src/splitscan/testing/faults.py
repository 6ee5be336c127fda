"""Byte sources that go wrong on purpose: they fail, end early, give too little, wait, or change under the reader.

Each wraps a good source and breaks one promise, so that a test can say which. What a correct reader does: it passes
failures on, treats a short answer before the end of the file as an error and never as the end, and never delivers
records of two versions of a file as one.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from splitscan.content.storage.contract import ByteSource
from splitscan.errors import SourceError, SplitscanError, Where
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


class WrappedSource:
    """Passes everything through to another source; the faults override what they break."""

    def __init__(self, inner: ByteSource) -> None:
        self.inner = inner

    @property
    def path(self) -> str:
        return self.inner.path

    @property
    def size_bytes(self) -> int:
        return self.inner.size_bytes

    @property
    def fingerprint(self) -> str:
        return self.inner.fingerprint

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        return self.inner.read_at(offset, length_bytes)

    def close(self) -> None:
        self.inner.close()


class RecordingSource(WrappedSource):
    """Notes every call, for tests about which bytes are read, how often, and whether the source is closed.

    Example:
        >>> from splitscan.testing.faults import MemorySource
        >>> source = RecordingSource(MemorySource(b"abc"))
        >>> source.read_at(1, 5), source.reads
        (b'bc', [(1, 5)])
    """

    def __init__(self, inner: ByteSource) -> None:
        super().__init__(inner)
        self.reads: list[tuple[int, int]] = []
        self.closes = 0

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        self.reads.append((offset, length_bytes))
        return self.inner.read_at(offset, length_bytes)

    def close(self) -> None:
        self.closes += 1
        self.inner.close()


class FailingSource(WrappedSource):
    """Raises when a read touches a bad region, or after a number of good reads.

    Args:
        fail_from: First bad offset: a read that would return its byte or one after it fails.
        good_reads: Number of reads that work; all later ones fail.
        times: How many reads fail before the fault heals; ``None`` is for ever.
        error: Makes the exception; by default a `SourceError` that names path and offset.

    Example:
        >>> from splitscan.testing.faults import MemorySource
        >>> source = FailingSource(MemorySource(b"abcdef"), fail_from=3)
        >>> source.read_at(0, 3)
        b'abc'
        >>> source.read_at(0, 4)
        Traceback (most recent call last):
        ...
        splitscan.errors.SourceError: cannot read file: injected fault [storage-failed]
          where: memory://test, byte 0
    """

    def __init__(
        self,
        inner: ByteSource,
        fail_from: int | None = None,
        good_reads: int | None = None,
        times: int | None = None,
        error: Callable[[], Exception] | None = None,
    ) -> None:
        super().__init__(inner)
        self._fail_from = fail_from
        self._good_reads = good_reads
        self._times = times
        self._error = error
        self._lock = threading.Lock()
        self.read_count = 0
        self.failure_count = 0

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        with self._lock:
            self.read_count += 1
            if self._is_due(offset, length_bytes):
                self.failure_count += 1
                raise (
                    self._error()
                    if self._error
                    else SourceError(
                        "cannot read file: injected fault", Where(path=self.path, offset=offset), code="storage-failed"
                    )
                )
        return self.inner.read_at(offset, length_bytes)

    def _is_due(self, offset: int, length_bytes: int) -> bool:
        if self._times is not None and self.failure_count >= self._times:
            return False
        if self._good_reads is not None and self.read_count > self._good_reads:
            return True
        return self._fail_from is not None and min(offset + length_bytes, self.size_bytes) > max(
            offset, self._fail_from
        )


class TruncatedSource(WrappedSource):
    """Still tells the old length, but its bytes end earlier: a file that was cut after it was opened.

    Example:
        >>> from splitscan.testing.faults import MemorySource
        >>> source = TruncatedSource(MemorySource(b"abcdef"), 4)
        >>> source.size_bytes, source.read_at(2, 10)
        (6, b'cd')
    """

    def __init__(self, inner: ByteSource, size_bytes: int) -> None:
        super().__init__(inner)
        self._end_bytes = size_bytes

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        return self.inner.read_at(offset, max(0, min(length_bytes, self._end_bytes - offset)))


class ShortReadSource(WrappedSource):
    """Returns at most a few bytes per read, although more are there: legal for ``pread``, not for a `ByteSource`.

    Example:
        >>> from splitscan.testing.faults import MemorySource
        >>> ShortReadSource(MemorySource(b"abcdef"), 2).read_at(0, 5)
        b'ab'
    """

    def __init__(self, inner: ByteSource, max_bytes: int) -> None:
        super().__init__(inner)
        self._max_bytes = max_bytes

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        return self.inner.read_at(offset, min(length_bytes, self._max_bytes))


class SlowSource(WrappedSource):
    """Waits before every read.

    Example:
        >>> from splitscan.testing.faults import MemorySource
        >>> waits = []
        >>> SlowSource(MemorySource(b"abc"), 1.5, sleep=waits.append).read_at(0, 1), waits
        (b'a', [1.5])
    """

    def __init__(self, inner: ByteSource, delay_seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__(inner)
        self._delay_seconds = delay_seconds
        self._sleep = sleep

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        self._sleep(self._delay_seconds)
        return self.inner.read_at(offset, length_bytes)


class ChangingSource(WrappedSource):
    """Becomes another version of the file while it is read: bytes change, what was found on opening stays.

    Example:
        >>> from splitscan.testing.faults import MemorySource
        >>> source = ChangingSource(MemorySource(b"old"), MemorySource(b"new"), good_reads=1)
        >>> source.read_at(0, 3), source.read_at(0, 3)
        (b'old', b'new')
    """

    def __init__(self, before: ByteSource, after: ByteSource, good_reads: int) -> None:
        super().__init__(before)
        self._after = after
        self._good_reads = good_reads
        self._lock = threading.Lock()
        self.read_count = 0

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        with self._lock:
            self.read_count += 1
            source = self.inner if self.read_count <= self._good_reads else self._after
        return source.read_at(offset, length_bytes)

    def close(self) -> None:
        self.inner.close()
        self._after.close()
