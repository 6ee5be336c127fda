"""A stream that the connector reads: questions of one query about its windows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

from splitscan.content.storage import locate
from splitscan.errors import SourceMissingError, UsageError
from splitscan.options.stream import FileMode, StreamOptions
from splitscan.reading.block_documents import TaskDocuments
from splitscan.reading.spec import ScanSpec
from splitscan.scans import ScanPlanner
from splitscan.spark.choice import Looker, look_at, plan_lines, why_not, why_not_these
from splitscan.streaming import Limits, StreamPlanner, read_offset


class ConnectorStream:
    """Plans the windows of one query, and writes their blocks for the tasks of the connector.

    Args:
        scan: What is followed.
        spec: What every task must know.
        options: How it is followed.

    Thread safety: questions are answered one after the other.
    """

    def __init__(self, scan: ScanPlanner, spec: ScanSpec, options: StreamOptions) -> None:
        self._scan, self._spec, self._options = scan, spec, options
        self._planner = StreamPlanner(scan, options)
        self._is_frozen = False
        self._lock = Lock()

    def why_not(self, why_unseen: Looker) -> str | None:
        """Why Python reads this stream, or ``None`` where the connector does; the files that are there decide.

        Args:
            why_unseen: Says why Hadoop does not see a file as it was listed, or ``None`` if it does.
        """
        is_local = all(locate(root).is_local for root in self._scan.roots)
        if self._options.file_mode is FileMode.APPEND and not is_local:
            return "files grow on other machines"
        try:
            self._scan = self._scan.with_files(self._planner.list_files())
        except SourceMissingError:  # a store has no empty folders; the first question of the query tells
            self._scan = self._scan.with_files([])
        return why_not(self._scan, self._spec, TaskDocuments(self._spec), why_unseen)

    def plan_lines(self) -> list[str]:
        """Lines about the stream for the connector."""
        return plan_lines(self._scan, self._spec)

    def answer(self, asked: Mapping[str, Any], why_unseen: Looker) -> Sequence[str]:
        """Answer a question of the query: an offset, the tasks of windows, or nothing.

        Raises:
            UsageError: ``[unsupported-scan]`` if a file of a window is not for the connector.
        """
        with self._lock:
            if asked["frozen"] == "true" and not self._is_frozen:
                self._planner.freeze()
                self._is_frozen = True
            return self._answer(asked["about"], asked, why_unseen)

    def _answer(self, about: str, asked: Mapping[str, Any], why_unseen: Looker) -> Sequence[str]:
        if about == "initial":
            return [json.dumps(self._planner.initial().to_json())]
        if about in {"latest", "all"}:
            position = read_offset(json.loads(asked["start"]))
            end = self._planner.latest(position, Limits() if about == "all" else None)
            return [asked["start"] if end == position else json.dumps(end.to_json())]
        if about == "backlog":
            return [json.dumps(self._planner.report())]
        if about == "window":
            return self._tasks(json.loads(asked["start"]), json.loads(asked["end"]), why_unseen)
        if about == "commit":
            self._planner.commit(read_offset(json.loads(asked["end"])))
        return []

    def _tasks(self, start: Mapping[str, Any], end: Mapping[str, Any], why_unseen: Looker) -> list[str]:
        """The tasks of the windows between two offsets, from the window log alone."""
        windows = self._planner.windows(read_offset(start), read_offset(end))
        documents = TaskDocuments(self._spec)  # a new one: a stream has files without end
        files = [planned.file for window in windows for planned in window.files]
        look = partial(look_at, spec=self._spec, documents=documents)
        reason = why_not_these(files, self._spec, look, why_unseen)
        if reason is not None:
            raise UsageError(
                "a file has come that Spark's JVM cannot read as the files before", seen=reason,
                fix="load the stream again and start it from the same checkpoint: Python reads it then",
                code="unsupported-scan",
            )  # fmt: skip
        return [documents.write(task) for window in windows for task in window.tasks()]

    def close(self) -> None:
        """End the thread that lists files."""
        self._planner.close()
