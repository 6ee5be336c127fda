"""Fill in the boundary index: summaries in parallel, composition in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from splitscan.blocks import BlockMetadata
from splitscan.errors import InvariantError
from splitscan.framing.contract import ContextFormat, Preamble, Splittability
from splitscan.options import ReadOptions
from splitscan.splitting.boundaries import Piece, index_file, summarise_block
from splitscan.splitting.heads import read_preamble
from splitscan.splitting.record_readers import ContextReading, Framing
from splitscan.storage import open_source


@dataclass(frozen=True)
class IndexTask:
    """One block to be summarised, with all that takes. Pickling: plain values only."""

    block: BlockMetadata
    preamble: Preamble
    max_record_bytes: int
    storage_options: Mapping[str, Any]

    def run(self) -> list[Piece]:
        """Read the block and summarise it."""
        if not isinstance(self.preamble.format, ContextFormat):
            raise InvariantError(f"format {self.preamble.format.name} has no summaries")
        source = open_source(self.block.file.path, self.storage_options)
        try:
            return summarise_block(
                source, self.block, self.preamble.format, self.preamble.data_start, self.max_record_bytes
            )
        finally:
            source.close()


Indexer = Callable[[Sequence[IndexTask]], Iterable[list[Piece]]]
"""Runs index tasks, in parallel if it can, and returns their results in the same order."""


def index_in_threads(tasks: Sequence[IndexTask]) -> Iterator[list[Piece]]:
    """Run index tasks in threads of this process; numpy releases the interpreter lock while it counts."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        yield from pool.map(IndexTask.run, tasks)


def fill_index(
    blocks: list[BlockMetadata], format: Framing, options: ReadOptions, indexer: Indexer | None = None
) -> list[BlockMetadata]:
    """Give every block of a context format its first record start; other blocks stay as they are.

    Files of one block need no index.
    """
    if isinstance(format, ContextReading) or format.splittability is not Splittability.CONTEXT:
        return blocks
    storage_options, reading = options.files.storage_options, options.reading
    files = [list(group) for _, group in groupby(blocks, key=lambda block: block.file.path)]
    preambles: dict[str, Preamble] = {}
    tasks: list[IndexTask] = []
    for group in files:
        if len(group) > 1:
            source = open_source(group[0].file.path, storage_options)
            try:
                preamble = preambles[group[0].file.path] = read_preamble(source, group[0].file, format)
            finally:
                source.close()
            tasks += [IndexTask(block, preamble, reading.max_record_bytes, storage_options) for block in group]
    results = iter((indexer or index_in_threads)(tasks)) if tasks else iter(())
    filled: list[BlockMetadata] = []
    for group in files:
        if len(group) == 1:
            filled += group
            continue
        source = open_source(group[0].file.path, storage_options)
        try:
            pieces = (piece for _ in group for piece in next(results))
            filled += index_file(
                source,
                group,
                preambles[group[0].file.path],
                pieces,
                max_record_bytes=reading.max_record_bytes,
                read_bytes=reading.read_bytes,
            )
        finally:
            source.close()
    return filled
