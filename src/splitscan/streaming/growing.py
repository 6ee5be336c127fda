"""Files that grow: followed record by record, through renames and replacements."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from heapq import nlargest
from os.path import commonprefix

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import ByteSource, check_unchanged, has_prefix, open_source, prefix_fingerprint
from splitscan.content.storage.opening import HEAD_BYTES, head_of
from splitscan.errors import SourceChangedError, SourceMissingError, bad_option
from splitscan.formats.framing.contract import Splittability, has
from splitscan.options.stream import OnModified, StreamOptions
from splitscan.reading.own_formats import record_format_of
from splitscan.redaction import redact
from splitscan.scans import ScanPlanner
from splitscan.scans.frontier import cut_growing_file
from splitscan.streaming.directory import DirectoryListing, modified_error
from splitscan.streaming.windows import FileProgress, FileWork, Found, PlannedFile, StreamState

_log = logging.getLogger(__name__)

COPY_PATIENCE_SECONDS = 60
"""How long a copy waits for its original to be truncated. Who rotates like that truncates as soon as it has copied."""

_COMPARED_BYTES = 64 * 1024  # of the end of a copy; the head was compared before
_MOST_ORIGINALS = 16  # files that are opened to compare them: thousands may begin with one long header


class GrowingFiles:
    """Finds what files have gained, and plans it up to a record boundary that is there already.

    A file is recognised by the bytes that were planned of it: by its head and by what stands before its position. A
    file with a new name that continues a known one (a rotated log) keeps its position. Other content under a known name
    is a new file. One that only repeats a known file, which is still there, may be half of a rotation by copy and
    truncate: neither of the two is planned for ``COPY_PATIENCE_SECONDS``, unless they differ before that.
    """

    def __init__(self, scan: ScanPlanner, options: StreamOptions) -> None:
        format = record_format_of(scan.framing)
        if format is None or format.splittability is Splittability.WHOLE:
            raise bad_option(
                "fileMode=append needs a record format that can begin in the middle of a file",
                scan.framing.name,
                "read complete files: fileMode=complete",
            )
        if has(format, "envelope_reader") and format.envelope_reader() is not None:
            raise bad_option(
                "columns of recordPathColumns may stand after the records, where a file that grows has not come to",
                "fileMode=append",
                "leave out recordPathColumns, or read complete files: fileMode=complete",
            )
        self._format = format
        self._scan = scan
        self._options = options
        self._seen: dict[str, tuple[str, int, bool]] = {}  # path -> version, position and end of those without work
        self._warned: set[str] = set()
        self._copies: dict[tuple[str, str], int] = {}  # path and content that it repeats -> when that was seen first
        self._now_us = 0  # of the listing that is compared
        self._known: Mapping[str, FileProgress] = {}

    def find(self, listing: DirectoryListing, state: StreamState) -> Found:
        """Compare a listing with what is planned; opens the files that changed.

        Raises:
            SourceChangedError: ``[file-modified]`` with ``onModified=fail``, if the content of a file was replaced.
        """
        self._now_us, self._known = listing.taken_us, state.files
        if self._copies:
            listed = {file.path for file in listing.files}
            self._copies = {key: first_us for key, first_us in self._copies.items() if key[0] in listed}
        unknown: list[FileMetadata] = []
        works: list[FileWork] = []
        for file in listing.files:
            known = self._known.get(file.path)
            if self._is_unchanged(file, known):
                continue
            if known is None:
                unknown.append(file)
            else:
                self._look(file, known, unknown, works)
        moves = tuple(self._moved(unknown, works)) if unknown else ()
        return works, moves

    def open(self, file: FileMetadata) -> ByteSource:
        """Open a listed file."""
        return open_source(file.path, self._scan.options.files.storage_options)

    def _is_unchanged(self, file: FileMetadata, known: FileProgress | None) -> bool:
        if known is None:
            has_nothing_new = not file.size_bytes
        else:
            has_nothing_new = file.size_bytes == known.position and file.modified_us == known.file.modified_us
        return has_nothing_new or self._seen.get(file.path) == self._version(file, known)

    def _version(self, file: FileMetadata, known: FileProgress | None) -> tuple[str, int, bool]:
        """A version of a file, where it is read from, and whether it has ended."""
        return file.fingerprint, known.position if known is not None else 0, self._is_closed(file)

    def _is_closed(self, file: FileMetadata) -> bool:
        """Return whether a file has ended, for all that is known."""
        after_ms = self._options.close_after_ms
        return after_ms is not None and bool(file.modified_us) and self._now_us - file.modified_us >= after_ms * 1000

    def _look(
        self, file: FileMetadata, known: FileProgress, unknown: list[FileMetadata], works: list[FileWork]
    ) -> None:
        """A file under a known name: grown, or another one."""
        for source in self._opened(file):
            if file.size_bytes >= known.position and has_prefix(source, known.file.fingerprint):
                self._add(source, file, known, known.generation, works)
            else:
                unknown.append(file)

    def _moved(self, unknown: Sequence[FileMetadata], works: list[FileWork]) -> Iterator[tuple[str, str]]:
        """Files without a past: those that continue a file that lost its name, and new ones."""
        candidates = _Candidates(self._known, self.open)
        found: list[tuple[FileMetadata, str]] = []
        new: list[FileMetadata] = []
        for file in unknown:
            for source in self._opened(file):
                origin = candidates.take(source, file)
                if origin is not None:
                    found.append((file, origin))
                    known = self._known[origin]
                    self._add(source, file, known, known.generation, works)
                elif not self._is_held(source, file, candidates, works):
                    new.append(file)
        for file, origin in found:
            yield origin, file.path
        moved_away = {origin for _, origin in found}
        for file in new:
            before = self._known.get(file.path)
            generation: int | None = 0
            if before is not None:
                generation = before.generation + 1 if file.path in moved_away else self._replaced(file, before)
            if generation is None:
                continue
            for source in self._opened(file):
                self._add(source, file, None, generation, works)

    def _is_held(self, source: ByteSource, file: FileMetadata, candidates: _Candidates, works: list[FileWork]) -> bool:
        """Return whether a file waits because it repeats a known one, which may still be truncated soon.

        The known one waits too, lest it outgrow the copy.
        """
        original = candidates.original_of(source, file)
        if original is None:
            return False
        key = (file.path, self._known[original].content)
        if key not in self._copies:
            _log.warning("a copy waits, for its original may be about to be truncated: %s", redact(file.path))
        first_us = self._copies.setdefault(key, self._now_us)
        changed_us = getattr(source, "changed_us", file.modified_us)
        if self._now_us - min(first_us, changed_us) >= COPY_PATIENCE_SECONDS * 1_000_000:
            return False
        works[:] = [work for work in works if work.path != original]
        return True

    def _add(
        self, source: ByteSource, file: FileMetadata, known: FileProgress | None, generation: int,
        works: list[FileWork],
    ) -> None:  # fmt: skip
        work = self._work(source, file, known, generation)
        if work is not None:
            works.append(work)
        else:
            self._seen[file.path] = self._version(file, known)

    def _opened(self, file: FileMetadata) -> Iterator[ByteSource]:
        """The file, open; nothing if it vanished or was cut since it was listed: the next listing shows what became."""
        try:
            source = self.open(file)
        except SourceMissingError:
            return
        with closing(source):
            if source.size_bytes < file.size_bytes:
                return
            try:
                yield source
            except SourceChangedError as error:
                if error.reason_code != "source-truncated":
                    raise

    def _work(
        self, source: ByteSource, file: FileMetadata, known: FileProgress | None, generation: int
    ) -> FileWork | None:
        """Find the range that a file has gained; ``None`` if no record is complete."""
        position = known.position if known is not None else 0
        closed, after_cut_record = self._is_closed(file), known is not None and known.finished
        block_bytes = self._scan.options.files.block_bytes
        blocks = self._cut(source, file, position, block_bytes, closed=closed, after_cut_record=after_cut_record)
        if not blocks:
            return None
        last = blocks[-1]
        ends_whole = True
        if closed:  # a file that was taken for ended may lack the terminator of its last record
            start = last.first_record_start or last.start
            again = self._cut(source, file, start, max(1, last.length_bytes))
            ends_whole = bool(again) and again[-1].stop == last.stop
        first = known.blocks if known is not None else 0
        blocks = [replace(block, index=first + block.index) for block in blocks]
        whole = replace(file, size_bytes=blocks[-1].stop, fingerprint=prefix_fingerprint(source, blocks[-1].stop))
        real_id = getattr(source, "real_id", "")

        def plan(work: FileWork, last: BlockMetadata, is_all: bool) -> PlannedFile:
            planned = whole
            if not is_all:
                with closing(self.open(file)) as again:
                    check_unchanged(whole, again)  # or the cuts would be of other bytes
                    planned = replace(file, size_bytes=last.stop, fingerprint=prefix_fingerprint(again, last.stop))
            return PlannedFile(planned, work.generation, is_all and not ends_whole, work.block_bytes, real_id)

        window = known.window if known is not None else 0
        left_bytes = blocks[-1].stop - position
        return FileWork(file, generation, window, left_bytes, block_bytes, lambda _: blocks, plan)

    def _cut(
        self, source: ByteSource, file: FileMetadata, start: int, block_bytes: int, **how: bool
    ) -> list[BlockMetadata]:
        reading = self._scan.options.reading
        most = reading.max_record_bytes
        return cut_growing_file(
            source, file, self._format, start, block_bytes, max_record_bytes=most, read_bytes=reading.read_bytes, **how
        )

    def _replaced(self, file: FileMetadata, known: FileProgress) -> int | None:
        """The generation of new content under a known name; ``None`` if it is not read."""
        policy = self._options.modified_policy
        if policy is OnModified.REREAD:
            return known.generation + 1
        if policy is OnModified.FAIL:
            raise modified_error(file, known)
        if file.path not in self._warned:
            self._warned.add(file.path)
            _log.warning("a replaced file is not read (onModified=ignore): %s", redact(file.path))
        return None


class _Candidates:
    """Known files that a file with an unknown name may continue.

    Whether one has lost its name is looked up when it matters: a listing that was taken while a file was renamed may
    show both names or none, and files are renamed after it.
    """

    def __init__(self, known: Mapping[str, FileProgress], open: Callable[[FileMetadata], ByteSource]) -> None:
        self._known = known
        self._open = open
        self._taken: set[str] = set()
        self._by_identity: dict[str, list[str]] = {}
        self._by_head: dict[str, list[str]] = {}
        for path, progress in known.items():
            if progress.real_id:
                self._by_identity.setdefault(progress.real_id, []).append(path)
            if progress.position >= HEAD_BYTES:
                self._by_head.setdefault(head_of(progress.file.fingerprint), []).append(path)

    def take(self, source: ByteSource, file: FileMetadata) -> str | None:
        """The path under which the beginning of this file was planned before; each is given once.

        That of a file with the same identity, or of one whose planned part is so long that no other begins like it.
        """
        paths: list[str] = [*self._by_identity.get(getattr(source, "real_id", ""), ()), *self._alike(source)]
        for path in paths:
            known = self._known[path]
            if path in self._taken or path == file.path or file.size_bytes < known.position:
                continue
            if has_prefix(source, known.file.fingerprint) and self._has_lost_its_name(known):
                self._taken.add(path)
                return path
        return None

    def original_of(self, source: ByteSource, file: FileMetadata) -> str | None:
        """The path of a known file, whole under its name, of which this one repeats all or the first part.

        Of very many that begin alike, those are looked at whose names are most alike.
        """
        alike = [path for path in self._alike(source) if path != file.path and self._may_repeat(source, file, path)]
        closest = nlargest(_MOST_ORIGINALS, alike, lambda path: len(commonprefix([path, file.path])))  # noqa: RUF071 -- meant
        for path in closest:
            if self._repeats(source, file.size_bytes, self._known[path]):
                return path
        return None

    def _may_repeat(self, source: ByteSource, file: FileMetadata, path: str) -> bool:
        known = self._known[path]
        return file.size_bytes < known.position or has_prefix(source, known.file.fingerprint)

    def _alike(self, source: ByteSource) -> Sequence[str]:
        if source.size_bytes < HEAD_BYTES:
            return ()
        return self._by_head.get(head_of(prefix_fingerprint(source, HEAD_BYTES)), ())

    def _repeats(self, source: ByteSource, size_bytes: int, known: FileProgress) -> bool:
        try:
            original = self._open(known.file)
        except SourceMissingError:
            return False
        with closing(original):
            real_id = getattr(original, "real_id", "")
            is_same_file = bool(real_id) and real_id == getattr(source, "real_id", "")
            if is_same_file or original.size_bytes < size_bytes or not has_prefix(original, known.file.fingerprint):
                return False
            start = max(0, size_bytes - _COMPARED_BYTES)
            return source.read_at(start, size_bytes - start) == original.read_at(start, size_bytes - start)

    def _has_lost_its_name(self, known: FileProgress) -> bool:
        try:
            source = self._open(known.file)
        except SourceMissingError:
            return True
        with closing(source):
            same = getattr(source, "real_id", "") == known.real_id
            return not (same and has_prefix(source, known.file.fingerprint))
