"""Open readers of blocks: of one, or of one after the other, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf
from typing import Any, TypeVar

import pyarrow as pa

from splitscan.blocks import UNKNOWN_END, BlockMetadata, BlockReport, ByteRange, FileMetadata
from splitscan.content.storage import ByteSource, digest_of, locate
from splitscan.errors import SourceMissingError, UsageError
from splitscan.formats.column_rules import default_of, rules_of_format
from splitscan.reading.block_documents import scan_document
from splitscan.reading.block_request import BlockReader, BlockRequest, Watch
from splitscan.reading.contents import open_content
from splitscan.reading.framework import ManagedReader, OutputPlan, ReaderPlan, ScanOperator
from splitscan.reading.framework.batching import join_batches
from splitscan.reading.given_up import RejectCounter
from splitscan.reading.kernel_reader import KernelBlockReader
from splitscan.reading.new_columns import OnNewColumns
from splitscan.reading.opened_file import OpenedFile
from splitscan.reading.own_formats import ManagedReading
from splitscan.reading.record_reader import RecordBlockReader
from splitscan.reading.rejects import OnRejects
from splitscan.reading.spec import ScanSpec


class ManagedBlockReader(BlockReader):
    """Reads a block by a reader of the user's own."""

    def __init__(self, request: BlockRequest, reading: ManagedReading) -> None:
        super().__init__(request)
        self._reading = reading
        self._is_missing = False

    passed_bytes = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        request, spec = self._request, self._request.spec
        reader = self._reading.make()
        plan = ReaderPlan(
            reader,
            request.block,
            self._open_source,
            spec.options,
            constants=request.constants,
            provided_schema=spec.fields if len(spec.fields) else None,
            read_bytes=spec.options.reading.read_bytes,
        )
        scan = ScanOperator(output_plan(spec, request.limit), plan, self._hand_on)
        yield from scan
        if request.limit is None:
            block = request.block
            span = ByteRange(block.start, block.stop) if self._is_missing else self._span(reader)
            digest = self._hash(span) if request.with_digest and not self._is_missing else ""
            self.result = BlockReport(
                block, span.start, span.stop, scan.rows, self._rejected, digest, self._is_missing
            )  # fmt: skip

    def _open_source(self) -> ByteSource:
        try:
            return self._request.open_source()
        except SourceMissingError:
            self._is_missing = True
            raise

    def _span(self, reader: ManagedReader) -> ByteRange:
        """The bytes that a reader answers for: those it says, or its block."""
        block = self._request.block
        start, stop = getattr(reader, "span", None) or (block.start, block.stop)
        if not 0 <= start <= stop <= block.file.size_bytes:
            raise UsageError(
                "the span of a reader lies in its file",
                self._block.where(),
                seen=f"span [{start}, {stop}) of {block.file.size_bytes} bytes",
                fix="correct the reader",
                code="reader-broken",
            )
        return ByteRange(start, stop)

    def _hash(self, span: ByteRange) -> str:
        with closing(self._request.open_source()) as source:
            return digest_of(source, span.start, span.stop)


def output_plan(spec: ScanSpec, limit: int | None = None) -> OutputPlan:
    """Say what a scan by a reader of the user's own delivers."""
    reading, rules = spec.options.reading, rules_of_format(spec.options)
    defaults = {field.name: default_of(field, rules) for field in spec.fields}
    return OutputPlan(
        schema=spec.schema,
        validated=spec.fields,
        defaults={name: value for name, value in defaults.items() if value is not None},
        mode=reading.mode,
        corrupt_column=spec.corrupt_column if spec.corrupt_column in spec.columns else None,
        reason_column=spec.reason_column if spec.reason_column in spec.columns else None,
        batch_rows=reading.batch_rows,
        batch_bytes=reading.batch_bytes,
        limit=limit,
        ignore_missing=spec.options.files.ignore_missing_files,
    )


T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """Do some work on every item in threads, by default as many as there are cores; the results come in order."""
    with ThreadPoolExecutor(max_workers=threads or cores()) as pool:
        yield from pool.map(work, items)


def is_at_hand(file: FileMetadata) -> bool:
    """True if reading a file is neither waiting for another machine nor decompressing."""
    return file.compression is None and locate(file.path).is_local


def open_reader(spec: ScanSpec, block: BlockMetadata, **wanted: Any) -> BlockReader:
    """Open the reader of one block, whatever finds its records."""
    request = BlockRequest(spec, block, **wanted)
    if isinstance(spec.framing, ManagedReading):
        return ManagedBlockReader(request, spec.framing)
    document = scan_document(spec)
    return RecordBlockReader(request) if document is None else KernelBlockReader(request, document)


class ConsecutiveBlocks:
    """Reads blocks one after the other.

    A block of a compressed file that begins where the last one stopped goes on with the record that the last one left:
    nothing is decompressed, or looked through for a record, again. All other blocks are read on their own.
    """

    def __init__(self, spec: ScanSpec, watch: Watch | None = None) -> None:
        self._spec, self._watch = spec, watch
        self._opened: OpenedFile | None = None
        self._last: BlockReader | None = None

    def open(self, block: BlockMetadata, **wanted: Any) -> BlockReader:
        """Open the reader of a block as :func:`open_reader` does; read it to its end before asking for the next one."""
        entered, opened = self._enter(block)
        self._last = open_reader(self._spec, entered, planned=block, opened=opened, watch=self._watch, **wanted)
        return self._last

    def close(self) -> None:
        """Close what is open. Calling it again does nothing; reading on opens it again."""
        opened, self._opened, self._last = self._opened, None, None
        if opened is not None:
            opened.close()

    def _enter(self, block: BlockMetadata) -> tuple[BlockMetadata, OpenedFile | None]:
        last = None if self._last is None else self._last.result
        if last is None or last.missing or (last.block.file, last.block.stop) != (block.file, block.start):
            self.close()
        if block.file.compression is None or self._spec.record_format is None:
            return block, None
        if self._opened is not None and last is not None:
            return replace(block, first_record_start=last.next_start), self._opened
        reading = self._spec.options.reading
        self._opened = OpenedFile(
            block.file,
            partial(self._open, block),
            max_record_bytes=reading.max_record_bytes,
            read_bytes=reading.read_bytes,
            fresh_seconds=inf,  # to open it again is to begin it again
        )
        return block, self._opened

    def _open(self, block: BlockMetadata) -> ByteSource:
        source = open_content(block, self._spec.options.files, self._spec.reading)
        return source if self._watch is None else self._watch(replace(block, stop=UNKNOWN_END), source)


def scan_blocks(
    spec: ScanSpec,
    blocks: Iterable[BlockMetadata],
    limit: int | None = None,
    on_reject: OnRejects | None = None,
    on_new_columns: OnNewColumns | None = None,
    watch: Watch | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read blocks, one after the other; none is opened that is not needed for *limit* rows.

    Without a limit, small batches are put together. Where nobody takes the rejects, a warning says how many records
    are no rows, and which is the first: at the end, or where the caller ends. So it is with columns that records have
    and the scan does not.

    Args:
        limit: Most rows of all blocks together; ``None`` for all.
        on_reject: Given the records that break a rule, in order.
        on_new_columns: Given, at the end, the columns that records have and the scan does not.
    """
    losses, reading = RejectCounter(spec.options, on_new_columns), spec.options.reading
    try:
        with closing(ConsecutiveBlocks(spec, watch)) as consecutive:
            if limit is None:
                scans = map(partial(consecutive.open, on_reject=on_reject, losses=losses), blocks)
                yield from join_batches(chain.from_iterable(scans), reading.batch_rows, reading.batch_bytes)
                return
            remaining = limit
            for block in () if limit == 0 else blocks:
                for batch in consecutive.open(block, on_reject=on_reject, limit=remaining, losses=losses):
                    yield batch
                    remaining -= batch.num_rows
                if remaining == 0:
                    return
    finally:
        losses.report()
