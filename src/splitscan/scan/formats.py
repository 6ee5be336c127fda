"""From options to a record format and a decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.decoding.contract import Decoded, Decoder, Parser
from splitscan.decoding.csv_arrays import CsvFrameDecoder
from splitscan.decoding.filling import Filling, FillingDecoder
from splitscan.decoding.json import JsonDecoder
from splitscan.decoding.json_text import JsonDialect
from splitscan.decoding.native_json import json_with_kernel
from splitscan.decoding.native_text import fixed_with_kernel, text_with_kernel
from splitscan.decoding.objects import ObjectDecoder
from splitscan.decoding.values import BinaryDecoder, TextDecoder
from splitscan.errors import InvariantError, Where
from splitscan.framing.contract import Preamble, RecordFormat
from splitscan.framing.delimited import DelimitedFormat, line_format
from splitscan.framing.encodings import Encoding, resolve_encoding
from splitscan.framing.fixed import FixedFormat, SliceFormat
from splitscan.framing.json import JsonFormat, JsonLinesFormat, json_lines
from splitscan.framing.lines import LineFormat
from splitscan.framing.quoted import Dialect, QuotedFormat
from splitscan.options import (
    CsvOptions,
    FixedOptions,
    JsonOptions,
    Mode,
    ReadOptions,
    SlicesOptions,
    TextOptions,
)
from splitscan.scan.columns.column_rules import default_of, options_of, rules_of, rules_of_format
from splitscan.scan.csv_files import csv_decoder, field_names, rescue_for
from splitscan.scan.managed_reading import Reading
from splitscan.scan.required import with_required
from splitscan.scan.spec import ScanSpec
from splitscan.splitting.block_reader import BlockReader
from splitscan.splitting.cursor import Framed
from splitscan.splitting.reader_context import ContextReader, Converted

_MOST_DECODERS = 256  # of one scan

Decode: TypeAlias = Callable[[Framed], Decoded]


def record_format(options: ReadOptions) -> RecordFormat:
    """The way to find records that *options* describe."""
    match options.format:
        case CsvOptions() as csv:
            return _csv_format(csv, csv.encoding)
        case TextOptions() as text:
            return line_format(text.line_sep, text.escape, text.encoding)
        case FixedOptions() as fixed:
            return FixedFormat(fixed.record_length)
        case SlicesOptions() as slices:
            return SliceFormat(slices.slice_bytes)
        case JsonOptions() as json:
            return _json_format(json)
    raise InvariantError("every record format has options of its own", seen=repr(options.format))


def reading_of(spec: ScanSpec) -> Reading:
    """How the records of a scan are found: in the user's own way, or as its options say."""
    return spec.framing or record_format(spec.options)


def _csv_format(csv: CsvOptions, encoding: str) -> QuotedFormat:
    dialect = Dialect(
        encoding=resolve_encoding(encoding),
        sep=csv.sep,
        quote=csv.quote,
        escape=csv.escape,
        comment=csv.comment,
        line_sep=csv.line_sep,
        multi_line=csv.multi_line,
        trim_leading=csv.ignore_leading_white_space,
    )
    return QuotedFormat(
        dialect, header=csv.header, skip_lines=csv.skip_rows, trim_trailing=csv.ignore_trailing_white_space
    )


def _json_format(json: JsonOptions) -> JsonFormat | JsonLinesFormat:
    if json.multi_line:
        return JsonFormat(resolve_encoding(json.encoding))
    return json_lines(json.line_sep, json.encoding)


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
    encoding = getattr(format.dialect if isinstance(format, QuotedFormat) else format, "encoding", None)
    return encoding.codec if isinstance(encoding, Encoding) else "utf-8"


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
    if spec.framing is not None or _has_no_fields(spec):
        return CsvFrameDecoder() if spec.framing is None else BinaryDecoder(wanted=bool(spec.judged))
    match spec.options.format:
        case CsvOptions() as csv:
            return csv_decoder(spec, csv, file, preamble)
        case TextOptions():
            return _text_decoder(spec, preamble)
        case JsonOptions() as json:
            return _json_decoder(spec, json, file, preamble)
        case FixedOptions() as fixed:
            return _pieces_decoder(spec, fixed.record_length, short_is_a_fault=True)
        case SlicesOptions() as slices:
            return _pieces_decoder(spec, slices.slice_bytes, short_is_a_fault=False)
    raise InvariantError("every record format has options of its own", seen=repr(spec.options.format))


def _pieces_decoder(spec: ScanSpec, piece_bytes: int, *, short_is_a_fault: bool) -> Decoder:
    return fixed_with_kernel(BinaryDecoder(wanted=bool(spec.judged)), piece_bytes, short_is_a_fault=short_is_a_fault)


def _text_decoder(spec: ScanSpec, preamble: Preamble) -> Decoder:
    format = preamble.format
    if not isinstance(format, LineFormat | DelimitedFormat):
        raise InvariantError("text is framed by delimiters", seen=format.name)
    return text_with_kernel(TextDecoder(format.encoding, wanted=bool(spec.judged)), format)


def check_header(spec: ScanSpec, file: FileMetadata, preamble: Preamble) -> None:
    """What :func:`decoder` checks, for those who decode nothing.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    csv = spec.options.format
    if spec.framing is None and isinstance(csv, CsvOptions) and not (spec.is_array or _has_no_fields(spec)):
        field_names(spec, csv, file, preamble.header)


def _has_no_fields(spec: ScanSpec) -> bool:
    """Whether nothing says how many fields a record of CSV has."""
    return isinstance(spec.options.format, CsvOptions) and not spec.fields and spec.delivers_no_value


def _json_decoder(spec: ScanSpec, json: JsonOptions, file: FileMetadata, preamble: Preamble) -> Decoder:
    if not isinstance(preamble.format, JsonFormat | JsonLinesFormat):
        raise InvariantError("JSON is framed as JSON", seen=preamble.format.name)
    rules = rules_of_format(spec.options)
    own = {column.name: rules_of(column, rules) for column in spec.decoded if options_of(column).format is not None}
    reference = JsonDecoder(
        encoding=preamble.format.encoding,
        fields=tuple(column.remove_metadata() for column in spec.decoded),
        dialect=json_dialect(json),
        rules=rules,
        own_rules=own,
        rescue=rescue_for(spec, file),
    )
    decoder = json_with_kernel(reference, preamble.format)
    defaults = [default_of(column, rules) for column in spec.decoded]
    if not any(default is not None for default in defaults):
        return decoder
    fillings = [
        Filling(column.type, index, default, fills_nulls=default is not None)
        for index, (column, default) in enumerate(zip(spec.decoded, defaults, strict=True))
    ]
    return FillingDecoder(decoder, tuple(fillings))


def json_dialect(json: JsonOptions) -> JsonDialect:
    """The leniencies that *json* names."""
    return JsonDialect(
        allow_single_quotes=json.allow_single_quotes,
        allow_unquoted_field_names=json.allow_unquoted_field_names,
        allow_numeric_leading_zeros=json.allow_numeric_leading_zeros,
        allow_non_numeric_numbers=json.allow_non_numeric_numbers,
        allow_backslash_escaping_any_character=json.allow_backslash_escaping_any_character,
        allow_unquoted_control_chars=json.allow_unquoted_control_chars,
    )
