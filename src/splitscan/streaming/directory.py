"""Directories, listed again and again: which files come late; files that are final when they appear."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import is_inside, locate, open_storage, open_tree
from splitscan.errors import SourceChangedError, SplitscanError, Where, bad_option
from splitscan.formats.framing.contract import Splittability
from splitscan.options.stream import CleanSource, OnModified, StreamOptions
from splitscan.redaction import redact
from splitscan.scans import ScanPlanner
from splitscan.scans.cutting import BlockLengths
from splitscan.streaming.windows import FileProgress, FileWork, Found, PlannedFile, StreamState, Window

PATIENCE_SECONDS = 0.15
"""How long a planner waits for a listing that is on its way before it goes on with the last one."""


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """All files that were there when listing began, sorted by path; *serial* counts listings from 1."""

    serial: int
    files: Sequence[FileMetadata]
    taken_us: int


class DirectoryScanner:
    """Lists files in a thread of its own, whenever it is asked and the last listing is older than an interval.

    A planner therefore never waits long for a huge directory: it goes on with the last listing. Where listing is quick
    it sees what is there now.

    Thread safety: all methods. The thread is a daemon that starts with the first question: it never keeps a process.
    Pickling: never.
    """

    def __init__(self, list_files: Callable[[], Sequence[FileMetadata]], interval_seconds: float) -> None:
        self._list_files = list_files
        self._interval_seconds = interval_seconds
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._listing: DirectoryListing | None = None
        self._failure: BaseException | None = None
        self._wanted = 0  # serial of the listing that somebody waits for
        self._begun = 0
        self._ended_at = -math.inf  # the clock may have begun when the machine did, just now
        self._stopped = False

    def latest(self, patience_seconds: float = PATIENCE_SECONDS) -> DirectoryListing:
        """The newest listing; a new one is begun if the interval has passed. Waits as long as it takes for the first.

        Raises:
            SplitscanError: What the last listing failed with, once; the next call lists again.
        """
        with self._changed:
            due = time.monotonic() - self._ended_at >= self._interval_seconds
            if self._listing is None or (due and self._begun == self._done):
                self._ask(self._done + 1)
            has_one = self._listing is not None
            self._wait(self._wanted if due else self._done, patience_seconds if has_one else None)
            return self._result()

    def rescan(self) -> DirectoryListing:
        """A listing that begins after this call: it knows everything that was there before.

        Raises:
            SplitscanError: If it fails.
        """
        with self._changed:
            self._ask(self._begun + 1)
            self._wait(self._wanted, None)
            return self._result()

    def stop(self) -> None:
        """End the thread, after the listing that is on its way."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def _done(self) -> int:
        return self._listing.serial if self._listing is not None else 0

    def _ask(self, serial: int) -> None:
        self._wanted = max(self._wanted, serial)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="splitscan-scanner", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _wait(self, serial: int, seconds: float | None) -> None:
        self._changed.wait_for(lambda: self._failure is not None or self._done >= serial or self._stopped, seconds)

    def _result(self) -> DirectoryListing:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        if self._listing is None:
            raise RuntimeError("the scanner was stopped before its first listing")
        return self._listing

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._wanted > self._begun)
                if self._stopped:
                    return
                self._begun = serial = self._begun + 1
            taken_us = time.time_ns() // 1000
            try:
                files = self._list_files()
            except BaseException as failure:
                self._finish(failure=failure)
            else:
                self._finish(DirectoryListing(serial, files, taken_us))

    def _finish(self, listing: DirectoryListing | None = None, failure: BaseException | None = None) -> None:
        with self._changed:
            if listing is not None:
                self._listing = listing
            else:
                self._failure = failure
                self._begun = self._wanted = self._done  # whoever asks next begins again
            self._ended_at = time.monotonic()
            self._changed.notify_all()


class Arrivals:
    """Tells late files: those with a time before that of a file which an earlier listing had shown, without them.

    A planner that goes on after another one does not know what that one had listed and not planned. It calls a file
    late only if it is also older than everything that waited then: the *horizon* that every window holds.

    Thread safety: none; the planner's own.
    """

    def __init__(self) -> None:
        self._listed: set[str] = set()
        self._newest_us = 0
        self._idle_us: float = math.inf  # time of the oldest file that is listed, not planned, and has no work
        self._late: set[str] = set()

    def note(self, listing: DirectoryListing, state: StreamState, works: Collection[str]) -> None:
        """Compare a listing with those before it."""
        before_us = max(self._newest_us, state.horizon_us if not self._listed else 0)
        unplanned = [file for file in listing.files if file.path not in state.files and file.size_bytes]
        self._late = {
            file.path
            for file in unplanned
            if file.path in self._late or (file.modified_us < before_us and file.path not in self._listed)
        }
        self._listed = {file.path for file in listing.files}
        self._newest_us = max(before_us, max((file.modified_us for file in listing.files), default=0))
        self._idle_us = min((file.modified_us for file in unplanned if file.path not in works), default=math.inf)

    def is_late(self, path: str) -> bool:
        """Return whether a file that nothing is planned of came late."""
        return path in self._late

    def horizon_us(self, left: Iterable[FileWork]) -> int:
        """Time before which a file that is first seen now is late, whoever sees it."""
        waiting_us = (work.file.modified_us for work in left if not work.is_begun)
        return int(min([self._newest_us, self._idle_us, *waiting_us]))


_log = logging.getLogger(__name__)


class SourceCleaner:
    """Deletes or archives the files that a committed window has read to their end.

    A file that is no longer the version that was read stays where it is. What fails is logged: a file that could not be
    taken away does no harm.

    Raises:
        UsageError: If the archive would be followed, or lies in another storage.
    """

    def __init__(self, options: StreamOptions, roots: Sequence[str], storage_options: Mapping[str, Any]) -> None:
        self._policy = options.clean_source
        self._storage_options = storage_options
        self._archive = None if options.source_archive_dir is None else locate(options.source_archive_dir).path
        for root in roots:
            path = locate(root).path
            if self._archive is not None and (
                is_inside(self._archive, path) or _store_of(path) != _store_of(self._archive)
            ):
                raise bad_option(
                    "option sourceArchiveDir names a directory of the same storage that is not followed itself",
                    f"sourceArchiveDir={redact(self._archive)}; followed: {redact(path)}",
                    "name a directory beside those that are followed",
                )

    @property
    def is_on(self) -> bool:
        """True if there is anything to do at all."""
        return self._policy is not CleanSource.OFF

    def clean(self, window: Window) -> list[str]:
        """Take away the files that end with a window which is committed. Returns their paths."""
        gone = []
        for planned in window.files:
            try:
                if planned.finished and self._take_away(planned.file):
                    gone.append(planned.file.path)
            except SplitscanError as error:
                _log.warning("cleanSource=%s: %s", self._policy.value, error)
        return gone

    def _take_away(self, file: FileMetadata) -> bool:
        entry = open_tree(locate(file.path), self._storage_options).status(file.path)
        if entry is None:
            return False
        if entry.fingerprint != file.fingerprint:
            _log.warning("a file changed after it was read, so it stays: %s", redact(file.path))
            return False
        store = _store_of(file.path)
        storage = open_storage(store, self._storage_options)
        name = file.path[len(store) :].lstrip("/")
        if self._archive is None:
            storage.delete_tree(name)
        else:
            storage.rename(name, f"{self._archive[len(store) :].lstrip('/')}/{file.relative_path}")
        return True


def _store_of(path: str) -> str:
    """Name the storage of a path: the local file system, or a bucket or host.

    Example:
        >>> _store_of("/data/in"), _store_of("s3://bucket/in/a.csv")
        ('/', 's3://bucket')
    """
    return "/".join(path.split("/")[:3]) if "://" in path else "/"


_CUT_AHEAD = 512  # files that are cut at a time; one where cutting must read them


class CompleteFiles:
    """Finds new and modified files; the version that was seen first is the one that is read.

    A file is cut when its turn comes, and stays cut that way. Formats whose blocks must be indexed are indexed then,
    as a whole.
    """

    def __init__(self, scan: ScanPlanner, options: StreamOptions, *, whole: bool = False) -> None:
        self._scan = scan
        self._options = options
        self._whole = whole
        self._block_bytes = scan.options.files.block_bytes
        self._reads_to_cut = scan.framing.splittability is Splittability.CONTEXT
        self._uncut: dict[str, FileWork] = {}  # in the order of their turns
        self._cut_ahead: dict[str, list[BlockMetadata]] = {}
        self._warned: set[str] = set()

    def find(self, listing: DirectoryListing, state: StreamState) -> Found:
        """Compare a listing with what is planned."""
        youngest_us = listing.taken_us - self._options.min_age_ms * 1000
        works = []
        for file in listing.files:
            known = state.files.get(file.path)
            if known is not None and known.finished and known.file.fingerprint == file.fingerprint:
                continue
            if not file.size_bytes or (self._options.min_age_ms and file.modified_us > youngest_us):
                continue
            work = self._fresh(file) if known is None else self._again(file, known)
            if work is not None:
                works.append(work)
        works.sort(key=attrgetter("order"))
        self._cut_ahead = {}
        self._uncut = {work.path: work for work in works if not work.is_begun}
        return works, ()

    def _fresh(self, file: FileMetadata, generation: int = 0) -> FileWork:
        return self._work(file, generation, 0, file.size_bytes, self._block_bytes)

    def _again(self, file: FileMetadata, known: FileProgress) -> FileWork | None:
        """A file that was planned before: its rest, its new version, or nothing."""
        if known.file.fingerprint == file.fingerprint:
            left_bytes = file.size_bytes - known.position
            return self._work(known.file, known.generation, known.window, left_bytes, known.block_bytes, known.blocks)
        was_cleaned = known.finished and self._options.clean_source is not CleanSource.OFF  # it is another file
        if was_cleaned or self._options.modified_policy is OnModified.REREAD:
            return self._fresh(file, known.generation + 1)
        if self._options.modified_policy is OnModified.FAIL:
            raise modified_error(file, known)
        if file.path not in self._warned:
            self._warned.add(file.path)
            _log.warning("a modified file is not read again (onModified=ignore): %s", redact(file.path))
        return None

    def _work(
        self, file: FileMetadata, generation: int, window: int, left_bytes: int, block_bytes: int, done: int = 0
    ) -> FileWork:
        def cut(work: FileWork) -> Sequence[BlockMetadata]:
            return [block for block in self._cut(work) if block.index >= done]

        return FileWork(file, generation, window, left_bytes, block_bytes, cut, _planned, self._whole)

    # ------------------------------------------------------------- cutting

    def _cut(self, work: FileWork) -> Sequence[BlockMetadata]:
        """All blocks of a file; files that will come next are cut along, where that costs no reading."""
        if work.path in self._cut_ahead:
            return self._cut_ahead.pop(work.path)
        files = [work.file]
        if not (work.is_begun or self._reads_to_cut):
            ahead = list(islice(self._uncut, _CUT_AHEAD))
            files += [self._uncut.pop(path).file for path in ahead if path != work.path]
        cut = self._cut_files(files, work.block_bytes)
        mine = cut.pop(work.path, [])
        self._cut_ahead.update(cut)
        return mine

    def _cut_files(self, files: Sequence[FileMetadata], block_bytes: int) -> dict[str, list[BlockMetadata]]:
        listed = [replace(file, compression=None) for file in sorted(files, key=attrgetter("path"))]
        scan = self._scan.with_files(listed).cut(BlockLengths(block_bytes))
        return {
            path: list(blocks) for path, blocks in groupby(scan.indexed_blocks(), key=lambda block: block.file.path)
        }


def _planned(work: FileWork, last: BlockMetadata, is_all: bool) -> PlannedFile:
    return PlannedFile(last.file, work.generation, is_all, work.block_bytes)


def modified_error(file: FileMetadata, known: FileProgress) -> SourceChangedError:
    """The error for a file with other content than was planned of it, where that must not be."""
    return SourceChangedError(
        "a file that the stream has planned before has changed (onModified=fail)", Where(path=redact(file.path)),
        f"{file.size_bytes} bytes, fingerprint {file.fingerprint}; "
        f"planned {known.file.size_bytes} bytes, fingerprint {known.file.fingerprint}, in window {known.window}",
        "set onModified=reread to read the new version too, or onModified=ignore to leave it alone; "
        "files that grow are read with fileMode=append", "file-modified",
    )  # fmt: skip
