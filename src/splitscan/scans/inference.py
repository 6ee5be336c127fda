"""Find a schema in the data: summarise all records, or those of a sample, and merge what they show."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata
from splitscan.content.archives.opening import open_listed
from splitscan.content.kept import SummaryStore, is_settled
from splitscan.content.storage import check_unchanged
from splitscan.errors import Advice, SourceChangedError, SourceMissingError
from splitscan.formats.contract import FoundSchema, Head, Summaries, spread
from splitscan.formats.decoding.contract import deliverable
from splitscan.formats.framing.contract import Preamble, Splittability
from splitscan.formats.framing.frames import Frames, records_of
from splitscan.formats.merge import merge_schemas
from splitscan.formats.registry import format_of, record_format
from splitscan.options import OnFileChange, ReadOptions
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.block_scan import in_threads, open_reader
from splitscan.reading.contents import head_of, open_content, open_file, open_planned_file
from splitscan.reading.cursor import RecordChunk
from splitscan.reading.framework import OutputPlan, ReaderPlan, ScanOperator
from splitscan.reading.own_formats import ManagedReading
from splitscan.reading.spec import ScanSpec, make_spec
from splitscan.scans.cutting import BlockLengths
from splitscan.scans.index import Indexer, ReadsBlock, index_by_reading, probable_start
from splitscan.scans.tasks import TaskPlanner
from splitscan.sizes import KIB, format_size

_LOG = logging.getLogger("splitscan")
_THREADS = 8  # mostly waiting for the storage
_HEADER_BYTES = 64 * KIB  # of a file that is asked for its header only; a longer header is read to its end
_PIECES = 256  # of a sample of files that are too large to be read whole
_LEAST_PIECE_BYTES = 64 * KIB
T = TypeVar("T")


class Workers(NamedTuple):
    """Workers that read the data in which columns are looked for.

    Attributes:
        run: Does some work on every block, in parallel if it can, and returns in the same order what it answers: JSON
            values.
    """

    run: Callable[[Callable[[BlockMetadata], Any], Sequence[BlockMetadata]], Iterable[Any]]
    indexer: Indexer | None = None


WORKERS_HERE = Workers(in_threads)
"""The cores of this machine."""


def infer_schema(
    options: ReadOptions,
    files: Sequence[FileMetadata],
    *,
    names_all: bool = False,
    workers: Workers = WORKERS_HERE,
) -> FoundSchema:
    """The schema of a scan for which none was given; without columns if no file has a record to take them from.

    What a format looks at, and which types it finds, its own ``infer`` says. The result does not depend on the order
    in which files are listed; see :func:`splitscan.formats.merge.merge_schemas`. What records show is
    kept: the same files are not read again for it.
    """
    return format_of(options).infer(options.format, options, _Heads(options, files, names_all, workers))


class _Heads:
    """The heads of the files of a scan, or all of them."""

    def __init__(
        self,
        options: ReadOptions,
        files: Sequence[FileMetadata],
        names_all: bool = False,
        workers: Workers = WORKERS_HERE,
    ) -> None:
        self._options, self._names_all, self._workers = options, names_all, workers
        self.files = files

    @cached_property
    def _finds_types(self) -> bool:
        """True if the values of all records are to be looked at."""
        options = self._options
        finds_types = options.reading.infer_schema or format_of(options).shows_columns
        return finds_types and not options.samples

    @cached_property
    def _is_too_much(self) -> bool:
        """True if they are more than ``inferBytes``; says so, as nobody asked for a sample."""
        total, most = sum(file.size_bytes for file in self.files), self._options.reading.infer_bytes
        if total <= most:
            return False
        spread_over = "all files" if len(self.files) <= self._pieces else f"{len(self.chosen):,} of the files"
        _LOG.warning(
            "the schema is found in a sample of about %s, spread over %s: there are %s, more than inferBytes. A "
            "value that does not fit is null; %s",
            format_size(self._pieces * self._piece_bytes),
            spread_over,
            format_size(total),
            Advice("give a schema, or raise inferBytes"),
        )
        return True

    @property
    def _piece_bytes(self) -> int:
        return max(_LEAST_PIECE_BYTES, self._options.reading.infer_bytes // _PIECES)

    @property
    def _pieces(self) -> int:
        return max(self._options.schema.sample_files, self._options.reading.infer_bytes // self._piece_bytes)

    @cached_property
    def chosen(self) -> Sequence[FileMetadata]:
        if not self._finds_types:
            return spread(self.files, self._options.schema.sample_files)
        total = sum(file.size_bytes for file in self.files)
        return spread(self.files, len(self.files) if total <= self._options.reading.infer_bytes else self._pieces)

    def read(
        self,
        files: Sequence[FileMetadata],
        options: ReadOptions,
        columns: Mapping[str, pa.Schema],
        summarise: Callable[[Iterator[pa.RecordBatch], pa.Schema], T],
        kept: Summaries[T],
    ) -> list[tuple[FileMetadata, T]]:
        if self._finds_types and self._is_too_much:
            reading = options.reading
            brief = replace(reading, read_bytes=min(reading.read_bytes, self._piece_bytes))
            options = replace(options, reading=brief)
        specs = {path: make_spec(options, schema) for path, schema in columns.items()}
        look = partial(_summarise_rows, specs, columns, summarise)
        if not self._finds_types:
            blocks = [self._head_of(file, options, options.reading.sampling_bytes) for file in files]
            return _by_file(zip(blocks, (summary for summary, _ in in_threads(look, blocks)), strict=True), kept)
        return self._kept_or_found(files, look, kept)

    def parts(self, at: Callable[[Head], T], kept: Summaries[T]) -> list[tuple[FileMetadata, T]]:
        if not self._finds_types:
            return self.look(self.chosen, at)
        return self._kept_or_found(self.chosen, partial(_look_at, self._options, at), kept)

    def _kept_or_found(
        self, files: Sequence[FileMetadata], look: Callable[[BlockMetadata], tuple[T, ByteRange]], kept: Summaries[T]
    ) -> list[tuple[FileMetadata, T]]:
        """The summary of each file that is still there; of one that was found before, without a look at it."""
        sample = [(file.path, file.fingerprint) for file in self.files] if self._is_too_much else None
        work = partial(_summarise, look, kept.plain, self._options.files.ignore_missing_files)

        def find(unknown: Sequence[FileMetadata]) -> list[tuple[FileMetadata, T]]:
            answers = self._answers_of_sample(unknown, work) if self._is_too_much else self._answers(unknown, work)
            return _by_file(((block, kept.of_plain(plain[0])) for block, plain in answers if plain), kept)

        return self._known_or_found(files, find, kept, sample)

    def _known_or_found(
        self,
        files: Sequence[FileMetadata],
        find: Callable[[Sequence[FileMetadata]], list[tuple[FileMetadata, T]]],
        kept: Summaries[T],
        sample: object = None,
    ) -> list[tuple[FileMetadata, T]]:
        """The summaries that were kept, and of all other files those that are found now, which are kept."""
        store = SummaryStore(_what_decides(self._options, kept.what, sample))
        known = {path: kept.of_plain(plain) for path, plain in store.load(files).items()}
        found = find([file for file in files if file.path not in known])
        self._keep(store, [(file, kept.plain(summary)) for file, summary in found])
        known.update((file.path, summary) for file, summary in found)
        return [(file, known[file.path]) for file in files if file.path in known]

    def _answers(self, files: Sequence[FileMetadata], work: ReadsBlock) -> Iterator[tuple[BlockMetadata, list[Any]]]:
        """Findings in all of the files, cut for threads; what cannot be entered is decompressed once."""
        options, format = self._options, record_format(self._options)
        blocks = list(TaskPlanner(files, options.files).blocks(format, most_shares=1))
        return index_by_reading(blocks, format, options, work, *self._workers)

    def _answers_of_sample(
        self, files: Sequence[FileMetadata], work: ReadsBlock
    ) -> Iterator[tuple[BlockMetadata, list[Any]]]:
        blocks = list(self._sampled_blocks(files))
        return zip(blocks, self._workers.run(work, blocks), strict=True)

    def _sampled_blocks(self, files: Sequence[FileMetadata]) -> Iterator[BlockMetadata]:
        """The head of each file, and as many pieces from the middle of files as there is room for."""
        options, format, piece_bytes = self._options, record_format(self._options), self._piece_bytes
        more, total = max(1, self._pieces - len(files)), sum(file.size_bytes for file in files)
        lengths = BlockLengths(max(piece_bytes, total // more))
        cut = TaskPlanner(files, options.files, lengths=lengths).blocks(format, most_shares=1)
        for block in cut:
            piece = replace(block, stop=min(block.stop, block.start + piece_bytes))
            if not block.index:
                yield self._head_of(block.file, options, piece_bytes)
            elif format.splittability is Splittability.CONTEXT:
                yield from self._entered(piece)
            else:
                yield piece

    def _entered(self, piece: BlockMetadata) -> Iterator[BlockMetadata]:
        """The piece with its first record start, if what is right before it tells where that is."""
        reading = self._options.reading
        brief = replace(reading, read_bytes=min(reading.read_bytes, self._piece_bytes))
        start = probable_start(piece, record_format(self._options), replace(self._options, reading=brief))
        if start is not None:
            yield piece.starting_at(start)

    def _keep(self, store: SummaryStore, found: Sequence[tuple[FileMetadata, Any]]) -> None:
        """Keep what was found in files, if these are still those that were listed."""
        options, files = self._options.files, [file for file, _ in found if is_settled(file)]

        def check(file: FileMetadata) -> None:
            with closing(open_listed(file, options.storage_options)) as source:
                check_unchanged(file, source)

        if options.on_file_change is OnFileChange.FAIL:
            with suppress(SourceChangedError, SourceMissingError):
                list(in_threads(check, files, _THREADS))
                store.save(files, {file.path: plain for file, plain in found})

    def _head_of(self, file: FileMetadata, options: ReadOptions, most_bytes: int) -> BlockMetadata:
        with closing(open_file(file, options.files, record_format(options))) as source:
            return head_of(file, source, most_bytes)

    def look(self, files: Sequence[FileMetadata], at: Callable[[Head], T]) -> list[tuple[FileMetadata, T]]:
        def look_at(file: FileMetadata) -> list[tuple[FileMetadata, T]]:
            try:
                head = self._head_of(file, self._options, self._options.reading.sampling_bytes)
                with closing(_Head(self._options, head)) as part:
                    return [(file, at(part))]
            except SourceMissingError:
                if not self._options.files.ignore_missing_files:
                    raise
                return []

        looked = map(look_at, files) if len(files) < 2 else in_threads(look_at, files, min(_THREADS, len(files)))
        return list(chain.from_iterable(looked))

    def look_for_names(
        self, sampled: Sequence[FileMetadata], at: Callable[[Head], T], kept: Summaries[T]
    ) -> list[tuple[FileMetadata, T]]:
        look = partial(self.look, at=at)
        found = self._known_or_found(sampled, look, kept) if self._finds_types else look(sampled)
        if not self._names_all:
            return found
        paths = {file.path for file in sampled}
        others = [file for file in self.files if file.size_bytes and file.path not in paths]
        reading = self._options.reading
        brief = replace(reading, sampling_bytes=min(reading.sampling_bytes, _HEADER_BYTES))
        found += _Heads(replace(self._options, reading=brief), others).look(others, at)
        return sorted(found, key=lambda each: each[0].path)


def _what_decides(options: ReadOptions, what: str, sample: object) -> str:
    """Key of everything that a summary of given bytes depends on."""
    reading = replace(options.reading, columns=None, metadata_columns=(), limit=None)
    return repr((what, options.format, reading, options.files.source_compression, sample))


def _summarise_rows(
    specs: Mapping[str, ScanSpec],
    columns: Mapping[str, pa.Schema],
    summarise: Callable[[Iterator[pa.RecordBatch], pa.Schema], T],
    block: BlockMetadata,
) -> tuple[T, ByteRange]:
    path = block.file.path
    reader = open_reader(specs[path], block)
    summary = summarise(iter(reader), columns[path])
    return summary, ByteRange(reader.report.span_start, reader.report.span_stop)


def _look_at(options: ReadOptions, at: Callable[[Head], T], block: BlockMetadata) -> tuple[T, ByteRange]:
    with closing(_Head(options, block)) as part:
        return at(part), part.span


def _summarise(
    look: Callable[[BlockMetadata], tuple[T, ByteRange]],
    plain: Callable[[T], Any],
    may_vanish: bool,
    block: BlockMetadata,
) -> list[Any]:
    """See :data:`splitscan.scans.index.ReadsBlock`."""
    try:
        summary, span = look(block)
        return [plain(summary), *span]
    except SourceMissingError:
        if not may_vanish:
            raise
        return []


def _by_file(found: Iterable[tuple[BlockMetadata, T]], kept: Summaries[T]) -> list[tuple[FileMetadata, T]]:
    """One summary of each file; the blocks of a file are neighbours."""
    merged: dict[str, tuple[FileMetadata, T]] = {}
    for block, summary in found:
        path = block.file.path
        merged[path] = (block.file, kept.merge(merged[path][1], summary) if path in merged else summary)
    return list(merged.values())


class _Head:
    """The first bytes of one file, or another block of it; it is opened when it is asked for something."""

    def __init__(self, options: ReadOptions, block: BlockMetadata) -> None:
        self._options, self._block = options, block
        self._opened = ExitStack()
        self.file = block.file

    @cached_property
    def _reader(self) -> FramedRecords:
        format, reading = record_format(self._options), self._options.reading
        source = self._opened.enter_context(closing(open_content(self._block, self._options.files, format)))
        return FramedRecords(
            source,
            self._block,
            format,
            max_record_bytes=reading.max_record_bytes,
            read_bytes=min(reading.read_bytes, max(1, self._block.length_bytes)),
        )

    @property
    def preamble(self) -> Preamble:
        return self._reader.preamble

    def frames(self) -> Iterator[tuple[memoryview, Frames]]:
        for step in self._reader:
            if isinstance(step, RecordChunk):
                yield step.data, step.frames

    def records(self) -> Iterator[bytes]:
        for data, frames in self.frames():
            yield from records_of(data, frames)

    @property
    def span(self) -> ByteRange:
        """The bytes of its records, once they were read to the end."""
        return self._reader.span

    def close(self) -> None:
        """Close the file."""
        self._opened.close()


def discover_schema(reading: ManagedReading, options: ReadOptions, files: Sequence[FileMetadata]) -> FoundSchema:
    """The columns of files, in types that every engine has.

    A reader that declares its columns in ``open`` is asked for no row; another one is read for ``sampleBytes`` of rows.
    """
    sampled = spread(files, options.schema.sample_files)
    merged = merge_schemas((file.path, deliverable(_schema_of(reading, options, file))) for file in sampled)
    return FoundSchema(merged.schema, merged, len(sampled))


def _schema_of(reading: ManagedReading, options: ReadOptions, file: FileMetadata) -> pa.Schema:
    if reading.schema is not None:
        return reading.schema
    reader = ReaderPlan(
        reading.make(),
        BlockMetadata(file, 0, file.size_bytes, 0),
        lambda: open_planned_file(file, options.files, reading),
        options,
        read_bytes=min(options.reading.read_bytes, options.reading.sampling_bytes),
    )
    ignore_missing = options.files.ignore_missing_files
    plan = OutputPlan(None, batch_bytes=options.reading.sampling_bytes, ignore_missing=ignore_missing)
    return ScanOperator(plan, reader).find_schema()
