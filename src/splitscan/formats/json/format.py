"""JSON as a format: records are values, their members are columns."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError, SplitscanError, bad_option
from splitscan.formats.column_rules import (
    block_fields,
    check_single_variant,
    filled,
    own_rules_of,
    rescue_for,
    rules_of_format,
    spelled_rescue,
)
from splitscan.formats.contract import (
    NOTHING,
    BlockSpelling,
    Contradiction,
    Format,
    FoundSchema,
    Heads,
    OtherLayout,
    Projection,
)
from splitscan.formats.decoding.contract import MOST_DIGITS, MOST_LEVELS, VARIANT, Decoder
from splitscan.formats.decoding.conversions import DOUBLE_DIGITS, outgrows_double
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.decoding.variant import VariantRules
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.json.decoder import JsonDecoder, read_values
from splitscan.formats.json.framing import JsonFormat, reads_values
from splitscan.formats.json.layout import (
    AS_TEXT,
    SHOWN_CHARACTERS,
    about_inside,
    about_path,
    first_line,
    first_value,
    first_values,
    later_values,
)
from splitscan.formats.json.lines import JsonLinesFormat, json_lines
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.paths import EnvelopeColumn
from splitscan.formats.json.text import JsonDialect, JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.formats.members import infer_members, settled_schema
from splitscan.formats.merge import MIXED, NO_VALUE, WIDE, join, join_all, spoken
from splitscan.options import ReadOptions

# ---------------------------------------------------------------- members of records, and the types of their values


_DIGITS = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")


@dataclass(frozen=True)
class JsonMembers:
    """The members of objects.

    Numbers are ``bigint``, ``double`` or, beyond 64 bits, decimals; objects are structs and arrays arrays, with the
    union of what their values hold. Where values disagree, the column is a string.

    Example:
        >>> str(JsonMembers(JsonOptions()).kind_of(b'{"a": 1, "b": [], "a": 0.5}'))
        'struct<a: double, b: list<item: null>>'
    """

    own: JsonOptions

    text = None
    instead_of_columns = (
        "give a schema of the columns to read; where the names are data, read each record as one value: "
        "singleVariantColumn=record, or recordFormat=text"
    )

    def kind_of(self, record: bytes, repeated: list[str] | None = None) -> pa.DataType | None:
        try:
            value = parse_json(record.decode("utf-8", "replace"), JsonDialect.of(self.own))
        except NotJsonError:
            return None
        found = list[str]() if repeated is None else repeated
        return _type_of(value, self.own, found) if value.kind is JsonKind.OBJECT else None

    @property
    def spelled(self) -> dict[str, Any]:
        own = {
            "dialect": asdict(JsonDialect.of(self.own)),
            "primitives_as_string": self.own.primitives_as_string,
            "prefers_decimal": self.own.prefers_decimal,
        }
        return {"json": own}

    def settled(self, kind: pa.DataType) -> pa.DataType | None:
        """The type without what was never seen: nulls and objects without members become strings, or go."""
        if pa.types.is_struct(kind) and kind.num_fields:
            members = settled_schema(pa.schema(list(kind)), self.settled)
            return pa.struct(members) if len(members) else None
        if pa.types.is_null(kind) or pa.types.is_struct(kind):
            return None if self.own.drop_field_if_all_null else pa.string()
        if pa.types.is_list(kind):
            inner = self.settled(kind.value_type)
            return None if inner is None else pa.list_(inner)
        return spoken(kind)


def _type_of(value: JsonValue, json: JsonOptions, repeated: list[str], depth: int = 0) -> pa.DataType:
    if value.kind is JsonKind.NULL:
        return NO_VALUE
    if value.kind in {JsonKind.OBJECT, JsonKind.ARRAY} and depth > MOST_LEVELS:
        return MIXED
    if value.kind is JsonKind.OBJECT:
        types: dict[str, pa.DataType] = {}
        for name, inner in value.value:  # of a name that comes twice, all values
            if name in types:
                repeated.append(name)
            types.setdefault(name, NO_VALUE)
            types[name] = join(types[name], _type_of(inner, json, repeated, depth + 1))
        return pa.struct(list(types.items()))
    if value.kind is JsonKind.ARRAY:
        return pa.list_(join_all(_type_of(item, json, repeated, depth + 1) for item in value.value))
    if json.primitives_as_string or value.kind is JsonKind.STRING:
        return pa.string()
    return pa.bool_() if value.kind is JsonKind.BOOLEAN else _number_type(value.value, json)


def _number_type(text: str, json: JsonOptions) -> pa.DataType:
    double = pa.string() if outgrows_double(text) else pa.float64()
    found = _DIGITS.fullmatch(text)
    if found is None:
        return double
    whole, fraction = found.group(1).lstrip("0"), found.group(2)
    if fraction is None and len(text) <= MOST_DIGITS + 1:
        if -(1 << 63) <= int(text) < 1 << 63:
            return WIDE if len(whole) > DOUBLE_DIGITS else pa.int64()
        return pa.decimal256(len(whole), 0) if len(whole) <= MOST_DIGITS else double
    digits = len(whole) + len(fraction or "")
    if json.prefers_decimal and fraction is not None and digits <= MOST_DIGITS:
        return pa.decimal128(max(digits, 1), len(fraction))
    return double


# ---------------------------------------------------------------- the format


def _about_no_json(own: JsonOptions, text: str) -> str | None:
    """Advice on a file whose first record is no value."""
    record = None if own.line_sep is not None else first_value(text) if own.spans_lines else first_line(text)
    try:
        json.loads(record or "0")
    except (ValueError, RecursionError):
        return _about_broken(own, record or "")
    return None


def _about_broken(own: JsonOptions, record: str) -> str | None:
    try:
        parse_json(record, JsonDialect.of(own))
    except NotJsonError as error:
        what = "a record that is broken" if record.startswith(("{", "[")) else "which is no JSON, and is read as json"
        return f"begins with {record.strip()[:SHOWN_CHARACTERS]!r}, {what}: {error}"
    return None


def _envelope_field(column: EnvelopeColumn) -> pa.Field:
    try:
        field = parse_ddl(column.ddl).field(0)
    except SplitscanError as error:
        seen, fix = f"{column.type!r}: {error.rule}", "correct it, or leave it out for string"
    else:
        if not pa.types.is_nested(field.type):
            return field
        seen, fix = column.type, "leave it out: objects and arrays are columns of their text"
    raise bad_option("the type of a column of recordPathColumns is that of one value", f"{column.name} {seen}", fix)


def _variants(own: JsonOptions) -> VariantRules:
    return VariantRules(own.variant_allow_duplicate_keys, own.max_variant_bytes)


class Json(Format[JsonOptions]):
    """JSON Lines; with ``multiLine`` values or one array over any number of lines."""

    options_class = JsonOptions
    advises = shows_columns = True

    def framing(self, own: JsonOptions) -> RecordFormat:
        if own.spans_lines:
            return JsonFormat(resolve_encoding(own.encoding), path=own.path_to_records, envelope=own.envelope)
        return json_lines(own.line_sep, own.encoding)

    def decoder(self, own: JsonOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Members by name, as columns; those that a record lacks get their default."""
        if not isinstance(preamble.format, JsonFormat | JsonLinesFormat):
            raise InvariantError("JSON is framed as JSON", seen=preamble.format.name)
        decoder = JsonDecoder(
            encoding=preamble.format.encoding,
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            dialect=JsonDialect.of(own),
            rules=rules_of_format(wanted.options),
            own_rules=own_rules_of(wanted),
            rescue=rescue_for(wanted, file),
            shape=preamble.format.known_shape if isinstance(preamble.format, JsonFormat) else None,
            variants=_variants(own),
            is_whole=own.single_variant_column is not None,
        )
        return filled(wanted, decoder)

    def block_spelling(self, own: JsonOptions, wanted: Projection) -> BlockSpelling:
        """A head says how values are written."""
        fields, encoding = block_fields(wanted), resolve_encoding(own.encoding)
        spelled = {
            "multi_line": own.spans_lines,
            "line_sep": own.line_sep,
            "dialect": asdict(JsonDialect.of(own)),
            "variants": asdict(_variants(own)),
            "is_whole": own.single_variant_column is not None,
            "rescue": spelled_rescue(wanted),
            "record_path": own.path_to_records and list(own.path_to_records.steps),
        }
        return BlockSpelling({"json": spelled}, fields, encoding, (own.line_sep or "",), own.spans_lines)

    def envelope_columns(self, own: JsonOptions) -> pa.Schema:
        return pa.schema([_envelope_field(column) for column in own.envelope])

    def envelope_values(
        self, own: JsonOptions, options: ReadOptions, column: pa.Field, texts: Sequence[str | None]
    ) -> pa.Array:
        return read_values(column, texts, JsonDialect.of(own), rules_of_format(options))

    def advice(self, own: JsonOptions, text: str) -> str | None:
        """An array, or values over several lines, where a record is a line; or one object around all records."""
        if own.path_to_records is not None:
            return about_path(own.path_to_records, text)
        if own.spans_lines or own.line_sep is not None or first_values(text) is None:
            return about_inside(text) or _about_no_json(own, text)
        return "begins with an array, or a value over several lines: it probably wants option multiLine=true"

    def contradiction(
        self, own: JsonOptions, given: frozenset[str], text: str, *, is_start: bool
    ) -> Contradiction | None:
        if own.spans_lines or own.line_sep is not None or "multiLine" in given:
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
        if own.spans_lines or own.line_sep is not None or not reads_values(resolve_encoding(own.encoding)):
            return None
        return OtherLayout(replace(own, multi_line=True), "multiLine=false", "multiLine=true")

    def shape(self, own: JsonOptions, options: ReadOptions, record: bytes) -> pa.DataType:
        rules = JsonMembers(own)
        return pa.struct(settled_schema(pa.schema(list(rules.kind_of(record) or ())), rules.settled))

    def check_schema(self, own: JsonOptions, options: ReadOptions, fields: pa.Schema) -> None:
        if own.single_variant_column is not None:
            check_single_variant(own.single_variant_column, options, fields)

    def infer(self, own: JsonOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        if own.single_variant_column is not None:
            return FoundSchema(pa.schema([(own.single_variant_column, VARIANT)]), NOTHING)
        found = infer_members(JsonMembers(own), options, heads, refuses_case=True)
        corrupt = options.reading.column_name_of_corrupt_record
        if own.record_path is not None:
            return replace(found, without_columns="correct the names of recordPath, or pass a schema")
        return replace(
            found,
            without_columns="set multiLine=true where values go on over lines, else pass a schema; of arrays, numbers "
            f"and texts, which have no members, {AS_TEXT.replace('_corrupt_record', corrupt)}, and recordFormat=text "
            "whole lines",
        )
