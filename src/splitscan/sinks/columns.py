"""How the columns of a schema are spelled in a ledger."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from splitscan.sinks.ledger import LedgerColumn


def describe_columns(schema: pa.Schema) -> tuple[LedgerColumn, ...]:
    """Spell a schema column by column, with the names inside lists and maps that Parquet gives back.

    Example:
        >>> [str(column) for column in describe_columns(pa.schema([pa.field("a", pa.int64(), nullable=False)]))]
        ['a int64 not null']
    """
    return tuple(LedgerColumn(column.name, str(_in_parquet(column.type)), column.nullable) for column in schema)


def only_appends(before: Sequence[LedgerColumn], after: Sequence[LedgerColumn]) -> bool:
    """Whether columns are those of an earlier job, and after them perhaps new ones that may hold nulls.

    A new name may not differ from another in case only: to Spark and DuckDB the two would be one.
    """
    new = after[len(before) :]
    names = {column.name.casefold() for column in after}
    return (
        tuple(after[: len(before)]) == tuple(before)
        and all(column.nullable for column in new)
        and (not new or len(names) == len(after))
    )


def _in_parquet(kind: pa.DataType) -> pa.DataType:
    """The same type with the names that it has in Parquet: what Arrow calls an element, an entry, a value is no matter.

    Example:
        >>> str(_in_parquet(pa.list_(pa.map_(pa.string(), pa.list_(pa.int32())))))
        'list<element: map<string, list<element: int32>>>'
    """
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(_in_parquet(field.type)) for field in kind])
    if isinstance(kind, pa.MapType):
        value = pa.field("value", _in_parquet(kind.item_type), kind.item_field.nullable)
        return pa.map_(_in_parquet(kind.key_type), value)
    if isinstance(kind, pa.ListType):
        return pa.list_(pa.field("element", _in_parquet(kind.value_type), kind.value_field.nullable))
    return kind
