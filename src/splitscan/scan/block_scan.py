"""Read blocks: one, or one after the other, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf
from typing import TypeVar

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, ByteRange, Damage, FileMetadata, Reject
from splitscan.content.storage import ByteSource, digest_of, locate
from splitscan.errors import InvariantError, SourceMissingError, UsageError, Where
from splitscan.formats.column_rules import default_of, rules_of_format
from splitscan.formats.framing.contract import RecordFormat
from splitscan.read.contents import open_content
from splitscan.read.opened_file import OpenedFile
from splitscan.scan.framework import ManagedReader, OutputPlan, ReaderPlan, ScanOperator
from splitscan.scan.framework.batching import join_batches
from splitscan.scan.framework.columns import Columns
from splitscan.scan.given_up import Losses
from splitscan.scan.own_formats import ManagedReading
from splitscan.scan.record_reader import RecordReader
from splitscan.scan.rejects import OnRejects
from splitscan.scan.spec import ScanSpec

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
    """Whether reading a file is neither waiting for another machine nor decompressing."""
    return file.compression is None and locate(file.path).is_local


class BlockScan:
    """Reads one block and yields batches of exactly ``spec.schema``.

    After the last batch ``report`` holds the line of the ledger; with a limit there is none.

    Args:
        spec: What to deliver.
        block: What to read.
        on_reject: Given the records that break a rule, in order. Where there is none, nothing is decoded and
            no reject counted if no column holds anything of the records (mode PERMISSIVE).
        with_digest: Whether the report carries the digest of the bytes.
        limit: Most rows that are wanted; the reader is told, and is not asked for more. ``None`` for all.
        planned: What metadata columns say of the block, where *block* is a part of a planned one.
        opened: The file of the block, where it stays open for the next one.
        losses: Counts the rejects where *on_reject* does not take them.

    Raises:
        SourceError: If the file cannot be read or has changed.
        RecordError: In mode FAILFAST, for the first record that breaks a rule.
        SchemaError: If a header disagrees, or a column that must not be null is.
    """

    def __init__(
        self,
        spec: ScanSpec,
        block: BlockMetadata,
        *,
        on_reject: OnRejects | None = None,
        with_digest: bool = False,
        limit: int | None = None,
        planned: BlockMetadata | None = None,
        opened: OpenedFile | None = None,
        losses: Losses | None = None,
    ) -> None:
        self._losses = losses
        self._spec = spec
        self._block = block
        self._opened = opened
        self._constants = spec.constants(planned or block)
        self._on_reject = on_reject
        self._with_digest = with_digest
        self._limit = limit
        self._rejects = 0
        self._missing = False
        self._reader: ManagedReader | None = None
        self._report: BlockReport | None = None

    @property
    def report(self) -> BlockReport:
        """What was done; known once iteration has ended, if it had no limit."""
        if self._report is None:
            raise InvariantError("a block is reported after it was read to its end", self._where())
        return self._report

    @property
    def result(self) -> BlockReport | None:
        """The same, or ``None`` if the block was not read to its end."""
        return self._report

    @property
    def passed_bytes(self) -> int:
        """How much of the block has been read, while its batches are taken; readers of users' own do not tell."""
        position = self._reader.position if isinstance(self._reader, RecordReader) else self._block.start
        return max(0, min(position, self._block.stop) - self._block.start)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        reader = self._reader = self._make_reader()
        plan = reader_plan(self._spec, self._block, lambda: reader, self._open_source, self._constants)
        output, columns = shared_plan(self._spec, self._limit)
        scan = ScanOperator(output, [plan], self._take_rejects, columns)
        yield from scan
        damage = reader.damage if isinstance(reader, RecordReader) else None
        if damage is not None:
            self._report_damage(damage)
        if self._limit is not None:
            return  # perhaps not to the end
        block = self._block
        span, digest = (ByteRange(block.start, block.stop), "") if self._missing else self._proof(reader)
        content_bytes = reader.content_bytes if isinstance(reader, RecordReader) else None
        noticed = reader.noticed if isinstance(reader, RecordReader) else b""
        self._report = BlockReport(
            block, span.start, span.stop, scan.rows, self._rejects, digest, self._missing, content_bytes, damage,
            noticed,
        )  # fmt: skip

    def _make_reader(self) -> ManagedReader:
        if isinstance(self._spec.framing, ManagedReading):
            return self._spec.framing.make()
        return RecordReader(
            self._spec,
            self._block,
            frozenset(self._constants),
            with_digest=self._with_digest,
            validate=self._on_reject is not None,
            opened=self._opened,
        )

    def _open_source(self) -> ByteSource:
        try:
            if self._opened is not None:
                return self._opened.lend()
            return open_content(self._block, self._spec.options.files, self._spec.reading)
        except SourceMissingError:
            self._missing = True
            raise

    def _take_rejects(self, rejects: Sequence[Reject]) -> None:
        self._rejects += len(rejects)
        if self._on_reject is not None:
            self._on_reject(rejects)
        elif self._losses is not None:
            for reject in rejects:
                self._losses.take(reject)

    def _report_damage(self, damage: Damage) -> None:
        """What is lost of a damaged file is one reject in every mode, so that nothing is lost silently."""
        self._take_rejects(
            [Reject(self._block.file.path, damage.content_offset, 0, damage.code, str(damage), b"", delivered=False)]
        )

    # ------------------------------------------------------------- the proof

    def _proof(self, reader: ManagedReader) -> tuple[ByteRange, str]:
        """The bytes that a reader answered for, and their digest. A reader that does not say answers for its block."""
        if isinstance(reader, RecordReader):
            if reader.span is None:
                raise InvariantError("a reader of records ends with a span", self._where())
            return reader.span, reader.digest
        span = getattr(reader, "span", None) or (self._block.start, self._block.stop)
        start, stop = span
        if not 0 <= start <= stop <= self._block.file.size_bytes:
            raise UsageError(
                "the span of a reader lies in its file",
                self._where(),
                seen=f"span [{start}, {stop}) of {self._block.file.size_bytes} bytes",
                fix="correct the reader",
                code="reader-broken",
            )
        return ByteRange(start, stop), self._hash(start, stop) if self._with_digest else ""

    def _hash(self, start: int, stop: int) -> str:
        source = self._open_source()
        try:
            return digest_of(source, start, stop)
        finally:
            source.close()

    def _where(self) -> Where:
        return Where(self._block.file.path, self._block.start, (self._block.start, self._block.stop))


class ConsecutiveBlocks:
    """Reads blocks one after the other.

    A block of a compressed file that begins where the last one stopped goes on with the record that the last one left:
    nothing is decompressed, or looked through for a record, again. All other blocks are read on their own.

    Args:
        spec: What to deliver.

    Thread safety: none.
    """

    def __init__(self, spec: ScanSpec) -> None:
        self._spec = spec
        framing = spec.reading
        self._format = framing if isinstance(framing, RecordFormat) else None
        self._opened: OpenedFile | None = None
        self._last: BlockScan | None = None

    def scan(
        self,
        block: BlockMetadata,
        *,
        on_reject: OnRejects | None = None,
        with_digest: bool = False,
        limit: int | None = None,
        losses: Losses | None = None,
    ) -> BlockScan:
        """Scan a block; read it to its end before asking for the next one. The arguments are those of `BlockScan`."""
        entered, opened = self._enter(block)
        self._last = BlockScan(
            self._spec,
            entered,
            on_reject=on_reject,
            with_digest=with_digest,
            limit=limit,
            planned=block,
            opened=opened,
            losses=losses,
        )
        return self._last

    def close(self) -> None:
        """Close what is open. Calling it again does nothing; scanning on opens it again."""
        opened, self._opened, self._last = self._opened, None, None
        if opened is not None:
            opened.close()

    def _enter(self, block: BlockMetadata) -> tuple[BlockMetadata, OpenedFile | None]:
        last = None if self._last is None else self._last.result
        if last is None or last.missing or (last.block.file, last.block.stop) != (block.file, block.start):
            self.close()
        if self._format is None or block.file.compression is None:
            return block, None
        if self._opened is not None and last is not None:
            return replace(block, first_record_start=last.span_stop), self._opened
        reading = self._spec.options.reading
        self._opened = OpenedFile(
            block.file,
            partial(open_content, block, self._spec.options.files, self._format),
            max_record_bytes=reading.max_record_bytes,
            read_bytes=reading.read_bytes,
            fresh_seconds=inf,  # to open it again is to begin it again
        )
        return block, self._opened


def scan_blocks(
    spec: ScanSpec, blocks: Iterable[BlockMetadata], limit: int | None = None, on_reject: OnRejects | None = None
) -> Iterator[pa.RecordBatch]:
    """Read blocks, one after the other; none is opened that is not needed for *limit* rows.

    Without a limit, small batches are put together. Where nobody takes the rejects, a warning says how many records
    are no rows, and which is the first: at the end, or where the caller ends.

    Args:
        spec: What to deliver.
        blocks: What to read, in order.
        limit: Most rows of all blocks together; ``None`` for all.
        on_reject: Given the records that break a rule, in order.
    """
    losses, reading = Losses(spec.options), spec.options.reading
    try:
        with closing(ConsecutiveBlocks(spec)) as consecutive:
            if limit is None:
                scans = map(partial(consecutive.scan, on_reject=on_reject, losses=losses), blocks)
                yield from join_batches(chain.from_iterable(scans), reading.batch_rows, reading.batch_bytes)
                return
            remaining = limit
            for block in () if limit == 0 else blocks:
                for batch in consecutive.scan(block, on_reject=on_reject, limit=remaining, losses=losses):
                    yield batch
                    remaining -= batch.num_rows
                if remaining == 0:
                    return
    finally:
        losses.report()


def shared_plan(spec: ScanSpec, limit: int | None = None) -> tuple[OutputPlan, Columns]:
    """What the scan of a block delivers, and its columns: one pair for all blocks without limit."""
    if limit is not None or isinstance(spec.framing, ManagedReading):
        plan = output_plan(spec, limit)
        return plan, Columns(plan)
    known: tuple[OutputPlan, Columns] | None = spec.plans.get("whole")
    if known is None:
        plan = output_plan(spec)
        known = spec.plans.setdefault("whole", (plan, Columns(plan)))
    return known


def output_plan(spec: ScanSpec, limit: int | None = None) -> OutputPlan:
    """What a scan delivers. The reader of framed records validates its records itself; others do not."""
    reading = spec.options.reading
    is_managed = isinstance(spec.framing, ManagedReading)
    rules = rules_of_format(spec.options)
    defaults = {field.name: default_of(field, rules) for field in spec.fields} if is_managed else {}
    return OutputPlan(
        schema=spec.schema,
        validated=spec.fields if is_managed else None,
        defaults={name: value for name, value in defaults.items() if value is not None},
        mode=reading.mode,
        corrupt_column=spec.corrupt_column if is_managed and spec.corrupt_column in spec.columns else None,
        batch_rows=reading.batch_rows,
        batch_bytes=reading.batch_bytes,
        limit=limit,
        empty_result=False,
        ignore_missing=spec.options.files.ignore_missing_files,
    )


def reader_plan(
    spec: ScanSpec,
    block: BlockMetadata,
    make: Callable[[], ManagedReader],
    open_source: Callable[[], ByteSource],
    constants: Mapping[str, pa.Scalar],
) -> ReaderPlan:
    """One reader of a block; messages name it if it is the user's own."""
    is_managed = isinstance(spec.framing, ManagedReading)
    return ReaderPlan(
        make=make,
        split=block,
        open_source=open_source,
        constants=constants,
        name="" if is_managed else None,
        provided_schema=spec.fields if is_managed and len(spec.fields) else None,
        options=spec.options,
        read_bytes=spec.options.reading.read_bytes,
    )
