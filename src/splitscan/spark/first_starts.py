"""First record starts, found by the process that reads: for blocks that come without them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.archives import open_listed
from splitscan.content.storage import check_unchanged
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.options import OnFileChange, ReadOptions
from splitscan.plan.splitter import split_file
from splitscan.read.block_reader import BlockReader
from splitscan.read.contents import open_content
from splitscan.scan import IndexTask, fill_index
from splitscan.scan.planning import Summarised
from splitscan.sizes import MIB

CELL_BYTES = 16 * MIB
"""Distance between the offsets of a file whose first record starts are remembered."""

_CACHED_FILES = 64


def index_in_turn(tasks: Sequence[IndexTask]) -> Iterator[Summarised]:
    """Run index tasks one after the other: a Spark task has one core."""
    return map(IndexTask.run, tasks)


def find_first_start(
    block: BlockMetadata, format: RecordFormat, options: ReadOptions, cell_bytes: int = CELL_BYTES
) -> BlockMetadata:
    """Give a block of a context format its first record start, exactly.

    Other blocks, and those that have it, stay as they are. The first block of a file in a process costs one counting
    pass over the file, which is remembered; each block then costs framing of at most *cell_bytes*.

    Args:
        block: Any range of a file.
        format: How records are found.
        options: As for reading.
        cell_bytes: Distance between remembered offsets.

    Raises:
        SourceError: If the file cannot be read or has changed.
    """
    known = block.start == 0 or block.first_record_start is not None
    if known or format.splittability is not Splittability.CONTEXT:
        return block
    configuration: Any = format  # formats are hashable: part of their contract
    cell = _cells(block.file, configuration, options, cell_bytes)[block.start // cell_bytes]
    first = cell.first_record_start
    if first is not None and first >= block.start:
        return block.starting_at(first)
    source = open_content(block, options.files, format)
    try:
        reader = BlockReader(
            source,
            BlockMetadata(block.file, cell.start, block.start, cell.index, first),
            format,
            max_record_bytes=options.reading.max_record_bytes,
            read_bytes=options.reading.read_bytes,
        )
        for _ in reader:
            pass
        return block.starting_at(reader.span.stop)
    finally:
        source.close()


@functools.lru_cache(maxsize=_CACHED_FILES)
def _cells(file: FileMetadata, format: Any, options: ReadOptions, cell_bytes: int) -> tuple[BlockMetadata, ...]:
    """The file in cells, each with its first record start; the key holds the fingerprint."""
    if options.files.on_file_change is OnFileChange.FAIL:
        source = open_listed(file, options.files.storage_options)
        try:
            check_unchanged(file, source)
        finally:
            source.close()
    return tuple(fill_index(list(split_file(file, cell_bytes)), format, options, index_in_turn))
