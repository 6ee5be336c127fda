"""Schemas of Spark and Arrow. That every batch keeps to its schema is what the scan framework sees to."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import (
    AnsiIntervalType,
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructField,
    StructType,
    VariantType,
)

from splitscan.errors import SchemaError, Where
from splitscan.formats.column_rules import PREFIX

_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
"""PySpark 4.0 and 4.1 have moments in UTC unless told otherwise; newer versions want the zone."""


def spark_schema(schema: pa.Schema) -> StructType:
    """Spark's name for an Arrow schema: same names, order and nullability.

    Raises:
        SchemaError: If Spark has no such type, or would expect another Arrow type for it (``large_string``, a
            dictionary, a timestamp in nanoseconds or in another zone than UTC).

    Example:
        >>> spark_schema(pa.schema([pa.field("id", pa.int64(), nullable=False)])).simpleString()
        'struct<id:bigint>'
    """
    for field in schema:
        try:
            expected = arrow_schema(from_arrow_schema(pa.schema([field.remove_metadata()]))).field(0).type
        except Exception as error:  # PySpark raises several kinds
            raise _not_for_spark(field, "a type that Spark has") from error
        if not expected.equals(field.type):
            raise _not_for_spark(field, str(expected))
    return from_arrow_schema(schema.remove_metadata())


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects of batches for a schema of its own.

    Of metadata only what says how a column is read is kept.

    Raises:
        SchemaError: ``[unsupported-type]`` for a type that no value is read as.
    """
    for column in schema:
        _check_readable(column.dataType, column.name)
    plain = to_arrow_schema(schema, **_IN_UTC)
    return pa.schema([_with_own_metadata(ours, theirs) for ours, theirs in zip(plain, schema, strict=True)])


def _check_readable(kind: DataType, name: str) -> None:
    """Refuse what Arrow has no type for, or only one that hides what the column is."""
    if isinstance(kind, StructType):
        for field in kind:
            _check_readable(field.dataType, name)
    elif isinstance(kind, ArrayType):
        _check_readable(kind.elementType, name)
    elif isinstance(kind, MapType):
        _check_readable(kind.keyType, name)
        _check_readable(kind.valueType, name)
    elif isinstance(kind, VariantType | AnsiIntervalType | CalendarIntervalType):
        raise SchemaError(
            "records cannot be read as the type of a column", Where(column=name), seen=kind.simpleString(),
            fix="declare it as string, and convert the column in Spark: parse_json makes a variant, cast an interval",
            code="unsupported-type",
        )  # fmt: skip


def _with_own_metadata(field: pa.Field, column: StructField) -> pa.Field:
    said = {name: str(value) for name, value in (column.metadata or {}).items() if name.startswith(PREFIX)}
    return field.with_metadata(said) if said else field.remove_metadata()


def _not_for_spark(field: pa.Field, expected: str) -> SchemaError:
    return SchemaError(
        f"Spark cannot take column {field.name!r} as it is",
        Where(column=field.name),
        seen=str(field.type),
        fix=f"declare it as {expected}",
        code="not-for-spark",
    )
