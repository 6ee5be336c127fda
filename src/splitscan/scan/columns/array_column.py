"""The array of all fields: CSV without header, and without a name for any field."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from splitscan.errors import SchemaError, UsageError, Where
from splitscan.options import CsvOptions, ReadOptions
from splitscan.scan.ddl import format_ddl

_ROOT = re.compile(r"\s*`?columns`?\s*(?:[.\[]|$)", re.IGNORECASE)

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


def wants_array(options: ReadOptions, paths: Sequence[str]) -> bool:
    """Whether the fields of a scan without schema are to be one array: an option says so, or somebody selects it.

    Files without header have columns ``_c0``, ``_c1`` ..., so there ``columns`` can mean nothing else.
    """
    csv = options.format
    if not isinstance(csv, CsvOptions) or csv.header:
        return False
    return csv.columns_array or any(_ROOT.match(path) for path in paths)


def check_array(options: ReadOptions, fields: pa.Schema) -> bool:
    """Whether the fields of a scan are read as one array.

    Raises:
        UsageError: ``[columns-array]`` if the schema declares that array and files have a header, or option
            ``columnsArray`` asks for it and the schema declares something else.
    """
    csv = options.format
    if not isinstance(csv, CsvOptions):
        return False
    declared = is_array(fields)
    if declared and csv.header:
        raise UsageError(
            "the fields of a record are one array only where they have no names",
            Where(column=fields.names[0]),
            seen=f"header=true; schema {format_ddl(fields)}",
            fix="leave out header, and pass over the first line with skipRows=1; or declare the columns of the header",
            code="columns-array",
        )
    if csv.columns_array and not declared:
        raise SchemaError(
            "with columnsArray=true the fields of a record are one array",
            seen=f"schema {format_ddl(fields)}",
            fix=f"declare {COLUMNS} array<string> and nothing else of the records, or leave out one of them",
            code="columns-array",
        )
    return declared


def _is_texts(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_string(kind.value_type))
