"""Fill in the boundary index: summaries in parallel, composition in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import TypeAlias, TypeVar

from splitscan.blocks import UNKNOWN_END, BlockMetadata
from splitscan.codecs.contract import ContainerError
from splitscan.errors import InvariantError, SourceMissingError, Where
from splitscan.framing.contract import ContextFormat, Preamble, RecordFormat, Splittability
from splitscan.options import OnFileChange, ReadOptions
from splitscan.options.files import FileOptions
from splitscan.scan.managed_reading import ManagedReading, Reading
from splitscan.splitting.boundaries import FileIndex, Piece, index_file, summarise_block
from splitscan.splitting.contents import open_content
from splitscan.splitting.heads import read_preamble
from splitscan.splitting.index_store import IndexStore
from splitscan.splitting.record_readers import ContextReading
from splitscan.storage import ByteSource, check_unchanged

Summarised: TypeAlias = list[Piece] | None
"""The pieces of a block; ``None`` where its file vanished since it was listed, and may."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class IndexTask:
    """One block to be summarised, with all that takes. Pickling: plain values only."""

    block: BlockMetadata
    preamble: Preamble
    max_record_bytes: int
    files: FileOptions

    def run(self) -> Summarised:
        """Read the block and summarise it; a file may vanish where missing files are ignored."""
        if not isinstance(self.preamble.format, ContextFormat):
            raise InvariantError(f"format {self.preamble.format.name} has no summaries")
        try:
            source = open_content(self.block, self.files, self.preamble.format)
        except SourceMissingError:
            if not self.files.ignore_missing_files:
                raise
            return None
        with closing(source):
            try:
                return summarise_block(
                    source, self.block, self.preamble.format, self.preamble.data_start, self.max_record_bytes
                )
            except ContainerError as error:
                error.locate(Where(self.block.file.path, row=0))  # nothing is delivered before all is summarised
                raise


Indexer = Callable[[Sequence[IndexTask]], Iterable[Summarised]]
"""Runs index tasks, in parallel if it can, and returns their results in the same order."""


def index_in_threads(tasks: Sequence[IndexTask]) -> Iterator[Summarised]:
    """Run index tasks in threads of this process; numpy releases the interpreter lock while it counts."""
    return in_threads(IndexTask.run, tasks)


def in_threads(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Do some work on every item in as many threads as there are cores; the results come in order."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        yield from pool.map(work, items)


def fill_index(
    blocks: Iterable[BlockMetadata],
    format: Reading,
    options: ReadOptions,
    indexer: Indexer | None = None,
    store: IndexStore | None = None,
) -> Iterator[BlockMetadata]:
    """Give every block of a context format its first record start; other blocks pass as they are, one at a time.

    Files of one block need no index, and a file whose index was kept, or whose blocks have it, is not summarised again.
    """
    if isinstance(format, ContextReading | ManagedReading) or format.splittability is not Splittability.CONTEXT:
        yield from blocks
        return
    for file in index_files(blocks, format, options, indexer, store):
        yield from file.blocks


def index_files(
    blocks: Iterable[BlockMetadata],
    format: RecordFormat,
    options: ReadOptions,
    indexer: Indexer | None = None,
    store: IndexStore | None = None,
) -> Iterator[FileIndex]:
    """The index of every file, in order: the blocks of one file are neighbours in *blocks*.

    ``records`` is known only where the file was summarised now: neither for one block, nor with a kept index.
    """
    kept = store or IndexStore()
    files = [
        _Indexing(list(group), format, options, kept) for _, group in groupby(blocks, key=lambda block: block.file.path)
    ]
    tasks = [task for file in files for task in file.prepare()]
    results = iter((indexer or index_in_threads)(tasks)) if tasks else iter(())
    for file in files:
        yield file.finish(results)


class _Indexing:
    """The blocks of one file on their way to their first record starts."""

    def __init__(
        self, blocks: list[BlockMetadata], format: RecordFormat, options: ReadOptions, store: IndexStore
    ) -> None:
        self._blocks = blocks
        self._format = format
        self._options = options
        self._store = store
        self._preamble: Preamble | None = None

    def prepare(self) -> list[IndexTask]:
        """Use a kept index, or say what has to be summarised.

        A file that vanished and may be missing gets no index: whoever reads its blocks finds it missing again.
        """
        if len(self._blocks) == 1 or self._blocks[0].file.content_bytes == UNKNOWN_END:
            return []  # whoever reads a share of such content passes all that comes before it
        if all(block.first_record_start is not None for block in self._blocks):
            return []  # of a file that grows: whoever cut it has found them
        try:
            return self._tasks()
        except SourceMissingError:
            if not self._options.files.ignore_missing_files:
                raise
            return []

    def _tasks(self) -> list[IndexTask]:
        reading = self._options.reading
        with closing(self._open()) as source:
            self._check_unchanged(source)
            max_record_bytes = reading.max_record_bytes
            kept = self._store.load(source, self._blocks, self._format, max_record_bytes)
            if kept is not None:
                self._blocks = kept
                return []
            self._preamble = read_preamble(source, self._blocks[0].file, self._format)
        files = self._options.files
        return [IndexTask(block, self._preamble, max_record_bytes, files) for block in self._blocks]

    def finish(self, results: Iterator[Summarised]) -> FileIndex:
        """Compose the summaries of this file, which are next in *results*; where one is missing, the file is."""
        if self._preamble is None:
            return FileIndex(self._blocks)
        summarised = list(islice(results, len(self._blocks)))
        known = [pieces for pieces in summarised if pieces is not None]
        if len(known) < len(summarised):
            return FileIndex(self._blocks)
        try:
            source = self._open()
        except SourceMissingError:
            if not self._options.files.ignore_missing_files:
                raise
            return FileIndex(self._blocks)
        reading = self._options.reading
        with closing(source):
            index = index_file(
                source,
                self._blocks,
                self._preamble,
                chain.from_iterable(known),
                max_record_bytes=reading.max_record_bytes,
                read_bytes=reading.read_bytes,
            )
            self._check_unchanged(source)
            self._store.save(source, index.blocks, self._format, reading.max_record_bytes)
        return index

    def _check_unchanged(self, source: ByteSource) -> None:
        """An index of another version of the file would be no index."""
        if self._options.files.on_file_change is OnFileChange.FAIL:
            check_unchanged(self._blocks[0].file, source)

    def _open(self) -> ByteSource:
        return open_content(self._blocks[0], self._options.files, self._format)
