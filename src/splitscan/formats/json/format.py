"""JSON as a format: records are values, their members are columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError, SchemaError, Where
from splitscan.formats.column_rules import filled, own_rules_of, rescue_for, rules_of_format
from splitscan.formats.contract import (
    Contradiction,
    FoundSchema,
    Head,
    Heads,
    OtherLayout,
    PlainFormat,
    Projection,
    evidence_of,
    spread,
)
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.decoding.types import MOST_LEVELS
from splitscan.formats.first_bytes import HEAD_BYTES, wrapped_array
from splitscan.formats.framing.contract import Preamble, RecordFormat, TextFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.formats.json.framing import JsonFormat, reads_values
from splitscan.formats.json.kernel import json_with_kernel
from splitscan.formats.json.layout import first_values, later_values
from splitscan.formats.json.lines import JsonLinesFormat, json_lines
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.text import JsonDialect, JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.formats.merge import MOST_DIGITS, NO_VALUE, MergedSchema, join, merge_schemas
from splitscan.options import Mode, ReadOptions

_DIGITS = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")


def infer_columns(json: JsonOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
    """The members of all sampled records, in the order in which they are first seen.

    Numbers become ``bigint``, ``double`` or, beyond 64 bits, decimals; objects become structs and arrays arrays, with
    the union of what their values hold. Where values disagree, the column is a string.

    Raises:
        SchemaError: If two members differ in case only.
        SourceError: If a file cannot be read.
    """
    sampled = spread(heads.files, options.schema.sample_files)
    samples = heads.look(sampled, lambda head: _sample(json, head))
    merged = merge_schemas(evidence_of([(file, sample.schema) for file, sample in samples]), match_case=True)
    _check_names(merged)
    schema = _without_unseen(pa.schema([(column.name, column.kind) for column in merged.columns]), json)
    corrupt = options.reading.column_name_of_corrupt_record
    has_other = any(sample.has_other for _, sample in samples)
    if has_other and len(schema) and options.reading.mode is Mode.PERMISSIVE:
        schema = pa.schema([*(field for field in schema if field.name != corrupt), pa.field(corrupt, pa.string())])
    return FoundSchema(schema, merged, len(sampled), sum(sample.records for _, sample in samples))


def _check_names(merged: MergedSchema) -> None:
    spelling: dict[str, str] = {}
    for column in merged.columns:
        other = spelling.setdefault(column.name.lower(), column.name)
        if other != column.name:
            raise SchemaError(
                "records have fields that differ in case only",
                Where(column.sightings[0].path),
                seen=f"{other!r} and {column.name!r}",
                fix="pass a schema that names the one to read",
                code="bad-schema",
            )


@dataclass(frozen=True, slots=True)
class _Sample:
    """What the head of a file shows.

    Attributes:
        schema: The fields of its records, in the order in which they are first seen; ``null`` without any value.
        has_other: Whether some record is no object.
        records: How many records it holds.
    """

    schema: pa.Schema
    has_other: bool
    records: int


def _sample(json: JsonOptions, head: Head) -> _Sample:
    has_other, records = False, 0
    merged: pa.DataType = pa.struct([])
    format, dialect = head.preamble.format, JsonDialect.of(json)
    codec = format.encoding.codec if isinstance(format, TextFormat) else "utf-8"
    for raw in head.records():
        records += 1
        try:
            record = parse_json(raw.decode(codec, "replace"), dialect)
        except NotJsonError:
            record = None
        if record is None or record.kind is not JsonKind.OBJECT:
            has_other = True
            continue
        merged = join(merged, _type_of(record, json, 0))
    return _Sample(pa.schema([merged.field(i) for i in range(merged.num_fields)]), has_other, records)


def _without_unseen(schema: pa.Schema, json: JsonOptions) -> pa.Schema:
    """The schema without what was never seen: nulls become strings, or go; objects without members go."""
    fields = [_settled_field(field, json) for field in schema]
    return pa.schema([field for field in fields if field is not None])


def _type_of(value: JsonValue, json: JsonOptions, depth: int) -> pa.DataType:
    if value.kind is JsonKind.NULL:
        return NO_VALUE
    if value.kind in {JsonKind.OBJECT, JsonKind.ARRAY} and depth > MOST_LEVELS:
        return pa.string()
    if value.kind is JsonKind.OBJECT:
        return pa.struct(
            [pa.field(name, _type_of(inner, json, depth + 1)) for name, inner in dict(value.value).items()]
        )
    if value.kind is JsonKind.ARRAY:
        return pa.list_(reduce(join, (_type_of(item, json, depth + 1) for item in value.value), NO_VALUE))
    if json.primitives_as_string or value.kind is JsonKind.STRING:
        return pa.string()
    return pa.bool_() if value.kind is JsonKind.BOOLEAN else _number_type(value.value, json)


def _number_type(text: str, json: JsonOptions) -> pa.DataType:
    found = _DIGITS.fullmatch(text)
    if found is None:
        return pa.float64()
    whole, fraction = found.group(1).lstrip("0"), found.group(2)
    if fraction is None and len(text) <= MOST_DIGITS + 1:
        if -(1 << 63) <= int(text) < 1 << 63:
            return pa.int64()
        return pa.decimal128(len(whole), 0) if len(whole) <= MOST_DIGITS else pa.float64()
    digits = len(whole) + len(fraction or "")
    if json.prefers_decimal and fraction is not None and digits <= MOST_DIGITS:
        return pa.decimal128(max(digits, 1), len(fraction))
    return pa.float64()


def _settled_field(field: pa.Field, json: JsonOptions) -> pa.Field | None:
    kind = _settled(field.type, json)
    return None if kind is None else pa.field(field.name, kind)


def _settled(kind: pa.DataType, json: JsonOptions) -> pa.DataType | None:
    """The type without what was never seen: nulls become strings, objects without fields go."""
    if pa.types.is_null(kind):
        return None if json.drop_field_if_all_null else pa.string()
    if pa.types.is_struct(kind):
        fields = [f for f in (_settled_field(kind.field(i), json) for i in range(kind.num_fields)) if f is not None]
        return pa.struct(fields) if fields else None
    if pa.types.is_list(kind):
        inner = _settled(kind.value_type, json)
        return None if inner is None else pa.list_(inner)
    return kind


def _about_wrapped(text: str) -> str | None:
    """Advice on a file that is one object around its records."""
    array = wrapped_array(text, is_end=len(text) < HEAD_BYTES)
    return array and (
        f"is one JSON object around the array {array!r}, and is read as one record: for a row of each element explode "
        f"column {array} in Spark (unnest in DuckDB), or make lines of it: jq -c '.{array}[]'"
    )


class Json(PlainFormat[JsonOptions]):
    """JSON Lines; with ``multiLine`` values or one array over any number of lines."""

    options_class = JsonOptions

    def framing(self, own: JsonOptions) -> RecordFormat:
        """Lines, or values wherever they end."""
        if own.multi_line:
            return JsonFormat(resolve_encoding(own.encoding))
        return json_lines(own.line_sep, own.encoding)

    def decoder(self, own: JsonOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Members by name, as columns; those that a record lacks get their default."""
        if not isinstance(preamble.format, JsonFormat | JsonLinesFormat):
            raise InvariantError("JSON is framed as JSON", seen=preamble.format.name)
        reference = JsonDecoder(
            encoding=preamble.format.encoding,
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            dialect=JsonDialect.of(own),
            rules=rules_of_format(wanted.options),
            own_rules=own_rules_of(wanted),
            rescue=rescue_for(wanted, file),
        )
        decoder = json_with_kernel(reference, preamble.format)
        return filled(wanted, decoder)

    def advice(self, own: JsonOptions, text: str) -> str | None:
        """An array, or values over several lines, where a record is a line; or one object around all records."""
        if own.multi_line or own.line_sep is not None or first_values(text) is None:
            return _about_wrapped(text)
        return "begins with an array, or a value over several lines: it probably wants option multiLine=true"

    def contradiction(
        self, own: JsonOptions, given: frozenset[str], text: str, *, is_start: bool
    ) -> Contradiction | None:
        """The same, where nobody asked for lines."""
        if own.multi_line or own.line_sep is not None or "multiLine" in given:
            return None
        seen = first_values(text) if is_start else later_values(text)
        if seen is None:
            return None
        place = "begins with an array, or a value" if is_start else "has values"
        return Contradiction(
            f"the file {place} over several lines, and every line would be read as a record",
            seen,
            {"multiLine": True},
            "set multiLine=true (on the command line -o multiLine=true); or multiLine=false to read it like this all "
            "the same",
        )

    def other_layout(self, own: JsonOptions) -> OtherLayout | None:
        """Values, where records are read as lines, and values can be read in the encoding."""
        if own.multi_line or own.line_sep is not None or not reads_values(resolve_encoding(own.encoding)):
            return None
        return OtherLayout(replace(own, multi_line=True), "multiLine=false", "multiLine=true")

    def shape(self, own: JsonOptions, options: ReadOptions, record: bytes) -> pa.DataType:
        """The members of a record, without those that would be no columns."""
        try:
            value = parse_json(record.decode("utf-8", "replace"), JsonDialect.of(own))
        except NotJsonError:
            return pa.struct([])
        if value.kind is not JsonKind.OBJECT:
            return pa.struct([])
        return pa.struct([member for member in _type_of(value, own, 0) if _settled(member.type, own) is not None])

    def infer(self, own: JsonOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """The members of all sampled records."""
        return infer_columns(own, options, heads)
