"""Work on all cores of this machine: in threads, or beside helping processes where there is much to do.

Threads of Python wait for each other between any two calls of numpy: two of them count about one and a half times as
fast as one, eight no faster than that. Processes do not; but one takes some tenths of a second until it helps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from itertools import groupby
from operator import attrgetter
from pickle import PicklingError
from typing import TypeVar

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.sizes import MIB
from splitscan.storage import locate

T = TypeVar("T")
R = TypeVar("R")

_BYTES_PER_HELPER = 128 * MIB  # counted while it starts
_IDLE_SECONDS = 60  # for so long it waits for the next call
_AHEAD = 2  # items that a helper is given at a time, so that it needs not wait for this process


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


def beside_helpers(work: Callable[[T], R], items: Sequence[T], blocks: Iterable[BlockMetadata]) -> Iterator[R]:
    """Do some work that looks at every byte of some blocks; the results come in order.

    Args:
        work: What to do, as often as need be: it can be pickled, and has no effect but its result.
        items: What to do it on.
        blocks: What the items are about. Whether helpers are worth their while is decided by those whose bytes are at
            hand: for others one waits, or a library decompresses them, and for either threads will do.
    """
    near_bytes = sum(
        sum(block.length_bytes for block in of_file)
        for file, of_file in groupby(blocks, key=attrgetter("file"))
        if is_at_hand(file)
    )
    helpers = min(cores() - 1, near_bytes // _BYTES_PER_HELPER)
    return in_processes(work, items, helpers) if helpers > 0 else in_threads(work, items)


def in_processes(work: Callable[[T], R], items: Sequence[T], helpers: int) -> Iterator[R]:
    """Do some work on every item, in this process from the front, in others from the back; the results come in order.

    Nobody is waited for longer than it takes to do the work: what a helper has not done then is done here. So helpers
    that start slowly, or that die, cost little more than their help.

    Args:
        work: What to do, as often as need be: it can be pickled, and has no effect but its result.
        items: What to do it on, about as much for each.
        helpers: How many processes help; they are kept for a minute, for the next call.
    """
    from loky import get_reusable_executor  # noqa: PLC0415 - for large files only

    pool = get_reusable_executor(max_workers=helpers, timeout=_IDLE_SECONDS)
    handed: dict[int, Future[R]] = {}
    waiting: list[Future[R]] = []  # few of all that were handed over, which may be many thousands
    front, back, longest_seconds = 0, len(items), 0.0
    while front < back:
        waiting = [future for future in waiting if not future.done()]
        while back - front > 1 and len(waiting) < _AHEAD * helpers:
            try:
                handed[back - 1] = pool.submit(work, items[back - 1])
            except (BrokenExecutor, OSError):  # no process can be started, or all are gone
                break
            back -= 1
            waiting.append(handed[back])
        started = time.perf_counter()
        result = work(items[front])
        longest_seconds = max(longest_seconds, time.perf_counter() - started)
        yield result
        front += 1
    for number in range(back, len(items)):
        have_started = any(future.done() for future in handed.values())
        try:
            yield handed[number].result(longest_seconds if have_started else 0)
        except (TimeoutError, BrokenExecutor, PicklingError):
            yield work(items[number])
