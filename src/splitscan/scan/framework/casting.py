"""One column to the type that is wanted: exactly, or with the rows named whose value does not convert."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.decoding.conversions import BLANKS, Bad, Rules, convert
from splitscan.formats.decoding.zone_tables import to_moments
from splitscan.options.zones import zone_of

_are = pa.types
_WHOLE = pa.decimal128(20, 0)  # holds every integer


def cast_column(array: pa.Array, kind: pa.DataType, rules: Rules) -> tuple[pa.Array, Bad | None]:
    """Cast a column; nothing is rounded, cut or wrapped. A blank text is no value: it is null where it is no text.

    Args:
        array: The column.
        kind: The type wanted; :func:`can_cast` must allow it.
        rules: How values are written, for columns of text.

    Returns:
        The column, and a mask of the rows whose value does not convert (they are null), ``None`` when all do.

    Example:
        >>> column, bad = cast_column(pa.array([1, 300]), pa.int8(), Rules())
        >>> column.to_pylist(), bad.tolist()
        ([1, None], [False, True])
    """
    if array.type.equals(kind):
        return array, None
    if _is_text(array.type) and _is_parsed(kind):
        return convert(_without_blanks(array), kind, rules)
    try:
        return _cast(array, kind, rules), None
    except pa.ArrowInvalid:
        bad = _guilty_rows(array, kind, rules)
        rows = pa.array(np.arange(len(array)), mask=bad)
        return _cast(array.take(rows), kind, rules), bad


def can_cast(source: pa.DataType, kind: pa.DataType, rules: Rules) -> bool:
    """Whether there is a way from one type to another, whatever the values."""
    if source.equals(kind):
        return True
    try:
        _cast(pa.nulls(1, source), kind, rules)
    except pa.ArrowException:
        return False
    return True


def _guilty_rows(array: pa.Array, kind: pa.DataType, rules: Rules) -> Bad:
    """The slow second pass: halves are halved until the rows are found that fail on their own."""
    bad = np.zeros(len(array), dtype=np.bool_)
    ranges = [(0, len(array))]
    while ranges:
        start, stop = ranges.pop()
        try:
            _cast(array.slice(start, stop - start), kind, rules)
        except pa.ArrowInvalid:
            if stop - start == 1:
                bad[start] = True
            else:
                middle = (start + stop) // 2
                ranges += [(start, middle), (middle, stop)]
    return bad


def _cast(array: pa.Array, kind: pa.DataType, rules: Rules) -> pa.Array:
    """Cast all of it, or raise ``ArrowInvalid``; ``ArrowNotImplementedError`` where there is no way at all."""
    source = array.type
    if source.equals(kind):
        return array
    if _are.is_dictionary(source):
        return _cast(array.dictionary_decode(), kind, rules)
    if _are.is_null(source):
        return pa.nulls(len(array), kind)
    return _cast_nested(array, kind, rules) if _are.is_nested(source) else _cast_flat(array, kind, rules)


def _cast_flat(array: pa.Array, kind: pa.DataType, rules: Rules) -> pa.Array:
    source = array.type
    if _is_text(source) and _is_parsed(kind):
        column, bad = convert(_without_blanks(array), kind, rules)
        if bad is not None:
            raise pa.ArrowInvalid("a text is no value of the type")
        return column
    if _are.is_timestamp(source) and _are.is_timestamp(kind) and source.tz is None and kind.tz is not None:
        return _location(array.cast(pa.timestamp("us")), rules.time_zone).cast(kind)
    if _are.is_integer(source) and _are.is_decimal128(kind):
        return array.cast(_WHOLE).cast(kind)  # Arrow asks for room for the largest number, whatever the values
    if _is_binary(source) and not (_is_binary(kind) or _is_text(kind)):
        raise pa.ArrowNotImplementedError("bytes are no numbers")  # Arrow would read them as text, by rules of its own
    return array.cast(kind)


def _without_blanks(array: pa.Array) -> pa.Array:
    texts = array.cast(pa.string())
    return pc.if_else(pc.equal(pc.utf8_trim(texts, BLANKS), ""), None, texts)


def _cast_nested(array: pa.Array, kind: pa.DataType, rules: Rules) -> pa.Array:
    source = array.type
    if _are.is_struct(source) and _are.is_struct(kind):
        return _cast_struct(array, kind, rules)
    if _are.is_map(source) and _are.is_map(kind):
        return _cast_map(array, kind, rules)
    if _is_list(source) and (_are.is_list(kind) or _are.is_large_list(kind)):
        return _cast_list(array, kind, rules)
    return array.cast(kind)


def _cast_struct(array: pa.Array, kind: pa.DataType, rules: Rules) -> pa.Array:
    """Members are matched by name, without regard to case; missing ones are null, others are left out."""
    members = array.flatten()
    names = [field.name for field in array.type]
    position = {name.lower(): index for index, name in reversed(list(enumerate(names)))}
    position |= {name: index for index, name in enumerate(names)}
    children = []
    for field in kind:
        index = position.get(field.name, position.get(field.name.lower()))
        children.append(pa.nulls(len(array), field.type) if index is None else _cast(members[index], field.type, rules))
    if not children:
        return pa.StructArray.from_buffers(kind, len(array), [None]) if not array.null_count else array.cast(kind)
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())


def _cast_list(array: pa.Array, kind: pa.DataType, rules: Rules) -> pa.Array:
    values = _cast(array.flatten(), kind.value_type, rules)
    offsets = _offsets(pc.list_value_length(array))
    wide = _are.is_large_list(kind)
    make = pa.LargeListArray if wide else pa.ListArray
    return make.from_arrays(
        pa.array(offsets, pa.int64() if wide else pa.int32()), values, type=kind, mask=array.is_null()
    )


def _cast_map(array: pa.Array, kind: pa.DataType, rules: Rules) -> pa.Array:
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    keys = _cast(array.keys.slice(first, last - first), kind.key_type, rules)
    items = _cast(array.items.slice(first, last - first), kind.item_type, rules)
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
    """Whether a text can be a value of the type, by the rules that CSV has too."""
    kinds = (_are.is_signed_integer, _are.is_floating, _are.is_boolean, _are.is_decimal128, _are.is_date32)
    return any(is_kind(kind) for is_kind in (*kinds, _are.is_timestamp))
