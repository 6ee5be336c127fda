"""Count rows without decoding a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from splitscan.blocks import BlockMetadata
from splitscan.formats.framing.contract import Splittability
from splitscan.formats.registry import format_of
from splitscan.options import Mode
from splitscan.reading.block_scan import cores, in_threads, open_reader
from splitscan.reading.boundaries import FileIndex
from splitscan.reading.decoders import check_header
from splitscan.reading.given_up import RejectCounter, RowCount, counted_in, total
from splitscan.reading.oddities import OddRecords
from splitscan.reading.spec import ScanSpec
from splitscan.scans.index import Indexer, OnBytes, index_files
from splitscan.scans.tasks import balance_blocks
from splitscan.sizes import KIB, MIB

_SHARE_BYTES = MIB  # what is counted at a time, in some hundred microseconds at least
_OPEN_BYTES = 64 * KIB  # counted in the time in which a file is opened

BlockCounter = Callable[[ScanSpec, Sequence[BlockMetadata]], Iterable[RowCount]]
"""Counts the rows of blocks, in parallel if it can; the order of the answers does not matter."""


def count_here(spec: ScanSpec, blocks: Sequence[BlockMetadata], on_bytes: OnBytes | None = None) -> Iterator[RowCount]:
    """Count blocks on all cores, small files many at a time: to hand over each costs as much as counting it."""
    portions = balance_blocks(blocks, _SHARE_BYTES, _OPEN_BYTES, cores())
    for portion, counted in zip(portions, in_threads(partial(count_blocks, spec), portions), strict=True):
        if on_bytes is not None:
            on_bytes(sum(block.cost_bytes for block in portion))
        yield counted


def count_rows(
    spec: ScanSpec,
    blocks: Iterable[BlockMetadata],
    indexer: Indexer | None = None,
    counter: BlockCounter = count_here,
) -> RowCount:
    """Number of rows of the blocks of whole files.

    Where only structure decides what a row is (mode PERMISSIVE), the summaries of a format that needs context count
    its records on the way: a file is read once. Everything else is counted block by block.

    Args:
        blocks: All blocks of some files, those of a file as neighbours and in order.
        indexer: How to run summaries in parallel; all cores of this machine by default.
    """
    format = spec.record_format
    if format is None or format.splittability is not Splittability.CONTEXT:
        return total(counter(spec, list(blocks)))
    counted, uncounted = _counted_by_index(spec, blocks, indexer)
    return total(chain(counted, counter(spec, uncounted) if uncounted else ()))


def _counted_by_index(
    spec: ScanSpec, blocks: Iterable[BlockMetadata], indexer: Indexer | None, *, with_notes: bool = True
) -> tuple[list[RowCount], list[BlockMetadata]]:
    """Rows of files that are known with their index, and the blocks of all others.

    Without *with_notes*, files with anything to be said of their records are among the others.
    """
    counted, others, format = list[RowCount](), list[BlockMetadata](), spec.record_format
    counts = spec.options.reading.mode is Mode.PERMISSIVE
    files = () if format is None else index_files(blocks, format, spec.options, indexer, wants_records=counts)
    for file in files:
        rows = _count_of(file, spec) if counts else None
        if rows is None or (not with_notes and (rows.given_up or rows.odd)):
            others += file.blocks
        else:
            counted.append(rows)
    return counted, others


def _count_of(file: FileIndex, spec: ScanSpec) -> RowCount | None:
    """Rows of a file as its summaries counted them on the way to its index; ``None`` where only reading tells."""
    if file.records is None or file.preamble is None or file.suspect:
        return None
    check_header(spec, file.blocks[0].file, file.preamble)
    odd = _odd_head(spec, file.blocks[0], file.preamble.data_start)
    return counted_in(file.blocks[0].file, file.records, file.given_up)._replace(odd=odd)


def rows_by_index(
    spec: ScanSpec, blocks: Iterable[BlockMetadata], indexer: Indexer | None
) -> tuple[int, list[BlockMetadata]]:
    """Rows that are known when the blocks of whole files have their index, and the blocks that are to be read for it.

    Files with anything to be said of their records are read: whoever reads says it.

    Args:
        spec: For counting, in mode PERMISSIVE, of a format that needs context.
        blocks: As for :func:`count_rows`.
        indexer: How to run summaries in parallel; all cores of this machine by default.
    """
    counted, others = _counted_by_index(spec, blocks, indexer, with_notes=False)
    return sum(each.rows for each in counted), others


def _odd_head(spec: ScanSpec, first: BlockMetadata, data_start: int) -> tuple[OddRecords, ...]:
    """Oddities at the head of a file: those that reading tells as far as the first record."""
    format, own = format_of(spec.options), spec.options.format
    if not format.looks_at_heads(own):
        return ()
    head = replace(first, stop=min(first.file.content_bytes, data_start + 1))
    return count_blocks(spec, [head]).odd


def count_up_to(spec: ScanSpec, blocks: Iterable[BlockMetadata], limit: int) -> RowCount:
    """Number of rows of blocks, *limit* at most: the blocks after that many rows are not looked at."""
    counted = RowCount()
    for block in blocks:
        counted = total([counted, count_blocks(spec, [block])])
        if counted.rows >= limit:
            return RowCount(limit)  # all rows that were asked for are there
    return counted


def count_blocks(spec: ScanSpec, blocks: Iterable[BlockMetadata]) -> RowCount:
    """Number of rows of blocks: by framing alone in mode PERMISSIVE, by structure in the other modes.

    Equal to the rows that reading delivers, where no column keeps records that are given up.
    """
    chosen = spec.select(())
    if spec.options.reading.mode is not Mode.DROPMALFORMED:
        return total(open_reader(chosen, block).count() for block in blocks)
    losses = RejectCounter(spec.options)
    return losses.counted(sum(open_reader(chosen, block, losses=losses).count().rows for block in blocks))
