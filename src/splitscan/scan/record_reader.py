"""The reader of framed records, on the framework: it finds the records of a block, and decodes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from splitscan.arrays import flag_array, flags_of, number_array, text_array
from splitscan.blocks import BlockMetadata, ByteRange, Damage, FileMetadata
from splitscan.errors import InvariantError, Where
from splitscan.formats.column_rules import default_of, rules_of_format
from splitscan.formats.decoding.contract import NULL_IN_NOT_NULL, Decoded, Decoder, Faults, Parser, Wording, quoted
from splitscan.formats.decoding.values import BinaryDecoder, ObjectDecoder
from splitscan.formats.framing.contract import Preamble, TextFormat
from splitscan.formats.registry import format_of
from splitscan.options import Mode
from splitscan.read.block_reader import BlockReader
from splitscan.read.cursor import RAW_BYTES, Framed, Skipped
from splitscan.read.opened_file import OpenedFile
from splitscan.read.reader_context import ContextReader, Converted
from splitscan.scan.framework import Origin, ResultSetLoader, SchemaNegotiator
from splitscan.scan.framework.columns import prune_array
from splitscan.scan.framework.conform import rows_without_columns
from splitscan.scan.given_up import reason_of
from splitscan.scan.noticing import NoticingDecoder, noticing_decoder, pack_noticed
from splitscan.scan.own_formats import ContextReading, ManagedReading
from splitscan.scan.rejects import RejectBatch, slices
from splitscan.scan.spec import ScanSpec


def with_required(spec: ScanSpec, decoded: Decoded) -> Decoded:
    """Make a fault of every record that lacks a value of a column that is NOT NULL.

    Such a record can be no row: in mode DROPMALFORMED it is dropped, whatever columns are read, and in mode FAILFAST it
    fails the scan. In mode PERMISSIVE nothing is done here: whoever assembles rows fails.

    Args:
        spec: What is delivered.
        decoded: Columns of ``spec.validated``, with their defaults filled in.
    """
    if spec.options.reading.mode is Mode.PERMISSIVE:
        return decoded
    columns = zip(map(spec.fields.field, spec.validated), decoded.columns, strict=True)
    lacking = [(field, column) for field, column in columns if not field.nullable and column.null_count]
    if not lacking:
        return decoded
    found = []
    for field, column in lacking:
        records = np.flatnonzero(flags_of(column.is_null()))
        wording = Wording(NULL_IN_NOT_NULL, f"column {quoted(field.name)} is NOT NULL and has no value")
        found.append(Faults.alike(records, wording))
    known = decoded.faults.made_structural(np.concatenate([faults.records for faults in found]))
    return replace(decoded, faults=Faults.first_of(known, *found))


_MOST_DECODERS = 256  # of one scan

Decode: TypeAlias = Callable[[Framed], Decoded]


def step_decoder(
    spec: ScanSpec,
    block: BlockMetadata,
    reader: BlockReader | ContextReader,
    *,
    validate: bool = True,
    on_notice: Callable[[NoticingDecoder], None],
) -> Decode:
    """What turns the steps of a reader of one block into columns.

    Args:
        spec: What to deliver.
        block: What is read.
        reader: Its reader.
        validate: Whether somebody wants to know which records are broken. If not, nothing is decoded where nothing of
            the records is delivered, and no record is dropped.
        on_notice: Given the decoder that notices columns, where there is one.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    needs_no_value = not validate and spec.delivers_no_value and spec.options.reading.mode is Mode.PERMISSIVE
    if isinstance(reader, BlockReader):
        records = decoder(spec, block.file, reader.preamble)
        if spec.notices and (noticing := noticing_decoder(spec, block.file, reader.preamble, records)) is not None:
            on_notice(noticing)
            records = noticing
        if needs_no_value:
            return lambda step: Decoded([], len(step.frames))
        if isinstance(records, Parser):
            reader.parse_with(records)
        return lambda step: with_required(spec, step.decoded or records.decode(step.data, step.frames))
    objects = ObjectDecoder(spec.fields, spec.validated, Where(block.file.path, block=(block.start, block.stop)))

    def decode_values(step: Framed) -> Decoded:
        if not isinstance(step, Converted):
            raise InvariantError("a reader context gives values", objects.where, seen=type(step).__name__)
        return with_required(spec, objects.decode(step.values))

    return decode_values


def codec_of(reader: BlockReader | ContextReader) -> str:
    """Python's name of the encoding of a file's text, its byte order resolved."""
    format = reader.preamble.format if isinstance(reader, BlockReader) else None
    return format.encoding.codec if isinstance(format, TextFormat) else "utf-8"


def decoder(spec: ScanSpec, file: FileMetadata, preamble: Preamble) -> Decoder:
    """The decoder for one file; files with the same header share one, unless it names the file.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    if spec.framing is not None:
        return BinaryDecoder(wanted=bool(spec.validated))
    key = (preamble.format, preamble.header)
    known = spec.decoders.get(key)
    if known is None:
        known = format_of(spec.options).decoder(spec.options.format, spec, file, preamble)
        if spec.rescued_column is None:  # else it names the file
            if len(spec.decoders) >= _MOST_DECODERS:
                spec.decoders.clear()
            spec.decoders[key] = known
    return known


def check_header(spec: ScanSpec, file: FileMetadata, preamble: Preamble) -> None:
    """What :func:`decoder` checks, for those who decode nothing.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    if spec.framing is None:
        format_of(spec.options).check_header(spec.options.format, spec, file, preamble)


def _brought(spec: ScanSpec, constants: frozenset[str]) -> tuple[pa.Schema, list[pa.Field]]:
    """What a reader of records brings, as a schema and its fields: the same objects for all blocks."""
    known: tuple[pa.Schema, list[pa.Field]] | None = spec.plans.get(constants)
    if known is None:
        brought = [field for field in spec.schema if field.name not in constants]
        known = spec.plans.setdefault(constants, (pa.schema(brought), brought))
    return known


class _Starts(Sequence[int]):
    """Where the rows of a step begin in the file; found when an error, or a reject, has to name a place.

    Args:
        step: The records.
        keep: Which of them are rows; ``None`` for all.
    """

    def __init__(self, step: Framed, keep: npt.NDArray[np.bool_] | None) -> None:
        self._step = step
        self._keep = keep

    def __len__(self) -> int:
        return len(self._step.frames) if self._keep is None else int(np.count_nonzero(self._keep))

    def __getitem__(self, row: Any) -> Any:
        return (self._step.record_offsets if self._keep is None else self._step.record_offsets[self._keep])[row]


def _records_of(rows: int | None, records: int, keep: npt.NDArray[np.bool_] | None) -> int:
    """How many of the records it takes to deliver so many rows; all of them, if they are not enough."""
    if rows is None or keep is None:
        return records if rows is None else min(rows, records)
    kept = np.flatnonzero(keep)
    return int(kept[rows - 1]) + 1 if 0 < rows <= len(kept) else records


def _decoded(raw: pa.Array, codec: str) -> pa.Array:
    """Text of records, with replacement characters where their bytes are none."""
    return text_array([record.decode(codec, "replace") for record in raw.to_pylist()], pa.string())


class RecordReader:
    """Reads one block: finds its records, decodes them, and hands over columns of exactly the wanted types.

    Args:
        spec: What to deliver.
        block: What to read.
        constants: Names of the columns that the framework fills in.
        with_digest: Whether to hash the bytes of the span.
        validate: Whether somebody wants to know which records are broken.
        opened: The file, where it stays open for the next range; its head is read once.

    Attributes:
        span: The bytes the reader answered for; known once it was read to its end.
        digest: SHA-256 of the bytes of the span, hexadecimal; empty if not asked for.
        content_bytes: Length of the content of a compressed file, if the reader reached its end.
        damage: Where a file is damaged whose damage is ignored, if that is in the block; known as ``span`` is.
        noticed: Columns that the records have had and the scan has not, as a serialised schema; empty for none.
        position: The offset up to which it has read records.
    """

    span: ByteRange | None = None
    digest: str = ""
    content_bytes: int | None = None
    damage: Damage | None = None
    noticed: bytes = b""
    _reader: BlockReader | ContextReader
    _decode: Decode

    def __init__(
        self,
        spec: ScanSpec,
        block: BlockMetadata,
        constants: frozenset[str],
        *,
        with_digest: bool,
        validate: bool = True,
        opened: OpenedFile | None = None,
    ) -> None:
        self._spec = spec
        self._block = block
        self._with_digest = with_digest
        self._validate_records = validate
        self._fails = spec.options.reading.mode is Mode.FAILFAST
        self._reports_faults = validate or self._fails
        self._opened = opened
        self._schema, self._brought = _brought(spec, constants)
        self._own = frozenset(spec.fields.names)
        self._drops = spec.options.reading.mode is Mode.DROPMALFORMED
        self._steps: Iterator[Framed | Skipped] = iter(())
        self.position = block.start
        self._notices: list[NoticingDecoder] = []

    def open(self, negotiator: SchemaNegotiator) -> bool:
        """Open the file and find the first record."""
        spec, reading = self._spec, self._spec.options.reading
        framing = spec.reading
        if isinstance(framing, ManagedReading):
            raise InvariantError("a reader of the user's own finds its records itself", self._where(self._block.start))
        source, block = negotiator.open_source(), self._block
        if isinstance(framing, ContextReading):
            self._reader = framing.reader(
                source,
                block,
                max_record_bytes=reading.max_record_bytes,
                read_bytes=reading.read_bytes,
                with_digest=self._with_digest,
            )
        else:
            self._reader = BlockReader(
                source,
                block,
                framing,
                max_record_bytes=reading.max_record_bytes,
                read_bytes=reading.read_bytes,
                preamble=None if self._opened is None else self._opened.preamble(framing, block.start),
                with_digest=self._with_digest,
            )
        self._decode = step_decoder(
            spec, self._block, self._reader, validate=self._validate_records, on_notice=self._notices.append
        )
        self._steps = iter(self._reader)
        self._codec = codec_of(self._reader)  # of the text of broken records
        negotiator.table_schema(self._schema)
        return True

    def next(self, loader: ResultSetLoader) -> bool:
        """Take one step: the records of one buffer, or one that is skipped."""
        step = next(self._steps, None)
        if step is None:
            self.span, self.digest = self._reader.span, self._reader.digest
            self.content_bytes, self.damage = self._reader.content_bytes, self._reader.damage
            if self._notices:
                self.noticed = pack_noticed(self._notices[0].noticed)
            return False
        if isinstance(step, Skipped):
            self._give_up(step, loader)
        else:
            self._append(step, loader)
        self.position = step.stop
        return True

    def close(self) -> None:
        """Stop reading; the framework closes the file."""
        close = getattr(self._steps, "close", None)
        if close is not None:
            close()

    def _append(self, step: Framed, loader: ResultSetLoader) -> None:
        decoded = self._decode(step)
        if decoded.rows != len(step.frames):
            raise InvariantError(
                "every record becomes one row",
                self._where(step.offset),
                seen=f"{decoded.rows} rows of {len(step.frames)} records",
            )
        keep = self._report_faults(step, decoded, loader)
        batch = self._assemble(step, decoded)
        if keep is not None:
            batch = batch.filter(flag_array(keep))
        loader.append(batch, origin=Origin(offset=_Starts(step, keep)))

    def _give_up(self, step: Skipped, loader: ResultSetLoader) -> None:
        """Report a record whose end is not known; its beginning is a row where there is a column for it."""
        reason, kept = reason_of(step.code, self._spec.options.reading.max_record_bytes), self._spec.keeps_given_up
        loader.reject(
            step.raw, reason, origin=step.offset, code=step.code, length_bytes=step.length_bytes, delivered=kept
        )
        if kept:
            loader.append(self._row_of(step), origin=step.offset)

    def _row_of(self, step: Skipped) -> pa.RecordBatch:
        """No value but the defaults, the beginning of the record, and its place."""
        rules, own = rules_of_format(self._spec.options), {field.name: field for field in self._spec.fields}
        known = {
            self._spec.corrupt_column: step.raw.decode(self._codec, "replace"),
            "record_offset": step.offset,
            "record_length": step.length_bytes,
        }
        arrays = []
        for field in self._schema:
            value = default_of(own[field.name], rules) if field.name in own else known.get(field.name)
            arrays.append(pa.nulls(1, field.type) if value is None else pa.array([value], field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema) if arrays else rows_without_columns(1)

    def _report_faults(self, step: Framed, decoded: Decoded, loader: ResultSetLoader) -> npt.NDArray[np.bool_] | None:
        """Report faults up to the last row that is wanted; say which records are delivered (None: all)."""
        broken = decoded.faults.records
        dropped = broken[decoded.faults.structural] if self._drops else broken[:0]
        keep: npt.NDArray[np.bool_] | None = None
        if len(dropped):
            keep = np.ones(decoded.rows, dtype=bool)
            keep[dropped] = False
        if not self._reports_faults:
            return keep
        validated = _records_of(loader.remaining_rows, decoded.rows, keep)
        if count := int(np.searchsorted(broken, validated)):  # in mode FAILFAST the first one ends the scan
            loader.reject_records(self._rejects_of(step, decoded, 1 if self._fails else count))
        return keep

    def _rejects_of(self, step: Framed, decoded: Decoded, count: int) -> RejectBatch:
        """The first faults of a step, as rejects."""
        faults = decoded.faults if count == len(decoded.faults) else decoded.faults[:count]
        records = faults.records
        starts, stops = step.frames.starts[records], step.frames.stops[records]
        raw = slices(step.data, starts, np.minimum(stops, starts + RAW_BYTES))
        delivered = ~faults.structural if self._drops else np.ones(count, dtype=np.bool_)
        return RejectBatch(self._block.file.path, starts + step.offset, stops - starts, faults, raw, delivered)

    def _assemble(self, step: Framed, decoded: Decoded) -> pa.RecordBatch:
        data = iter(decoded.columns)
        arrays = []
        for field in self._brought:
            if field.name in self._own:
                arrays.append(prune_array(next(data), field.type))
            elif field.name == self._spec.corrupt_column:
                arrays.append(self._corrupt_column(step, decoded))
            elif field.name == self._spec.rescued_column:
                kept = decoded.rescued
                arrays.append(pa.nulls(decoded.rows, pa.string()) if kept is None else kept)
            elif field.name == "record_offset":
                arrays.append(number_array(step.record_offsets))
            else:
                arrays.append(number_array(step.frames.stops - step.frames.starts))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema) if arrays else rows_without_columns(decoded.rows)

    def _corrupt_column(self, step: Framed, decoded: Decoded) -> pa.Array:
        if not decoded.faults:
            return pa.nulls(decoded.rows, pa.string())
        broken, frames = decoded.faults.records, step.frames
        raw = slices(step.data, frames.starts[broken], frames.stops[broken])
        try:
            texts = raw.cast(pa.string()) if self._codec == "utf-8" else _decoded(raw, self._codec)
        except pa.ArrowInvalid:
            texts = _decoded(raw, self._codec)
        order = np.full(decoded.rows, -1)
        order[broken] = np.arange(len(broken))
        return texts.take(number_array(order, order >= 0))

    def _where(self, offset: int) -> Where:
        return Where(self._block.file.path, offset, (self._block.start, self._block.stop))
