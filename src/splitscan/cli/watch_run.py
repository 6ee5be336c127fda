"""One run of ``splitscan watch``: the windows, the session that starts with the first of them, what is said."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from splitscan.cli.arguments import ScanArguments
from splitscan.cli.late_runner import LateRunner
from splitscan.cli.output import show_text, write_json
from splitscan.cli.progress import ShowsProgress, choose_progress
from splitscan.cli.session import parse_conf
from splitscan.ingest.watching import Watch, WatchedWindow
from splitscan.options import parse_stream_options
from splitscan.rebalance.report.timeline import count_of
from splitscan.scan import ScanPlanner
from splitscan.sinks.settings import IngestSettings
from splitscan.sizes import format_size


class WatchRun:
    """What the command line asked for, ready to be done.

    Args:
        arguments: What is followed; among its options those of streams.
        destination: Where it goes.
        settings: How it is written: keywords of ``IngestSettings``.
        master: Spark master.
        spark_conf: Texts ``key=value``.
        table: Format of the destination; ``None`` for what is there.

    Raises:
        UsageError: If anything has no meaning.
    """

    def __init__(
        self,
        arguments: ScanArguments,
        destination: str,
        settings: Mapping[str, Any],
        master: str | None,
        spark_conf: Sequence[str],
        table: str | None = None,
    ) -> None:
        options, others = parse_stream_options(arguments.named_options())
        self._arguments = replace(arguments, options=[f"{name}={value}" for name, value in others.items()])
        self._watch = Watch(self._build_scan, destination, options, IngestSettings(**settings), table=table)
        self._master, self._conf = master, parse_conf(spark_conf)

    def execute(self, *, once: bool, quiet: bool, as_json: bool) -> None:
        """Do it until nothing is left, or for ever."""
        with (
            choose_progress(quiet=quiet or as_json, windows=True) as progress,
            closing(self._watch),
            LateRunner(self._master, self._conf, progress) as runner,
        ):
            windows: Iterator[WatchedWindow | None] = (
                self._watch.drain(runner, progress.show) if once else self._watch.follow(runner, progress.show)
            )
            count = rows = 0
            for window in windows:
                if window is None:
                    progress.rest(f"waiting; so far {count_of(count, 'window')}, {count_of(rows, 'record')}")
                    continue
                count, rows = count + 1, rows + (window.report.rows if window.report is not None else 0)
                self._tell(window, progress, as_json=as_json)

    def _build_scan(self) -> ScanPlanner:
        return self._arguments.build_scan().planner

    @staticmethod
    def _tell(window: WatchedWindow, progress: ShowsProgress, *, as_json: bool) -> None:
        if as_json:
            write_json(describe_window(window, time.time()))
            sys.stdout.flush()
        else:
            progress.advise(show_text(render_window(window)))


def describe_window(window: WatchedWindow, now: float) -> dict[str, Any]:
    """A window as JSON values."""
    report, backlog = window.report, window.backlog
    return {
        "window": window.number,
        "time": round(now, 3),
        "files": report.files if report is not None else 0,
        "rows": report.rows if report is not None else 0,
        "rejects": report.rejects if report is not None else 0,
        "bytes": report.source_bytes if report is not None else 0,
        "seconds": round(window.seconds, 3),
        "readers": window.readers,
        "backlogFiles": backlog.files,
        "backlogBlocks": backlog.blocks,
        "backlogBytes": backlog.size_bytes,
    }


def render_window(window: WatchedWindow) -> str:
    """A window as one line for people.

    Example:
        >>> from splitscan.streaming.windows import Backlog
        >>> render_window(WatchedWindow(3, None, 1, Backlog(2, 5, 4096), 0.5))
        'window 3: nothing left to read; left: 2 files, 5 blocks, 4.0 KiB'
    """
    report, backlog = window.report, window.backlog
    if report is None:
        done = "nothing left to read"
    else:
        speed = format_size(round(report.source_bytes / max(window.seconds, 1e-9)))
        done = f"{count_of(report.files, 'file')}, {count_of(report.rows, 'record')}"
        done += f", {count_of(report.rejects, 'reject')}" if report.rejects else ""
        done += f", {format_size(report.source_bytes)}, {speed}/s, {count_of(window.readers, 'reader')}"
    left = f"{count_of(backlog.files, 'file')}, {count_of(backlog.blocks, 'block')}, {format_size(backlog.size_bytes)}"
    return f"window {window.number}: {done}; left: {left if backlog.files else 'nothing'}"
