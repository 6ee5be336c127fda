"""A stream in this process: planned window by window, and read as Spark would read it."""

import itertools
import os
from dataclasses import replace

from splitscan.options.stream import parse_stream_options
from splitscan.reading.block_scan import scan_blocks
from splitscan.scans import ScanPlanner
from splitscan.streaming.log import WindowLog
from splitscan.streaming.planner import StreamPlanner
from splitscan.streaming.windows import Offset

PATIENCE_SECONDS = 120  # a busy machine is no failure
_clock = itertools.count(1_700_000_000)


def write(path, data, mode="wb"):
    """Write a file, with another modification time than anything before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open(mode) as out:
        out.write(data)
    touch(path)


def touch(path):
    moment = next(_clock)
    os.utime(path, (moment, moment))


class Stream:
    """One query: a checkpoint (the offsets that were committed) and whoever plans at the moment."""

    def __init__(self, source, state, record_format="text", **options):
        self.source, self.state, self.format = source, state, record_format
        self.options = {"scanIntervalMillis": 0, "stateLocation": str(state), **options}
        self.rows, self.windows = [], []
        self.schema = None
        self.position = None
        self.restart()

    def restart(self, **changes):
        """Another process goes on; nothing of the old one's memory is left."""
        if hasattr(self, "planner"):
            self.planner.close()
        self.options.update(changes)
        options, others = parse_stream_options(self.options)
        self.scan = ScanPlanner.of(str(self.source), self.format, self.schema, others)
        self.planner = StreamPlanner(self.scan, options, patience_seconds=PATIENCE_SECONDS)
        if self.position is None:
            self.position = self.planner.initial()
        return self

    @property
    def log(self):
        """The windows that were planned, and the state after them."""
        return WindowLog(str(self.state), self.position.stream)

    def plan(self):
        """The next offset; listings are always fresh."""
        return self.planner.latest(self.position)

    def read(self, end):
        """Rows of the windows up to *end*, as tasks read them."""
        windows = self.planner.windows(self.position, end)
        spec = self.scan.spec
        rows = []
        for window in windows:
            for task in window.tasks():
                for batch in scan_blocks(spec, task):
                    rows += batch.to_pylist()
        return windows, rows

    def step(self):
        """One micro-batch; False if there was nothing to do."""
        end = self.plan()
        if end == self.position:
            return False
        windows, rows = self.read(end)
        self.rows += rows
        self.windows += windows
        self.position = end
        self.planner.commit(end)
        return True

    def drain(self):
        """Micro-batches until there is nothing left."""
        steps = 0
        while self.step():
            steps += 1
            assert steps < 1000, "the stream never ends"
        return steps

    def values(self):
        return [row["value"] for row in self.rows]

    def offset(self, window):
        return replace(self.position, window=window)


__all__ = ["Offset", "Stream", "touch", "write"]
