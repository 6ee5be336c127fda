"""One block as record batches: read, decode, judge, deliver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, ByteRange, Reject
from splitscan.decoding.contract import Decoded, Fault
from splitscan.errors import (
    InvariantError,
    RecordError,
    SchemaError,
    SourceError,
    SourceMissingError,
    Where,
    quote_bytes,
)
from splitscan.options import Mode, OnFileChange
from splitscan.scan.columns.pruning import prune_array
from splitscan.scan.formats import Decode, codec_of, record_format, step_decoder
from splitscan.scan.spec import ScanSpec
from splitscan.splitting.cursor import RAW_BYTES, Framed, Skipped
from splitscan.splitting.record_readers import open_reader
from splitscan.storage import ByteSource, check_unchanged, open_source

OnReject = Callable[[Reject], None]

_OTHER_REASON = "the reader context rejects the record"
_SKIP_REASONS = {
    "record-too-long": "the record is longer than maxRecordBytes={limit}",
    "unclosed-quote": "a quote is opened and never closed",
    "unfinished-record": "a bracket is opened and never closed",
}


class BlockScan:
    """Reads one block and yields batches of exactly ``spec.schema``.

    After the last batch ``report`` holds the line of the ledger.

    Args:
        spec: What to deliver.
        block: What to read.
        on_reject: Called for every record that breaks a rule, in order.
        with_digest: Whether the report carries the digest of the bytes.

    Raises:
        SourceError: If the file cannot be read or has changed.
        RecordError: In mode FAILFAST, for the first record that breaks a rule.
        SchemaError: If a header disagrees, or a column that must not be null is.
    """

    def __init__(
        self, spec: ScanSpec, block: BlockMetadata, *, on_reject: OnReject | None = None, with_digest: bool = False
    ) -> None:
        self._spec = spec
        self._schema = spec.schema
        self._block = block
        self._constants = spec.constants(block)
        self._on_reject = on_reject
        self._with_digest = with_digest
        self._mode = spec.options.reading.mode
        self._rows = 0
        self._rejects = 0
        self._report: BlockReport | None = None
        self._codec = "utf-8"  # of the text of broken records

    @property
    def report(self) -> BlockReport:
        """What was done; known once iteration has ended."""
        if self._report is None:
            raise InvariantError("a block is reported after it was read to its end", self._where(self._block.start))
        return self._report

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        files = self._spec.options.files
        try:
            source = open_source(self._block.file.path, files.storage_options)
        except SourceMissingError as error:
            if not files.ignore_missing_files:
                raise
            self._give_up(error)
            return
        try:
            if files.on_file_change is OnFileChange.FAIL:
                check_unchanged(self._block.file, source)
            yield from self._read(source)
        finally:
            source.close()

    def _read(self, source: ByteSource) -> Iterator[pa.RecordBatch]:
        reading = self._spec.options.reading
        reader = open_reader(
            self._spec.framing or record_format(self._spec.options),
            source,
            self._block,
            max_record_bytes=reading.max_record_bytes,
            read_bytes=reading.read_bytes,
            with_digest=self._with_digest,
        )
        decode = step_decoder(self._spec, self._block, reader)
        self._codec = codec_of(reader)
        for step in reader:
            if isinstance(step, Skipped):
                self._reject_skipped(step)
            else:
                yield from self._deliver(step, decode)
        self._finish(reader.span, reader.digest)

    def _finish(self, span: ByteRange, digest: str, *, missing: bool = False) -> None:
        self._report = BlockReport(self._block, span.start, span.stop, self._rows, self._rejects, digest, missing)

    def _give_up(self, error: SourceError) -> None:
        """A file that may be missing in every mode: its bytes are one reject, so that nothing is lost silently."""
        block = self._block
        self._report_reject(
            Reject(block.file.path, block.start, block.length_bytes, error.reason_code, error.rule, b"", False)
        )
        self._finish(ByteRange(block.start, block.stop), "", missing=True)

    # ------------------------------------------------------------- batches

    def _deliver(self, step: Framed, decode: Decode) -> Iterator[pa.RecordBatch]:
        decoded = decode(step)
        if decoded.rows != len(step.frames):
            raise InvariantError(
                "every record becomes one row",
                self._where(step.offset),
                seen=f"{decoded.rows} rows of {len(step.frames)} records",
            )
        keep = self._judge(step, decoded)
        batch = self._assemble(step, decoded)
        if keep is not None:
            batch = batch.filter(pa.array(keep))
        self._check_nulls(step, batch)
        self._rows += batch.num_rows
        yield from self._slices(batch)

    def _judge(self, step: Framed, decoded: Decoded) -> npt.NDArray[np.bool_] | None:
        """Report faults; say which records are delivered (None: all)."""
        keep: npt.NDArray[np.bool_] | None = None
        for fault in decoded.faults:
            dropped = fault.structural and self._mode is Mode.DROPMALFORMED
            if dropped:
                keep = np.ones(decoded.rows, dtype=bool) if keep is None else keep
                keep[fault.record] = False
            self._count(self._reject_of(step, fault, delivered=not dropped))
        return keep

    def _reject_of(self, step: Framed, fault: Fault, *, delivered: bool) -> Reject:
        start, stop = int(step.frames.starts[fault.record]), int(step.frames.stops[fault.record])
        raw = bytes(step.data[start : min(stop, start + RAW_BYTES)])
        return Reject(
            self._block.file.path, step.offset + start, stop - start, fault.code, fault.reason, raw, delivered
        )

    def _reject_skipped(self, step: Skipped) -> None:
        reason = _SKIP_REASONS.get(step.code, _OTHER_REASON).format(limit=self._spec.options.reading.max_record_bytes)
        path = self._block.file.path
        self._count(Reject(path, step.offset, step.length_bytes, step.code, reason, step.raw, False))

    def _count(self, reject: Reject) -> None:
        if self._mode is Mode.FAILFAST:
            raise_reject(reject, self._block)
        self._report_reject(reject)

    def _report_reject(self, reject: Reject) -> None:
        self._rejects += 1
        if self._on_reject is not None:
            self._on_reject(reject)

    def _assemble(self, step: Framed, decoded: Decoded) -> pa.RecordBatch:
        data = iter(decoded.columns)
        arrays, own = [], frozenset(self._spec.fields.names)
        for field in self._schema:
            if field.name in self._constants:
                arrays.append(pa.repeat(self._constants[field.name], decoded.rows))
            elif field.name in own:
                arrays.append(prune_array(next(data), field.type))
            elif field.name == self._spec.corrupt_column:
                arrays.append(self._corrupt_column(step, decoded))
            elif field.name == "record_offset":
                arrays.append(pa.array(step.record_offsets))
            else:
                arrays.append(pa.array(step.frames.stops - step.frames.starts))
        if arrays:
            return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        rows = pa.StructArray.from_buffers(pa.struct([]), decoded.rows, [None])
        return pa.RecordBatch.from_struct_array(rows)

    def _corrupt_column(self, step: Framed, decoded: Decoded) -> pa.Array:
        if not decoded.faults:
            return pa.nulls(decoded.rows, pa.string())
        texts: list[str | None] = [None] * decoded.rows
        for fault in decoded.faults:
            start, stop = int(step.frames.starts[fault.record]), int(step.frames.stops[fault.record])
            texts[fault.record] = bytes(step.data[start:stop]).decode(self._codec, "replace")
        return pa.array(texts, pa.string())

    def _check_nulls(self, step: Framed, batch: pa.RecordBatch) -> None:
        for index, field in enumerate(self._schema):
            if not field.nullable and batch.column(index).null_count:
                row = int(np.flatnonzero(batch.column(index).is_null().to_numpy(zero_copy_only=False))[0])
                raise SchemaError(
                    f"column {field.name!r} is NOT NULL and has a null",
                    Where(self._block.file.path, column=field.name, block=(self._block.start, self._block.stop)),
                    seen=f"a null in row {self._rows + row} of the block, near byte {step.offset}",
                    fix="drop NOT NULL from the schema, or correct the file",
                    code="null-in-not-null",
                )

    def _slices(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        reading = self._spec.options.reading
        pieces = max(-(-batch.num_rows // reading.batch_rows), -(-batch.nbytes // reading.batch_bytes), 1)
        rows = max(-(-batch.num_rows // pieces), 1)
        for start in range(0, batch.num_rows, rows):
            piece = batch.slice(start, rows)
            if piece.num_rows > 1 and piece.nbytes > reading.batch_bytes:  # some rows are larger than others
                yield from self._slices(piece)
            else:
                yield piece

    def _where(self, offset: int) -> Where:
        return Where(self._block.file.path, offset, (self._block.start, self._block.stop))


def raise_reject(reject: Reject, block: BlockMetadata) -> NoReturn:
    """Raise the error of mode FAILFAST for a record."""
    raise RecordError(
        f"{reject.reason} (mode=FAILFAST)",
        Where(reject.path, reject.offset, (block.start, block.stop)),
        seen=quote_bytes(reject.raw),
        fix="correct the record, or set mode=PERMISSIVE or DROPMALFORMED to go on without it",
        code=reject.code,
    )
