"""Columns of tables: what each becomes, how it is selected, and numbers whose type a database does not fix."""

from __future__ import annotations

import re
from binascii import hexlify
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.errors import SchemaError, Where
from splitscan.formats.decoding.contract import type_name
from splitscan.reading.framework.conform import can_cast, cast_column
from splitscan.tables.keys import KeyKind

ANY_VALUE = pa.struct({"integer": pa.int64(), "real": pa.float64(), "other": pa.string()})
"""A value of a column that may have several types: at most one of its parts is there."""

_FIRST_GAP = float(1 << 53)  # from here on not every integer is a double
_Bad = npt.NDArray[np.bool_]


def is_number(kind: pa.DataType) -> bool:
    """True if a type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def cast_values(values: pa.StructArray, kind: pa.DataType) -> tuple[pa.Array, _Bad | None]:
    """Values of :data:`ANY_VALUE` as one type, and a mask of the rows whose value it cannot hold, ``None`` for none."""
    cast = [cast_exactly(part, kind) for part in values.flatten() if part.null_count < len(part)]
    if not cast:
        return pa.nulls(len(values), kind), None
    masks = [bad for _, bad in cast if bad is not None]
    return pc.coalesce(*(column for column, _ in cast)), reduce(or_, masks) if masks else None


def cast_exactly(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, _Bad | None]:
    """A column as another type; fractions that a decimal has no digits for do not fit.

    Example:
        >>> column, bad = cast_exactly(pa.array([2.5, 3.0]), pa.decimal128(20, 0))
        >>> column.to_pylist(), bad.tolist()
        ([None, Decimal('3')], [True, False])
    """
    if pa.types.is_decimal(kind) and pa.types.is_floating(array.type):
        return _cast_digits(_digits_of(array.cast(pa.float64())), kind)
    if pa.types.is_decimal(kind) and pa.types.is_string(array.type):
        digits = pc.utf8_trim_whitespace(array)
        return _cast_digits(pc.if_else(pc.equal(digits, ""), None, digits), kind)
    if not can_cast(array.type, kind):
        return pa.nulls(len(array), kind), array.is_valid().to_numpy(zero_copy_only=False)
    return cast_column(array, kind)


def _digits_of(reals: pa.DoubleArray) -> pa.StringArray:
    """The shortest digits that are the number; all there are where it has no fraction."""
    digits = reals.cast(pa.string())
    is_long = pc.fill_null(pc.and_(pc.is_finite(reals), pc.greater_equal(pc.abs(reals), _FIRST_GAP)), False)
    if not is_long.true_count:
        return digits
    whole = pa.array([str(int(each)) for each in reals.filter(is_long).to_pylist()], pa.string())
    return pc.replace_with_mask(digits, is_long, whole)


def _cast_digits(digits: pa.StringArray, kind: pa.DataType) -> tuple[pa.Array, _Bad | None]:
    try:
        return digits.cast(kind), None
    except pa.ArrowInvalid:
        fits = [_fits(each, kind) for each in digits]
    return pc.if_else(pa.array(fits), digits, None).cast(kind), ~np.array(fits)


def _fits(digits: pa.StringScalar, kind: pa.DataType) -> bool:
    try:
        digits.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def show_value(value: object) -> str:
    """A value for messages: of one of several types the part that is there."""
    if isinstance(value, dict):
        value = next((part for part in value.values() if part is not None), None)
    return str(value)


MOST_SHORT_DIGITS = 18
"""Numbers of more digits do not fit into 64 bits, which is what is calculated with."""

_GROUP_DIGITS = 4
_HEADER_WORDS = 4  # of 16 bits: how many groups follow, the power of 10000 of the first one, the sign, digits shown
_NEGATIVE, _NOT_A_NUMBER = 0x4000, 0x8000  # of the sign; infinities have the second one as well


def decimals(sent: pa.BinaryArray, kind: pa.Decimal128Type) -> pa.Decimal128Array:
    r"""Numbers as ``numeric_send`` gives them.

    Raises:
        ArrowInvalid: For NaN, an infinity, and a number that has more digits.

    Example:
        >>> sent = [b"\0\2\0\0\0\0\0\2\0\1\23\x88", None, b"\0\1\xff\xff\x40\0\0\2\1\xf4"]
        >>> decimals(pa.array(sent), pa.decimal128(5, 2)).to_pylist()
        [Decimal('1.50'), None, Decimal('-0.05')]
    """
    count = len(sent)
    _, offsets_buffer, data = sent.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, count + 1, sent.offset * 4) // 2
    first, behind = (int(offsets[0]), int(offsets[-1])) if count else (0, 0)
    words = np.zeros(behind - first + _HEADER_WORDS, np.uint16)  # nulls have no words, and may stand at the end
    if behind > first:
        words[:-_HEADER_WORDS] = np.frombuffer(data, ">u2", behind - first, first * 2)
    starts, lengths = offsets[:-1] - first, np.diff(offsets)
    signs = words[starts + 2]
    if (signs & _NOT_A_NUMBER).any():
        raise pa.ArrowInvalid("NaN or infinity")
    values = _unscaled(words, starts, lengths - _HEADER_WORDS, kind)
    np.negative(values, out=values, where=signs == _NEGATIVE)
    halves = np.empty((count, 2), np.int64)
    halves[:, 0] = values
    halves[:, 1] = values >> 63
    valid = sent.is_valid().buffers()[1] if sent.null_count else None
    return pa.Array.from_buffers(kind, count, [valid, pa.py_buffer(halves)])


def _unscaled(
    words: npt.NDArray[np.uint16], starts: npt.NDArray[np.int32], groups: npt.NDArray[np.int32], kind: pa.Decimal128Type
) -> npt.NDArray[np.int64]:
    lowest = -(-kind.scale // _GROUP_DIGITS)  # how many groups after the point
    highest = -(-(kind.precision - kind.scale) // _GROUP_DIGITS)  # and before it
    shifts = np.arange(-lowest, highest) * _GROUP_DIGITS + kind.scale
    factors = 10 ** np.maximum(shifts, 0)
    divisor = 10 ** max(0, -int(shifts[0]))  # digits of the last group that are after the scale: zeros
    most = 10 ** np.clip(kind.precision - shifts, 0, _GROUP_DIGITS)
    first_powers = words[starts + 1].astype(np.int16).astype(np.int32) + lowest
    values = np.zeros(len(starts), np.int64)
    for number in range(max(0, int(groups.max(initial=0)))):
        rows = slice(None) if (groups > number).all() else np.flatnonzero(groups > number)
        digits = words[starts[rows] + (_HEADER_WORDS + number)].astype(np.int64)
        powers = first_powers[rows] - number
        if powers.min() < 0 or powers.max() >= len(shifts) or (digits >= most[powers]).any():
            raise pa.ArrowInvalid(f"a number of more digits than {kind} has")
        if divisor > 1:
            last = powers == 0
            whole, rest = np.divmod(digits[last], divisor)
            if rest.any():
                raise pa.ArrowInvalid(f"a number of more digits than {kind} has")
            digits[last] = whole
        values[rows] += digits * factors[powers]
    return values


_UUID_BYTES = 16
_UUID_CHARACTERS = 36
# Six runs of digits, by their places among 32 in a row and among those of a text, in which dashes divide them.
_RUNS, _WIDTHS = list("abcdef"), ["u8", "u4", "u4", "u4", "u8", "u4"]
_DIGITS = np.dtype({"names": _RUNS, "formats": _WIDTHS, "offsets": [0, 8, 12, 16, 20, 28], "itemsize": 2 * _UUID_BYTES})
_TEXT = np.dtype({"names": _RUNS, "formats": _WIDTHS, "offsets": [0, 9, 14, 19, 24, 32], "itemsize": _UUID_CHARACTERS})
# PostgreSQL's first moments, in days and microseconds. It sends infinity as numbers that lie far before them.
_FIRST_DAY = -2_440_588
_FIRST_MICROSECOND = _FIRST_DAY * 86_400_000_000
_INTEGER, _DECIMAL = re.compile(r"-?\d+"), re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as a database has it.

    Attributes:
        type: Delivered by a scan, unless the user wants something else.
        expression: Selected for it.
        text: Selected for it where the user wants text.
        key_kind: What its values are as keys; ``None`` where it cannot be the key.
        key: Stands for it in conditions, so that it compares as its bytes do.
        nullable: Whether a row may be without it.
        declared: Type in the words of the database.
        values: Selected for it where a number is wanted, as :data:`ANY_VALUE`, if its values may have several types;
            ``None`` where they have one.
    """

    name: str
    type: pa.DataType
    expression: str
    text: str
    key_kind: KeyKind | None
    key: str
    nullable: bool
    declared: str
    values: str | None = None


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """A column of a scan."""

    field: pa.Field
    source: pa.DataType
    expression: str


def choose_columns(
    columns: Sequence[TableColumn], names: Sequence[str] | None, schema: pa.Schema | None, where: Where
) -> tuple[ChosenColumn, ...]:
    """The columns of a scan, in the order of *names*; of *schema*, or all, if none are named.

    Raises:
        SchemaError: ``[unknown-column]``, ``[type-conflict]``.
    """
    wanted = None if schema is None else {field.name.lower(): field for field in schema}
    if names is None:
        names = [column.name for column in columns] if schema is None else schema.names
    chosen = []
    for name in names:
        column = find_column(columns, name, where)
        field = pa.field(column.name, column.type) if wanted is None else wanted.get(name.lower())
        if field is None:
            raise _unknown(name, list(wanted or ()), where)
        chosen.append(_choose(column, field, where))
    return tuple(chosen)


def find_column(columns: Sequence[TableColumn], name: str, where: Where) -> TableColumn:
    """The column of a name: the very name, or without regard to case where only one fits; else ``[unknown-column]``."""
    exact = [column for column in columns if column.name == name]
    close = exact or [column for column in columns if column.name.lower() == name.lower()]
    if len(close) != 1:
        raise _unknown(name, [column.name for column in columns], where)
    return close[0]


def _unknown(name: str, names: Sequence[str], where: Where) -> SchemaError:
    return SchemaError(
        f"the table has no column {name!r}", replace(where, column=name), seen=f"columns: {', '.join(names)}"[:500],
        fix="name one of them", code="unknown-column",
    )  # fmt: skip


def _choose(column: TableColumn, field: pa.Field, where: Where) -> ChosenColumn:
    if pa.types.is_string(field.type) and not pa.types.is_string(column.type):
        return ChosenColumn(field, pa.string(), column.text)
    if not can_cast(column.type, field.type):
        raise SchemaError(
            f"column {column.name!r} cannot be read as {type_name(field.type)}", replace(where, column=column.name),
            seen=f"{column.declared}, which is read as {type_name(column.type)}",
            fix=f"declare it as {type_name(column.type)} or string", code="type-conflict",
        )  # fmt: skip
    if column.values is not None and (is_number(field.type) or is_number(column.type)):
        return ChosenColumn(field, ANY_VALUE, column.values)
    return ChosenColumn(field, column.type, column.expression)


class TableConverter:
    """Makes batches of a scan's columns out of a driver's, column by column in order.

    A value that the column cannot hold is a :class:`SchemaError` ``[table-value]``, a null ``[null-in-not-null]``.
    """

    def __init__(self, columns: Sequence[ChosenColumn], where: Where) -> None:
        self._columns = columns
        self._where = where
        self.schema = pa.schema([column.field for column in columns])

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [self._convert(column, array) for column, array in zip(self._columns, batch.columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _convert(self, column: ChosenColumn, array: pa.Array) -> pa.Array:
        field = column.field
        try:
            plain = _plain(array, column.source)
            if not pa.types.is_binary(field.type) and _has_text(plain.type):
                plain.validate(full=True)  # no driver looks whether texts are UTF-8, which Arrow promises
            if array.null_count and not field.nullable:
                raise self._refuse(column, "null", "declare it without NOT NULL", code="null-in-not-null")
            cast = cast_values if plain.type.equals(ANY_VALUE) else cast_exactly
            converted, bad = cast(plain, field.type)
        except (pa.ArrowInvalid, _OutOfRangeError) as error:
            raise self._refuse(column, str(error), _fix_of(column.source), code="table-value") from error
        if bad is not None:
            seen = show_value(plain[int(np.flatnonzero(bad)[0])].as_py())[:80]
            raise self._refuse(column, seen, "declare it as string", code="table-value")
        return converted

    def _refuse(self, column: ChosenColumn, seen: str, fix: str, code: str) -> SchemaError:
        kind = type_name(column.field.type)
        return SchemaError(
            f"column {column.field.name!r} holds a value that is no {kind}" if code == "table-value"
            else f"column {column.field.name!r} must not be null",
            replace(self._where, column=column.field.name),
            seen=seen,
            fix=fix,
            code=code,
        )  # fmt: skip


class _OutOfRangeError(Exception): ...


def _has_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind.value_type if pa.types.is_list(kind) else kind))


def _fix_of(kind: pa.DataType) -> str:
    if pa.types.is_string(kind):
        return "declare it as binary"
    return "read a query that converts it" if _has_text(kind) else "declare it as string"


def _plain(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
        if pa.types.is_fixed_size_binary(array.type) and array.type.byte_width == _UUID_BYTES:
            array = uuid_texts(array)
    if pa.types.is_date32(array.type):
        _check_first(array.cast(pa.int32()), _FIRST_DAY)
    elif pa.types.is_timestamp(array.type):
        _check_first(array.cast(pa.int64()), _FIRST_MICROSECOND)
    elif pa.types.is_decimal(kind) and pa.types.is_binary(array.type):
        return decimals(array, kind)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        _check_numbers(array, kind)
    return array if array.type.equals(kind) else array.cast(kind)


def _check_numbers(array: pa.Array, kind: pa.DataType) -> None:
    """Refuse a driver's column that should be numbers, and became text for the sake of a value that is none."""
    if not is_number(array.type) and not pa.types.is_null(array.type):
        digits = _DECIMAL if pa.types.is_floating(kind) else _INTEGER
        others = (value for value in array.drop_null().to_pylist() if not digits.fullmatch(str(value)))
        raise pa.ArrowInvalid(f"{str(next(others, array.type))[:80]} among numbers")


def _check_first(numbers: pa.Array, least: int) -> None:
    first = pc.min(numbers).as_py()
    if first is not None and first < least:
        raise _OutOfRangeError("infinity, or a date far outside of the calendar")


def uuid_texts(array: pa.FixedSizeBinaryArray) -> pa.StringArray:
    """16 bytes each as the text of a uuid, 36 characters in lower case.

    Example:
        >>> uuid_texts(pa.array([bytes(range(16)), None], pa.binary(16))).to_pylist()
        ['00010203-0405-0607-0809-0a0b0c0d0e0f', None]
    """
    count = len(array)
    start, stop = array.offset * _UUID_BYTES, (array.offset + count) * _UUID_BYTES
    digits = np.frombuffer(hexlify(memoryview(array.buffers()[1] or b"")[start:stop]), _DIGITS)
    texts = np.full((count, _UUID_CHARACTERS), ord("-"), dtype=np.uint8)
    places = texts.view(_TEXT).reshape(count)
    for name in _RUNS:
        places[name] = digits[name]
    offsets = np.arange(count + 1, dtype=np.int32) * _UUID_CHARACTERS
    valid = array.is_valid().buffers()[1] if array.null_count else None
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(texts), valid)
