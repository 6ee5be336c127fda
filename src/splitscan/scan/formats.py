"""How the records of a scan become columns: the format that its options name, or the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, Where
from splitscan.formats.decoding.contract import Decoded, Decoder, Parser
from splitscan.formats.decoding.objects import ObjectDecoder
from splitscan.formats.decoding.values import BinaryDecoder
from splitscan.formats.framing.contract import Preamble, TextFormat
from splitscan.formats.registry import format_of
from splitscan.options import Mode
from splitscan.read.block_reader import BlockReader
from splitscan.read.cursor import Framed
from splitscan.read.reader_context import ContextReader, Converted
from splitscan.scan.required import with_required
from splitscan.scan.spec import ScanSpec

_MOST_DECODERS = 256  # of one scan

Decode: TypeAlias = Callable[[Framed], Decoded]


def step_decoder(
    spec: ScanSpec, block: BlockMetadata, reader: BlockReader | ContextReader, *, judge: bool = True
) -> Decode:
    """What turns the steps of a reader of one block into columns.

    Args:
        spec: What to deliver.
        block: What is read.
        reader: Its reader.
        judge: Whether somebody wants to know which records are broken. If not, nothing is decoded where nothing of the
            records is delivered, and no record is dropped.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    needs_no_value = not judge and spec.delivers_no_value and spec.options.reading.mode is Mode.PERMISSIVE
    if isinstance(reader, BlockReader):
        records = decoder(spec, block.file, reader.preamble)
        if needs_no_value:
            return lambda step: Decoded([], len(step.frames))
        if isinstance(records, Parser):
            reader.parse_with(records)
        return lambda step: with_required(spec, step.decoded or records.decode(step.data, step.frames))
    objects = ObjectDecoder(spec.fields, spec.judged, Where(block.file.path, block=(block.start, block.stop)))

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
    if spec.rescued_column is not None:
        return _new_decoder(spec, file, preamble)
    key = (preamble.format, preamble.header)
    known = spec.decoders.get(key)
    if known is None:
        known = _new_decoder(spec, file, preamble)
        if len(spec.decoders) >= _MOST_DECODERS:
            spec.decoders.clear()
        spec.decoders[key] = known
    return known


def _new_decoder(spec: ScanSpec, file: FileMetadata, preamble: Preamble) -> Decoder:
    if spec.framing is not None:
        return BinaryDecoder(wanted=bool(spec.judged))
    return format_of(spec.options).decoder(spec.options.format, spec, file, preamble)


def check_header(spec: ScanSpec, file: FileMetadata, preamble: Preamble) -> None:
    """What :func:`decoder` checks, for those who decode nothing.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    if spec.framing is None:
        format_of(spec.options).check_header(spec.options.format, spec, file, preamble)
