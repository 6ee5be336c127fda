"""Whether bytes are text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def is_utf8(data: memoryview) -> bool:
    r"""Whether all of *data* is valid UTF-8; Arrow checks at several gigabytes per second.

    Example:
        >>> is_utf8(memoryview("é".encode())), is_utf8(memoryview(b"\xff"))
        (True, False)
    """
    offsets = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
