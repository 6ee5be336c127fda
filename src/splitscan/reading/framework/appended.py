"""Appended data of any shape as record batches, and the handling of rows that break a rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from splitscan.blocks import Reject
from splitscan.errors import SchemaError, Where, quote_bytes
from splitscan.formats.decoding.contract import BAD_VALUE, FIELD_COUNT, has_part, quoted
from splitscan.options import Mode
from splitscan.reading.framework.conform import BadValue, can_cast, cast_column, find_columns, rows_without_columns
from splitscan.reading.framework.contract import Origin, OutputPlan, ReaderPosition
from splitscan.reading.rejects import OnRejects, failed_fast, reason_text

_REFUSALS = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass
class PythonRows:
    """Columns of Python values; *ragged* has the number of values of each row that has too many or too few."""

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
    name: str, values: Sequence[Any], kind: pa.DataType | None
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
        >>> column, bad = make_column("a", [1, "2", [3]], pa.int64())
        >>> column.to_pylist(), bad
        ([1, 2, None], [2])
    """
    if kind is not None and has_part(kind, pa.types.is_struct):
        values = [_with_members(value, kind) for value in values]
    if kind is not None and getattr(kind, "tz", None) is None:  # Arrow would take local times for times in UTC
        try:
            return pa.array(values, kind), []
        except _REFUSALS:
            pass  # perhaps they are of another type that can be cast, such as texts
    try:
        column = pa.array(values)
        if kind is None or can_cast(column.type, kind):
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
    return _one_by_one(values, kind)


def _with_members(value: Any, kind: pa.DataType) -> Any:
    """A value whose members are called as its type calls them: found without regard to case, as columns are."""
    if pa.types.is_struct(kind) and isinstance(value, Mapping):
        names = [str(name) for name in value]
        found = zip(kind.fields, map(find_columns(names), kind.names), strict=True)
        members = list(value.values())
        return {each.name: _with_members(members[at], each.type) for each, at in found if at is not None}
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and isinstance(value, list | tuple):
        return [_with_members(item, kind.value_type) for item in value]
    if pa.types.is_map(kind) and isinstance(value, Mapping):
        value = list(value.items())
    if pa.types.is_map(kind) and isinstance(value, list | tuple) and all(_is_pair(item) for item in value):
        return [(key, _with_members(item, kind.item_type)) for key, item in value]
    return value


def _is_pair(item: Any) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2


def _one_by_one(values: Sequence[Any], kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Every value on its own, where together they are refused."""
    scalars: list[Any] = []
    bad = []
    for row, value in enumerate(values):
        scalar = _scalar(value, kind)
        if scalar is None:
            bad.append(row)
        scalars.append(pa.scalar(None, kind) if scalar is None else scalar)
    return pa.array(scalars, kind), bad


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar | None:
    try:
        return pa.scalar(value, kind)
    except _REFUSALS:
        pass  # as above
    try:
        single = pa.array([value])
    except _REFUSALS:
        return None
    if not can_cast(single.type, kind):
        return None
    column, bad = cast_column(single, kind)
    return column[0] if bad is None else None


Appendable: TypeAlias = pa.RecordBatch | pa.Table | Mapping[str, Any]
"""What a reader may append: a record batch, a table, or columns by name."""

KindOf: TypeAlias = Callable[[str], pa.DataType | None]
"""The type that a column should have, or ``None`` where any will do."""


@dataclass(frozen=True, slots=True)
class AppendedRows:
    """Some rows of one append; by row of *batch*, *bad* values, and how many values *ragged* rows have."""

    batch: pa.RecordBatch
    origin: Origin
    bad: Mapping[int, BadValue]
    ragged: Mapping[int, int]
    width: int


@dataclass
class Appended:
    """All rows of one append; by row, *bad* values, and how many values *ragged* rows have."""

    batches: Sequence[pa.RecordBatch]
    origin: Origin
    bad: dict[int, BadValue] = field(default_factory=dict)
    ragged: dict[int, int] = field(default_factory=dict)
    width: int = 0

    def parts(
        self, most_bytes: int, too_large: Callable[[pa.RecordBatch, Origin], Exception]
    ) -> Iterator[AppendedRows]:
        """The rows, cut until every part fits into one Arrow array."""
        first = 0
        for batch in self.batches:
            for piece in _pieces(batch, most_bytes):
                stop = first + piece.num_rows
                origin = self.origin.part(first)
                if piece.num_rows == 1 and piece.nbytes > most_bytes:
                    raise too_large(piece, origin)
                bad = {row - first: value for row, value in self.bad.items() if first <= row < stop}
                ragged = {row - first: count for row, count in self.ragged.items() if first <= row < stop}
                yield AppendedRows(piece, origin, bad, ragged, self.width)
                first = stop


def _pieces(batch: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    if batch.get_total_buffer_size() <= most_bytes or batch.nbytes <= most_bytes or batch.num_rows == 1:
        yield batch  # the size of the buffers is no less, and costs nothing to know
        return
    middle = batch.num_rows // 2
    yield from _pieces(batch.slice(0, middle), most_bytes)
    yield from _pieces(batch.slice(middle), most_bytes)


def from_data(data: Appendable, origin: Origin, kind_of: KindOf) -> Appended:
    """Rows of Arrow data, or of columns by name."""
    if isinstance(data, pa.RecordBatch):
        return Appended([data], origin)
    if isinstance(data, pa.Table):
        return Appended(_batches(data), origin)
    if not isinstance(data, Mapping):
        raise TypeError(f"a {type(data).__name__}")
    return from_columns(data, origin, kind_of)


def from_rows(
    rows: Iterable[Any],
    origin: Origin,
    names: Sequence[str],
    defaults: Mapping[str, Any],
    kind_of: KindOf,
) -> Appended:
    """Rows of Python values."""
    made = transpose(rows, names, defaults)
    if not made.columns:
        return Appended([rows_without_columns(made.rows)], origin)
    appended = from_columns(made.columns, origin, kind_of)
    appended.ragged, appended.width = made.ragged, len(names)
    return appended


def from_columns(data: Mapping[str, Any], origin: Origin, kind_of: KindOf) -> Appended:
    """Columns by name, single values for all rows; ``[unequal-columns]`` or ``[mixed-values]`` where that cannot be."""
    arrays: dict[str, pa.Array | pa.ChunkedArray | None] = dict.fromkeys(data)
    bad: dict[int, BadValue] = {}
    for name, values in data.items():
        if isinstance(values, pa.Array | pa.ChunkedArray):
            arrays[name] = values
        elif isinstance(values, np.ndarray):
            arrays[name] = pa.array(values)
        elif isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
            arrays[name] = _from_values(name, values, kind_of(name), bad)
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
    name: str, values: Sequence[Any], kind: pa.DataType | None, bad: dict[int, BadValue]
) -> pa.Array | pa.ChunkedArray:
    if kind is not None and pa.types.is_null(kind):
        return pa.nulls(len(values))  # nobody wants it
    column, rows = make_column(name, values, kind)
    for row in rows:
        bad.setdefault(row, BadValue(row, name, values[row], kind))
    return column


class RejectHandler:
    """Takes the bad rows and records of one reader, and does with them what the mode says."""

    def __init__(self, plan: OutputPlan, location: ReaderPosition, on_reject: OnRejects | None) -> None:
        self._fails = plan.mode is Mode.FAILFAST
        self._drops = plan.mode is Mode.DROPMALFORMED
        self._corrupt_column, self._reason_column = plan.corrupt_column, plan.reason_column
        self._location = location
        self._on_reject = on_reject

    def report(self, reject: Reject) -> None:
        """Report a reject in every mode."""
        if self._on_reject is not None:
            self._on_reject([reject])

    def sort_out(
        self, batch: pa.RecordBatch, part: AppendedRows, first_row: int, remaining: int | None
    ) -> pa.RecordBatch:
        """Report the bad rows of an append, up to the last of *remaining*; take out those that the mode drops.

        *first_row* is the number of the first among all rows of the reader. There may be more rows left than wanted.
        """
        broken = sorted({*part.bad, *part.ragged})
        last = _last_wanted(batch.num_rows, broken if self._drops else [], remaining)
        texts, reasons = {}, {}
        for row in broken:
            if row <= last:
                value = None if row in part.ragged else part.bad[row]
                texts[row] = _row_text(batch, row, value)
                reasons[row] = self._take_row(part, row, value, texts[row], first_row)
        if self._drops:
            keep = np.ones(batch.num_rows, dtype=np.bool_)
            keep[broken] = False
            return batch.filter(pa.array(keep))
        return _with_texts(_with_texts(batch, self._corrupt_column, texts), self._reason_column, reasons)

    def take_record(
        self, origin: Origin, code: str, reason: str, raw: bytes, length_bytes: int | None, *, delivered: bool
    ) -> None:
        """Take a record that the reader itself rejects."""
        offset, line = origin.near(0)
        length = len(raw) if length_bytes is None else length_bytes
        reject = Reject(self._location.path, self._offset(offset), length, code, reason, raw, delivered)
        self._take(reject, lambda: self._location.where(offset=offset, line=line))

    def _take_row(self, part: AppendedRows, row: int, value: BadValue | None, text: str, first_row: int) -> str:
        """Take a bad row; the text that the column of reasons has of it."""
        if value is None:
            code, raw = FIELD_COUNT, text
            reason = f"the row has {part.ragged[row]} values where {part.width} are expected"
        else:
            code, raw = BAD_VALUE, str(value.value)
            reason = f"column {quoted(value.column)}: {_quoted(raw)} is no {value.wanted}"
        data = raw.encode("utf-8", "replace")
        offset, line = part.origin.near(row)
        reject = Reject(self._location.path, self._offset(offset), len(data), code, reason, data, not self._drops)
        column = None if value is None else value.column
        self._take(reject, lambda: self._location.where(first_row + row, offset, line, column))
        return reason_text(code, reason)

    def _take(self, reject: Reject, where: Callable[[], Where]) -> None:
        if self._fails:
            raise failed_fast(reject, where())
        self.report(reject)

    def _offset(self, offset: int | None) -> int:
        """An offset for the reject table, which has to have one: that of the block where nothing better is known."""
        return self._location.split.start if offset is None else offset


def _with_texts(batch: pa.RecordBatch, column: str | None, texts: Mapping[int, str]) -> pa.RecordBatch:
    """A batch with texts in some rows of a column, where there is none yet."""
    index = find_columns(batch.schema.names)(column) if column else None
    if index is None or not texts:
        return batch
    values = batch.column(index).to_pylist()
    for row, text in texts.items():
        values[row] = text if values[row] is None else values[row]
    field = batch.schema.field(index)
    return batch.set_column(index, field, pa.array(values, field.type))


def _last_wanted(rows: int, dropped: Sequence[int], remaining: int | None) -> int:
    """The last row that counts, where a limit cuts."""
    if remaining is None or rows - len(dropped) < remaining:
        return rows
    kept = np.setdiff1d(np.arange(rows), np.array(dropped, dtype=np.int64))
    return int(kept[remaining - 1])


def _quoted(text: str) -> str:
    return quote_bytes(text.encode("utf-8", "replace"))[1:]


def _row_text(batch: pa.RecordBatch, row: int, bad: BadValue | None) -> str:
    """A row as JSON, for people, with the value that did not convert."""
    values = {name: column[row].as_py() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    if bad is not None:
        values[bad.column] = bad.value
    return json.dumps({name: value for name, value in values.items() if value is not None}, default=str)
