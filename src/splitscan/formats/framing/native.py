"""What crosses between Python and the kernel: bytes with offsets, positions as arrays."""

from __future__ import annotations

from functools import lru_cache
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from splitscan.engine import kernel
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, Counted, Frames, Run, Summary


def as_bytes(data: Buffer) -> tuple[bytes, int, int]:
    """The object that holds some bytes, and where they are in it; nothing is copied if it is ``bytes``.

    Example:
        >>> as_bytes(memoryview(b"abcd")[1:3])
        (b'abcd', 1, 3)
    """
    if isinstance(data, bytes):
        return data, 0, len(data)
    if isinstance(data, memoryview) and type(data.obj) is bytes and len(data):
        if len(data) == len(data.obj):
            return data.obj, 0, len(data)
        start = _address(data) - _address(data.obj)
        return data.obj, start, start + len(data)
    copied = bytes(data)
    return copied, 0, len(copied)


def _address(data: bytes | memoryview) -> int:
    address: int = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    return address


def frames_of(starts: bytes, stops: bytes, malformed: list[int], next_start: int, code: str) -> Frames:
    """Records as the kernel gives them.

    Args:
        starts: Positions, 8 bytes each.
        stops: The same.
        malformed: Records whose structure is broken.
        next_start: Where the next record starts.
        code: Why they are broken.
    """
    first, last = (np.frombuffer(column, np.int64) for column in (starts, stops))
    return Frames(first, last, next_start, dict.fromkeys(malformed, code))


class Framing(Protocol):
    """Finds records of one grammar. Every answer is the reference's."""

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*, which begins outside of all records."""

    def count(self, data: Buffer) -> Counted:
        """How many records ``frame(data, at_end=False)`` finds."""

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """What *data* does to a parser, for each state in which it may come to it."""


class NativeFraming:
    """The kernel's answers for one grammar, as Python's types.

    Args:
        native: The kernel's class of the grammar.
        malformed_code: Why records are malformed that are.

    Thread safety: immutable; calls run beside each other.
    """

    def __init__(self, native: Any, malformed_code: str = "") -> None:
        self.native = native
        self._malformed_code = malformed_code

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*."""
        starts, stops, malformed, next_start = self.native.frame(*as_bytes(data), at_end)
        return frames_of(starts, stops, malformed, next_start, self._malformed_code)

    def count(self, data: Buffer) -> Counted:
        """How many complete records there are."""
        return Counted(*self.native.count(*as_bytes(data), False))

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """What *data* does to a parser; only of grammars whose records depend on what is before them."""
        runs = self.native.summarise(*as_bytes(data), before, after, mark)
        return Summary(len(data), tuple(None if run is None else Run(*run) for run in runs))

    def last_split_point(self, data: bytes) -> int | None:
        """The last record boundary that *data* shows whatever comes before it; only of CSV."""
        found: int | None = self.native.last_split_point(data)
        return found


def native(name: str, *given: Any, **options: Any) -> Any | None:
    """What the kernel makes of a grammar; ``None`` without a kernel, or where it does not support what is asked.

    Args:
        name: Of the kernel's class, or of a function of it.
        given: What it is made of.
        options: The same, by name.
    """
    module = kernel()
    if module is None:
        return None
    try:
        return attrgetter(name)(module)(*given, **options)
    except module.Unsupported:
        return None


def native_lines(delimiter: bytes | None, escape: bytes | None, encoding: Encoding) -> NativeFraming | None:
    """What finds records that *delimiter*, or any line end, ends; ``None`` where only the reference can.

    Args:
        delimiter: The delimiter in *encoding*; ``None`` for any of the usual line ends.
        escape: The escape in *encoding*.
        encoding: Of the file.
    """
    return None if kernel() is None else _native_lines(delimiter, escape, encoding)


@lru_cache(maxsize=64)
def _native_lines(delimiter: bytes | None, escape: bytes | None, encoding: Encoding) -> NativeFraming | None:
    lines = native("Lines", delimiter, escape, encoding.unit_bytes, encoding.big_endian)
    return None if lines is None else NativeFraming(lines)


def native_charset(encoding: Encoding) -> Any | None:
    """What writes texts of an encoding in UTF-8; ``None`` where only Python's codec does."""
    return None if kernel() is None or encoding.longest_bytes > 1 else _native_charset(encoding)


@lru_cache(maxsize=64)
def _native_charset(encoding: Encoding) -> Any | None:
    module = kernel()
    if module is None:
        return None
    if encoding.unit_bytes > 1 or encoding.codec == "utf-8":
        return module.Charset(encoding.unit_bytes, encoding.big_endian)
    return module.Charset(table=bytes(range(256)).decode(encoding.codec, "replace"))
