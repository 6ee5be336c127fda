"""Watch directories: every window that the planner finds becomes one ingest job."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.archives.opening import open_planned
from splitscan.content.storage import check_unchanged
from splitscan.errors import SourceChangedError, SourceMissingError, StreamError, Where, bad_option
from splitscan.jobs.destination import PLAIN, Growth, HistoryReader, open_destination
from splitscan.jobs.division import Runner
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.ledger import OUR_FOLDER
from splitscan.jobs.reports import IngestReport, OnProgress
from splitscan.jobs.settings import IngestSettings, OnChanged
from splitscan.jobs.steps import IngestTarget, run_ingest
from splitscan.options.stream import FileMode, OnModified, StreamOptions, WindowLogChoice
from splitscan.redaction import redact
from splitscan.scans import ScanPlanner
from splitscan.streaming import Offset, StreamPlanner
from splitscan.streaming.windows import Backlog, Window, read_position

_log = logging.getLogger(__name__)

WATCH_FOLDER = f"{OUR_FOLDER}/watch"
"""Where a destination keeps the window log of whoever watches for it."""

_POSITION = f"{WATCH_FOLDER}/position.json"

BuildScan = Callable[[], ScanPlanner]
"""Makes the scan of all sources."""


@dataclass(frozen=True, slots=True)
class WatchedWindow:
    """Result of a window: its ingest, if a file of it was left to be read; tasks that were planned; what was left."""

    number: int
    report: IngestReport | None
    readers: int
    backlog: Backlog
    seconds: float


class Watch:
    """Ingests new and late files, window by window, for ever or until nothing is left.

    Each window is one ingest: it becomes visible in one step, with its ledger and its rejects. What was planned and
    what was published is in the destination, so a watch that was killed at any instant goes on where it was; whatever
    was published before its position was written is recognised by the ledger, and not read again.

    A file that is complete when it appears is ingested in one job, whatever its length. A file that grows
    (``fileMode=append``) is ingested range by range, record by record; the ledger says which range of which content a
    job has read, so that no job reads one twice or passes one over. The columns are those of the schema, or of the
    first window; later files are read as these. What is done about a column that a later file brings,
    ``schema_evolution_mode`` says: by default the window fails.

    ``state_location`` of the options is the destination's own folder if not given, ``destination_options`` those of the
    source.
    """

    def __init__(
        self,
        build_scan: BuildScan,
        destination: str,
        options: StreamOptions,
        settings: IngestSettings | None = None,
        destination_options: Mapping[str, Any] | None = None,
        table: str | None = None,
    ) -> None:
        _check(options)
        self._build_scan = build_scan
        self._options = options
        scan = build_scan()
        if destination_options is None:
            destination_options = scan.options.files.storage_options
        opened = open_destination(destination, table, destination_options)
        self._destination, self._place = opened, opened.place
        self._table = opened.table or PLAIN
        self._destination_options = destination_options
        self._history = HistoryReader()
        on_changed = OnChanged.SKIP if options.modified_policy is OnModified.IGNORE else OnChanged.FAIL
        self._settings = replace(settings or IngestSettings(), on_changed=on_changed)
        location = options.state_location or self._place.destination.path_of(WATCH_FOLDER)
        self._grows = options.file_mode is FileMode.APPEND
        stream_options = replace(options, state_location=location)
        self._planner = StreamPlanner(scan, stream_options, whole_files=not self._grows)
        self._is_written = False
        self._position = self._read_position()

    def drain(self, runner: Runner, on_progress: OnProgress | None = None) -> Iterator[WatchedWindow]:
        """Ingest what is there now, window by window, and end."""
        self._planner.freeze()
        while (window := self.step(runner, on_progress)) is not None:
            yield window

    def follow(
        self, runner: Runner, on_progress: OnProgress | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> Iterator[WatchedWindow | None]:
        """Ingest whatever comes, for ever; ``None`` whenever there is nothing to do."""
        while True:
            window = self.step(runner, on_progress)
            yield window
            if window is None:
                sleep(max(0.05, self._options.scan_interval_ms / 1000))

    def step(self, runner: Runner, on_progress: OnProgress | None = None) -> WatchedWindow | None:
        """Plan and ingest one window; ``None`` if there is nothing to do. After an error the next step repeats it."""
        started = time.perf_counter()
        if not self._is_written:
            self._check_no_other()
            self._write_position(self._position)  # whoever goes on after a crash must find the same windows
        start = self._position
        end = self._planner.latest(start)
        if end == start:
            return None
        (window,) = self._planner.windows(start, end)
        files = self._still_there([replace(planned.file, compression=None) for planned in window.files])
        target = IngestTarget(
            self._place.destination.root, self._settings, self._destination_options, on_progress, self._history,
            self._table,
        )  # fmt: skip
        report = run_ingest(self._source(files, window), target, runner) if files else None
        self._write_position(end)
        self._planner.commit(end)
        return WatchedWindow(
            window.number, report, len(window.task_blocks), window.backlog, time.perf_counter() - started
        )

    def close(self) -> None:
        """End the thread that lists files."""
        self._planner.close()

    @property
    def backlog(self) -> Backlog:
        """Files, blocks and bytes that were found and are not planned."""
        return self._planner.backlog

    # --------------------------------------------------------------- ingest

    def _source(self, files: list[FileMetadata], window: Window) -> FileSource:
        scan = self._build_scan().with_files(files)
        if not self._grows:
            return FileSource(scan, keeps_types=True)
        offset = replace(self._position, window=window.number)
        contents, starts = self._planner.contents(offset), dict[str, int]()
        for block in window.blocks:
            starts.setdefault(block.file.path, block.start)
        growth = {path: Growth(f"{offset.stream}/{contents[path]}", start) for path, start in starts.items()}
        return FileSource(scan, growth=growth, keeps_types=True, window=window)

    def _still_there(self, files: list[FileMetadata]) -> list[FileMetadata]:
        """The files of a window that are to be read: not those of the destination itself.

        With ``onModified=ignore`` a file that is no longer as it was planned is left out, with a warning: nothing of it
        was published. Otherwise it is for the ingest to complain.
        """
        own = self._place.without_own(files)
        if self._options.modified_policy is not OnModified.IGNORE:
            return own
        return [file for file in own if self._is_unchanged(file)]

    def _is_unchanged(self, file: FileMetadata) -> bool:
        try:
            with closing(open_planned(file, self._build_scan().options.files.storage_options)) as source:
                check_unchanged(file, source)
        except SourceMissingError:
            _log.warning("a file vanished before it was read: %s", redact(file.path))
            return False
        except SourceChangedError:
            _log.warning("a file changed before it was read, and is left alone: %s", redact(file.path))
            return False
        return True

    # ------------------------------------------------------------- position

    def _check_no_other(self) -> None:
        """Refuse to begin again where files that grow were followed before: their records would come twice.

        Whole files are recognised by the ledger whoever ingested them.
        """
        if not self._grows:
            return
        content = next(iter(self._history.read(self._place, self._destination.table).read_to), None)
        if content is not None:
            raise StreamError(
                "the destination holds parts of files that grow, and does not say any more how far they were read",
                Where(path=redact(self._place.destination.path_of(_POSITION))),
                f"no position; the ledger names stream {content.partition('/')[0]}",
                "restore the position and the windows beside it, or watch into another destination",
                "stream-state-missing",
            )

    def _read_position(self) -> Offset:
        try:
            data = self._place.destination.read_bytes(_POSITION)
        except SourceMissingError:
            return self._planner.initial()
        offset = read_position(data, self._place.destination.path_of(_POSITION))
        self._is_written = True
        return offset

    def _write_position(self, position: Offset) -> None:
        text = json.dumps({"offset": position.to_json()})
        self._place.destination.write_bytes_atomic(_POSITION, text.encode("ascii"))
        self._position, self._is_written = position, True


def _check(options: StreamOptions) -> None:
    """Refuse what an ingest cannot do."""
    if options.window_log is WindowLogChoice.NONE:
        raise bad_option(
            "an ingest goes on where it was, so its windows are written down", "windowLog=none", "leave it out"
        )
    if options.modified_policy is OnModified.REREAD and options.file_mode is FileMode.COMPLETE:
        raise bad_option(
            "an ingest never reads a complete file twice",
            "onModified=reread",
            "use onModified=fail or onModified=ignore; files that grow are followed with fileMode=append",
        )


__all__ = ["WATCH_FOLDER", "BuildScan", "Watch", "WatchedWindow"]
