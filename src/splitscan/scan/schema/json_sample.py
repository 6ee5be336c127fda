"""What the columns of one JSON file are: the fields of the records at its head."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.decoding.json_text import JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.options import JsonOptions, ReadOptions
from splitscan.scan.formats import codec_of, json_dialect, record_format
from splitscan.scan.schema.lattice import MOST_DIGITS, NO_VALUE, join
from splitscan.splitting.block_reader import BlockReader
from splitscan.splitting.contents import open_content
from splitscan.splitting.cursor import Framed

_DEEPEST = 100  # values nested deeper are strings: engines do not plan such types
_DIGITS = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")


@dataclass(frozen=True, slots=True)
class JsonSample:
    """What the head of a file shows.

    Attributes:
        schema: The fields of its records, in the order in which they are first seen; ``null`` without any value.
        has_other: Whether some record is no object.
    """

    schema: pa.Schema
    has_other: bool


def sample_json(options: ReadOptions, json: JsonOptions, head: BlockMetadata) -> JsonSample:
    """The fields of all records that begin in *head*.

    Numbers become ``bigint``, ``double`` or, beyond 64 bits, decimals; objects become structs and arrays arrays, with
    the union of what their values hold. Where values disagree, the column is a string.

    Raises:
        SourceError: If the file cannot be read.
    """
    has_other = False
    merged: pa.DataType = pa.struct([])
    for text in _records(options, head):
        try:
            record = parse_json(text, json_dialect(json))
        except NotJsonError:
            record = None
        if record is None or record.kind is not JsonKind.OBJECT:
            has_other = True
            continue
        merged = join(merged, _type_of(record, json, 0))
    return JsonSample(pa.schema([merged.field(i) for i in range(merged.num_fields)]), has_other)


def without_unseen(schema: pa.Schema, json: JsonOptions) -> pa.Schema:
    """The schema without what was never seen: nulls become strings, or go; objects without members go."""
    fields = [_settled_field(field, json) for field in schema]
    return pa.schema([field for field in fields if field is not None])


def _records(options: ReadOptions, head: BlockMetadata) -> Iterator[str]:
    reading = options.reading
    with closing(open_content(head, options.files, record_format(options))) as source:
        reader = BlockReader(
            source,
            head,
            record_format(options),
            max_record_bytes=reading.max_record_bytes,
            read_bytes=reading.sampling_bytes,
        )
        codec = codec_of(reader)
        for step in reader:
            if isinstance(step, Framed):
                bounds = zip(step.frames.starts.tolist(), step.frames.stops.tolist(), strict=True)
                yield from (bytes(step.data[a:b]).decode(codec, "replace") for a, b in bounds)


def _type_of(value: JsonValue, json: JsonOptions, depth: int) -> pa.DataType:
    if value.kind is JsonKind.NULL:
        return NO_VALUE
    if value.kind in {JsonKind.OBJECT, JsonKind.ARRAY} and depth > _DEEPEST:
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
