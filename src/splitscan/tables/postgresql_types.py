"""Types of PostgreSQL: what is selected for a column, and what it is read as."""

from __future__ import annotations

import pyarrow as pa

from splitscan.tables import numerics
from splitscan.tables.columns import TableColumn
from splitscan.tables.keys import KeyKind
from splitscan.tables.relation import quote_name

_TYPE = b"POSTGRESQL:type"
_MODIFIER = b"POSTGRESQL:typmod"
_MOST_DIGITS = 38
_MODIFIER_OFFSET = 4
_SCALE_BITS = 0x7FF

_PLAIN = frozenset(
    {"int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "name", "char", "bytea", "bool", "date",
     "timestamp", "timestamptz"}
)  # fmt: skip
_AS_TEXT_ALREADY = frozenset({"uuid", "json", "jsonb"})  # the driver delivers them in a form that becomes text here
_KEYS = {
    "int2": KeyKind.INTEGER, "int4": KeyKind.INTEGER, "int8": KeyKind.INTEGER, "text": KeyKind.TEXT,
    "varchar": KeyKind.TEXT, "uuid": KeyKind.UUID, "bytea": KeyKind.BYTES, "date": KeyKind.DATE,
    "timestamp": KeyKind.TIMESTAMP, "timestamptz": KeyKind.TIMESTAMP,
}  # fmt: skip
_UNSIGNED = {"oid": "int8"}  # the driver takes them for signed numbers of 32 bits


def column_of(field: pa.Field, *, nullable: bool, is_c: bool, text_keys: bool) -> TableColumn:
    """How a column is read.

    Args:
        field: As the driver describes it, with PostgreSQL's type in the metadata.
        nullable: Whether it may be null.
        is_c: Whether its collation compares bytes already, so that its index serves as it is.
        text_keys: Whether texts of the server's encoding are in the order of their bytes here.
    """
    said = field.metadata or {}
    declared = said.get(_TYPE, b"").decode()
    name = quote_name(field.name)
    kind, expression = _delivered(field.type, declared, int(said.get(_MODIFIER, b"-1")), name)
    key_kind = _KEYS.get(declared)
    if key_kind is KeyKind.TEXT and not text_keys:
        key_kind = None
    collated = key_kind is KeyKind.TEXT and not is_c
    return TableColumn(
        name=field.name,
        type=kind,
        expression=f"{expression} AS {name}",
        text=f"{name}::text AS {name}",
        key_kind=key_kind,
        key=f'{name} COLLATE "C"' if collated else name,
        nullable=nullable,
        declared=declared,
    )


def _delivered(found: pa.DataType, declared: str, modifier: int, name: str) -> tuple[pa.DataType, str]:
    """The type that a scan delivers, and what is selected for it."""
    if pa.types.is_list(found):
        inner = declared.removeprefix("_")
        if inner in _PLAIN:
            return pa.list_(found.value_type), _one_dimension(name, f"{inner}[]")
        return pa.list_(pa.string()), _one_dimension(f"{name}::text[]", "text[]")
    if declared in _PLAIN:
        return found, name
    if declared in _AS_TEXT_ALREADY or declared == "numeric":
        digits = _numeric(modifier) if declared == "numeric" else pa.string()
        is_short = pa.types.is_decimal(digits) and digits.precision <= numerics.MOST_DIGITS
        return digits, f"numeric_send({name})" if is_short else name  # the driver takes long to make texts of them
    if declared in _UNSIGNED:
        return pa.int64(), f"{name}::{_UNSIGNED[declared]}"
    return pa.string(), f"{name}::text"


def _numeric(modifier: int) -> pa.DataType:
    """A decimal where digits are declared, else text: any other type would lose some of them."""
    if modifier < _MODIFIER_OFFSET:
        return pa.string()
    precision = (modifier - _MODIFIER_OFFSET) >> 16 & 0xFFFF
    scale = (modifier - _MODIFIER_OFFSET) & _SCALE_BITS
    return pa.decimal128(precision, scale) if precision <= _MOST_DIGITS and scale <= precision else pa.string()


def _one_dimension(expression: str, kind: str) -> str:
    """An array, or an error of the server where it has several dimensions: the driver would flatten it silently."""
    said = "an array of several dimensions: declare the column as string; "
    return (
        f"CASE WHEN array_ndims({expression}) > 1 THEN ('{said}' || array_dims({expression}))::{kind} "
        f"ELSE {expression} END"
    )
