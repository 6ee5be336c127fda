"""Find the columns of JSON in a sample of its records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.decoding.json_text import JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.errors import SchemaError
from splitscan.options import JsonOptions, Mode, ReadOptions
from splitscan.scan.formats import codec_of, json_dialect, record_format
from splitscan.splitting.block_reader import BlockReader
from splitscan.splitting.cursor import Framed
from splitscan.storage import open_source

_DEEPEST = 100  # values nested deeper are strings: engines do not plan such types
_MOST_DIGITS = 38
_DIGITS = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")
_NULL = pa.null()


def infer_json(options: ReadOptions, json: JsonOptions, heads: Sequence[BlockMetadata]) -> pa.Schema:
    """The fields of all records that begin in *heads*, in the order in which they are first seen.

    Numbers become ``bigint``, ``double`` or, beyond 64 bits, decimals; objects become structs and arrays arrays, with
    the union of what their values hold. Where values disagree, the column is a string, as is one without any value.
    Where a record is no object and the mode is PERMISSIVE, the corrupt record column is added behind.

    Args:
        options: What the user said.
        json: The options of the format.
        heads: The sample: blocks that begin at the start of their file, in a fixed order.

    Returns:
        The schema; empty if no record has a field.

    Raises:
        SchemaError: If two fields differ in case only: engines do not tell such columns apart.
    """
    has_corrupt = False
    merged: pa.DataType = pa.struct([])
    for text in _records(options, heads):
        try:
            record = parse_json(text, json_dialect(json))
        except NotJsonError:
            record = None
        if record is None or record.kind is not JsonKind.OBJECT:
            has_corrupt = True
            continue
        merged = _merge(merged, _type_of(record, json, 0))
    columns = [f for f in (_settled_field(merged.field(i), json) for i in range(merged.num_fields)) if f is not None]
    _check_names(columns)
    corrupt = options.reading.column_name_of_corrupt_record
    if has_corrupt and columns and options.reading.mode is Mode.PERMISSIVE:
        columns = [*(f for f in columns if f.name != corrupt), pa.field(corrupt, pa.string())]
    return pa.schema(columns)


def _check_names(columns: Sequence[pa.Field]) -> None:
    spelling: dict[str, str] = {}
    for column in columns:
        other = spelling.setdefault(column.name.lower(), column.name)
        if other != column.name:
            raise SchemaError(
                "records have fields that differ in case only",
                seen=f"{other!r} and {column.name!r}",
                fix="pass a schema that names the one to read",
                code="bad-schema",
            )


def _records(options: ReadOptions, heads: Iterable[BlockMetadata]) -> Iterator[str]:
    reading = options.reading
    for head in heads:
        source = open_source(head.file.path, options.files.storage_options)
        try:
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
        finally:
            source.close()


def _type_of(value: JsonValue, json: JsonOptions, depth: int) -> pa.DataType:
    if value.kind is JsonKind.NULL:
        return _NULL
    if value.kind in {JsonKind.OBJECT, JsonKind.ARRAY} and depth > _DEEPEST:
        return pa.string()
    if value.kind is JsonKind.OBJECT:
        return pa.struct(
            [pa.field(name, _type_of(inner, json, depth + 1)) for name, inner in dict(value.value).items()]
        )
    if value.kind is JsonKind.ARRAY:
        return pa.list_(reduce(_merge, (_type_of(item, json, depth + 1) for item in value.value), _NULL))
    if json.primitives_as_string or value.kind is JsonKind.STRING:
        return pa.string()
    return pa.bool_() if value.kind is JsonKind.BOOLEAN else _number_type(value.value, json)


def _number_type(text: str, json: JsonOptions) -> pa.DataType:
    found = _DIGITS.fullmatch(text)
    if found is None:
        return pa.float64()
    whole, fraction = found.group(1).lstrip("0"), found.group(2)
    if fraction is None and len(text) <= _MOST_DIGITS + 1:
        if -(1 << 63) <= int(text) < 1 << 63:
            return pa.int64()
        return pa.decimal128(len(whole), 0) if len(whole) <= _MOST_DIGITS else pa.float64()
    digits = len(whole) + len(fraction or "")
    if json.prefers_decimal and fraction is not None and digits <= _MOST_DIGITS:
        return pa.decimal128(max(digits, 1), len(fraction))
    return pa.float64()


def _merge(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        return _merge_structs(left, right)
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(_merge(left.value_type, right.value_type))
    return _merge_numbers(left, right)


def _merge_structs(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    types = {left.field(i).name: left.field(i).type for i in range(left.num_fields)}
    for i in range(right.num_fields):
        found = right.field(i)
        types[found.name] = _merge(types.get(found.name, _NULL), found.type)
    return pa.struct([pa.field(name, kind) for name, kind in types.items()])


def _merge_numbers(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    kinds = (left, right)
    if not all(pa.types.is_int64(k) or pa.types.is_float64(k) or pa.types.is_decimal(k) for k in kinds):
        return pa.string()
    if any(pa.types.is_float64(k) for k in kinds):
        return pa.float64()
    sizes = [(k.precision - k.scale, k.scale) if pa.types.is_decimal(k) else (19, 0) for k in kinds]
    whole, scale = max(size[0] for size in sizes), max(size[1] for size in sizes)
    return pa.decimal128(whole + scale, scale) if whole + scale <= _MOST_DIGITS else pa.float64()


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
