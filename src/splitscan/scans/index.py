"""The boundary index: the first record start of every block, where a format needs context to find it.

Who reads all of a file anyway gets the index of it for nothing (:func:`index_by_reading`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from typing import Any, TypeAlias, TypeVar, cast

from splitscan.blocks import UNKNOWN_END, BlockMetadata, FileMetadata
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.kept import IndexStore, KeptIndex
from splitscan.content.storage import ByteSource, check_unchanged
from splitscan.errors import InvariantError, SourceMissingError, SplitscanError, Where
from splitscan.formats.contract import Suspects
from splitscan.formats.framing.contract import Preamble, RecordFormat, Splittability, has
from splitscan.formats.registry import format_of
from splitscan.options import OnFileChange, ReadOptions
from splitscan.options.files import FileOptions
from splitscan.reading.block_scan import in_threads, is_at_hand
from splitscan.reading.boundaries import FileIndex, Piece, find_start_nearby, guess_start, index_file, summarise_block
from splitscan.reading.contents import open_content, read_preamble
from splitscan.reading.cursor import Records
from splitscan.reading.own_formats import Reading

R = TypeVar("R")

Summarised: TypeAlias = list[Piece] | None
"""The pieces of a block; ``None`` where its file vanished since it was listed, and may."""


@dataclass(frozen=True)
class IndexTask:
    """One block to be summarised, with all that takes. Pickling: plain values only."""

    block: BlockMetadata
    preamble: Preamble
    max_record_bytes: int
    files: FileOptions
    suspects: Suspects | None = None

    def run(self) -> Summarised:
        """Read the block and summarise it; a file may vanish where missing files are ignored."""
        format = self.preamble.format
        if not has(format, "summarise"):
            raise InvariantError(f"format {format.name} has no summaries")
        given = self.block, format, self.preamble.data_start, self.max_record_bytes, self.suspects
        return self._look(lambda source: summarise_block(source, *given))

    def find_start(self, read_bytes: int) -> int | None:
        """Offset of the first record, if what is right before the block tells, and its file is still there."""
        return self._look(
            lambda source: find_start_nearby(
                Records(source, self.block.file, self.preamble, self.max_record_bytes, read_bytes), self.block
            )
        )

    def _look(self, look: Callable[[ByteSource], R]) -> R | None:
        try:
            source = open_content(self.block, self.files, self.preamble.format)
        except SourceMissingError:
            if not self.files.ignore_missing_files:
                raise
            return None
        with closing(source):
            try:
                return look(source)
            except ContainerError as error:
                error.locate(Where(self.block.file.path, row=0))  # nothing is delivered before all is planned
                raise


LONGEST_READ_TWICE_BYTES = 1 << 30
"""A longer file may come from the disk both times, and its first row comes late."""


def is_worth_summarising(file: FileMetadata) -> bool:
    """True if summaries pay, where they are not needed: what they find spares readers work, now and next time."""
    return file.size_bytes <= LONGEST_READ_TWICE_BYTES and is_at_hand(file)


_LOOKING_THREADS = 16  # mostly waiting for the storage
_FEW_BLOCKS = 4  # looked at in turn: that takes less time than to start threads

Indexer = Callable[[Sequence[IndexTask]], Iterable[Summarised]]
"""Runs index tasks, in parallel if it can, and returns their results in the same order."""


OnBytes = Callable[[int], None]
"""Is told how many bytes were read, each time that some were."""


def index_here(tasks: Sequence[IndexTask], on_bytes: OnBytes | None = None) -> Iterator[Summarised]:
    """Run index tasks on all cores of this machine; *on_bytes* is told of the bytes of each."""
    for task, summarised in zip(tasks, in_threads(IndexTask.run, tasks), strict=True):
        if on_bytes is not None:
            on_bytes(task.block.cost_bytes)
        yield summarised


def fill_index(
    blocks: Iterable[BlockMetadata],
    format: Reading,
    options: ReadOptions,
    indexer: Indexer | None = None,
) -> Iterator[BlockMetadata]:
    """Give every block of a context format its first record start; other blocks pass as they are, one at a time.

    Files of one block need no index, and a file whose index was kept, or whose blocks have it, is not summarised again.
    """
    if format.splittability is not Splittability.CONTEXT:
        yield from blocks
        return
    finder = cast(RecordFormat, format)  # readers of the user's own never need context
    for file in index_files(blocks, finder, options, indexer, wants_records=False):
        yield from file.blocks


def index_files(
    blocks: Iterable[BlockMetadata],
    format: RecordFormat,
    options: ReadOptions,
    indexer: Indexer | None = None,
    *,
    wants_records: bool = True,
) -> Iterator[FileIndex]:
    """The index of every file, in order: the blocks of one file are neighbours in *blocks*.

    ``records`` is known only where the file was summarised, now or when its index was kept by a count: neither for one
    block, nor unless it is wanted where the start of every block can be told by what is right before it.
    """
    files = [
        _Indexing(list(group), format, options, wants_records=wants_records)
        for _, group in groupby(blocks, key=lambda block: block.file.path)
    ]
    tasks = [task for file in files for task in file.prepare()]
    results = iter((indexer or index_here)(tasks)) if tasks else iter(())
    for file in files:
        yield file.finish(results)


ReadsBlock: TypeAlias = Callable[[BlockMetadata], list[Any]]
"""Reads a block to its end. Returns JSON values: what it found, and first byte and first byte after its span; none of
them where its file is gone, and may be."""

RunsReads: TypeAlias = Callable[[ReadsBlock, Sequence[BlockMetadata]], Iterable[list[Any]]]
"""Reads every block, in parallel if it can, and returns the answers in the same order."""


def index_by_reading(
    blocks: Sequence[BlockMetadata],
    format: Reading,
    options: ReadOptions,
    read: ReadsBlock,
    run: RunsReads,
    indexer: Indexer | None = None,
) -> Iterator[tuple[BlockMetadata, list[Any]]]:
    """Read all blocks of files, with no pass before that to find where the first record of each starts.

    A block of a context format is entered where a record probably starts. That was right if its span begins where that
    of the block before it ends. If all were right, their starts are the index of the file, and are kept; else the index
    is found as always, and the blocks that were entered elsewhere are read again.

    Args:
        blocks: The blocks of one file are all there, and neighbours.
    """
    if format.splittability is not Splittability.CONTEXT:
        yield from zip(blocks, run(read, blocks), strict=True)
        return
    finder = cast(RecordFormat, format)
    groups = groupby(blocks, key=lambda block: block.file.path)
    files = [_Indexing(list(group), finder, options, wants_records=False) for _, group in groups]
    answers = iter(
        run(partial(_enter, finder, options, read), [block for file in files for block in file.prepare_reading()])
    )
    for file in files:
        found = list(islice(answers, len(file.blocks)))
        if file.take_spans(found):
            yield from zip(file.blocks, found, strict=True)
            continue
        known = list(fill_index(file.blocks, format, options, indexer))
        again = iter(
            run(read, [block for block, answer in zip(known, found, strict=True) if not _is_of(answer, block)])
        )
        for block, answer in zip(known, found, strict=True):
            yield block, answer if _is_of(answer, block) else next(again)


def _enter(format: RecordFormat, options: ReadOptions, read: ReadsBlock, block: BlockMetadata) -> list[Any]:
    """Read a block from where its first record probably starts; nothing where nothing tells that."""
    if not _needs_start(block):
        return read(block)
    try:
        start = probable_start(block, format, options, guesses=True)
        return [] if start is None else read(block.starting_at(start))
    except SplitscanError:
        return []  # of bytes that may be no records; if they are, it is raised when the block is read again


def _needs_start(block: BlockMetadata) -> bool:
    return block.start > 0 and block.first_record_start is None and block.file.content_bytes != UNKNOWN_END


def _is_of(answer: list[Any], block: BlockMetadata) -> bool:
    """True if that was found in this block, and not in bytes that begin elsewhere."""
    return bool(answer) and (not block.start or answer[1] == block.first_record_start)


def probable_start(
    block: BlockMetadata, format: RecordFormat, options: ReadOptions, *, guesses: bool = False
) -> int | None:
    """Offset of the first record of a block that is not its file's first, by a look at the bytes around its start.

    ``None`` where nothing tells it; with *guesses* what is probable counts, where the bytes do not tell it for sure.
    """
    reading = options.reading
    with closing(open_content(block, options.files, format)) as source:
        preamble = read_preamble(source, block.file, format)
        records = Records(source, block.file, preamble, reading.max_record_bytes, reading.read_bytes)
        start = find_start_nearby(records, block)
        return guess_start(records, block) if start is None and guesses else start


class _Indexing:
    """The blocks of one file on their way to their first record starts."""

    def __init__(
        self,
        blocks: list[BlockMetadata],
        format: RecordFormat,
        options: ReadOptions,
        *,
        wants_records: bool,
    ) -> None:
        self._blocks = blocks
        self._format = format
        self._options = options
        self._wants_records = wants_records
        self._preamble: Preamble | None = None
        self._counted: FileIndex | None = None

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        """The blocks, as far as they are known."""
        return self._blocks

    def prepare_reading(self) -> Sequence[BlockMetadata]:
        """Use a kept index, if there is one; a file that vanished is found missing again by whoever reads it."""
        if any(map(_needs_start, self._blocks)):
            with suppress(SourceMissingError), closing(self._open()) as source:
                self._take_kept(source)
        return self._blocks

    def take_spans(self, answers: Sequence[list[Any]]) -> bool:
        """Take first record starts from spans; ``True`` if each begins where the one before it ends, or is known."""
        if not any(map(_needs_start, self._blocks)):
            return True
        pairs = list(zip(answers, answers[1:], self._blocks[1:], strict=False))
        if not all(one and other and one[2] == other[1] >= block.start for one, other, block in pairs):
            return False
        with suppress(SourceMissingError), closing(self._open()) as source:
            starts = [self._read_preamble(source).data_start]
            starts += [answer[2] for answer in answers[:-1]]
            self._blocks = [block.starting_at(start) for block, start in zip(self._blocks, starts, strict=True)]
            self._keep(source, KeptIndex(self._blocks))
        return True

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
        max_record_bytes = self._options.reading.max_record_bytes
        with closing(self._open()) as source:
            if self._take_kept(source):
                return []
            preamble = self._read_preamble(source)
        files = self._options.files
        suspects = self._suspects(preamble) if self._wants_records else None
        tasks = [IndexTask(block, preamble, max_record_bytes, files, suspects) for block in self._blocks]
        if not (self._wants_records or is_worth_summarising(self._blocks[0].file)) and self._finds_starts(tasks):
            return []
        self._preamble = preamble
        return tasks

    def _suspects(self, preamble: Preamble) -> Suspects | None:
        return format_of(self._options).suspects(self._options.format, preamble)

    def _take_kept(self, source: ByteSource) -> bool:
        """Use the index that was kept, if there is one."""
        self._check_unchanged(source)
        kept = IndexStore().load(source, self._blocks, repr(self._format), self._options.reading.max_record_bytes)
        if kept is None:
            return False
        self._blocks = kept.blocks
        if self._wants_records and self._keeps_counts and kept.records is not None:
            preamble = self._read_preamble(source)
            if kept.counted == self._counted_by(preamble):
                self._counted = FileIndex(self._blocks, kept.records, preamble)
        return True

    @property
    def _keeps_counts(self) -> bool:
        """True if a file that is not as it was listed is an error: a count depends on every byte of it."""
        return self._options.files.on_file_change is OnFileChange.FAIL

    def _counted_by(self, preamble: Preamble) -> str:
        """Describe all a count depends on besides the index: where records begin, what would have been odd in them."""
        return repr((preamble.data_start, self._suspects(preamble)))

    def _read_preamble(self, source: ByteSource) -> Preamble:
        return read_preamble(source, self._blocks[0].file, self._format)

    def _finds_starts(self, tasks: Sequence[IndexTask]) -> bool:
        """Find all starts by what is right before each block; ``False`` if that does not tell one of them.

        The second block is asked first: what it shows, most others do.
        """
        find = partial(IndexTask.find_start, read_bytes=self._options.reading.read_bytes)
        if find(tasks[1]) is None:
            return False
        starts = list(in_threads(find, tasks, _LOOKING_THREADS) if len(tasks) > _FEW_BLOCKS else map(find, tasks))
        if None in starts:
            return False
        self._blocks = [
            block.starting_at(start) for block, start in zip(self._blocks, starts, strict=True) if start is not None
        ]
        return True

    def finish(self, results: Iterator[Summarised]) -> FileIndex:
        """Compose the summaries of this file, which are next in *results*; where one is missing, the file is."""
        if self._preamble is None:
            return self._counted or FileIndex(self._blocks)
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
            file, max_record_bytes = self._blocks[0].file, reading.max_record_bytes
            records = Records(source, file, self._preamble, max_record_bytes, reading.read_bytes)
            index = index_file(records, self._blocks, chain.from_iterable(known))
            plain = not (index.suspect or index.given_up.records)
            if self._wants_records and self._keeps_counts and plain:
                self._keep(source, KeptIndex(index.blocks, index.records, self._counted_by(self._preamble)))
            else:
                self._keep(source, KeptIndex(index.blocks))
        return index

    def _keep(self, source: ByteSource, index: KeptIndex) -> None:
        self._check_unchanged(source)
        IndexStore().save(source, index, repr(self._format), self._options.reading.max_record_bytes)

    def _check_unchanged(self, source: ByteSource) -> None:
        """An index of another version of the file would be no index."""
        if self._options.files.on_file_change is OnFileChange.FAIL:
            check_unchanged(self._blocks[0].file, source)

    def _open(self) -> ByteSource:
        return open_content(self._blocks[0], self._options.files, self._format)
