"""What crosses between Python and the kernel: bytes with offsets, positions as arrays."""

from __future__ import annotations

import numpy as np

from splitscan.framing.frames import Buffer, Frames


def as_bytes(data: Buffer) -> tuple[bytes, int, int]:
    """The object that holds some bytes, and where they are in it; nothing is copied if it is ``bytes``.

    Example:
        >>> as_bytes(memoryview(b"abcd")[1:3])
        (b'abcd', 1, 3)
    """
    if isinstance(data, bytes):
        return data, 0, len(data)
    if isinstance(data, memoryview) and type(data.obj) is bytes and len(data):
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
    return Frames(first, last, next_start, dict.fromkeys(malformed, code), regular=False)
