"""Files that are final when they appear."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SourceChangedError, Where
from splitscan.formats.framing.contract import Splittability
from splitscan.options.stream import CleanSource, OnModified, StreamOptions
from splitscan.plan.cutting import BlockLengths
from splitscan.redaction import redact
from splitscan.scan import ScanPlanner
from splitscan.streaming.directory import DirectoryListing
from splitscan.streaming.state import FileProgress, FileWork, Found, StreamState
from splitscan.streaming.windows import PlannedFile

_log = logging.getLogger(__name__)

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
        "a file that the stream has planned before has changed (onModified=fail)",
        Where(path=redact(file.path)),
        f"{file.size_bytes} bytes, fingerprint {file.fingerprint}; "
        f"planned {known.file.size_bytes} bytes, fingerprint {known.file.fingerprint}, in window {known.window}",
        "set onModified=reread to read the new version too, or onModified=ignore to leave it alone; "
        "files that grow are read with fileMode=append",
        "file-modified",
    )
