"""The data files of one part: one file, or some for each partition that its rows belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.sinks.ledger import RowRange, WrittenFile
from splitscan.sinks.partitioning import Partitioning
from splitscan.sinks.settings import IngestSettings
from splitscan.sinks.writing import ParquetSink

MOST_OPEN = 32
"""Files that one part writes at a time: each holds a handle, and in an object store a buffer of some MB."""

_HELD_PORTIONS = 4  # sorted portions whose rows may wait for a row group of their partition

OpenFile = Callable[[str, int], ParquetSink]
"""Opens a data file: the folder of its partition, and the number of the file among those of the part in there."""


class PartFiles:
    """Routes the rows of a part to the files of their partitions, as a context manager.

    Rows of one partition keep their order. They are sorted by partition in portions of a row group, wait until their
    partition has a row group of its own, and are written earlier when the rows that wait reach four portions. So
    memory depends neither on the number of partitions nor on the length of the part. At most ``MOST_OPEN`` files are
    open: of the others the one that was written to first is closed, and rows that come for its partition later go to
    another file beside it. All that depends on the rows, their batches and the settings only.

    Args:
        open_file: Opens a data file.
        partitioning: Which columns choose the folder.
        settings: How long portions are.

    Attributes:
        taken_rows: Rows that were added so far.
        written: The files that are finished, in the order in which they were.
    """

    def __init__(self, open_file: OpenFile, partitioning: Partitioning, settings: IngestSettings) -> None:
        self._open_file, self._partitioning, self._settings = open_file, partitioning, settings
        self._sinks: dict[str, ParquetSink] = {}
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
        """Where the rows of a block are, by the order of the blocks, once all files are finished."""
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
        rows = batch.select(self._partitioning.file_schema(batch.schema).names).take(pa.array(order))
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
            texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        return texts.dictionary_encode()

    def _append(self, folder: str, rows: pa.RecordBatch, blocks: Iterable[tuple[int, int]]) -> None:
        """Add rows of one partition; *blocks* says of which, in order, and how many of each."""
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

    def _bound_open(self, folder: str, sink: ParquetSink) -> None:
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
        own = text.indices.fill_null(len(text.dictionary)).to_numpy().astype(np.int64)
        codes = own if codes is None else np.unique(codes * (len(text.dictionary) + 1) + own, return_inverse=True)[1]
    if codes is None:
        raise AssertionError("a partition has a column")
    return codes


def _text_at(text: pa.DictionaryArray, row: int) -> str | None:
    value: str | None = text[row].as_py()
    return value
