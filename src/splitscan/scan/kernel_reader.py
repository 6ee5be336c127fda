"""Read a block by the kernel's loop, where that reads such scans; else by the loop in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.arrays import flags_of, numbers_of
from splitscan.blocks import UNKNOWN_END, BlockMetadata, BlockReport
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.storage import ByteSource
from splitscan.engine import kernel
from splitscan.errors import (
    InvariantError,
    RecordError,
    SchemaError,
    SourceChangedError,
    SourceError,
    SplitscanError,
    UsageError,
    Where,
)
from splitscan.formats.contract import ShapedFormat
from splitscan.formats.decoding.contract import FaultKind, FaultTemplate, kernel_faults
from splitscan.formats.framing.contract import Preamble, RecordFormat, Splittability
from splitscan.formats.registry import format_of
from splitscan.read.contents import damage_of, in_content, preamble_for
from splitscan.scan.block_documents import block_document
from splitscan.scan.block_request import BlockRequest
from splitscan.scan.decoders import decoder
from splitscan.scan.framework.columns import prune_array
from splitscan.scan.framework.conform import rows_without_columns
from splitscan.scan.given_up import RowCount, reason_of
from splitscan.scan.noticing import Noticing
from splitscan.scan.record_reader import RecordBlockReader
from splitscan.scan.rejects import RejectBatch, failed_fast

_KINDS: dict[str, type[SplitscanError]] = {
    "usage": UsageError, "source": SourceError, "source-changed": SourceChangedError, "record": RecordError,
    "schema": SchemaError, "invariant": InvariantError,
}  # fmt: skip

_GIVEN_UP = 0  # the kernel's number of a record without an end; others are of records that became rows


class KernelBlockReader(RecordBlockReader):
    """Reads the records of one block in the kernel: finds them, decodes them, and makes batches.

    Args:
        request: What to read, and what is wanted of it.
        document: Of the scan, as the kernel is told of it.

    Thread safety: none.
    """

    def __init__(self, request: BlockRequest, document: str) -> None:
        super().__init__(request)
        self._document = document
        self._reader: Any = None
        self._word: Any = None

    @property
    def passed_bytes(self) -> int:
        """Bytes of the block that were read so far."""
        return super().passed_bytes if self._reader is None else int(self._reader.passed_bytes)

    def _count(self, source: ByteSource) -> RowCount:
        if not self._opens(source):
            return super()._count(source)
        with self._failing():
            rows, given_up, first = self._reader.count()
        offset, code = first or (-1, None)
        return RowCount(rows, given_up, self._block.file.path if given_up else "", offset, code)

    def _read(self, source: ByteSource) -> Iterator[pa.RecordBatch]:
        if not self._opens(source):
            yield from super()._read(source)
            return
        while (batch := self._next()) is not None:
            yield batch
        damage = damage_of(source)
        if damage is not None and self._block.start <= damage.content_offset < in_content(self._block, source).stop:
            self._rejects.take_damage(damage)
        else:
            damage = None
        if self._reader.report is not None:
            start, stop, rows, digest, content_bytes = self._reader.report
            noticed = b"" if self._noticing is None else self._noticing.packed()
            self._report = BlockReport(
                self._block, start, stop, rows, self._rejects.count, digest,
                content_bytes=content_bytes, damage=damage, noticed=noticed,
            )  # fmt: skip

    def _next(self) -> pa.RecordBatch | None:
        try:
            with self._failing():
                found = next(self._reader, None)
        finally:
            self._take_rejects()
            self._take_noticed()
        if found is None:
            return None
        batch = pa.record_batch(found)
        schema = self._spec.schema
        if not len(schema):
            return rows_without_columns(batch.num_rows)
        columns = batch.columns
        if self._spec.narrowed:
            columns = [prune_array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _opens(self, source: ByteSource) -> bool:
        """Open the kernel's reader, unless Python has to find the first record of this block."""
        block, format = in_content(self._block, source), self._spec.record_format
        module = kernel()
        if format is None or module is None:
            raise InvariantError("the kernel reads record formats", self._request.where)
        needs_context = format.splittability is Splittability.CONTEXT
        is_unknown = block.file.content_bytes == UNKNOWN_END and block.first_record_start is None
        if needs_context and is_unknown and block.start > 0:
            return False
        preamble = self._preamble(source, block, format)
        records = decoder(self._spec, block.file, preamble)
        self._word = getattr(records, "word", None)
        if self._word is None:
            return False
        if self._spec.notices and isinstance(shaped := format_of(self._spec.options), ShapedFormat):
            self._noticing = Noticing(self._spec, shaped)
        document = block_document(self._request, block, preamble)
        descriptor = getattr(source, "descriptor", None)
        with self._failing():
            self._reader = module.BlockReader(self._document, document, source, descriptor)
        return True

    def _preamble(self, source: ByteSource, block: BlockMetadata, format: RecordFormat) -> Preamble:
        opened = self._request.opened
        if opened is not None:
            return opened.preamble(format, block.start)
        try:
            return preamble_for(source, block.file, format, block.start)
        except ContainerError as error:
            error.locate(Where(block.file.path, row=0))
            raise

    def _take_noticed(self) -> None:
        noticing = self._noticing
        if noticing is None or not (found := self._reader.take_noticed()):
            return
        offsets, kept, records = zip(*found, strict=True)
        where = np.flatnonzero(noticing.worth_a_look(pa.array(kept, pa.string())))
        noticing.look_at((offsets[i], records[i]) for i in where)
        if noticing.is_over:
            self._reader.stop_noticing()

    # --------------------------------------------------------------- rejects

    def _take_rejects(self) -> None:
        found = self._reader.take_rejects()
        if found is None:
            return
        batch = pa.record_batch(found)
        rejects = self._rejects_in(batch)
        if self._request.on_reject is not None:
            self._rejects.take(rejects)
            return
        is_row = flags_of(batch["delivered"]) & (numbers_of(batch["code"]) != _GIVEN_UP)
        self._rejects.take([rejects[int(i)] for i in np.flatnonzero(~is_row)])
        if count := int(is_row.sum()):
            self._rejects.take_delivered(count, lambda: rejects[int(is_row.argmax())])

    def _rejects_in(self, batch: pa.RecordBatch) -> RejectBatch:
        return RejectBatch(
            self._block.file.path,
            numbers_of(batch["offset"]),
            numbers_of(batch["length"]),
            kernel_faults(batch, self._wording),
            batch["raw"],
            flags_of(batch["delivered"]),
        )

    def _wording(self, kind: FaultKind) -> FaultTemplate:
        if kind.number != _GIVEN_UP:
            wording: FaultTemplate = self._word(kind)
            return wording
        return FaultTemplate(kind.column, reason_of(kind.column, self._spec.options.reading.max_record_bytes))

    # ---------------------------------------------------------------- errors

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise what the kernel says as one of our errors."""
        module = kernel()
        try:
            yield
        except ContainerError as error:
            error.locate(Where(self._block.file.path, row=self._reader.records))
            raise
        except Exception as error:
            if module is None or not isinstance(error, module.BlockFailed):
                raise
            raise self._error(*error.args) from None

    def _error(
        self, kind: str, rule: str, offset: int | None, seen: str, fix: str, code: str, broken: Any
    ) -> SplitscanError:
        if broken is not None:
            reject = self._rejects_in(pa.record_batch(broken))[0]
            return failed_fast(reject, self._where(reject.offset))
        return _KINDS[kind](rule, self._where(offset), seen or None, fix or None, code)

    def _where_now(self) -> Where:
        if self._reader is None:
            return super()._where_now()
        return self._where(self._reader.last_row)
