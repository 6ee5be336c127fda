"""Find a schema in the data: look at the heads of some files, and merge what they show."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TypeVar

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import SourceMissingError
from splitscan.formats.contract import FoundSchema, Head, ShapedFormat, spread
from splitscan.formats.decoding.types import deliverable
from splitscan.formats.framing.contract import Preamble
from splitscan.formats.framing.frames import Frames, records_of
from splitscan.formats.merge import Evidence, merge_schemas
from splitscan.formats.registry import format_of, record_format
from splitscan.options import ReadOptions
from splitscan.read.block_reader import FramedRecords
from splitscan.read.contents import head_of, open_content, open_file
from splitscan.read.cursor import Framed
from splitscan.scan.block_scan import in_threads, open_reader
from splitscan.scan.framework import OutputPlan, ReaderPlan, ScanOperator
from splitscan.scan.own_formats import ManagedReading
from splitscan.scan.planning import AS_THE_OPTIONS_SAY, Cuts, fill_index
from splitscan.scan.spec import make_spec
from splitscan.sizes import KIB, format_size

_LOG = logging.getLogger("splitscan")
_THREADS = 8  # mostly waiting for the storage
_HEADER_BYTES = 64 * KIB  # of a file that is asked for its header only; a longer header is read to its end
T = TypeVar("T")


def infer_schema(options: ReadOptions, files: Sequence[FileMetadata], *, names_all: bool = False) -> FoundSchema:
    """The schema of a scan for which none was given; without columns if no file has a record to take them from.

    What a format looks at, and which types it finds, its own ``infer`` says. The result does not depend on the order
    in which files are listed; see :func:`splitscan.formats.merge.merge_schemas`.

    Args:
        options: What the user said.
        files: The files.
        names_all: Whether the names in the header of every file count, and not only in those of a sample.

    Raises:
        SchemaError: If files disagree in a way that the options do not allow.
        SourceError: If a file cannot be read.
    """
    return format_of(options).infer(options.format, options, _Heads(options, files, names_all))


class _Heads:
    """The heads of the files of a scan."""

    def __init__(self, options: ReadOptions, files: Sequence[FileMetadata], names_all: bool = False) -> None:
        self._options, self._names_all = options, names_all
        self.files = files

    @cached_property
    def reads_all(self) -> bool:
        """Whether the values of all records are looked at; says so where they are not, though nobody asked for that."""
        options, total = self._options, sum(file.size_bytes for file in self.files)
        if options.samples or not (options.reading.infer_schema or isinstance(format_of(options), ShapedFormat)):
            return False
        if total > options.reading.infer_bytes:
            _LOG.warning(
                "the schema is found in a sample: there are %s, more than inferBytes=%s. A value that does not fit "
                "is null; give a schema, or raise inferBytes",
                format_size(total),
                format_size(options.reading.infer_bytes),
            )
            return False
        return True

    @cached_property
    def chosen(self) -> Sequence[FileMetadata]:
        """The files whose values are looked at, by path."""
        return spread(self.files, len(self.files) if self.reads_all else self._options.schema.sample_files)

    def read(
        self,
        files: Sequence[FileMetadata],
        options: ReadOptions,
        columns: Mapping[str, pa.Schema],
        summarise: Callable[[Iterator[pa.RecordBatch], pa.Schema], T],
    ) -> list[tuple[FileMetadata, list[T]]]:
        """Summarise the records of files, each file in parts, side by side: all of them, or those of its head."""
        specs = {path: make_spec(options, schema) for path, schema in columns.items()}

        def summarise_block(block: BlockMetadata) -> T:
            path = block.file.path
            return summarise(iter(open_reader(specs[path], block)), columns[path])

        blocks = self._blocks(files, options) if self.reads_all else [self._head_of(file, options) for file in files]
        return _by_file(files, blocks, in_threads(summarise_block, blocks))

    def parts(self, at: Callable[[Head], T]) -> list[tuple[FileMetadata, list[T]]]:
        """What *at* finds in each part of the chosen files, side by side: in all of them, or in their heads."""
        if not self.reads_all:
            return [(file, [found]) for file, found in self.look(self.chosen, at)]

        def look_at(block: BlockMetadata) -> list[T]:
            try:
                with closing(_Head(self._options, block, block.file, self._options.reading.read_bytes)) as part:
                    return [at(part)]
            except SourceMissingError:
                if not self._options.files.ignore_missing_files:
                    raise
                return []

        blocks = self._blocks(self.chosen, self._options)
        found = _by_file(self.chosen, blocks, in_threads(look_at, blocks))
        return [(file, list(chain.from_iterable(parts))) for file, parts in found]

    def _blocks(self, files: Sequence[FileMetadata], options: ReadOptions) -> list[BlockMetadata]:
        """All of the files, cut for threads."""
        format = record_format(options)
        return list(fill_index(Cuts(files, options.files, False, AS_THE_OPTIONS_SAY).blocks(format), format, options))

    def _head_of(self, file: FileMetadata, options: ReadOptions) -> BlockMetadata:
        with closing(open_file(file, options.files, record_format(options))) as source:
            return head_of(file, source, options.reading.sampling_bytes)

    def look(self, files: Sequence[FileMetadata], at: Callable[[Head], T]) -> list[tuple[FileMetadata, T]]:
        """Look at the head of every file, some at a time; without files that vanished, where they may."""

        def look_at(file: FileMetadata) -> list[tuple[FileMetadata, T]]:
            try:
                block, reading = self._head_of(file, self._options), self._options.reading
                with closing(_Head(self._options, block, file, reading.sampling_bytes)) as head:
                    return [(file, at(head))]
            except SourceMissingError:
                if not self._options.files.ignore_missing_files:
                    raise
                return []

        if len(files) < 2:
            return [found for file in files for found in look_at(file)]
        with ThreadPoolExecutor(min(_THREADS, len(files)), thread_name_prefix="splitscan-sample") as pool:
            return [found for each in pool.map(look_at, files) for found in each]

    def look_for_names(self, sampled: Sequence[FileMetadata], at: Callable[[Head], T]) -> list[tuple[FileMetadata, T]]:
        """Look at the heads of *sampled*; where all names count, at the first bytes of all other files too."""
        found = self.look(sampled, at)
        if not self._names_all:
            return found
        known = {file.path for file in sampled}
        others = [file for file in self.files if file.size_bytes and file.path not in known]
        reading = self._options.reading
        brief = replace(reading, sampling_bytes=min(reading.sampling_bytes, _HEADER_BYTES))
        found += _Heads(replace(self._options, reading=brief), others).look(others, at)
        return sorted(found, key=lambda each: each[0].path)


def _by_file(
    files: Sequence[FileMetadata], blocks: Sequence[BlockMetadata], found: Iterable[T]
) -> list[tuple[FileMetadata, list[T]]]:
    """What was found in blocks, by their files."""
    parts: dict[str, list[T]] = {file.path: [] for file in files}
    for block, each in zip(blocks, found, strict=True):
        parts[block.file.path].append(each)
    return [(file, parts[file.path]) for file in files]


class _Head:
    """The first bytes of one file, or another block of it; it is opened when it is asked for something."""

    def __init__(self, options: ReadOptions, block: BlockMetadata, file: FileMetadata, read_bytes: int) -> None:
        self._options, self._read_bytes = options, read_bytes
        self._opened = ExitStack()
        self.file = file
        self._block = block

    @cached_property
    def _reader(self) -> FramedRecords:
        format, reading = record_format(self._options), self._options.reading
        source = self._opened.enter_context(closing(open_content(self._block, self._options.files, format)))
        return FramedRecords(
            source,
            self._block,
            format,
            max_record_bytes=reading.max_record_bytes,
            read_bytes=self._read_bytes,
        )

    @property
    def preamble(self) -> Preamble:
        """What the file's first bytes say about the rest of it."""
        return self._reader.preamble

    def frames(self) -> Iterator[tuple[memoryview, Frames]]:
        """The records that begin in the block."""
        for step in self._reader:
            if isinstance(step, Framed):
                yield step.data, step.frames

    def records(self) -> Iterator[bytes]:
        """The content of each of those."""
        for data, frames in self.frames():
            yield from records_of(data, frames)

    def close(self) -> None:
        """Close the file."""
        self._opened.close()


def discover_schema(reading: ManagedReading, options: ReadOptions, files: Sequence[FileMetadata]) -> FoundSchema:
    """The columns of files, in types that every engine has.

    A reader that declares its columns in ``open`` is asked for no row; another one is read for ``sampleBytes`` of rows.

    Args:
        reading: Makes the readers.
        options: How many files are looked at, and how far.
        files: The files; which ones are looked at does not depend on their order.
    """
    evidence = Evidence()
    sampled = spread(files, options.schema.sample_files)
    for file in sampled:
        evidence |= Evidence.of_file(file.path, deliverable(_schema_of(reading, options, file)))
    merged = merge_schemas(evidence)
    return FoundSchema(merged.schema, merged, len(sampled))


def _schema_of(reading: ManagedReading, options: ReadOptions, file: FileMetadata) -> pa.Schema:
    if reading.schema is not None:
        return reading.schema
    plan = OutputPlan(
        schema_first=True, batch_bytes=options.reading.sampling_bytes, ignore_missing=options.files.ignore_missing_files
    )
    reader = ReaderPlan(
        reading.make,
        BlockMetadata(file, 0, file.size_bytes, 0),
        lambda: open_file(file, options.files, reading),
        options=options,
        read_bytes=min(options.reading.read_bytes, options.reading.sampling_bytes),
    )
    with ScanOperator(plan, [reader]) as scan:
        scan.next_batch()
        if not scan.is_schema_complete:
            left = options.reading.sampling_bytes
            while left > 0 and (batch := scan.next_batch()) is not None:
                left -= batch.nbytes
        return pa.schema([]) if scan.schema is None else scan.schema
