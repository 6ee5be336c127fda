"""Arrow's arrays from numbers and texts, and back, without pandas, which Arrow's own ways import where it is installed.

``pa.array``, ``pa.scalar`` and ``Array.to_numpy`` do, and so does a compute function that is given a Python value. In
a worker that costs 0.3 s of processor time and 60 MB. Nothing between a file and its Parquet may call them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_LARGE = pa.large_string()


def number_array(values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an Arrow array, without a copy.

    Args:
        valid: Which of them are not null; ``None`` for all.

    Example:
        >>> number_array(np.array([1, 2, 3]), np.array([True, False, True])).to_pylist()
        [1, None, 3]
    """
    bits = None if valid is None else _bits(valid)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [bits, data])


def flag_array(values: npt.NDArray[np.bool_]) -> pa.Array:
    """Truth values as an Arrow array.

    Example:
        >>> flag_array(np.array([True, False])).to_pylist()
        [True, False]
    """
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def _bits(values: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def text_array(texts: Sequence[str], kind: pa.DataType = _LARGE) -> pa.Array:
    """Texts as an Arrow array of ``large_string``, or of another type of text.

    Raises:
        pa.ArrowInvalid: If they are too long for the type.

    Example:
        >>> text_array(["a", "", "é"]).to_pylist()
        ['a', '', 'é']
    """
    encoded = [text.encode() for text in texts]
    bounds = np.array([0, *accumulate(map(len, encoded))], np.int64)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(encoded))]
    array = pa.Array.from_buffers(_LARGE, len(encoded), buffers)
    return array if kind == _LARGE else array.cast(kind)


def text_scalar(text: str, kind: pa.DataType = _LARGE) -> pa.Scalar:
    """A text as a scalar of Arrow.

    Example:
        >>> pa.repeat(text_scalar("a"), 2).to_pylist()
        ['a', 'a']
    """
    return text_array([text], kind)[0]


def scalar_of(value: str | int | None, kind: pa.DataType) -> pa.Scalar:
    """A text, a whole number, or nothing, as a scalar of Arrow; moments and days are given as their numbers.

    Example:
        >>> scalar_of(7, pa.int64()), scalar_of(None, pa.string()).is_valid
        (<pyarrow.Int64Scalar: 7>, False)
        >>> scalar_of(1_000_000, pa.timestamp("us", "UTC")).as_py().isoformat()
        '1970-01-01T00:00:01+00:00'
    """
    if value is None:
        return pa.nulls(1, kind)[0]
    if isinstance(value, str):
        return text_scalar(value, kind)
    data = value.to_bytes(kind.bit_width // 8, sys.byteorder, signed=True)
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(data)])[0]


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers of an Arrow array that has no nulls, without a copy.

    Example:
        >>> numbers_of(number_array(np.array([1, 2, 3])).slice(1)).tolist()
        [2, 3]
    """
    data = array.buffers()[1]
    kind = np.dtype(array.type.to_pandas_dtype())
    if data is None:
        return np.empty(0, kind)
    return np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)


def flags_of(array: pa.Array) -> npt.NDArray[np.bool_]:
    """The truth values of an Arrow array that has no nulls.

    Example:
        >>> flags_of(flag_array(np.array([True, False, True])).slice(1)).tolist()
        [False, True]
    """
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, np.bool_)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), count=array.offset + len(array), bitorder="little")
    return bits[array.offset :].astype(np.bool_)


def with_names(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Give the members of an array the names that those of *kind* have."""
    if array.type.equals(kind):
        return array
    if array.offset:
        array = pa.concat_arrays([array])  # what is inside of a slice is all that it is a slice of
    if pa.types.is_map(kind):
        items = with_names(array.items, kind.item_type)
        inside = [pa.StructArray.from_arrays([array.keys, items], fields=[kind.key_field, kind.item_field])]
    elif pa.types.is_list(kind):
        inside = [with_names(array.values, kind.value_type)]
    else:
        inside = [with_names(array.field(place), kind.field(place).type) for place in range(kind.num_fields)]
    own = array.buffers()[: kind.num_buffers]
    return pa.Array.from_buffers(kind, len(array), own, array.null_count, children=inside)
