"""From options to a record format and a decoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.decoding.contract import Decoded, Decoder
from splitscan.decoding.conversions import Rules
from splitscan.decoding.csv import CsvDecoder, CsvLayout
from splitscan.decoding.csv_arrays import CsvArrayDecoder, CsvFrameDecoder
from splitscan.decoding.filling import Filling, FillingDecoder
from splitscan.decoding.json import JsonDecoder
from splitscan.decoding.json_text import JsonDialect
from splitscan.decoding.objects import ObjectDecoder
from splitscan.decoding.values import BinaryDecoder, TextDecoder
from splitscan.errors import InvariantError, SchemaError, Where
from splitscan.framing.contract import Preamble, RecordFormat
from splitscan.framing.delimited import line_format
from splitscan.framing.encodings import Encoding, resolve_encoding
from splitscan.framing.fixed import FixedFormat, SliceFormat
from splitscan.framing.json import JsonFormat, JsonLinesFormat, json_lines
from splitscan.framing.quoted import Dialect, QuotedFormat
from splitscan.options import (
    CsvOptions,
    FixedOptions,
    HeaderMapping,
    JsonOptions,
    Mode,
    ReadOptions,
    SlicesOptions,
    TextOptions,
)
from splitscan.scan.spec import ScanSpec
from splitscan.splitting.block_reader import BlockReader
from splitscan.splitting.cursor import Framed
from splitscan.splitting.reader_context import ContextReader, Converted

_SHOWN_CHARACTERS = 80  # of a header and of a schema in a message

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
    return QuotedFormat(dialect, header=csv.header, skip_lines=csv.skip_rows)


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
        return lambda step: records.decode(step.data, step.frames)
    objects = ObjectDecoder(spec.fields, spec.judged, Where(block.file.path, block=(block.start, block.stop)))

    def decode_values(step: Framed) -> Decoded:
        if not isinstance(step, Converted):
            raise InvariantError("a reader context gives values", objects.where, seen=type(step).__name__)
        return objects.decode(step.values)

    return decode_values


def codec_of(reader: BlockReader | ContextReader) -> str:
    """Python's name of the encoding of a file's text, its byte order resolved."""
    format = reader.preamble.format if isinstance(reader, BlockReader) else None
    encoding = getattr(format.dialect if isinstance(format, QuotedFormat) else format, "encoding", None)
    return encoding.codec if isinstance(encoding, Encoding) else "utf-8"


def decoder(spec: ScanSpec, file: FileMetadata, preamble: Preamble) -> Decoder:
    """The decoder for one file.

    Raises:
        SchemaError: If the file's header does not agree with the schema.
    """
    if spec.framing is not None:
        return BinaryDecoder(wanted=bool(spec.wanted))
    if isinstance(spec.options.format, CsvOptions) and not spec.fields and spec.delivers_no_value:
        return CsvFrameDecoder()  # nothing says how many fields a record has
    match spec.options.format:
        case CsvOptions() as csv:
            return _csv_decoder(spec, csv, file, preamble)
        case TextOptions() as text:
            twin = line_format(text.line_sep, text.escape, "UTF-8")
            encoding = resolve_encoding(text.encoding)
            resolved = getattr(preamble.format, "encoding", encoding)
            return TextDecoder(resolved, twin, wanted=bool(spec.wanted))
        case JsonOptions() as json:
            return _json_decoder(spec, json, preamble)
    return BinaryDecoder(wanted=bool(spec.wanted))


def _json_decoder(spec: ScanSpec, json: JsonOptions, preamble: Preamble) -> JsonDecoder:
    if not isinstance(preamble.format, JsonFormat | JsonLinesFormat):
        raise InvariantError("JSON is framed as JSON", seen=preamble.format.name)
    return JsonDecoder(
        encoding=preamble.format.encoding,
        fields=spec.decoded,
        dialect=json_dialect(json),
        rules=Rules(
            date_format=json.date_format,
            timestamp_format=json.timestamp_format,
            timestamp_ntz_format=json.timestamp_ntz_format,
            time_zone=json.time_zone,
        ),
    )


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


def _csv_decoder(spec: ScanSpec, csv: CsvOptions, file: FileMetadata, preamble: Preamble) -> Decoder:
    if not isinstance(preamble.format, QuotedFormat):
        raise InvariantError("CSV is framed as CSV", Where(file.path), seen=preamble.format.name)
    if spec.is_array:
        return CsvArrayDecoder(
            _fields_decoder(csv, preamble.format, _layout(spec)),
            kind=spec.fields.field(0).type,
            max_fields=csv.max_columns,
            elements=spec.elements,
            wanted=bool(spec.wanted),
        )
    by_name = csv.header_mapping is HeaderMapping.NAME and bool(preamble.header)
    layout = _layout_by_name(spec, csv, file, preamble.header or ()) if by_name else _layout(spec)
    if preamble.header is not None and not by_name and not csv.enforce_schema:
        _check_header(spec, file, preamble.header)
    decoder = _fields_decoder(csv, preamble.format, layout)
    return _filled(spec, decoder, layout) if by_name else decoder


def _fields_decoder(csv: CsvOptions, format: QuotedFormat, layout: CsvLayout) -> CsvDecoder:
    return CsvDecoder(
        dialect=format.dialect,
        twin=QuotedFormat(format.dialect.in_utf8),
        layout=layout,
        rules=Rules(
            nan_value=csv.nan_value,
            positive_inf=csv.positive_inf,
            negative_inf=csv.negative_inf,
            date_format=csv.date_format,
            timestamp_format=csv.timestamp_format,
            timestamp_ntz_format=csv.timestamp_ntz_format,
            time_zone=csv.time_zone,
        ),
        null_value=csv.null_value,
        empty_value=csv.empty_value,
        trim_leading=csv.ignore_leading_white_space,
        trim_trailing=csv.ignore_trailing_white_space,
        max_field_chars=csv.max_chars_per_column if csv.max_chars_per_column >= 0 else None,
    )


def _filled(spec: ScanSpec, decoder: Decoder, layout: CsvLayout) -> Decoder:
    """The decoder of a file that may lack columns."""
    position = {layout.names[index].lower(): number for number, index in enumerate(layout.wanted)}
    fields = [spec.fields.field(index) for index in spec.judged]
    fillings = tuple(Filling(field.type, position.get(field.name.lower())) for field in fields)
    if [filling.source for filling in fillings] == list(range(len(layout.wanted))):
        return decoder
    return FillingDecoder(decoder, fillings)


def _layout(spec: ScanSpec) -> CsvLayout:
    kinds = tuple(field.type for field in spec.fields)
    return CsvLayout(tuple(spec.fields.names), kinds, spec.judged)


def _layout_by_name(spec: ScanSpec, csv: CsvOptions, file: FileMetadata, header: Sequence[str]) -> CsvLayout:
    """The columns of a file where its header has them; those that it lacks are no part of it.

    Raises:
        SchemaError: If there are too many columns, or none of them is in the schema: that is another file.
    """
    if len(header) > csv.max_columns:
        raise SchemaError(
            f"the header of a file has more columns than maxColumns={csv.max_columns}",
            Where(file.path, offset=0),
            seen=f"{len(header)} columns: {_shown(header)}",
            fix="raise maxColumns, if that is its header; else correct quote, escape or skipRows",
            code="header-mismatch",
        )
    names = unique_names(header)
    position = {name.lower(): index for index, name in reversed(list(enumerate(names)))}
    kind = {field.name.lower(): field.type for field in spec.fields}
    if len(spec.fields) and position.keys().isdisjoint(kind):
        raise header_mismatch(file, header, spec.fields.names, "none of its columns is in the schema")
    judged = [spec.fields.names[i].lower() for i in spec.judged]
    kinds = tuple(kind.get(name.lower(), pa.string()) for name in names)
    return CsvLayout(tuple(names), kinds, tuple(position[name] for name in judged if name in position))


def _check_header(spec: ScanSpec, file: FileMetadata, header: Sequence[str]) -> None:
    if not header:
        return  # there is no record in the file, so nothing to disagree
    names = unique_names(header)
    for number, (found, wanted) in enumerate(zip_longest(names, spec.fields.names), start=1):
        if found is None or wanted is None or found.lower() != wanted.lower():
            what = f"column {number} is {_shown([found or 'missing'])}, not {_shown([wanted or 'there'])}"
            raise header_mismatch(file, header, spec.fields.names, what)


def header_mismatch(file: FileMetadata, header: Sequence[str], names: Sequence[str], what: str) -> SchemaError:
    """The error for a header that does not agree with the schema, which has *names*."""
    return SchemaError(
        "the header of a file does not agree with the schema",
        Where(file.path, offset=0),
        seen=f"{what}: header {_shown(header)}; schema {_shown(names)}",
        fix="correct the schema; or set headerMapping=byName to match columns by name, or enforceSchema=true to "
        "take columns by position whatever the header says",
        code="header-mismatch",
    )


def _shown(names: Sequence[str]) -> str:
    """Names for a message: on one line, and cut, since a header may be data."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in ", ".join(names)[:_SHOWN_CHARACTERS])
    return text if len(text) < _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}... ({len(names)} columns)"


def unique_names(header: Sequence[str]) -> list[str]:
    """Column names from a header, as Spark makes them: empty ones ``_cN``, repeated ones with their position.

    Example:
        >>> unique_names(["a", "A", "", "b"])
        ['a0', 'A1', '_c2', 'b']
        >>> unique_names(["a1", "a", "a"])
        ['a1', 'a1_1', 'a2']
    """
    seen = Counter(name.lower() for name in header)
    taken = {name for name, times in seen.items() if name and times == 1}
    names = []
    for i, name in enumerate(header):
        unique = name
        if not name or seen[name.lower()] > 1:
            unique = f"{name or '_c'}{i}"
            while unique.lower() in taken:
                unique += f"_{i}"
            taken.add(unique.lower())
        names.append(unique)
    return names
