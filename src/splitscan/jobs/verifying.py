"""Check a destination at any later time: data against ledger against source."""

# Over 400 lines: every check of a destination is here.

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, TypeVar

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.content.archives.opening import open_planned
from splitscan.content.storage import (
    NEEDS_KERNEL,
    ByteSource,
    digest_of,
    has_prefix,
    is_prefix_fingerprint,
    open_source,
)
from splitscan.errors import IngestError, SourceMissingError, SplitscanError, UsageError
from splitscan.jobs.destination import Destination, FileState, History, open_destination
from splitscan.jobs.division import key_faults, row_faults, tiling_faults
from splitscan.jobs.folder import announced_names
from splitscan.jobs.ledger import (
    REJECT_FOLDER,
    REJECT_SUFFIX,
    Ledger,
    LedgerBlock,
    LedgerFile,
    WrittenFile,
    describe_columns,
    only_appends,
)
from splitscan.jobs.ledger_files import ledger_name, nothing_ingested, read_ledgers
from splitscan.jobs.parquet import REJECT_SCHEMA, parquet_of
from splitscan.jobs.replacing import Contents, source_files
from splitscan.jobs.reports import Finding, VerifyReport
from splitscan.jobs.workplace import is_moved_in
from splitscan.reading.contents import recognised_content
from splitscan.redaction import redact
from splitscan.scans.listing import check_inside
from splitscan.sizes import KIB

T = TypeVar("T")

_STATE_CODES = {
    FileState.REWRITTEN: "rows-rewritten",
    FileState.REMOVED: "rows-removed",
    FileState.REDUCED: "rows-removed",
    FileState.UNCLEAR: "rows-untraced",
    FileState.UNKNOWN: "rows-untraced",
}
_STAYS = {FileState.LIVE, FileState.REDUCED, FileState.UNCLEAR}
"""States of files that the table still names: their bytes are checked."""

_THREADS = 4  # hashing and reading release the interpreter lock
_BUFFER_BYTES = 64 * KIB  # a footer, and a page or two


def verify(
    destination: str | os.PathLike[str],
    *,
    deep: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> VerifyReport:
    """Check that data, ledger and source agree.

    Always checked: every ledger is whole; the spans tile every file; no file was read by two jobs, and what jobs read
    of a file that grows are consecutive ranges; every data file and reject table exists with the recorded size, number
    of rows, columns and SHA-256; each of its rows belongs to exactly one block; no other Parquet file lies there; the
    sources are still what was read (a source that was removed or changed since is a note, no problem). A source is
    looked for only below what the ingest had named.
    With *deep* also: the source bytes of every block are read again and their SHA-256 compared, and every row of every
    Parquet file is decoded.

    A commit that was killed between its atomic step and its last file is finished first; apart from that nothing is
    written. An ingest may run meanwhile: what it publishes after the ledgers were read is left to the next check.

    Args:
        destination: Folder: a local path or a URI.
        deep: Whether to read sources and rows.
        storage_options: Settings of the file systems of destination and sources.

    Returns:
        What was found. ``ok`` tells whether everything agrees.

    Raises:
        IngestError: ``[not-a-destination]`` if nothing was ever ingested there; ``[destination-busy]`` while another
            process moves in files that a ledger names.
    """
    started = time.perf_counter()
    opened = open_destination(destination, storage_options=storage_options)
    place = opened.place
    problems: list[Finding] = []
    ledgers: tuple[Ledger, ...] = ()
    try:
        ledgers = tuple(read_ledgers(place.destination))
        if _finish_publishing(opened, ledgers):
            ledgers = tuple(read_ledgers(place.destination))
    except IngestError as error:
        if error.reason_code not in {"ledger-damaged", "data-file-missing", "table-behind"}:
            raise
        path = error.where.path if error.where is not None and error.where.path is not None else place.destination.root
        problems.append(Finding(error.reason_code, path, f"{error.rule}: {error.seen}"))
    if not ledgers and not problems:
        raise nothing_ingested(place.destination)
    check = _Verification(opened, ledgers, deep, storage_options or {})
    if ledgers:
        problems += check.find_problems()
    contents = Contents(ledgers)
    data = [each for ledger in ledgers for each in ledger.data_files if each.name not in contents.removed]
    files = [(ledger, file) for ledger in ledgers for file in source_files(ledger, contents)]
    blocks = [
        block for ledger in ledgers for block in ledger.blocks
        if not contents.has_left(ledger.sequence, block.file_index)
    ]  # fmt: skip
    return VerifyReport(
        destination=place.destination.root,
        deep=deep,
        jobs=len(ledgers),
        files=len({file.content or (ledger.sequence, file.index) for ledger, file in files}),
        blocks=len(blocks),
        rows=sum(block.rows for block in blocks),
        rejects=sum(block.rejects for block in blocks),
        data_files=len(data),
        source_bytes=sum(file.length_bytes for _, file in files),
        parquet_bytes=sum(written.size_bytes for written in data),
        digests_checked=check.digests_checked,
        problems=tuple(problems),
        notes=tuple(check.notes),
        seconds=time.perf_counter() - started,
    )


def _finish_publishing(destination: Destination, ledgers: Sequence[Ledger]) -> bool:
    """Finish an interrupted publication, and say whether anything was done; otherwise nothing is locked or written."""
    history = History(ledgers)
    waiting = set(destination.unfinished(history))
    if not waiting:
        return False
    try:
        with destination.place.lock():
            return destination.recover(history)
    except IngestError as error:
        if error.reason_code != "destination-busy":
            raise
        # who holds the lock clears up after its own publication, or works on the next: only its moves matter here
        unfinished = [each for each in ledgers if each.sequence in waiting]
        if not destination.table and not all(is_moved_in(destination.place, each) for each in unfinished):
            raise
    return False


class _Verification:
    def __init__(
        self, destination: Destination, ledgers: Sequence[Ledger], deep: bool, storage_options: Mapping[str, Any]
    ) -> None:
        self._destination, self._place = destination, destination.place
        self._ledgers, self._deep, self._options = ledgers, deep, storage_options
        self.notes: list[Finding] = []
        self.digests_checked = 0
        self._contents = Contents()

    def find_problems(self) -> list[Finding]:
        replaced = [
            Finding("not-accounted", self._place.destination.path_of(ledger_name(ledger.sequence)), f"{name}: {fault}")
            for ledger in self._ledgers
            for name, fault in self._contents.add(ledger)
        ]
        self.notes += [
            Finding("source-damaged", file.path, f"{damage}; the records before that were ingested")
            for ledger in self._ledgers
            for file, damage in ledger.damages
            if not self._contents.has_left(ledger.sequence, file.index)
        ]
        problems = [*replaced, *self._accounts(), *self._columns(), *self._strays()]
        left = self._contents.removed
        states = self._destination.audit(
            [written for ledger in self._ledgers for written in ledger.data_files if written.name not in left]
        )
        self.notes += [
            Finding(_STATE_CODES[state], self._place.destination.path_of(name), state.value)
            for name, state in states.items()
            if state is not FileState.LIVE
        ]
        gone = {name for name, state in states.items() if state not in _STAYS} | left.keys()
        live = [(ledger, each) for ledger in self._ledgers for each in ledger.written if each.name not in gone]
        with ThreadPoolExecutor(_THREADS) as pool:
            problems += self._still(_all(pool, self._check_written, live))
            problems += _all(pool, self._check_source, list(self._sources()))
        self.notes.sort(key=lambda note: note.path)
        return problems

    # ------------------------------------------------------------- ledgers

    def _accounts(self) -> Iterator[Finding]:
        read_by: dict[str, int] = {}
        read_to: dict[str, int] = {}  # of contents that grow
        for ledger in self._ledgers:
            by_file = ledger.blocks_by_file()
            for file in source_files(ledger, self._contents):
                if file.content:
                    yield from _continues(file, read_to.get(file.content, 0))
                    read_to[file.content] = file.size_bytes
                    continue
                if file.identity in read_by:
                    text = f"the file was ingested by jobs {read_by[file.identity]} and {ledger.sequence}"
                    yield Finding("ingested-twice", file.path, text)
                read_by[file.identity] = ledger.sequence
            for file in ledger.files:
                for fault in tiling_faults(file, by_file.pop(file.index, [])):
                    yield Finding("not-accounted", file.path, fault)
            for index in by_file:
                yield Finding("not-accounted", self._place.destination.root, f"blocks of an unknown file {index}")
            yield from _keys(ledger)
            for name, fault in row_faults(ledger.own_written, ledger.blocks):
                yield Finding("not-accounted", self._place.destination.path_of(name), fault)

    def _columns(self) -> Iterator[Finding]:
        """Jobs that take a column away, or change one: readers of a plain folder could not read all files together."""
        for before, after in pairwise(self._ledgers if not self._destination.table else ()):
            if not only_appends(before.columns, after.columns):
                there, new = (", ".join(map(str, ledger.columns)) for ledger in (before, after))
                text = f"the columns of job {after.sequence} do not append to those before: {new}; before: {there}"
                yield Finding("columns-changed", self._place.destination.path_of(ledger_name(after.sequence)), text)

    def _still(self, problems: list[Finding]) -> list[Finding]:
        """Those that are left if a job has replaced files since the ledgers were read."""
        if not any(problem.code == "data-file-missing" for problem in problems):
            return problems
        later = Contents(read_ledgers(self._place.destination)).removed.keys() - self._contents.removed.keys()
        paths = set(map(self._place.destination.path_of, later))
        return [each for each in problems if each.code != "data-file-missing" or each.path not in paths]

    def _strays(self) -> Iterator[Finding]:
        known = _names_of(self._ledgers)
        if not self._destination.table:
            known -= self._contents.removed.keys()
        strays = list(self._unknown_names(known))
        if strays:  # or an ingest has published since the ledgers were read, or is about to
            ledgers = read_ledgers(self._place.destination)
            known = _names_of(ledgers).union(announced_names(History(ledgers)))
            known -= Contents(ledgers).removed.keys() if not self._destination.table else set()
        for name in strays:
            if name not in known:
                text = "a file or folder that no ledger names lies among the data"
                yield Finding("stray-file", self._place.destination.path_of(name), text)

    def _unknown_names(self, known: set[str]) -> Iterator[str]:
        """Whatever a reader of the destination would take for data or rejects, and no ledger names."""
        pending = [*([] if self._destination.table else [""]), f"{REJECT_FOLDER}/"]  # a table says what it holds
        while pending:
            folder = pending.pop()
            for name in self._place.destination.list_names(folder.removesuffix("/")):
                full = f"{folder}{name}"
                if name.startswith((".", "_")) or not name.endswith((".parquet", REJECT_SUFFIX, "/")):
                    continue
                if full not in known:
                    yield full
                elif name.endswith("/"):
                    pending.append(full)

    # ---------------------------------------------------------- data files

    def _check_written(self, item: tuple[Ledger, WrittenFile]) -> list[Finding]:
        ledger, written = item
        columns = tuple(column for column in ledger.columns if ledger.partitioning.is_in_files(column.name))
        if written.is_reject_table:
            columns = describe_columns(REJECT_SCHEMA)
        path = self._place.destination.path_of(written.name)

        def problem(code: str, text: str) -> list[Finding]:
            return [Finding(code, path, text)]

        try:
            with closing(open_source(path, self._place.storage_options)) as source:
                if source.size_bytes != written.size_bytes:
                    return problem(
                        "data-file-changed", f"{source.size_bytes} bytes where {written.size_bytes} were written"
                    )
                if digest_of(source, 0, source.size_bytes, written.sha256) != written.sha256:
                    return problem("data-file-changed", "the SHA-256 of the file is not the one that was written")
                rows = self._count_rows(source, columns)
        except SourceMissingError:
            return problem("data-file-missing", "a file that the ledger names does not exist")
        except (SplitscanError, pa.ArrowException, OSError) as error:
            return problem("data-file-unreadable", f"{type(error).__name__}: {str(error)[:300]}")
        if rows != written.rows:
            return problem("data-file-changed", f"{rows} rows where {written.rows} were written")
        return []

    def _count_rows(self, source: ByteSource, columns: object) -> int:
        with closing(parquet_of(source, _BUFFER_BYTES)) as parquet:
            if describe_columns(parquet.schema_arrow) != columns:
                raise IngestError("the columns of the file are not those of the ledger")
            if not self._deep:
                return int(parquet.metadata.num_rows)
            return sum(batch.num_rows for batch in parquet.iter_batches())

    # ------------------------------------------------------------- sources

    def _sources(self) -> Iterator[tuple[Ledger, LedgerFile, list[LedgerBlock]]]:
        """Every file that was read, with its blocks; all ranges of a content that grows as one, under its last name."""
        grown: dict[str, tuple[Ledger, LedgerFile, list[LedgerBlock]]] = {}
        for ledger in self._ledgers:
            by_file = ledger.blocks_by_file()
            for file in source_files(ledger, self._contents):
                blocks = by_file.get(file.index, [])
                if file.content:
                    earlier = grown[file.content][2] if file.content in grown else []
                    grown[file.content] = (ledger, file, earlier + blocks)
                else:
                    yield ledger, file, blocks
        yield from grown.values()

    def _check_source(self, item: tuple[Ledger, LedgerFile, list[LedgerBlock]]) -> list[Finding]:
        ledger, file, blocks = item
        if ledger.source is not None:
            text = (
                "the source is a table of a database, which keeps no version: that the ranges of keys of all blocks "
                "stand for every row once was checked, and the rows of the source were not compared"
            )
            self.notes.append(Finding("source-not-compared", file.path, text))
            return []
        try:
            if ledger.roots:
                check_inside(file.path, ledger.roots)
            planned = FileMetadata(file.path, file.size_bytes, file.modified_us, file.fingerprint, file.path)
            with closing(open_planned(planned, self._options)) as source:
                if not _is_version(source, file):
                    text = "the source has changed since it was ingested; its rows are those of the version of then"
                    self.notes.append(Finding("source-changed", file.path, text))
                    return []
                if not self._deep:
                    return []
                content = _content(source, blocks)
                return self._compare_digests(content, file, blocks)
        except UsageError as error:
            if error.reason_code == NEEDS_KERNEL:  # not one source cannot be compared, but none
                raise
            if error.reason_code == "path-escapes":
                text = "the ledger names a source outside what was ingested, so it was not looked at"
                return [Finding("path-escapes", file.path, text)]
            self._note_unreadable(file, error)
        except SourceMissingError:
            self.notes.append(Finding("source-missing", file.path, "the source was removed since it was ingested"))
        except SplitscanError as error:
            self._note_unreadable(file, error)
        return []

    def _note_unreadable(self, file: LedgerFile, error: SplitscanError) -> None:
        self.notes.append(Finding("source-unreadable", file.path, str(error).partition("\n")[0]))

    def _compare_digests(self, source: ByteSource, file: LedgerFile, blocks: Iterable[LedgerBlock]) -> list[Finding]:
        found = []
        for block in blocks:
            if not block.digest:
                continue
            self.digests_checked += 1
            if digest_of(source, block.span_start, block.span_stop, block.digest) != block.digest:
                text = f"bytes [{block.span_start}, {block.span_stop}) of the source are not those that were ingested"
                found.append(Finding("source-digest", file.path, text))
        return found


def _keys(ledger: Ledger) -> Iterator[Finding]:
    if ledger.source is not None:
        path = redact(ledger.source.path)
        yield from (Finding("not-accounted", path, fault) for fault in key_faults(ledger.source, ledger.blocks))


def _names_of(ledgers: Iterable[Ledger]) -> set[str]:
    files = {written.name for ledger in ledgers for written in ledger.written}
    folders = {f"{folder}/" for name in files for folder in PurePosixPath(name).parents}
    return files | folders


def _continues(file: LedgerFile, read_to: int) -> Iterator[Finding]:
    """Find what is wrong with where a job went on in a content that other jobs have read up to *read_to*."""
    if file.start > read_to:
        yield Finding("not-accounted", file.path, f"bytes [{read_to}, {file.start}) were read by no job")
    elif file.start < read_to:
        stop = min(read_to, file.size_bytes)
        yield Finding("ingested-twice", file.path, f"bytes [{file.start}, {stop}) were ingested by two jobs")


def _is_version(source: ByteSource, file: LedgerFile) -> bool:
    """Return whether a source is still what was read, or what was read with something after it."""
    if is_prefix_fingerprint(file.fingerprint):
        return has_prefix(source, file.fingerprint)
    return source.fingerprint == file.fingerprint


def _content(source: ByteSource, blocks: Sequence[LedgerBlock]) -> ByteSource:
    """Length of what was read of a source: of its content if it is compressed, up to its damage if it was damaged."""
    if all(block.content_bytes is None for block in blocks):
        return source
    damaged = any(block.damage is not None for block in blocks)
    return recognised_content(source, (lambda _: None) if damaged else None)


def _all(pool: ThreadPoolExecutor, check: Callable[[T], list[Finding]], items: Sequence[T]) -> list[Finding]:
    return [finding for found in pool.map(check, items) for finding in found]
