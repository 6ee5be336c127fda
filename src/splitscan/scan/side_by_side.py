"""Work on all cores of this machine, in threads: the kernel releases the interpreter lock, and so does reading."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from splitscan.blocks import FileMetadata
from splitscan.content.storage import locate

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """Do some work on every item in threads, by default as many as there are cores; the results come in order."""
    with ThreadPoolExecutor(max_workers=threads or cores()) as pool:
        yield from pool.map(work, items)


def is_at_hand(file: FileMetadata) -> bool:
    """Whether reading a file is neither waiting for another machine nor decompressing."""
    return file.compression is None and locate(file.path).is_local
