"""Listing directories again and again, beside planning; and which files of a listing came late."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from splitscan.blocks import FileMetadata
from splitscan.streaming.state import FileWork, StreamState

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

    def trigger(self) -> None:
        """Begin a listing now; one that is on its way is followed by another. Does not wait."""
        with self._changed:
            self._ask(self._begun + 1)

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
