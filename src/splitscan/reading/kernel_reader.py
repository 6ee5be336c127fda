"""Read a block by the kernel: it finds records, decodes them, and makes batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.arrays import flags_of, numbers_of, with_names
from splitscan.blocks import UNKNOWN_END, BlockMetadata, Oddity, Reject
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.storage import ByteSource, ShortSource
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
from splitscan.formats.framing.contract import Preamble, has
from splitscan.formats.registry import format_of
from splitscan.reading.block_documents import block_document
from splitscan.reading.block_reader import follow_to_start
from splitscan.reading.block_request import BlockRequest, FileBlockReader, failed_to_read
from splitscan.reading.contents import check_head, content_bytes_of, damage_of, in_content, preamble_for
from splitscan.reading.cursor import Records
from splitscan.reading.framework.columns import prune_array
from splitscan.reading.framework.conform import rows_without_columns
from splitscan.reading.given_up import RowCount
from splitscan.reading.new_columns import Noticing
from splitscan.reading.oddities import of_file
from splitscan.reading.rejects import RejectBatch, failed_fast
from splitscan.reading.spec import ScanDocument, ScanSpec

_KINDS: dict[str, type[SplitscanError]] = {
    "usage": UsageError, "source": SourceError, "source-changed": SourceChangedError, "record": RecordError,
    "schema": SchemaError, "invariant": InvariantError,
}  # fmt: skip


def is_near(source: ByteSource) -> bool:
    """True if looking at the head of a file costs no request."""
    return hasattr(source, "descriptor") or isinstance(source, ShortSource)


def rows_of(found: Any, spec: ScanSpec) -> pa.RecordBatch:
    """Rows of the kernel in exactly the schema of a scan; names with a null character do not come whole."""
    batch, schema = pa.record_batch(found), spec.schema
    if not len(schema):
        return rows_without_columns(batch.num_rows)
    if not any(map(pa.types.is_nested, schema.types)):
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    named = {field.name: field.type for field in spec.decoded if pa.types.is_nested(field.type)}
    columns = [
        prune_array(with_names(column, named.get(name, column.type)), kind)
        for column, name, kind in zip(batch.columns, schema.names, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def rejects_of(path: str, batch: pa.RecordBatch) -> RejectBatch:
    """Rejects that the kernel told of a file."""
    return RejectBatch(
        path,
        numbers_of(batch["offset"]),
        numbers_of(batch["length"]),
        (batch["code"], batch["reason"]),
        batch["raw"],
        flags_of(batch["delivered"]),
    )


class KernelBlockReader(FileBlockReader):
    """Reads the records of one block in the kernel."""

    def __init__(self, request: BlockRequest, scan: ScanDocument) -> None:
        super().__init__(request)
        self._scan = scan
        self._reader: Any = None

    @property
    def passed_bytes(self) -> int:
        return 0 if self._reader is None else int(self._reader.passed_bytes)

    def _count(self, source: ByteSource) -> RowCount:
        rows, given_up, first = self._reader.count()
        offset, code = first or (-1, None)
        path = self._block.file.path
        odd = tuple(of_file(path, self._odd()))
        return RowCount(rows, given_up, path if given_up else "", offset, code, odd=odd)

    def _read(self, source: ByteSource) -> Iterator[pa.RecordBatch]:
        left = self._request.limit
        while (batch := self._next()) is not None:
            left = None if left is None else left - batch.num_rows
            yield batch
        if left == 0:
            return  # what follows is nobody's business
        damage = damage_of(source)
        if damage is not None and self._block.start <= damage.content_offset < in_content(self._block, source).stop:
            self._reject_damage(damage)
        else:
            damage = None
        if self._reader.report is not None:
            self._report_end(*self._reader.report, damage=damage)

    def _odd(self) -> tuple[Oddity, ...]:
        return () if self._reader is None else tuple(map(Oddity._make, self._reader.oddities))

    def _next(self) -> pa.RecordBatch | None:
        try:
            found = next(self._reader, None)
        finally:
            self._take_rejects()
            self._take_noticed()
        return None if found is None else rows_of(found, self._spec)

    def _open(self, source: ByteSource) -> None:
        block, format, module = in_content(self._block, source), self._spec.record_format, kernel()
        if format is None or module is None:
            raise InvariantError("the kernel reads record formats", self._block.where())
        head, opened = None, self._request.opened
        if opened is None and not self._scan.needs_head and is_near(source):
            if block.start == 0 or format.needs_head(block.start):
                check_head(source, block.file, format)
        else:
            if opened is None:
                preamble = preamble_for(source, block.file, format, block.start)
            else:
                preamble = opened.preamble(format, block.start)
            block, head = self._with_start(source, block, preamble), self._scan.head(preamble)
        if self._spec.notices and (own := format_of(self._spec.options)).shows_columns:
            self._noticing = Noticing(self._spec, own)
        document = block_document(self._request, block, head)
        descriptor = getattr(source, "descriptor", None)
        self._reader = module.BlockReader(self._scan.text, document, source, descriptor)

    def _with_start(self, source: ByteSource, block: BlockMetadata, preamble: Preamble) -> BlockMetadata:
        """The block with its first record, where only the content before it tells that, and must be passed anyway."""
        is_known = block.first_record_start is not None or block.start <= preamble.data_start
        if is_known or block.file.content_bytes < UNKNOWN_END or not has(preamble.format, "summarise"):
            return block
        reading = self._spec.options.reading
        records = Records(source, block.file, preamble, reading.max_record_bytes, reading.read_bytes)
        start = follow_to_start(records, block)
        if start == UNKNOWN_END and (end := content_bytes_of(source)) is not None:
            start = end
        return block.starting_at(start)

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
        rejects = rejects_of(self._block.file.path, batch)
        self._hand_on_columns(rejects, flags_of(batch["given_up"]))

    # ---------------------------------------------------------------- errors

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except ContainerError as error:
            error.locate(Where(self._block.file.path, row=0 if self._reader is None else self._reader.records))
            raise
        except SplitscanError as error:
            error.locate(self._where_now())
            raise
        except (pa.ArrowException, OSError) as error:
            raise failed_to_read(error, self._where_now()) from error
        except Exception as error:
            module = kernel()
            if module is None or not isinstance(error, module.BlockFailed):
                raise
            raise self._error(*error.args) from None

    def _error(
        self,
        kind: str,
        rule: str,
        place: tuple[int | None, str | None, int | None],
        seen: str,
        fix: str,
        code: str,
        broken: bytes | None,
    ) -> SplitscanError:
        offset, column, row = place
        where = self._block.where(offset, column, row)
        if broken is not None:
            reject = Reject(self._block.file.path, offset or 0, 0, code, rule, bytes(broken), delivered=False)
            return failed_fast(reject, where)
        return _KINDS[kind](rule, where, seen or None, fix or None, code)

    def _where_now(self) -> Where:
        """The last row that was found."""
        offset = None if self._reader is None else self._reader.last_row
        return self._block.where(offset)
