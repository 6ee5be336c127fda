"""Count rows without decoding a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.errors import SchemaError, UsageError, Where
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.formats.registry import format_of
from splitscan.options import Mode, ReadOptions
from splitscan.plan.tasks import balance_blocks
from splitscan.redaction import redact
from splitscan.scan.block_scan import cores, in_threads, open_reader
from splitscan.scan.decoders import check_header
from splitscan.scan.given_up import RowCount, counted_in, total
from splitscan.scan.index import Indexer, OnBytes, index_files
from splitscan.scan.oddities import OddRecords
from splitscan.scan.own_formats import Reading
from splitscan.scan.spec import ScanSpec
from splitscan.sizes import KIB, MIB, count_of

_SHARE_BYTES = MIB  # what is counted at a time, in some hundred microseconds at least
_OPEN_BYTES = 64 * KIB  # counted in the time in which a file is opened

BlockCounter = Callable[[ScanSpec, Sequence[BlockMetadata]], Iterable[RowCount]]
"""Counts the rows of blocks, in parallel if it can; the order of the answers does not matter."""


def spec_for_counting(options: ReadOptions, framing: Reading | None, spec: Callable[[], ScanSpec]) -> ScanSpec:
    """Specification for counting, so that it gives the number of rows that reading delivers, or its error.

    A schema decides only in modes that drop or refuse records, and where the headers of CSV are compared with it;
    else none is looked for. Where no file has a record to find one in, there is nothing to count.

    Args:
        spec: Gives what reading must know; called only where that decides.
    """
    nothing = ScanSpec(options, pa.schema([]), (), framing)
    compares_headers = framing is None and options.format.compares_headers
    if options.reading.mode is Mode.PERMISSIVE and not compares_headers:
        return nothing
    try:
        return spec().select(())
    except SchemaError as error:
        if error.reason_code == "no-schema":
            return nothing
        raise


def with_kept(counted: RowCount, spec: Callable[[], ScanSpec]) -> RowCount:
    """The number of rows that reading delivers: with records that are given up, where a column keeps their text.

    Args:
        spec: Gives what reading must know; called only where that decides.
    """
    try:
        keeps = counted.given_up > 0 and spec().keeps_given_up
    except SchemaError as error:
        if error.reason_code != "no-schema":
            raise
        return counted
    return RowCount(counted.rows + counted.given_up, odd=counted.odd) if keeps else counted


def count_here(spec: ScanSpec, blocks: Sequence[BlockMetadata], on_bytes: OnBytes | None = None) -> Iterator[RowCount]:
    """Count blocks on all cores of this machine.

    Small files are counted many at a time: to hand over each of them costs as much as counting it.
    """
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
    return _count_indexed(spec, blocks, format, indexer, counter)


def _count_indexed(
    spec: ScanSpec,
    blocks: Iterable[BlockMetadata],
    framing: RecordFormat,
    indexer: Indexer | None,
    counter: BlockCounter,
) -> RowCount:
    counted: list[RowCount] = []
    uncounted: list[BlockMetadata] = []
    counts = spec.options.reading.mode is Mode.PERMISSIVE
    for file in index_files(blocks, framing, spec.options, indexer, wants_records=counts):
        if file.records is None or file.preamble is None or not counts or file.suspect:
            uncounted += file.blocks
        else:
            check_header(spec, file.blocks[0].file, file.preamble)
            odd = _odd_head(spec, file.blocks[0], file.preamble.data_start)
            counted.append(counted_in(file.blocks[0].file, file.records, file.given_up)._replace(odd=odd))
    return total(chain(counted, counter(spec, uncounted) if uncounted else ()))


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


def check_layout(options: ReadOptions, paths: Sequence[str], counted: Callable[[ReadOptions], RowCount]) -> None:
    """Count records as samples say they are written, and in the other layout that the format knows.

    Raises:
        UsageError: ``[dialect-contradicted]`` with both counts, if they differ.
    """
    other = format_of(options).other_layout(options.format)
    if other is None:
        return
    lenient = replace(options, reading=replace(options.reading, mode=Mode.PERMISSIVE))
    here, there = (each.rows + each.given_up for each in map(counted, (lenient, replace(lenient, format=other.own))))
    if here != there:
        raise UsageError(
            "a look at the files decided how their records are written, and the rest of them contradicts it",
            Where(redact(paths[0])) if len(paths) == 1 else None,
            seen=f"{count_of(here, 'record')} with {other.this_option}, {there:,} with {other.other_option}",
            fix=f"say which it is: {other.this_option} or {other.other_option}; where each gives up some, take out "
            "what stands around or between the values, or read lines with recordFormat=text",
            code="dialect-contradicted",
        )


def count_blocks(spec: ScanSpec, blocks: Iterable[BlockMetadata]) -> RowCount:
    """Number of rows of blocks: by framing alone in mode PERMISSIVE, by structure in the other modes.

    Equal to the rows that reading delivers, where no column keeps records that are given up.

    Raises:
        SourceError: If the file cannot be read or has changed.
        RecordError: In mode FAILFAST, for the first record that breaks a rule.
        SchemaError: If the header of a file does not agree with the schema.
    """
    chosen = spec.select(())
    return total(open_reader(chosen, block).count() for block in blocks)
