"""The array of all fields of a record, in place of columns with names."""

from __future__ import annotations

import pyarrow as pa

COLUMNS = "columns"
"""Name of the column."""

ARRAY_TYPE = pa.list_(pa.field("element", pa.string()))
"""Its type. Elements are what a text column would hold: a null where a field means one."""

MAX_ELEMENTS = 65_536
"""Most elements that can be selected by their index."""


def array_schema() -> pa.Schema:
    """The schema of records whose fields are one array."""
    return pa.schema([pa.field(COLUMNS, ARRAY_TYPE)])


def is_array(fields: pa.Schema) -> bool:
    """Whether the records' own columns are the array of all fields, and nothing else.

    Example:
        >>> is_array(array_schema()), is_array(pa.schema([("columns", pa.string())]))
        (True, False)
    """
    return len(fields) == 1 and fields.names[0].lower() == COLUMNS and _is_texts(fields.field(0).type)


def _is_texts(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_string(kind.value_type))
