"""Parts are written here and nowhere else: rows and rejects to Parquet, and a line of the ledger for each block."""

# Over 400 lines: all writing of parts is here.

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import flags_of, number_array, numbers_of, text_scalar
from splitscan.blocks import BlockMetadata, BlockReport, Reject
from splitscan.content.storage import locate, open_storage
from splitscan.errors import InvariantError, Where
from splitscan.jobs.ledger import REJECT_FOLDER, REJECT_SUFFIX, LedgerBlock, RowRange, WrittenFile
from splitscan.jobs.parquet import (
    REJECT_PORTION_BYTES,
    REJECT_SCHEMA,
    ParquetFileWriter,
    RejectFileWriter,
    check_schema,
)
from splitscan.jobs.partitioning import Partitioning, parquet_name
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import ClaimedPart, OutputPart, PartProgress, PartReport, Staging
from splitscan.redaction import redact
from splitscan.scan.oddities import of_file, total_oddities
from splitscan.scan.rejects import OnRejects

MOST_OPEN = 32
"""Files that one part writes at a time: each holds a handle, and in an object store a buffer of some MB."""

_HELD_PORTIONS = 4  # sorted portions whose rows may wait for a row group of their partition

OpenFile = Callable[[str, int], ParquetFileWriter]
"""Opens a data file: the folder of its partition, and the number of the file among those of the part in there."""
TELL_SECONDS = 0.5
"""How often a task tells how far it is."""

REMOTE_TELL_SECONDS = 5.0
"""The same where telling is a request to an object store."""


class PartFiles:
    """Routes the rows of a part to the files of their partitions, as a context manager.

    Rows of one partition keep their order. They are sorted by partition in portions of a row group, wait until their
    partition has a row group of its own, and are written earlier when the rows that wait reach four portions. So
    memory depends neither on the number of partitions nor on the length of the part. At most ``MOST_OPEN`` files are
    open: of the others the one that was written to first is closed, and rows that come for its partition later go to
    another file beside it. All that depends on the rows, their batches and the settings only.

    Attributes:
        taken_rows: Rows that were added so far.
        written: The files that are finished, in the order in which they were.
    """

    def __init__(self, open_file: OpenFile, partitioning: Partitioning, settings: IngestSettings) -> None:
        self._open_file, self._partitioning, self._settings = open_file, partitioning, settings
        self._sinks: dict[str, ParquetFileWriter] = {}
        self._writing: dict[str, None] = {}  # folders whose file is open, in the order of their last write
        self._numbers: dict[str, int] = {}
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = self._held_bytes = 0
        self._stops: list[int] = []  # for each block that has ended, the row that is the first of no block before it
        self._ranges: dict[int, dict[str, RowRange]] = {}
        self.taken_rows = 0
        self.written: list[WrittenFile] = []

    def __enter__(self) -> PartFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            try:
                self._close()
            except BaseException as failure:
                self._abandon(failure)
                raise
        else:
            self._abandon(error)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows of the block that is being read."""
        if not batch.num_rows:
            return
        self.taken_rows += batch.num_rows
        if not self._partitioning.columns:
            self._append("", batch, [(len(self._stops), batch.num_rows)])
            return
        self._pending.append(batch)
        self._pending_rows += batch.num_rows
        self._pending_bytes += batch.nbytes
        settings = self._settings
        if self._pending_bytes >= settings.row_group_bytes or self._pending_rows >= settings.row_group_rows:
            self._route()

    def end_block(self) -> None:
        """The rows that come next are of another block."""
        self._stops.append(self.taken_rows)

    def ranges(self, block: int) -> tuple[RowRange, ...]:
        """Rows of a block in the written files, by the order of the blocks, once all files are finished."""
        return tuple(self._ranges.get(block, {}).values())

    # ------------------------------------------------------------- routing

    def _route(self) -> None:
        """Sort what is pending by partition, and hand it on."""
        if not self._pending:
            return
        (batch,) = pa.Table.from_batches(self._pending).combine_chunks().to_batches()
        texts = [self._texts(batch.column(name)) for name in self._partitioning.columns]
        codes = _combine(texts)
        order = np.argsort(codes, kind="stable")
        first = self.taken_rows - batch.num_rows
        blocks = np.searchsorted(self._stops, np.arange(first, self.taken_rows), side="right")[order]
        rows = batch.select(self._partitioning.file_schema(batch.schema).names).take(number_array(order))
        edges = np.flatnonzero(np.diff(codes[order])) + 1
        for start, stop in pairwise([0, *edges.tolist(), batch.num_rows]):
            folder = self._partitioning.folder_of([_text_at(text, int(order[start])) for text in texts])
            numbers, counts = np.unique(blocks[start:stop], return_counts=True)
            self._append(folder, rows.slice(start, stop - start), zip(numbers.tolist(), counts.tolist(), strict=True))
        self._held_bytes += self._pending_bytes
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        if self._held_bytes >= _HELD_PORTIONS * self._settings.row_group_bytes:
            self._write_held()

    def _texts(self, column: pa.Array) -> pa.DictionaryArray:
        texts = column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
        if not self._partitioning.in_files:  # the name of a folder is all that says the value: it cannot be empty
            texts = pc.if_else(pc.equal(texts, text_scalar("", pa.string())), pa.nulls(1, pa.string())[0], texts)
        return texts.dictionary_encode()

    def _append(self, folder: str, rows: pa.RecordBatch, blocks: Iterable[tuple[int, int]]) -> None:
        sink = self._sinks.get(folder)
        if sink is None:
            number = self._numbers[folder] = self._numbers.get(folder, -1) + 1
            sink = self._sinks[folder] = self._open_file(folder, number)
        start = sink.taken_rows
        for block, count in blocks:
            ranges = self._ranges.setdefault(block, {})
            before = ranges.get(sink.name)
            ranges[sink.name] = RowRange(sink.name, start if before is None else before.start, start + count)
            start += count
        sink.write(rows)
        self._bound_open(folder, sink)

    def _write_held(self) -> None:
        for folder, sink in list(self._sinks.items()):
            sink.flush()
            self._bound_open(folder, sink)
        self._held_bytes = 0

    def _bound_open(self, folder: str, sink: ParquetFileWriter) -> None:
        if not sink.is_open:
            return
        self._writing.pop(folder, None)
        self._writing[folder] = None
        if len(self._writing) > MOST_OPEN:
            self._finish(next(iter(self._writing)))

    def _finish(self, folder: str) -> None:
        sink = self._sinks[folder]
        sink.close()
        del self._sinks[folder]
        self._writing.pop(folder, None)
        if sink.written is not None:
            self.written.append(sink.written)

    def _close(self) -> None:
        self._route()
        for folder in list(self._sinks):
            self._finish(folder)

    def _abandon(self, error: BaseException) -> None:
        for sink in self._sinks.values():
            sink.abandon(error)


def _combine(texts: Iterable[pa.DictionaryArray]) -> npt.NDArray[np.int64]:
    """A number for each row, equal for rows of the same values."""
    codes: npt.NDArray[np.int64] | None = None
    for text in texts:
        indices = text.indices
        own = np.where(flags_of(indices.is_null()), len(text.dictionary), numbers_of(indices)).astype(np.int64)
        codes = own if codes is None else np.unique(codes * (len(text.dictionary) + 1) + own, return_inverse=True)[1]
    if codes is None:
        raise AssertionError("a partition has a column")
    return codes


def _text_at(text: pa.DictionaryArray, row: int) -> str | None:
    value: str | None = text[row].as_py()
    return value


@dataclass(frozen=True)
class PartTarget:
    """Target of the tasks of a job: place, schema and settings. Pickling: yes.

    Attributes:
        job_id: Empty before the job has a name.
        staging_root: The folder that holds the folders of all jobs.
        own_names: Whether every attempt at a part writes files of its own. Where a file may vanish or change under
            the readers, two attempts can read different bytes, and must not write over each other.
        data_root: The folder of a table, which data files are written to under their final names; empty if they wait
            in staging.
        plan_id: By which plan the job is read, where that does not follow from its identity.
    """

    job_id: str
    staging_root: str
    settings: IngestSettings
    schema: pa.Schema
    storage_options: Mapping[str, Any] = field(default_factory=dict)
    own_names: bool = False
    data_root: str = ""
    partitioning: Partitioning = field(default_factory=Partitioning)
    plan_id: str = ""

    def named(self, job_id: str, plan_id: str = "") -> PartTarget:
        """Name the job, and the plan that it is read by."""
        return replace(self, job_id=job_id, plan_id=plan_id)

    def open_staging(self) -> Staging:
        """Open the folder of the job."""
        data = open_storage(self.data_root, self.storage_options) if self.data_root else None
        return Staging(open_storage(self.staging_root, self.storage_options), self.job_id, data, self.plan_id)

    @contextmanager
    def open_part(self, staging: Staging, part: OutputPart | ClaimedPart) -> Iterator[PartWriter]:
        """Write a part. Its files appear whole when the ``with`` block ends without an error, or not at all.

        The same rows in the same batches leave the same bytes under the same names, unless *own_names* is set.
        """
        attempt = f"-{secrets.token_hex(4)}" if self.own_names else ""
        schema = self.partitioning.file_schema(self.schema)

        own_part, codec = part.file_part + attempt, self.settings.compression

        def open_file(folder: str, number: int) -> ParquetFileWriter:
            name = parquet_name(self.job_id, f"{own_part}-{number}" if number else own_part, codec)
            return ParquetFileWriter(staging, f"{folder}{name}", schema, self.settings)

        rejects = parquet_name(self.job_id, own_part, codec, REJECT_SUFFIX)
        small = replace(self.settings, row_group_bytes=min(self.settings.row_group_bytes, REJECT_PORTION_BYTES))
        table = ParquetFileWriter(staging, f"{REJECT_FOLDER}/{rejects}", REJECT_SCHEMA, small)
        with PartFiles(open_file, self.partitioning, self.settings) as data, table:
            tell = partial(staging.write_progress, part.name)
            seconds = TELL_SECONDS if locate(self.staging_root).is_local else REMOTE_TELL_SECONDS
            writer = PartWriter(self.schema, data, table, tell, seconds)
            yield writer
            writer.finish()

    def write_empty(self, staging: Staging, name: str) -> WrittenFile:
        """Write Parquet without rows, under this name in the destination."""
        schema = self.partitioning.file_schema(self.schema)
        with ParquetFileWriter(staging, name, schema, self.settings, keep_empty=True) as data:
            pass
        assert data.written is not None
        return data.written


class PartWriter:
    """Takes the rows and rejects of a part, block after block: its batches, then :meth:`end_block`."""

    def __init__(
        self,
        schema: pa.Schema,
        data: PartFiles,
        table: ParquetFileWriter,
        tell: Callable[[PartProgress], None],
        tell_seconds: float,
    ) -> None:
        self._schema, self._data, self._table = schema, data, table
        self._tell, self._tell_seconds = tell, tell_seconds
        self._next_tell = time.monotonic() + tell_seconds
        self._bytes_done = 0  # of the blocks that have ended
        self._rejects = RejectFileWriter(table)
        self._row = self._reject = 0  # the first that is of no block yet
        self._ended: list[tuple[BlockReport, LedgerBlock]] = []  # without the ranges of rows: those are known at last

    def take_rejects(self, rejects: Sequence[Reject]) -> None:
        """Add rejects. Those of a block may come before the block in front of it is ended."""
        self._rejects.add(rejects)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows of the block that is being read."""
        check_schema(batch, self._schema)
        self._data.write(batch)

    def tell(self, passed_bytes: int = 0) -> None:
        """Let those who watch the job know how far the part is, if it is time."""
        if time.monotonic() < self._next_tell:
            return
        rows, rejects = self._data.taken_rows, self._rejects
        done = self._bytes_done + passed_bytes
        self._tell(PartProgress(done, len(self._ended), rows, rejects.count, rejects.dropped))
        self._next_tell = time.monotonic() + self._tell_seconds

    def end_block(self, read: BlockReport, file_index: int, index: int = 0) -> None:
        """Say what was read; all rows since the block before are its own.

        Raises:
            InvariantError: If another number of rows arrived, or fewer rejects.
        """
        row, reject = self._row + read.rows, self._reject + read.rejects
        if row != self._data.taken_rows or reject > self._rejects.count:
            raise _miscounted(read, self._data.taken_rows - self._row, self._rejects.count - self._reject)
        self._data.end_block()
        rejects = RowRange(self._table.name, self._reject, reject) if reject > self._reject else None
        line = LedgerBlock(
            file_index, index, read.block.start, read.block.stop, read.span_start, read.span_stop, read.rows,
            read.rejects, read.digest, (), rejects, read.missing, read.content_bytes, read.damage,
        )  # fmt: skip
        self._ended.append((read, line))
        self._row, self._reject = row, reject
        self._bytes_done += line.size_bytes

    def finish(self) -> None:
        """Refuse rows and rejects that are of no block."""
        rows, rejects = self._data.taken_rows - self._row, self._rejects.count - self._reject
        if rows or rejects:
            raise InvariantError(
                "rows or rejects of a part are of none of its blocks", Where(path=self._table.name),
                f"{rows} rows and {rejects} rejects", "report it with the options",
            )  # fmt: skip
        self._rejects.flush()

    def report(self, number: int) -> PartReport:
        """Make the report, once all files are there."""
        lines = (line for _, line in self._ended)
        blocks = tuple(replace(line, data=self._data.ranges(order)) for order, line in enumerate(lines))
        written = (*self._data.written, *([] if self._table.written is None else [self._table.written]))
        reads = [read for read, _ in self._ended]
        noticed = (read for read in reads if read.noticed)
        have_odd = (read for read in reads if read.oddities)
        odd = [each for read in have_odd for each in of_file(redact(read.block.file.path), read.oddities)]
        return PartReport(
            number, blocks, written, self._rejects.dropped, tuple(self._rejects.examples),
            noticed=tuple((redact(each.block.file.path), each.block.start, each.noticed) for each in noticed),
            odd=tuple((each.code, each.records, each.path, each.offset) for each in (odd and total_oddities(odd))),
        )  # fmt: skip


def _miscounted(read: BlockReport, rows: int, rejects: int) -> InvariantError:
    return InvariantError(
        "a block's reader delivered another number of rows or rejects than it reports",
        Where(read.block.file.path, block=(read.block.start, read.block.stop)),
        f"{rows} rows and {rejects} rejects arrived, {read.rows} and {read.rejects} were reported",
        "report it with the options",
    )


class BlockRows(Protocol):
    """The rows of one block: iterate once, then ask for the report."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    @property
    def passed_bytes(self) -> int:
        """Bytes of the block that were read."""

    @property
    def report(self) -> BlockReport:
        """Span, rows and rejects; known once iteration has ended."""


OpenBlock: TypeAlias = Callable[[BlockMetadata, OnRejects, bool], BlockRows]
"""Opens a block: the block, who takes rejects, whether to hash the source bytes."""


def run_part(target: PartTarget, part: OutputPart, open_block: OpenBlock) -> PartReport:
    """Read the blocks of a part and write what they hold.

    The files appear whole, and the report after them; a part whose report is there is not read again. Running the
    same part twice, one after the other or at the same time, leaves the same bytes under the same names.
    """
    staging = target.open_staging()
    report = staging.read_finished(part)
    if report is not None:
        return report
    began = time.time()
    with target.open_part(staging, part) as writer:
        for file_index, block in part.blocks:
            rows = open_block(block, writer.take_rejects, target.settings.source_digests)
            for batch in rows:
                writer.write(batch)
                writer.tell(rows.passed_bytes)
            writer.end_block(rows.report, file_index, block.index)
    report = replace(writer.report(part.number), times=(began, time.time()))
    staging.write_report(part, report)
    return report
