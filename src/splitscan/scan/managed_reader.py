"""The adapter of readers of the user's own: the scan framework runs one of them for a block."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from splitscan.blocks import BlockReport, ByteRange
from splitscan.content.storage import ByteSource, digest_of
from splitscan.errors import SourceMissingError, UsageError
from splitscan.formats.column_rules import default_of, rules_of_format
from splitscan.scan.block_request import BlockReader, BlockRequest
from splitscan.scan.framework import ManagedReader, OutputPlan, ReaderPlan, ScanOperator
from splitscan.scan.own_formats import ManagedReading
from splitscan.scan.spec import ScanSpec


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
            make=lambda: reader,
            split=request.block,
            open_source=self._open_source,
            constants=request.constants,
            provided_schema=spec.fields if len(spec.fields) else None,
            options=spec.options,
            read_bytes=spec.options.reading.read_bytes,
        )
        scan = ScanOperator(output_plan(spec, request.limit), [plan], self._rejects.take)
        yield from scan
        if request.limit is None:
            span = self._missing_span() if self._is_missing else self._span(reader)
            digest = self._hash(span) if request.with_digest and not self._is_missing else ""
            count = self._rejects.count
            self.result = BlockReport(
                request.block, span.start, span.stop, scan.rows, count, digest, self._is_missing
            )  # fmt: skip

    def _open_source(self) -> ByteSource:
        try:
            return self._request.open_source()
        except SourceMissingError:
            self._is_missing = True
            raise

    def _missing_span(self) -> ByteRange:
        return ByteRange(self._request.block.start, self._request.block.stop)

    def _span(self, reader: ManagedReader) -> ByteRange:
        """The bytes that a reader answers for: those it says, or its block."""
        block = self._request.block
        start, stop = getattr(reader, "span", None) or (block.start, block.stop)
        if not 0 <= start <= stop <= block.file.size_bytes:
            raise UsageError(
                "the span of a reader lies in its file",
                self._request.where,
                seen=f"span [{start}, {stop}) of {block.file.size_bytes} bytes",
                fix="correct the reader",
                code="reader-broken",
            )
        return ByteRange(start, stop)

    def _hash(self, span: ByteRange) -> str:
        source = self._request.open_source()
        try:
            return digest_of(source, span.start, span.stop)
        finally:
            source.close()


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
        empty_result=False,
        ignore_missing=spec.options.files.ignore_missing_files,
    )
