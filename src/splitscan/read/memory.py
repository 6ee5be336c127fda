"""Memory that is read into: kept for the next read instead of given back."""

from __future__ import annotations

from functools import cache

import numpy as np

from splitscan.sizes import MIB

_LARGEST_BYTES = 32 * MIB - 8192  # the C library of Linux follows no larger one


@cache
def keep_freed_memory() -> None:
    """Have the C library keep freed buffers of up to some MiB, once per process.

    Reading allocates buffers of a few MiB over and over. glibc gives such a buffer back to the system when it is freed,
    so that each new one costs page faults, until it has seen a larger one freed: from then on it keeps them. The buffer
    here is never touched and takes no memory. With other C libraries this does nothing.
    """
    np.empty(_LARGEST_BYTES, dtype=np.uint8)
