"""Decoders of the records of a scan: one for all files with the same header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from splitscan.arrays import flags_of
from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError
from splitscan.formats.decoding.contract import (
    NULL_IN_NOT_NULL,
    Decoded,
    Decoder,
    Fault,
    Faults,
    FaultTemplate,
    quoted,
)
from splitscan.formats.decoding.values import ObjectDecoder, ValueDecoder
from splitscan.formats.framing.contract import Preamble, has
from splitscan.formats.framing.encodings import UTF_8, Encoding, resolve_encoding
from splitscan.formats.registry import format_of
from splitscan.options import Mode
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.cursor import RecordChunk
from splitscan.reading.new_columns import Noticing, noticing_decoder
from splitscan.reading.reader_context import ContextReader, Converted
from splitscan.reading.spec import ScanSpec


def with_required(spec: ScanSpec, decoded: Decoded) -> Decoded:
    """Make a fault of every record that lacks a value of a column that is NOT NULL.

    Such a record can be no row: in mode DROPMALFORMED it is dropped, whatever columns are read, and in mode FAILFAST it
    fails the scan. In mode PERMISSIVE nothing is done here: whoever assembles rows fails.
    """
    if spec.options.reading.mode is Mode.PERMISSIVE:
        return decoded
    columns = zip(map(spec.fields.field, spec.validated), decoded.columns, strict=True)
    lacking = [(field, column) for field, column in columns if not field.nullable and column.null_count]
    if not lacking:
        return decoded
    found: dict[int, Fault] = {}
    for field, column in lacking:
        wording = FaultTemplate(NULL_IN_NOT_NULL, f"column {quoted(field.name)} is NOT NULL and has no value")
        for record in np.flatnonzero(flags_of(column.is_null())).tolist():
            found.setdefault(record, wording.fault(record))
    known = (each._replace(structural=True) if each.record in found else each for each in decoded.faults)
    return replace(decoded, faults=Faults.first_of(list(known), found.values()))


_MOST_DECODERS = 256  # of one scan

Decode: TypeAlias = Callable[[RecordChunk], Decoded]


def step_decoder(
    spec: ScanSpec,
    block: BlockMetadata,
    reader: FramedRecords | ContextReader,
    *,
    validate: bool = True,
    on_notice: Callable[[Noticing], None],
) -> Decode:
    """Decoder of the steps of a block's reader into columns.

    Args:
        validate: Whether somebody wants to know which records are broken. If not, nothing is decoded where nothing of
            the records is delivered, and no record is dropped.
        on_notice: Given what notices columns, where there is that.
    """
    if reader.preamble is not None:
        records = decoder(spec, block.file, reader.preamble)
        if needs_no_value(spec, validate=validate):
            return lambda step: Decoded([], len(step.frames))
        if spec.notices and (noticing := noticing_decoder(spec, block.file, reader.preamble, records)) is not None:
            on_notice(noticing.noticing)
            return lambda step: with_required(spec, noticing.settle(step))
        return lambda step: with_required(spec, records.decode(step.data, step.frames))
    objects = ObjectDecoder(spec.fields, spec.validated, block.where())

    def decode_values(step: RecordChunk) -> Decoded:
        if not isinstance(step, Converted):
            raise InvariantError("a reader context gives values", objects.where, seen=type(step).__name__)
        return with_required(spec, objects.decode(step.values))

    return decode_values


def needs_no_value(spec: ScanSpec, *, validate: bool) -> bool:
    """True if nothing of the records is decoded: they are rows without a value, and nobody asks which are broken."""
    return not validate and spec.delivers_no_value and spec.options.reading.mode is Mode.PERMISSIVE


def encoding_of(spec: ScanSpec, reader: FramedRecords | ContextReader) -> Encoding:
    """Encoding of a file's text, its byte order resolved."""
    format = None if reader.preamble is None else reader.preamble.format
    if has(format, "encoding"):
        return format.encoding
    return resolve_encoding(spec.options.format.text_encoding or UTF_8.name)


def decoder(spec: ScanSpec, file: FileMetadata, preamble: Preamble) -> Decoder:
    """The decoder for one file; files with the same header share one, unless it names the file."""
    if spec.framing is not None:
        return ValueDecoder(wanted=bool(spec.validated))
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
    """Compare the header of a file with the schema, for those who decode nothing; ``SchemaError`` if they differ."""
    if spec.framing is None:
        format_of(spec.options).check_header(spec.options.format, spec, file, preamble)
