"""Which files come late: after younger ones that were there before."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from splitscan.streaming.directory import Listing
from splitscan.streaming.state import StreamState
from splitscan.streaming.work import FileWork


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

    def note(self, listing: Listing, state: StreamState, works: Collection[str]) -> None:
        """Compare a listing with those before it.

        Args:
            listing: The newest.
            state: What is planned.
            works: Paths of files with something left to plan.
        """
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
        """Whether a file that nothing is planned of came late."""
        return path in self._late

    def horizon_us(self, left: Iterable[FileWork]) -> int:
        """What is older than that when it is first seen is late, whoever sees it.

        Args:
            left: What is left to plan.
        """
        waiting_us = (work.file.modified_us for work in left if not work.is_begun)
        return int(min([self._newest_us, self._idle_us, *waiting_us]))
