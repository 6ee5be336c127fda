"""``spark.readStream.format("splitscan")``: the stream reader of the Python data source.

How much a batch may take is said in the words of PySpark, which has them from 4.2 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from splitscan.errors import UsageError
from splitscan.options.stream import StreamOptions
from splitscan.scan import ScanPlanner, ScanSpec
from splitscan.scan.block_documents import for_tasks
from splitscan.spark.frames import pack_payload, read_payload
from splitscan.spark.session import in_task_zone, in_zone, machine_zone
from splitscan.streaming import Limits, StreamPlanner, read_offset
from splitscan.streaming.planning import ANY

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ModuleNotFoundError:  # 4.0 and 4.1: no stream is read, but the readers of streams are imported with all others
    _KNOWN = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Stands in for PySpark's."""

    class ReadLimit:  # type: ignore[no-redef]
        """Stands in for PySpark's."""

    ReadAllAvailable = ReadMaxBytes = ReadMaxFiles = ReadMaxRows = ReadLimit  # type: ignore[misc,assignment]
else:
    _KNOWN = True

__all__ = [
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxBytes",
    "ReadMaxFiles",
    "ReadMaxRows",
    "SplitscanStreamReader",
    "SupportsTriggerAvailableNow",
    "check_streams",
]


def check_streams() -> None:
    """Make sure that this PySpark can read streams of a source whose batches are limited.

    Raises:
        UsageError: ``[needs-newer-spark]`` if it cannot.
    """
    if not _KNOWN:
        raise UsageError(
            "streams of splitscan need PySpark 4.2 or newer: older ones cannot limit a batch of a Python data source",
            seen=f"readStream with PySpark {pyspark.__version__}",
            fix="use PySpark 4.2 or newer, or run 'splitscan watch' or scheduled ingests, which need no stream",
            code="needs-newer-spark",
        )


class SplitscanStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the windows of one query in the planner's process, and reads their partitions in workers.

    Spark makes it in two processes and pickles it to others, and may never call ``stop``: making it has no effect, and
    the planner comes to life with the first question.

    Args:
        scan: What is followed.
        spec: What every task must know.
        options: How it is followed.
    """

    def __init__(self, scan: ScanPlanner, spec: ScanSpec, options: StreamOptions) -> None:
        self._scan = scan
        self._spec = spec
        self._options = options
        self._zone = machine_zone()
        self._planner: StreamPlanner | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Offset of a new query; Spark asks twice."""
        return self._plan().initial().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 -- Spark's name
        """A sign that windows are limited; what the limits are, the planner knows. Spark shows it in no place."""
        limits = self._plan().limits
        if limits.blocks < ANY or limits.files < ANY:
            return ReadMaxFiles(limits.files if limits.files < ANY else limits.blocks)
        return ReadAllAvailable() if limits.size_bytes == ANY else ReadMaxBytes(limits.size_bytes)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 -- Spark's name
        """Plan the next window; *start* itself when there is nothing to read. ``Trigger.Once`` knows no limit."""
        position = read_offset(start)
        end = self._plan().latest(position, Limits() if isinstance(limit, ReadAllAvailable) else None)
        return start if end == position else end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 -- Spark's name
        """The backlog, which Spark shows as ``sources[0].latestOffset`` of its progress."""
        planner = self._plan()
        backlog = planner.backlog
        return {
            "w": planner.window,
            "backlogFiles": backlog.files,
            "backlogBlocks": backlog.blocks,
            "backlogBytes": backlog.size_bytes,
        }

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of the windows between two offsets, from the window log alone."""
        windows = self._plan().windows(read_offset(start), read_offset(end))
        self._spec = for_tasks(in_zone(self._spec, self._zone))
        return [InputPartition(pack_payload(task)) for window in windows for task in window.tasks()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task. Spark makes up a partition without a value when there is none."""
        if partition.value is not None:
            yield from read_payload(in_task_zone(self._spec, self._zone), partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """All windows up to *end* were read; Spark says so with the next batch, or in the next run."""
        self._plan().commit(read_offset(end))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's name
        """Plan only what is there now."""
        self._plan().freeze()

    def stop(self) -> None:
        """End the thread that lists files. Spark calls this after errors only, and kills the process otherwise."""
        if self._planner is not None:
            self._planner.close()
            self._planner = None

    def _plan(self) -> StreamPlanner:
        if self._planner is None:
            self._planner = StreamPlanner(self._scan, self._options)
        return self._planner

    def __getstate__(self) -> dict[str, Any]:
        """State for workers: threads and open logs stay behind."""
        return {**self.__dict__, "_planner": None}
