"""Parts are written here and nowhere else: rows and rejects to Parquet, and a line of the ledger for each block."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import flags_of, number_array, numbers_of, text_scalar
from splitscan.blocks import BlockReport, Reject
from splitscan.content.storage import locate
from splitscan.errors import InvariantError, Where
from splitscan.jobs.ledger import REJECT_FOLDER, REJECT_SUFFIX, LedgerBlock, RowRange, WrittenFile
from splitscan.jobs.parquet import ParquetFileWriter, RejectFileWriter, WholeOrNothing, check_schema
from splitscan.jobs.settings import IngestSettings, Partitioning, parquet_name
from splitscan.jobs.staging import (
    REMOTE_TELL_SECONDS,
    TELL_SECONDS,
    OutputPart,
    PartProgress,
    PartReport,
    PartTarget,
    Staging,
)
from splitscan.reading.block_scan import ConsecutiveBlocks
from splitscan.reading.oddities import of_file, total_oddities
from splitscan.reading.spec import ScanSpec
from splitscan.redaction import redact

MOST_OPEN = 32
"""Files that one part writes at a time: each holds a handle, and in an object store a buffer of some MB."""

_HELD_PORTIONS = 4  # sorted portions whose rows may wait for a row group of their partition

OpenFile = Callable[[str, int], ParquetFileWriter]
"""Opens a data file: the folder of its partition, and the number of the file among those of the part in there."""


class PartFiles:
    """Routes the rows of a part to the files of their partitions.

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
        self._writers: dict[str, ParquetFileWriter] = {}
        self._writing: dict[str, None] = {}  # folders whose file is open, in the order of their last write
        self._numbers: dict[str, int] = {}
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = self._held_bytes = 0
        self._stops: list[int] = []  # for each block that has ended, the row that is the first of no block before it
        self._ranges: dict[int, dict[str, RowRange]] = {}
        self.taken_rows = 0
        self.written: list[WrittenFile] = []

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

    def close(self) -> None:
        """Take no more; the files appear."""
        self._route()
        for folder in list(self._writers):
            self._finish(folder)

    def abandon(self, error: BaseException) -> None:
        """Take no more; of what is not finished there is no file."""
        for writer in self._writers.values():
            writer.abandon(error)

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
        writer = self._writers.get(folder)
        if writer is None:
            number = self._numbers[folder] = self._numbers.get(folder, -1) + 1
            writer = self._writers[folder] = self._open_file(folder, number)
        start = writer.taken_rows
        for block, count in blocks:
            ranges = self._ranges.setdefault(block, {})
            before = ranges.get(writer.name)
            ranges[writer.name] = RowRange(writer.name, start if before is None else before.start, start + count)
            start += count
        writer.write(rows)
        self._bound_open(folder, writer)

    def _write_held(self) -> None:
        for folder, writer in list(self._writers.items()):
            writer.flush()
            self._bound_open(folder, writer)
        self._held_bytes = 0

    def _bound_open(self, folder: str, writer: ParquetFileWriter) -> None:
        if not writer.is_open:
            return
        self._writing.pop(folder, None)
        self._writing[folder] = None
        if len(self._writing) > MOST_OPEN:
            self._finish(next(iter(self._writing)))

    def _finish(self, folder: str) -> None:
        writer = self._writers[folder]
        writer.close()
        del self._writers[folder]
        self._writing.pop(folder, None)
        if writer.written is not None:
            self.written.append(writer.written)


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


class PartWriter(WholeOrNothing):
    """Writes a part, as a context manager: block after block, its batches and then :meth:`end_block`; at last a report.

    The files appear whole when the ``with`` block ends without an error, or not at all. The same rows in the same
    batches leave the same bytes under the same names, unless the target has *own_names*.
    """

    def __init__(self, target: PartTarget, staging: Staging, part: OutputPart) -> None:
        self.target, self._staging, self._part = target, staging, part
        self._file_part = part.file_part + (f"-{secrets.token_hex(4)}" if target.own_names else "")
        codec = target.settings.compression
        rejects = parquet_name(target.job_id, self._file_part, codec, REJECT_SUFFIX)
        self._data = PartFiles(self._open_file, target.partitioning, target.settings)
        self._rejects = RejectFileWriter(staging, f"{REJECT_FOLDER}/{rejects}", target.settings)
        self._tell_seconds = TELL_SECONDS if locate(target.staging_root).is_local else REMOTE_TELL_SECONDS
        self._next_tell = time.monotonic() + self._tell_seconds
        self._bytes_done = 0  # of the blocks that have ended
        self._row = self._reject = 0  # the first that is of no block yet
        self._ended: list[tuple[BlockReport, LedgerBlock]] = []  # without the ranges of rows: those are known at last

    def _open_file(self, folder: str, number: int) -> ParquetFileWriter:
        target, part = self.target, f"{self._file_part}-{number}" if number else self._file_part
        name = parquet_name(target.job_id, part, target.settings.compression)
        schema = target.partitioning.file_schema(target.schema)
        return ParquetFileWriter(self._staging, f"{folder}{name}", schema, target.settings)

    def take_rejects(self, rejects: Sequence[Reject]) -> None:
        """Add rejects. Those of a block may come before the block in front of it is ended."""
        self._rejects.add(rejects)

    def write(self, batch: pa.RecordBatch, passed_bytes: int = 0) -> None:
        """Add rows of the block that is being read, of which so many bytes are done; and tell so, if it is time."""
        check_schema(batch, self.target.schema)
        self._data.write(batch)
        if time.monotonic() >= self._next_tell:
            done, rejects = self._bytes_done + passed_bytes, self._rejects
            progress = PartProgress(done, len(self._ended), self._data.taken_rows, rejects.count, rejects.dropped)
            self._staging.write_progress(self._part.name, progress)
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
        rejects = RowRange(self._rejects.name, self._reject, reject) if reject > self._reject else None
        line = LedgerBlock(
            file_index, index, read.block.start, read.block.stop, read.span_start, read.span_stop, read.rows,
            read.rejects, read.digest, (), rejects, read.missing, read.content_bytes, read.damage,
        )  # fmt: skip
        self._ended.append((read, line))
        self._row, self._reject = row, reject
        self._bytes_done += line.size_bytes

    def close(self) -> None:
        rows, rejects = self._data.taken_rows - self._row, self._rejects.count - self._reject
        if rows or rejects:
            raise InvariantError(
                "rows or rejects of a part are of none of its blocks", Where(path=self._rejects.name),
                f"{rows} rows and {rejects} rejects", "report it with the options",
            )  # fmt: skip
        self._rejects.close()
        self._data.close()

    def abandon(self, error: BaseException) -> None:
        try:
            self._rejects.abandon(error)
        finally:
            self._data.abandon(error)

    def leave_report(
        self, times: tuple[float, float] | None = None, chunks: int = 0, files: Sequence[str] = ()
    ) -> PartReport:
        """Make the report, once all files are there, and leave it: from now on the part is finished."""
        lines = (line for _, line in self._ended)
        blocks = tuple(replace(line, data=self._data.ranges(order)) for order, line in enumerate(lines))
        written = (*self._data.written, *([] if self._rejects.written is None else [self._rejects.written]))
        reads = [read for read, _ in self._ended]
        noticed = (read for read in reads if read.noticed)
        have_odd = (read for read in reads if read.oddities)
        odd = [each for read in have_odd for each in of_file(redact(read.block.file.path), read.oddities)]
        report = PartReport(
            self._part.number, blocks, written, self._rejects.dropped, tuple(self._rejects.examples),
            self._part.partition, chunks, tuple(files), times,
            noticed=tuple((redact(each.block.file.path), each.block.start, each.noticed) for each in noticed),
            odd=tuple((each.code, each.records, each.path, each.offset) for each in (odd and total_oddities(odd))),
        )  # fmt: skip
        self._staging.write_report(self._part, report)
        return report


def _miscounted(read: BlockReport, rows: int, rejects: int) -> InvariantError:
    return InvariantError(
        "a block's reader delivered another number of rows or rejects than it reports",
        Where(read.block.file.path, block=(read.block.start, read.block.stop)),
        f"{rows} rows and {rejects} rejects arrived, {read.rows} and {read.rejects} were reported",
        "report it with the options",
    )


WritePart: TypeAlias = Callable[[PartWriter, OutputPart], None]
"""Reads the blocks of a part, and gives rows, rejects and reports to its writer. Pickling: yes."""


def run_part(target: PartTarget, part: OutputPart, write_part: WritePart) -> PartReport:
    """Read the blocks of a part and write what they hold.

    The files appear whole, and the report after them; a part whose report is there is not read again. Running the
    same part twice, one after the other or at the same time, leaves the same bytes under the same names.
    """
    staging = target.open_staging()
    report = staging.read_finished(part)
    if report is not None:
        return report
    began = time.time()
    with PartWriter(target, staging, part) as writer:
        write_part(writer, part)
    return writer.leave_report((began, time.time()))


def write_files(spec: ScanSpec, writer: PartWriter, part: OutputPart) -> None:
    """Write a part whose blocks are of files."""
    with closing(ConsecutiveBlocks(spec)) as blocks:
        for file_index, block in part.blocks:
            with_digest = writer.target.settings.source_digests
            rows = blocks.open(block, on_reject=writer.take_rejects, with_digest=with_digest)
            for batch in rows:
                writer.write(batch, rows.passed_bytes)
            writer.end_block(rows.report, file_index, block.index)
