"""Types that records can be read as, and for every other type the one to declare instead."""

from __future__ import annotations

import pyarrow as pa

from splitscan.errors import SchemaError, Where
from splitscan.formats.decoding.contract import holds_variant, is_variant, type_name

_are = pa.types
_WIDER = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(), pa.date64(): pa.date32(),
}  # fmt: skip
_MOST_DIGITS = 38  # of a decimal of 128 bits, and of Spark
_SCALARS = frozenset(
    {
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(),
        pa.time64("us"), pa.string(), pa.binary(),
    }
)  # fmt: skip


MOST_LEVELS = 50
"""Structs, arrays and maps inside each other in the type of a column: Arrow hands over no more than 64."""


def bounded(kind: pa.DataType, levels: int = MOST_LEVELS) -> pa.DataType:
    """A type as it is down to so many levels; what is nested deeper is text.

    Example:
        >>> str(bounded(pa.list_(pa.list_(pa.int64())), 1)), str(bounded(pa.list_(pa.int64()), 1))
        ('list<item: string>', 'list<item: int64>')
    """
    if not _are.is_nested(kind) or is_variant(kind):
        return kind
    if not levels:
        return pa.string()
    if _are.is_struct(kind):
        return pa.struct([inner.with_type(bounded(inner.type, levels - 1)) for inner in kind])
    return pa.list_(bounded(kind.value_type, levels - 1)) if _are.is_list(kind) else kind


def _levels(kind: pa.DataType) -> int:
    """How many structs, arrays and maps are inside each other."""
    if not _are.is_nested(kind) or is_variant(kind):
        return 0
    if _are.is_map(kind):
        return 1 + max(_levels(kind.key_type), _levels(kind.item_type))
    return 1 + max((_levels(kind.field(index).type) for index in range(kind.num_fields)), default=0)


def holds_time(kind: pa.DataType) -> bool:
    """True if a type is that of times of day, or has a part that is."""
    if not _are.is_nested(kind):
        return bool(_are.is_time(kind))
    return any(holds_time(kind.field(index).type) for index in range(kind.num_fields))


def deliverable(schema: pa.Schema) -> pa.Schema:
    """Columns in types that Spark has too: nullable, without views, dictionaries and 64-bit offsets.

    Example:
        >>> str(deliverable(pa.schema([pa.field("t", pa.large_string(), nullable=False)])).field(0))
        'pyarrow.Field<t: string>'
    """
    return pa.schema([pa.field(field.name, _deliverable(field.type)) for field in schema])


def too_deep(seen: str, column: str | None = None) -> SchemaError:
    """The error for a type that is nested too deep."""
    return SchemaError(
        f"the type of a column has at most {MOST_LEVELS} structs, arrays and maps inside each other",
        Where(column=column),
        seen=seen,
        fix="declare what is deeper as string: it is the text of the values",
        code="unsupported-type",
    )


def check_types(fields: pa.Schema, *, variants: bool = False) -> None:
    """Values can be read as the types of all columns.

    Args:
        fields: The columns.
        variants: Whether values may be variants.

    Raises:
        SchemaError: ``[unsupported-type]`` for the first that no value can be read as, or that is nested too deep; the
            message says which type to declare.

    Example:
        >>> check_types(pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "Europe/Berlin"))]))
    """
    for field in fields:
        if _levels(field.type) > MOST_LEVELS:
            raise too_deep(f"{_levels(field.type)} of them", field.name)
        if holds_variant(field.type) and not variants:
            fix = "declare it as string, and make a variant of it with parse_json in Spark"
            raise _unreadable(field, type_name(field.type), fix)
        if not _is_readable(field.type):
            closest = _deliverable(field.type)
            readable = closest if _is_readable(closest) else pa.string()
            fix = f"declare it as {type_name(readable)}, and convert the column after it was read"
            raise _unreadable(field, str(field.type), fix)


def _unreadable(field: pa.Field, seen: str, fix: str) -> SchemaError:
    return SchemaError(
        "records cannot be read as the type of a column", Where(column=field.name),
        seen=seen, fix=fix, code="unsupported-type",
    )  # fmt: skip


def _is_readable(kind: pa.DataType) -> bool:
    if _are.is_struct(kind):
        return all(_is_readable(inner.type) for inner in kind)
    if _are.is_map(kind):
        return _is_readable(kind.key_type) and _is_readable(kind.item_type)
    if _are.is_list(kind):
        return _is_readable(kind.value_type)
    return kind in _SCALARS or _are.is_decimal128(kind) or (_are.is_timestamp(kind) and kind.unit == "us")


def _deliverable(kind: pa.DataType) -> pa.DataType:
    if is_variant(kind):
        return kind
    if _are.is_dictionary(kind):
        return _deliverable(kind.value_type)
    if _are.is_struct(kind):
        return pa.struct([pa.field(inner.name, _deliverable(inner.type)) for inner in kind])
    if _are.is_map(kind):
        return pa.map_(_deliverable(kind.key_type), _deliverable(kind.item_type))
    if _are.is_nested(kind) and hasattr(kind, "value_type"):
        return pa.list_(_deliverable(kind.value_type))
    return _flat(kind)


def _flat(kind: pa.DataType) -> pa.DataType:
    if _are.is_large_string(kind) or _are.is_string_view(kind):
        return pa.string()
    if _are.is_large_binary(kind) or _are.is_binary_view(kind) or _are.is_fixed_size_binary(kind):
        return pa.binary()
    if _are.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if _are.is_decimal(kind) and kind.precision <= _MOST_DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    return pa.time64("us") if _are.is_time(kind) else _WIDER.get(kind, kind)
