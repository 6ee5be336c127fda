"""What people call the types of columns: the names of Spark's DDL."""

from __future__ import annotations

import re

import pyarrow as pa

_NAMES = {
    pa.string(): "string", pa.binary(): "binary", pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint",
    pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double", pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp", pa.timestamp("us"): "timestamp_ntz",
}  # fmt: skip


def type_name(kind: pa.DataType) -> str:
    """Spark's name of a type."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(f"{quoted_name(f.name)}: {type_name(f.type)}{not_null(f)}" for f in kind) + ">"
    if pa.types.is_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)}, {type_name(kind.item_type)}>"
    return _NAMES.get(kind, str(kind))


def not_null(field: pa.Field) -> str:
    """What DDL says of a column that has no nulls."""
    return "" if field.nullable else " NOT NULL"


def quoted_name(name: str) -> str:
    """A name as DDL has it: in back quotes, unless it is a word."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else "`" + name.replace("`", "``") + "`"


def format_ddl(schema: pa.Schema) -> str:
    """Write a schema in Spark's DDL: the inverse of ``splitscan.scan.ddl.parse_ddl``.

    Example:
        >>> format_ddl(pa.schema([pa.field("id", pa.int64(), nullable=False), ("a b", pa.list_(pa.string()))]))
        'id bigint NOT NULL, `a b` array<string>'
    """
    return ", ".join(f"{quoted_name(f.name)} {type_name(f.type)}{not_null(f)}" for f in schema)
