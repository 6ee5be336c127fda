"""The planner of a stream: finds work, plans windows, writes them down, answers for them after any failure."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.archives.opening import is_member
from splitscan.content.storage import locate, open_tree
from splitscan.errors import SourceChangedError, SourceMissingError, StreamError, UsageError, Where, bad_option
from splitscan.options.stream import FileMode, StreamOptions, WindowLogChoice
from splitscan.redaction import redact
from splitscan.scans import ScanPlanner
from splitscan.scans.listing import check_inside, list_files
from splitscan.streaming.directory import (
    PATIENCE_SECONDS,
    Arrivals,
    CompleteFiles,
    DirectoryListing,
    DirectoryScanner,
    SourceCleaner,
)
from splitscan.streaming.growing import GrowingFiles
from splitscan.streaming.log import VolatileLog, WindowLog
from splitscan.streaming.planning import Limits, count_readers, plan_window, share_blocks
from splitscan.streaming.windows import Backlog, FileWork, Offset, PlannedFile, StreamState, Window

_log = logging.getLogger(__name__)

SMALLEST_SNAPSHOT_BYTES = 64 * 1024
"""Below this, reading windows again costs nothing."""


class StreamPlanner:
    """Plans the windows of one stream.

    What was planned is durable before :meth:`latest` returns it, and any other planner of the same state gives the same
    blocks for it. All state that decides what is planned is in the window log: a planner may die at any instant.

    Nothing is opened, listed or written before a method is called.

    Args:
        options: How; ``state_location`` must be given, unless ``window_log`` is ``none``.
        patience_seconds: How long :meth:`latest` waits for a new listing before it goes on with the last one.

    Thread safety: none; calls come one after the other.
    """

    def __init__(
        self,
        scan: ScanPlanner,
        options: StreamOptions,
        *,
        whole_files: bool = False,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        _check_scan(scan, rebalances=whole_files)
        self._scan = scan
        self._options = options
        self._patience_seconds = patience_seconds
        self._id = secrets.token_hex(4)
        self._scanner = DirectoryScanner(self.list_files, options.scan_interval_ms / 1000)
        self._finder: CompleteFiles | GrowingFiles = (
            CompleteFiles(scan, options, whole=whole_files)
            if options.file_mode is FileMode.COMPLETE
            else GrowingFiles(scan, options)
        )
        self._cleaner = SourceCleaner(options, scan.roots, scan.options.files.storage_options)
        self._arrivals = Arrivals()
        self._cleaned = 0  # last window whose files were taken away
        self._initial: Offset | None = None
        self._log: WindowLog | VolatileLog | None = None
        self._stream = ""
        self._state = StreamState()
        self._frozen: DirectoryListing | None = None
        self._seen = 0  # serial of the listing that the works are of
        self._works: dict[str, FileWork] = {}
        self._moves: tuple[tuple[str, str], ...] = ()
        self._logged_bytes = 0  # of windows after the last snapshot
        self._snapshot_bytes = SMALLEST_SNAPSHOT_BYTES

    # -------------------------------------------------------------- offsets

    def initial(self) -> Offset:
        """Offset of a new stream: an id of its own, the same in every call, and no window."""
        if self._initial is None:
            self._initial = Offset(secrets.token_hex(16), 0)
        return self._initial

    def latest(self, start: Offset, limits: Limits | None = None) -> Offset:
        """Plan the next window.

        Returns:
            The offset after the next window; *start* itself if there is nothing to read. A window that was planned
            before, and perhaps never read, is returned as it is.

        Raises:
            SplitscanError: If the state is missing or damaged, another planner was faster, or files cannot be listed.
        """
        log = self._open(start)
        self._clean(start.window)
        if start.window < self._state.window or log.has(start.window + 1):
            self._catch_up(start.window + 1)
            return replace(start, window=start.window + 1)
        self._find()
        window = self._plan(self.limits if limits is None else limits)
        if window is None:
            return start
        try:
            self._logged_bytes += log.create(window)
        except BaseException:
            self._seen = 0  # its blocks are still to be planned
            raise
        self._state.apply(window)
        self._moves = ()
        _log.info(
            "window %d: %d blocks, %d bytes, %d tasks; left: %d files, %d bytes",
            window.number, len(window.blocks), window.size_bytes, len(window.task_blocks),
            window.backlog.files, window.backlog.size_bytes,
        )  # fmt: skip
        return replace(start, window=window.number)

    def windows(self, start: Offset, end: Offset) -> list[Window]:
        """The windows after *start* up to *end*, as they were planned: from the log alone.

        Raises:
            StreamError: If one is missing or damaged.
            UsageError: ``[path-escapes]`` if one names a file outside the directories that are followed.
        """
        log = self._open_log(end.stream)
        windows = [log.read(number) for number in range(start.window + 1, end.window + 1)]
        roots = self._scan.roots
        for window in windows:
            for planned in window.files:
                check_inside(planned.file.path, roots)
        return windows

    def contents(self, end: Offset) -> dict[str, str]:
        """The content behind every path at the end of a window: renamed it stays the same, replaced it is another."""
        log = self._open(end)
        state = self._state if self._state.window == end.window else log.load(end.window)
        return {path: known.content for path, known in state.files.items()}

    def commit(self, end: Offset) -> None:
        """Learn that all windows up to *end* were read and committed; idempotent.

        Keeps the state small. What fails here is logged: it will be done later.
        """
        try:
            log = self._open(end)
            self._clean(end.window)
            if self._logged_bytes > self._snapshot_bytes:
                self._snapshot_bytes = max(log.save(self._state), SMALLEST_SNAPSHOT_BYTES)
                self._logged_bytes = 0
                log.purge(end.window)
        except Exception:  # the windows are safe; a query must not die of tidying up
            _log.exception("the window log could not be tidied up")

    def _clean(self, committed: int) -> None:
        """Take away the files of windows that are committed: Spark plans after them, so that is safe to say."""
        if not self._cleaner.is_on or self._log is None or committed <= self._cleaned:
            return
        for number in self._log.numbers():
            if self._cleaned < number <= committed:
                self._cleaner.clean(self._log.read(number))
        self._cleaned = committed

    def freeze(self) -> None:
        """From now on plan only what is there now: what comes later is left for the next run."""
        self._frozen = self._scanner.rescan()

    def close(self) -> None:
        """End the thread that lists files."""
        self._scanner.stop()

    # ------------------------------------------------------------- planning

    @property
    def limits(self) -> Limits:
        """Most that one window reads, by the options."""
        options = self._options
        return Limits.of(options.blocks_threshold, options.max_bytes_per_trigger, options.max_files_per_trigger)

    @property
    def backlog(self) -> Backlog:
        """Files and bytes that were found and are not planned; blocks are estimated by their length."""
        works = self._works.values()
        blocks = sum(-(-work.left_bytes // max(1, work.block_bytes)) for work in works)
        return Backlog(len(self._works), blocks, sum(work.left_bytes for work in works))

    @property
    def window(self) -> int:
        """Number of the last window that was planned, as far as this planner knows."""
        return self._state.window

    def report(self) -> dict[str, int]:
        """The backlog as JSON values, for those who watch a query."""
        files, blocks, size_bytes = astuple(self.backlog)
        return {"w": self.window, "backlogFiles": files, "backlogBlocks": blocks, "backlogBytes": size_bytes}

    def _find(self) -> None:
        listing = self._frozen or self._scanner.latest(self._patience_seconds)
        if listing.serial == self._seen:
            return
        works, self._moves = self._finder.find(listing, self._state)
        self._works = {work.path: work for work in works}
        self._arrivals.note(listing, self._state, self._works)
        self._seen = listing.serial

    def _plan(self, limits: Limits) -> Window | None:
        number = self._state.window + 1
        works = sorted(self._works.values(), key=lambda work: work.order)
        begun, fresh = ([work for work in works if work.is_begun is is_begun] for is_begun in (True, False))
        picks = plan_window(number, begun, fresh, limits)
        if not picks:
            return None
        files: list[PlannedFile] = []
        blocks: list[BlockMetadata] = []
        for path, count in picks.items():
            work = self._works[path]
            try:
                planned, chosen = work.take(count)
            except (SourceChangedError, SourceMissingError):
                self._seen = 0  # it was replaced since it was found: the next listing shows what became of it
                del self._works[path]
                continue
            files.append(replace(planned, late=not work.is_begun and self._arrivals.is_late(path)))
            blocks += chosen
            if not work.taken(count, number):
                del self._works[path]
        if not blocks:
            return None
        costs = [block.cost_bytes for block in blocks]
        shares = share_blocks(costs, self._count_readers(sum(costs), len(blocks)))
        horizon_us = self._arrivals.horizon_us(self._works.values())
        return Window(
            number, tuple(files), tuple(blocks), shares, self._moves, self._id, self._shape, self.backlog, horizon_us
        )

    def _count_readers(self, size_bytes: int, blocks: int) -> int:
        options = self._options
        cores = os.cpu_count() or 1
        least = options.min_readers or min(cores, options.max_readers or cores)
        target_bytes = self._scan.options.files.task_bytes if options.collect_stats else None
        return count_readers(size_bytes, blocks, least, options.max_readers, target_bytes)

    @property
    def _shape(self) -> Mapping[str, str]:
        return {"recordFormat": self._scan.options.record_format, "fileMode": self._options.file_mode.value}

    def list_files(self) -> Sequence[FileMetadata]:
        """All files that are wanted; whatever vanishes meanwhile is not there."""
        options = replace(self._scan.options.files, ignore_missing_files=True)
        try:
            files = list(list_files(self._scan.paths, options))
        except SourceMissingError:
            paths = self._paths_that_exist()
            if paths == self._scan.paths:
                raise
            files = list(list_files(paths, options)) if paths else []
        if any(map(is_member, files)):
            raise _no_archives(f"the member {redact(next(filter(is_member, files)).path)}")
        return self._scan.with_files(files).files()

    def _paths_that_exist(self) -> list[str]:
        """All paths but, once the stream has begun, empty ones of object stores: a folder is there only with files."""
        if not self._state.window:
            return self._scan.paths
        storage_options = self._scan.options.files.storage_options
        located = [(path, locate(path)) for path in self._scan.paths]
        return [
            path
            for path, where in located
            if where.is_local or open_tree(where, storage_options).status(where.path) is not None
        ]

    # ---------------------------------------------------------------- state

    def _open(self, offset: Offset) -> WindowLog | VolatileLog:
        """The log of a stream, with its state loaded."""
        known = self._stream == offset.stream
        log = self._open_log(offset.stream)
        if not known:
            self._state = log.load()
            self._stream = offset.stream
            self._seen = 0
            self._check_shape()
        if self._state.window < offset.window:
            self._catch_up(offset.window)
        return log

    def _open_log(self, stream: str) -> WindowLog | VolatileLog:
        if self._log is not None and self._log.path.endswith(stream):
            return self._log
        location = self._options.state_location
        if self._options.window_log is WindowLogChoice.NONE:
            self._log = VolatileLog(stream)
        elif location is not None:
            self._log = WindowLog(location, stream, self._scan.options.files.storage_options)
        else:
            raise UsageError(
                "a stream must have a place for its state: option stateLocation", seen="none",
                fix='set it to a directory inside the checkpoint: .option("stateLocation", checkpoint + "/splitscan")',
                code="no-state-location",
            )  # fmt: skip
        return self._log

    def _catch_up(self, number: int) -> None:
        """Take over windows that another planner of this stream has written."""
        while self._state.window < number:
            if self._log is None:
                raise RuntimeError("the log is open by now")
            self._state.apply(self._log.read(self._state.window + 1))
            self._moves = ()
            self._seen = 0  # what was found is no longer all there is to plan

    def _check_shape(self) -> None:
        """Refuse options under which the positions of earlier windows would mean something else."""
        for name, value in self._shape.items():
            before = self._state.shape.get(name, value)
            if before != value:
                raise StreamError(
                    f"option {name} of a stream cannot change", Where(path=redact(self._options.state_location or "")),
                    f"{name}={value}; its windows were planned with {before}",
                    "set it back, or start another query with another checkpoint", "stream-options-changed",
                )  # fmt: skip


def _no_archives(seen: str) -> UsageError:
    why = "an archive may be read only when it is whole, so archivePathFilter has no meaning for a stream"
    fix = "leave it out, and read archives in a batch; or unpack them where they are followed"
    return bad_option(why, seen, fix)


def _check_scan(scan: ScanPlanner, *, rebalances: bool) -> None:
    """Refuse what has no meaning for input without an end."""
    limit, pattern = scan.options.reading.limit, scan.options.files.archive_path_filter
    if limit is not None:
        rule, fix = (
            "a stream has no end, so option limit has no meaning",
            "leave it out, or limit the rows of each batch",
        )
        raise bad_option(rule, f"limit={limit}", fix)
    if pattern is not None:
        raise _no_archives(f"archivePathFilter={pattern}")
    if scan.options.files.rebalance and not rebalances:
        rule = "the blocks of a window are planned once, so option rebalance has no meaning for a stream"
        fix = "leave it out; smaller blocks (blockSize) and more readers (minReaders) even out skew"
        raise bad_option(rule, "rebalance=true", fix)
