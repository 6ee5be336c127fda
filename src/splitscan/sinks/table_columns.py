"""Columns of rows and columns of a table: which types a table has, what is refused, what a data file must have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from splitscan.errors import IngestError, SchemaError, Where
from splitscan.sinks.settings import SchemaEvolution

_FIELD_ID = b"PARQUET:field_id"


def check_types(schema: pa.Schema, table_format: str, where: str) -> None:
    """Make sure that a table format has all types of a schema.

    Raises:
        SchemaError: ``[table-type]`` if not.
    """
    for column in schema:
        if not _fits(column.type):
            raise SchemaError(
                f"a table of format {table_format} has no such type", Where(path=where, column=column.name),
                str(column.type), "give the column another type in the schema", "table-type",
            )  # fmt: skip


def _fits(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_struct(kind):
        return all(_fits(field.type) for field in kind)
    if types.is_map(kind):
        return _fits(kind.key_type) and _fits(kind.item_type)
    if types.is_list(kind):
        return _fits(kind.value_type)
    if types.is_timestamp(kind):
        return bool(kind.unit == "us" and kind.tz in {None, "UTC"})
    return bool(
        types.is_signed_integer(kind) or types.is_float32(kind) or types.is_float64(kind) or types.is_boolean(kind)
        or types.is_string(kind) or types.is_binary(kind) or types.is_date32(kind) or types.is_decimal128(kind)
    )  # fmt: skip


def nullable(schema: pa.Schema) -> pa.Schema:
    """The same columns, each of which may hold nulls: another writer's rows may lack them."""
    return pa.schema([pa.field(column.name, column.type) for column in schema])


def check_new_columns(new: Sequence[str], evolution: SchemaEvolution, there: Mapping[str, str], where: str) -> None:
    """Refuse columns that a table does not have, unless they are to be added.

    Args:
        new: The columns, each with its type.
        evolution: Whether they are to be added.
        there: Types of the table's columns, by name.
        where: The table, for the message.

    Raises:
        SchemaError: ``[destination-schema]`` if not.
    """
    if new and evolution is not SchemaEvolution.ADD:
        columns = ", ".join(f"{name} {kind}" for name, kind in there.items())
        raise schema_error(
            where, f"column {new[0]}\n         but the table has: {columns}",
            "add the column to the table (schema_evolution_mode='addNewColumns' does it), or leave it out",
        )  # fmt: skip


def schema_error(where: str, seen: str, fix: str) -> SchemaError:
    """The error for columns that do not fit those of a table."""
    return SchemaError(
        "the rows do not have the columns of the table", Where(path=where), seen, fix, "destination-schema"
    )


def unfit_error(where: str, seen: str) -> IngestError:
    """The error for a table whose rules cannot be kept by who registers finished files."""
    return IngestError(
        "the table has a feature that files written by splitscan do not follow", Where(path=where), seen,
        "ingest into a table without it, and copy the rows from there", "table-unfit",
    )  # fmt: skip


def field_ids(fields: Iterable[pa.Field]) -> list[str]:
    """The ids of columns and of the fields inside them, by which Iceberg finds them in files; empty for those without.

    Example:
        >>> field_ids([pa.field("a", pa.struct([with_id(pa.field("b", pa.int8()), 7)]))])
        ['', '7']
    """
    ids: list[str] = []
    for field in fields:
        ids.append((field.metadata or {}).get(_FIELD_ID, b"").decode())
        ids += field_ids(field.type.field(number) for number in range(field.type.num_fields))
    return ids


def with_id(field: pa.Field, number: int) -> pa.Field:
    """The same column, with an id."""
    return field.with_metadata({_FIELD_ID: str(number)})
