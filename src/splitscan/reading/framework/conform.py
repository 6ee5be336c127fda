"""Conform a reader's columns to the schema: match by name, order, fill in, cast exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.errors import SchemaError, UsageError, Where
from splitscan.formats.decoding.conversions import BLANKS, Bad, Rules, convert
from splitscan.formats.decoding.patterns import to_moments
from splitscan.options.files import zone_of

_are = pa.types
_RULES = Rules()
_WHOLE = pa.decimal128(20, 0)  # holds every integer


def cast_column(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Bad | None]:
    """Cast a column; nothing is rounded, cut or wrapped. A blank text is no value: it is null where it is no text.

    Args:
        kind: The type wanted; :func:`can_cast` must allow it.

    Returns:
        The column, and a mask of the rows whose value does not convert (they are null), ``None`` when all do.

    Example:
        >>> column, bad = cast_column(pa.array([1, 300]), pa.int8())
        >>> column.to_pylist(), bad.tolist()
        ([1, None], [False, True])
    """
    if array.type.equals(kind):
        return array, None
    if _is_text(array.type) and _is_parsed(kind):
        return convert(_without_blanks(array), kind, _RULES)
    try:
        return _cast(array, kind), None
    except pa.ArrowInvalid:
        bad = _guilty_rows(array, kind)
        rows = pa.array(np.arange(len(array)), mask=bad)
        return _cast(array.take(rows), kind), bad


def can_cast(source: pa.DataType, kind: pa.DataType) -> bool:
    """True if there is a way from one type to another, whatever the values."""
    if source.equals(kind):
        return True
    try:
        _cast(pa.nulls(1, source), kind)
    except pa.ArrowException:
        return False
    return True


def _guilty_rows(array: pa.Array, kind: pa.DataType) -> Bad:
    """The slow second pass: halves are halved until the rows are found that fail on their own."""
    bad = np.zeros(len(array), dtype=np.bool_)
    ranges = [(0, len(array))]
    while ranges:
        start, stop = ranges.pop()
        try:
            _cast(array.slice(start, stop - start), kind)
        except pa.ArrowInvalid:
            if stop - start == 1:
                bad[start] = True
            else:
                middle = (start + stop) // 2
                ranges += [(start, middle), (middle, stop)]
    return bad


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast all of it, or raise ``ArrowInvalid``; ``ArrowNotImplementedError`` where there is no way at all."""
    source = array.type
    if source.equals(kind):
        return array
    if _are.is_dictionary(source):
        return _cast(array.dictionary_decode(), kind)
    if _are.is_null(source):
        return pa.nulls(len(array), kind)
    return _cast_nested(array, kind) if _are.is_nested(source) else _cast_flat(array, kind)


def _cast_flat(array: pa.Array, kind: pa.DataType) -> pa.Array:
    source = array.type
    if _is_text(source) and _is_parsed(kind):
        column, bad = convert(_without_blanks(array), kind, _RULES)
        if bad is not None:
            raise pa.ArrowInvalid("a text is no value of the type")
        return column
    if _are.is_timestamp(source) and _are.is_timestamp(kind) and source.tz is None and kind.tz is not None:
        return _location(array.cast(pa.timestamp("us")), _RULES.time_zone).cast(kind)
    if _are.is_integer(source) and _are.is_decimal128(kind):
        return array.cast(_WHOLE).cast(kind)  # Arrow asks for room for the largest number, whatever the values
    if _is_binary(source) and not (_is_binary(kind) or _is_text(kind)):
        raise pa.ArrowNotImplementedError("bytes are no numbers")  # Arrow would read them as text, by rules of its own
    return array.cast(kind)


def _without_blanks(array: pa.Array) -> pa.Array:
    texts = array.cast(pa.string())
    return pc.if_else(pc.equal(pc.utf8_trim(texts, BLANKS), ""), None, texts)


def _cast_nested(array: pa.Array, kind: pa.DataType) -> pa.Array:
    source = array.type
    if _are.is_struct(source) and _are.is_struct(kind):
        return _cast_struct(array, kind)
    if _are.is_map(source) and _are.is_map(kind):
        return _cast_map(array, kind)
    if _is_list(source) and (_are.is_list(kind) or _are.is_large_list(kind)):
        return _cast_list(array, kind)
    return array.cast(kind)


def _cast_struct(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Members are matched by name, without regard to case; missing ones are null, others are left out."""
    members = array.flatten()
    names = [field.name for field in array.type]
    position = {name.lower(): index for index, name in reversed(list(enumerate(names)))}
    position |= {name: index for index, name in enumerate(names)}
    children = []
    for field in kind:
        index = position.get(field.name, position.get(field.name.lower()))
        children.append(pa.nulls(len(array), field.type) if index is None else _cast(members[index], field.type))
    if not children:
        return pa.StructArray.from_buffers(kind, len(array), [None]) if not array.null_count else array.cast(kind)
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())


def _cast_list(array: pa.Array, kind: pa.DataType) -> pa.Array:
    values = _cast(array.flatten(), kind.value_type)
    offsets = _offsets(pc.list_value_length(array))
    wide = _are.is_large_list(kind)
    make = pa.LargeListArray if wide else pa.ListArray
    return make.from_arrays(
        pa.array(offsets, pa.int64() if wide else pa.int32()), values, type=kind, mask=array.is_null()
    )


def _cast_map(array: pa.Array, kind: pa.DataType) -> pa.Array:
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    keys = _cast(array.keys.slice(first, last - first), kind.key_type)
    items = _cast(array.items.slice(first, last - first), kind.item_type)
    offsets = pc.subtract(array.offsets, first)
    return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=array.is_null())


def _offsets(lengths: pa.Array) -> npt.NDArray[np.int64]:
    counts = pc.fill_null(lengths.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(counts)])


def _location(local: pa.Array, zone: str) -> pa.Array:
    """Local times to moments; where Arrow's rules end, each on its own."""
    try:
        return to_moments(local, zone)
    except pa.ArrowInvalid:
        moments: list[Any] = [
            None if moment is None else moment.replace(tzinfo=zone_of(zone)).astimezone(UTC)
            for moment in local.to_pylist()
        ]
        return pa.array(moments, pa.timestamp("us", "UTC"))


def _is_text(kind: pa.DataType) -> bool:
    return bool(_are.is_string(kind) or _are.is_large_string(kind) or _are.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    kinds = (_are.is_binary, _are.is_large_binary, _are.is_binary_view, _are.is_fixed_size_binary)
    return any(is_kind(kind) for is_kind in kinds)


def _is_list(kind: pa.DataType) -> bool:
    kinds = (_are.is_list, _are.is_large_list, _are.is_list_view, _are.is_large_list_view, _are.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def _is_parsed(kind: pa.DataType) -> bool:
    """True if a text can be a value of the type, by the rules that CSV has too."""
    kinds = (_are.is_signed_integer, _are.is_floating, _are.is_boolean, _are.is_decimal128, _are.is_date32)
    return any(is_kind(kind) for is_kind in (*kinds, _are.is_time64, _are.is_timestamp))


class BadValue(NamedTuple):
    """A value that does not convert."""

    row: int
    column: str
    value: Any
    wanted: pa.DataType


class Conformer:
    """Makes batches of one schema.

    A batch that has it already passes as it is: nothing is copied, and no row is looked at.

    Args:
        defaults: What a column holds that a reader does not bring, in place of null.

    Raises:
        SchemaError: From :meth:`conform`: ``[type-conflict]``, ``[duplicate-column]``.
        UsageError: From :meth:`conform`: ``[bad-default]``.

    Example:
        >>> target = pa.schema([("a", pa.int32()), ("b", pa.string())])
        >>> Conformer(target).conform(pa.record_batch({"A": ["1", "x"]}))[0].to_pydict()
        {'a': [1, None], 'b': [None, None]}
    """

    def __init__(
        self,
        target: pa.Schema,
        *,
        constants: Mapping[str, pa.Scalar] | None = None,
        defaults: Mapping[str, pa.Scalar] | None = None,
    ) -> None:
        self.target = target
        self._constants = dict(constants or {})
        self._defaults = {name.lower(): value for name, value in (defaults or {}).items()}
        self._known: pa.Schema | None = None
        self._steps: list[_Step] = []
        self._is_exact = False

    def conform(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Sequence[BadValue]]:
        """Make the wanted columns of a batch, and tell at most one value a row that does not convert: it is null."""
        schema = batch.schema
        self.prepare(schema)
        if self._is_exact:
            if schema.equals(self.target, check_metadata=True):
                return batch, ()
            return self._assemble(batch.columns, batch.num_rows), ()
        bad: dict[int, BadValue] = {}
        columns = [self._column(step, field, batch, bad) for step, field in zip(self._steps, self.target, strict=True)]
        return self._assemble(columns, batch.num_rows), [bad[row] for row in sorted(bad)]

    def prepare(self, schema: pa.Schema) -> None:
        """Find out how batches of a schema become the wanted ones."""
        if self._known is not None and schema.equals(self._known):
            return
        position = find_columns(schema.names)
        self._steps = [self._step(field, schema, position) for field in self.target]
        in_place = len(schema) == len(self.target) and all(map(self._is_as_given, self.target))
        self._is_exact = in_place and all(step.is_plain and step.index == i for i, step in enumerate(self._steps))
        self._known = schema

    def fill(self, rows: int) -> pa.RecordBatch:
        """Rows without a value of their own: constants, defaults and nulls."""
        columns = [_repeat(self._filler(field), rows) for field in self.target]
        return self._assemble(columns, rows)

    def _step(self, field: pa.Field, schema: pa.Schema, position: Callable[[str], int | None]) -> _Step:
        index = None if field.name in self._constants else position(field.name)
        if index is None:
            return _Step(None, self._filler(field), is_plain=False)
        source = schema.field(index)
        if not can_cast(source.type, field.type):
            raise SchemaError(
                f"column {field.name!r} cannot be made of what the reader brings",
                Where(column=field.name),
                seen=f"the reader's column: {_shown(source)}; the wanted column: {_shown(field)}",
                fix="declare the column with the type that the data has, or convert it in the reader",
                code="type-conflict",
            )
        return _Step(index, None, is_plain=source.type.equals(field.type))

    def _is_as_given(self, field: pa.Field) -> bool:
        """True if nulls of the reader stand: a column that must not be null may have a default."""
        return field.nullable or field.name.lower() not in self._defaults

    def _filler(self, field: pa.Field) -> pa.Scalar:
        value = self._constants.get(field.name, self._defaults.get(field.name.lower()))
        return pa.scalar(None, field.type) if value is None else _cast_default(value, field)

    def _column(self, step: _Step, field: pa.Field, batch: pa.RecordBatch, bad: dict[int, BadValue]) -> pa.Array:
        if step.index is None:
            return _repeat(step.filler, batch.num_rows)
        source = batch.column(step.index)
        column, mask = cast_column(source, field.type)
        if mask is not None:
            for row in np.flatnonzero(mask).tolist():
                bad.setdefault(row, BadValue(row, field.name, source[row].as_py(), field.type))
        return self._with_default(field, column, mask)

    def _with_default(self, field: pa.Field, column: pa.Array, bad: Bad | None) -> pa.Array:
        """A column that must not be null takes its default where the reader has no value, but not for a bad one."""
        default = self._defaults.get(field.name.lower())
        if field.nullable or default is None or not column.null_count:
            return column
        missing = column.is_null() if bad is None else pc.and_not(column.is_null(), pa.array(bad))
        return pc.if_else(missing, _cast_default(default, field), column)

    def _assemble(self, columns: Sequence[pa.Array], rows: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(list(columns), schema=self.target) if columns else rows_without_columns(rows)


@dataclass(frozen=True, slots=True)
class _Step:
    """Source of a wanted column: a column of the reader, or nothing but a filler."""

    index: int | None
    filler: pa.Scalar | None
    is_plain: bool


def rows_without_columns(rows: int) -> pa.RecordBatch:
    """A batch that has rows and no column; made any other way, Arrow forgets how many.

    Example:
        >>> rows_without_columns(3).num_rows
        3
    """
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))


def find_columns(names: Sequence[str]) -> Callable[[str], int | None]:
    """How to look up a column: by its name, or without regard to case where that is not ambiguous.

    Raises:
        SchemaError: From the look-up, ``[duplicate-column]``, if two columns could be meant.

    Example:
        >>> find = find_columns(["a", "B"])
        >>> find("b"), find("c")
        (1, None)
    """
    positions: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        positions.setdefault(name.lower(), []).append(index)

    def find(name: str) -> int | None:
        found = positions.get(name.lower(), [])
        if len(found) > 1:
            found = [index for index in found if names[index] == name] or found
        if len(found) > 1:
            raise duplicate_column(name, [names[index] for index in found])
        return found[0] if found else None

    return find


def duplicate_column(name: str, names: Sequence[str]) -> SchemaError:
    """The error for two columns that have the same name but for its case."""
    return SchemaError(
        f"the reader brings column {name!r} more than once",
        Where(column=name),
        seen=", ".join(names),
        fix="give every column a name of its own; upper and lower case do not tell names apart",
        code="duplicate-column",
    )


def _cast_default(value: pa.Scalar, field: pa.Field) -> pa.Scalar:
    """A default in the type of its column; like any other value it is neither rounded nor cut."""
    try:
        return value.cast(field.type)
    except pa.ArrowException as error:
        raise UsageError(
            f"the default of column {field.name!r} is no value of its type",
            Where(column=field.name),
            seen=f"{value}; the column: {_shown(field)}",
            fix="give a default that the type holds exactly",
            code="bad-default",
        ) from error


def _repeat(value: pa.Scalar | None, rows: int) -> pa.Array:
    if value is None or not value.is_valid:
        return pa.nulls(rows, None if value is None else value.type)
    return pa.repeat(value, rows)


def _shown(field: pa.Field) -> str:
    return f"{field.name} {field.type}{'' if field.nullable else ' NOT NULL'}"
