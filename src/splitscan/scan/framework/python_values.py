"""Rows of Python values as columns: the slow path of a reader that has nothing better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from splitscan.errors import SchemaError, Where
from splitscan.formats.decoding.conversions import Rules
from splitscan.scan.framework.conform import can_cast, cast_column

_REFUSALS = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass
class PythonRows:
    """Columns of Python values, and the rows that do not have as many values as there are columns.

    Attributes:
        columns: Values by the name of the column.
        ragged: Number of values of each row that has too many or too few.
    """

    columns: dict[str, list[Any]]
    rows: int
    ragged: dict[int, int] = field(default_factory=dict)


def transpose(rows: Iterable[Any], names: Sequence[str], defaults: Mapping[str, Any]) -> PythonRows:
    """Turn rows into columns.

    Args:
        rows: Mappings, sequences in the order of *names*, or plain values where there is one name.
        defaults: By name in lower case, what an omitted value is, in place of ``None``.

    Raises:
        TypeError: If a row is none of these.

    Example:
        >>> transpose([{"a": 1}, {"A": 2, "b": 3}], [], {}).columns
        {'a': [1, 2], 'b': [None, 3]}
        >>> transpose([(1, 2), (3,)], ["a", "b"], {"b": 0}).columns
        {'a': [1, 3], 'b': [2, 0]}
    """
    rows = list(rows)
    mappings = [row for row in rows if isinstance(row, Mapping)]
    if mappings and len(mappings) == len(rows):
        return _transpose_mappings(mappings, defaults)
    if mappings:
        raise TypeError("rows are all mappings, or none is")
    if len(names) == 1:
        rows = [row if isinstance(row, tuple | list) else (row,) for row in rows]
    width = len(names)
    ragged = {}
    for index, row in enumerate(rows):
        if not isinstance(row, tuple | list):
            raise TypeError(f"a row is a mapping, a tuple or a list, not {type(row).__name__}")
        if len(row) != width:
            ragged[index] = len(row)
            rows[index] = [*row[:width], *(defaults.get(name.lower()) for name in names[len(row) :])]
    return PythonRows({name: [row[i] for row in rows] for i, name in enumerate(names)}, len(rows), ragged)


def _transpose_mappings(rows: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any]) -> PythonRows:
    """Names that differ only in case are one column: the spelling that comes first names it."""
    spellings: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        spellings.setdefault(name.lower(), []).append(name)
    columns = {}
    for lower, names in spellings.items():
        default = defaults.get(lower)
        if len(names) == 1:
            columns[names[0]] = [row.get(names[0], default) for row in rows]
        else:
            columns[names[0]] = [next((row[name] for name in names if name in row), default) for row in rows]
    return PythonRows(columns, len(rows))


def make_column(
    name: str, values: Sequence[Any], kind: pa.DataType | None, rules: Rules
) -> tuple[pa.Array | pa.ChunkedArray, list[int]]:
    """Values as a column.

    Args:
        values: The values; ``None`` is null.
        kind: The type wanted, if it is known.

    Returns:
        The column, of *kind* or of a type that can be cast to it; and the rows whose value is no *kind* (null there).

    Raises:
        SchemaError: ``[mixed-values]`` without *kind*, if the values are of several types.

    Example:
        >>> column, bad = make_column("a", [1, "2", [3]], pa.int64(), Rules())
        >>> column.to_pylist(), bad
        ([1, 2, None], [2])
    """
    if kind is not None and getattr(kind, "tz", None) is None:  # Arrow would take local times for times in UTC
        try:
            return pa.array(values, kind), []
        except _REFUSALS:
            pass  # perhaps they are of another type that can be cast, such as texts
    try:
        column = pa.array(values)
        if kind is None or can_cast(column.type, kind, rules):
            return column, []
    except _REFUSALS as error:
        if kind is None:
            raise SchemaError(
                f"the values of column {name!r} are of several types",
                Where(column=name),
                seen=", ".join(sorted({type(value).__name__ for value in values})),
                fix="declare the column's type with negotiator.table_schema() or loader.add_column()",
                code="mixed-values",
            ) from error
    return _one_by_one(values, kind, rules)


def _one_by_one(values: Sequence[Any], kind: pa.DataType, rules: Rules) -> tuple[pa.Array, list[int]]:
    """Every value on its own, where together they are refused."""
    scalars: list[Any] = []
    bad = []
    for row, value in enumerate(values):
        scalar = _scalar(value, kind, rules)
        if scalar is None:
            bad.append(row)
        scalars.append(pa.scalar(None, kind) if scalar is None else scalar)
    return pa.array(scalars, kind), bad


def _scalar(value: Any, kind: pa.DataType, rules: Rules) -> pa.Scalar | None:
    try:
        return pa.scalar(value, kind)
    except _REFUSALS:
        pass  # as above
    try:
        single = pa.array([value])
    except _REFUSALS:
        return None
    if not can_cast(single.type, kind, rules):
        return None
    column, bad = cast_column(single, kind, rules)
    return column[0] if bad is None else None
