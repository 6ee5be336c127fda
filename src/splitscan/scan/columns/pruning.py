"""Struct columns with the wanted members only: their types, and arrays of them. Nothing is copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pyarrow as pa

Wanted: TypeAlias = "Mapping[str, Wanted] | None"
"""What is wanted of a column: some members, or everything (``None``)."""


def prune_type(kind: pa.DataType, wanted: Wanted) -> pa.DataType:
    """A type with the wanted members only, in their own order; through arrays too.

    Args:
        kind: A struct, or an array of structs, where members are wanted.
        wanted: Members by their exact names.

    Example:
        >>> str(prune_type(pa.list_(pa.struct({"x": pa.int32(), "y": pa.string()})), {"y": None}))
        'list<item: struct<y: string>>'
    """
    if wanted is None:
        return kind
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(prune_type(kind.value_type, wanted)))
    fields = [kind.field(index) for index in range(kind.num_fields)]
    return pa.struct([f.with_type(prune_type(f.type, wanted[f.name])) for f in fields if f.name in wanted])


def prune_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array in a type that :func:`prune_type` made of its own."""
    if array.type.equals(kind):
        return array
    if array.offset:
        array = pa.concat_arrays([array])  # the functions below know no slices
    mask = array.is_null() if array.null_count else None
    if pa.types.is_list(kind):
        values = prune_array(array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=mask)
    fields = [kind.field(index) for index in range(kind.num_fields)]
    children = [prune_array(array.field(array.type.get_field_index(f.name)), f.type) for f in fields]
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
