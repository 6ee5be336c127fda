"""Counting from the command line: it says how far it is as soon as it takes long."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property, partial

from splitscan.cli.progress import ShowsProgress, choose_progress
from splitscan.scan import ScanPlanner

_SHORT_SECONDS = 1.0  # nobody wants to be told of less


def count_rows(
    planner: ScanPlanner,
    clock: Callable[[], float] = time.monotonic,
    show: Callable[[], AbstractContextManager[ShowsProgress]] | None = None,
) -> int:
    """Number of rows; standard error tells how far counting is, once it has taken a second.

    Args:
        planner: What is counted.
        clock: Seconds, from anywhere.
        show: Who is told; standard error if not given.
    """
    show = show or partial(choose_progress, quiet=False, windows=True, records=False)
    with ExitStack() as stack:
        return planner.count(_LateProgress(planner, clock, lambda: stack.enter_context(show())).add)


class _LateProgress:
    """Shows how many bytes were read, after the first second."""

    def __init__(self, planner: ScanPlanner, clock: Callable[[], float], show: Callable[[], ShowsProgress]) -> None:
        self._planner = planner
        self._clock = clock
        self._show = show
        self._begin = clock()
        self._shown: ShowsProgress | None = None
        self._bytes_done = 0

    def add(self, count: int) -> None:
        """Take note that so many more bytes were read."""
        self._bytes_done += count
        if self._shown is None:
            if self._clock() - self._begin < _SHORT_SECONDS:
                return
            self._shown = self._show()
        from splitscan.ingest.reports import IngestProgress, Phase  # noqa: PLC0415 -- a short count needs it not

        done = min(self._bytes_done, self._bytes_total)  # of compressed files the content counts
        self._shown.show(IngestProgress(Phase.READ, bytes_done=done, bytes_total=self._bytes_total))

    @cached_property
    def _bytes_total(self) -> int:
        return sum(file.size_bytes for file in self._planner.files())
