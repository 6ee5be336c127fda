"""Columns whose values have several types, as numbers: each part of them is cast on its own, and nothing is rounded."""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.conversions import Rules
from splitscan.scan.framework.conform import can_cast, cast_column

ANY_VALUE = pa.struct({"integer": pa.int64(), "real": pa.float64(), "other": pa.string()})
"""A value of a column that may have several types: at most one of its parts is there."""

_FIRST_GAP = float(1 << 53)  # from here on not every integer is a double
_RULES = Rules()
_Bad = npt.NDArray[np.bool_]


def is_number(kind: pa.DataType) -> bool:
    """True if a type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def cast_values(values: pa.StructArray, kind: pa.DataType) -> tuple[pa.Array, _Bad | None]:
    """Values of :data:`ANY_VALUE` as one type.

    Returns:
        The column, and a mask of the rows whose value it cannot hold, ``None`` when it holds all.
    """
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
    if not can_cast(array.type, kind, _RULES):
        return pa.nulls(len(array), kind), array.is_valid().to_numpy(zero_copy_only=False)
    return cast_column(array, kind, _RULES)


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
