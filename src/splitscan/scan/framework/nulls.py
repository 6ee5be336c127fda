"""Nulls where there must be none, at any depth: found before anybody downstream trips over them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

_are = pa.types


def is_required_somewhere(field: pa.Field) -> bool:
    """Whether a field, or something inside of it, must not be null."""
    return not field.nullable or any(is_required_somewhere(inner) for inner in _inner_fields(field.type))


def has_forbidden_null(array: pa.Array, field: pa.Field) -> bool:
    """Whether there is a null where *field* allows none.

    Example:
        >>> inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
        >>> has_forbidden_null(pa.array([{"x": 1}, None], inner), pa.field("a", inner))
        False
        >>> has_forbidden_null(pa.array([{"x": None}], inner), pa.field("a", inner))
        True
    """
    if not field.nullable and array.null_count:
        return True
    if not any(is_required_somewhere(inner) for inner in _inner_fields(field.type)):
        return False
    children = _children(array.drop_null())
    inner_fields = _inner_fields(field.type)  # keys of maps are not among them: they are never null
    return any(has_forbidden_null(child, inner) for child, inner in zip(children, inner_fields, strict=True))


def first_row(array: pa.Array, is_guilty: Callable[[pa.Array], bool]) -> int:
    """The first row for which something holds that holds for the whole array."""
    start, stop = 0, len(array)
    while stop - start > 1:
        middle = (start + stop) // 2
        if is_guilty(array.slice(start, middle - start)):
            stop = middle
        else:
            start = middle
    return start


def _inner_fields(kind: pa.DataType) -> list[pa.Field]:
    if _are.is_struct(kind):
        return [kind.field(i) for i in range(kind.num_fields)]
    if _are.is_map(kind):
        return [kind.item_field]
    if _are.is_list(kind) or _are.is_large_list(kind) or _are.is_fixed_size_list(kind):
        return [kind.value_field]
    return []


def _children(array: pa.Array) -> list[pa.Array]:
    if _are.is_struct(array.type):
        children: list[pa.Array] = array.flatten()
        return children
    if _are.is_map(array.type):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return [array.items.slice(first, last - first)]
    return [array.flatten()]
