"""What one append brings, in whatever shape, as record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from splitscan.errors import SchemaError
from splitscan.formats.decoding.conversions import Rules
from splitscan.scan.framework.conform import BadValue, rows_without_columns
from splitscan.scan.framework.location import Origin
from splitscan.scan.framework.python_values import make_column, transpose

Appendable: TypeAlias = pa.RecordBatch | pa.Table | Mapping[str, Any]
"""What a reader may append: a record batch, a table, or columns by name."""

KindOf: TypeAlias = Callable[[str], pa.DataType | None]
"""The type that a column should have, or ``None`` where any will do."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows of one append, next to each other.

    Attributes:
        batch: The rows.
        origin: Where they come from.
        bad: Values that are of no use, by row of *batch*.
        ragged: Number of values of rows that have too many or too few, by row of *batch*.
        width: How many values a row should have.
    """

    batch: pa.RecordBatch
    origin: Origin
    bad: Mapping[int, BadValue]
    ragged: Mapping[int, int]
    width: int


@dataclass
class Appended:
    """All rows of one append.

    Attributes:
        batches: The rows.
        origin: Where they come from.
        bad: Values that are of no use, by row.
        ragged: Number of values of rows that have too many or too few, by row.
        width: How many values a row should have.
    """

    batches: Sequence[pa.RecordBatch]
    origin: Origin
    bad: dict[int, BadValue] = field(default_factory=dict)
    ragged: dict[int, int] = field(default_factory=dict)
    width: int = 0

    def parts(self, most_bytes: int, too_large: Callable[[pa.RecordBatch, Origin], Exception]) -> Iterator[Part]:
        """The rows, cut until every part fits into one Arrow array.

        Args:
            most_bytes: Most bytes of a part.
            too_large: Makes the error for a single row that has more.
        """
        first = 0
        for batch in self.batches:
            for piece in _pieces(batch, most_bytes):
                stop = first + piece.num_rows
                origin = self.origin.part(first)
                if piece.num_rows == 1 and piece.nbytes > most_bytes:
                    raise too_large(piece, origin)
                bad = {row - first: value for row, value in self.bad.items() if first <= row < stop}
                ragged = {row - first: count for row, count in self.ragged.items() if first <= row < stop}
                yield Part(piece, origin, bad, ragged, self.width)
                first = stop


def _pieces(batch: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    if batch.get_total_buffer_size() <= most_bytes or batch.nbytes <= most_bytes or batch.num_rows == 1:
        yield batch  # the size of the buffers is no less, and costs nothing to know
        return
    middle = batch.num_rows // 2
    yield from _pieces(batch.slice(0, middle), most_bytes)
    yield from _pieces(batch.slice(middle), most_bytes)


def from_data(data: Appendable, origin: Origin, kind_of: KindOf, rules: Rules) -> Appended:
    """Rows of Arrow data, or of columns by name.

    Raises:
        SchemaError: If columns cannot be made of it.
        TypeError: If it is nothing of the kind.
    """
    if isinstance(data, pa.RecordBatch):
        return Appended([data], origin)
    if isinstance(data, pa.Table):
        return Appended(_batches(data), origin)
    if not isinstance(data, Mapping):
        raise TypeError(f"a {type(data).__name__}")
    return from_columns(data, origin, kind_of, rules)


def from_rows(
    rows: Iterable[Any],
    origin: Origin,
    names: Sequence[str],
    defaults: Mapping[str, Any],
    kind_of: KindOf,
    rules: Rules,
) -> Appended:
    """Rows of Python values.

    Raises:
        SchemaError: If columns cannot be made of them.
        TypeError: If rows are not alike, or no rows.
    """
    made = transpose(rows, names, defaults)
    if not made.columns:
        return Appended([rows_without_columns(made.rows)], origin)
    appended = from_columns(made.columns, origin, kind_of, rules)
    appended.ragged, appended.width = made.ragged, len(names)
    return appended


def from_columns(data: Mapping[str, Any], origin: Origin, kind_of: KindOf, rules: Rules) -> Appended:
    """Columns by name; single values hold for all rows.

    Raises:
        SchemaError: ``[unequal-columns]`` if they have different lengths; ``[mixed-values]``.
    """
    arrays: dict[str, pa.Array | pa.ChunkedArray | None] = dict.fromkeys(data)
    bad: dict[int, BadValue] = {}
    for name, values in data.items():
        if isinstance(values, pa.Array | pa.ChunkedArray):
            arrays[name] = values
        elif isinstance(values, np.ndarray):
            arrays[name] = pa.array(values)
        elif isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
            arrays[name] = _from_values(name, values, kind_of(name), rules, bad)
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        raise SchemaError(
            "the columns of one append have the same number of rows",
            seen=", ".join(f"{name}: {rows}" for name, rows in lengths.items()),
            fix="append columns of equal length",
            code="unequal-columns",
        )
    rows = next(iter(lengths.values()), 1 if data else 0)
    for name, array in arrays.items():
        if array is None:
            scalar = data[name] if isinstance(data[name], pa.Scalar) else pa.scalar(data[name])
            arrays[name] = pa.repeat(scalar, rows) if scalar.is_valid else pa.nulls(rows, scalar.type)
    if not arrays:
        return Appended([], origin)
    return Appended(_batches(pa.table(list(arrays.values()), names=list(arrays))), origin, bad)


def _batches(table: pa.Table) -> list[pa.RecordBatch]:
    """At least one: without rows a table still has columns."""
    batches: list[pa.RecordBatch] = table.to_batches()
    return batches or [pa.RecordBatch.from_pylist([], schema=table.schema)]


def _from_values(
    name: str, values: Sequence[Any], kind: pa.DataType | None, rules: Rules, bad: dict[int, BadValue]
) -> pa.Array | pa.ChunkedArray:
    if kind is not None and pa.types.is_null(kind):
        return pa.nulls(len(values))  # nobody wants it
    column, rows = make_column(name, values, kind, rules)
    for row in rows:
        bad.setdefault(row, BadValue(row, name, values[row], kind))
    return column
