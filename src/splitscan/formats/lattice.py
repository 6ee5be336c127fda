"""Which type holds the values of two types: a join, so the order in which types are met does not matter.

Below everything is ``null`` (no value seen), above everything is ``string``::

    string
    ├── double          ── decimal(p,s) ── bigint ── int ── smallint ── tinyint
    │                   ── float
    ├── timestamp       ── timestamp_ntz ── date
    ├── boolean
    ├── struct          member by member
    └── array           by its elements
                                                        └── null
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa

NO_VALUE = pa.null()
ANY_VALUE = pa.string()
ELEMENT = "element"
"""What stands in a path for the elements of an array."""

MOST_DIGITS = 38
_WHOLE_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}  # as Spark counts; narrow to wide
_FLOATS = frozenset({pa.float32(), pa.float64()})
_TIMES = (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))  # each holds the ones before it


def join(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The narrowest type that holds the values of both; ``string`` where nothing else does.

    Commutative, associative and idempotent, but for the order of struct members: those of *left* come first.

    Example:
        >>> str(join(pa.int32(), pa.float64())), str(join(pa.bool_(), pa.int32()))
        ('double', 'string')
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        return _join_structs(left, right)
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(join(left.value_type, right.value_type))
    if left in _TIMES and right in _TIMES:
        return max(left, right, key=_TIMES.index)
    return _join_numbers(left, right)


def join_all(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """The join of any number of types; ``null`` of none."""
    return reduce(join, kinds, NO_VALUE)


def disagreements(kinds: Sequence[pa.DataType], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Where types have nothing in common but that they can be written as text.

    Args:
        kinds: Types of one column.
        path: The column; names of struct members are added behind it, and ``element`` for what is in an array.

    Example:
        >>> disagreements([pa.struct([("x", pa.int32())]), pa.struct([("x", pa.bool_())])], ("m",))
        [('m', 'x')]
    """
    known = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if len(known) < 2:
        return []
    if all(pa.types.is_struct(kind) for kind in known):
        names = dict.fromkeys(name for kind in known for name in struct_types(kind))
        members = {name: [struct_types(kind).get(name, NO_VALUE) for kind in known] for name in names}
        return [found for name, inner in members.items() for found in disagreements(inner, (*path, name))]
    if all(pa.types.is_list(kind) for kind in known):
        return disagreements([kind.value_type for kind in known], (*path, ELEMENT))
    return [path] if pa.types.is_string(join_all(known)) else []


def struct_types(kind: pa.DataType) -> dict[str, pa.DataType]:
    """The members of a struct, by name."""
    return {kind.field(index).name: kind.field(index).type for index in range(kind.num_fields)}


def _join_structs(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    types = struct_types(left)
    for name, kind in struct_types(right).items():
        types[name] = join(types.get(name, NO_VALUE), kind)
    return pa.struct([pa.field(name, kind) for name, kind in types.items()])


def _join_numbers(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    kinds = (left, right)
    if not all(kind in _WHOLE_DIGITS or kind in _FLOATS or pa.types.is_decimal(kind) for kind in kinds):
        return ANY_VALUE
    if not _FLOATS.isdisjoint(kinds):
        return pa.float64()
    if all(kind in _WHOLE_DIGITS for kind in kinds):
        return max(left, right, key=lambda kind: _WHOLE_DIGITS[kind])
    sizes = [(k.precision - k.scale, k.scale) if pa.types.is_decimal(k) else (_WHOLE_DIGITS[k], 0) for k in kinds]
    whole, scale = max(size[0] for size in sizes), max(size[1] for size in sizes)
    return pa.decimal128(whole + scale, scale) if whole + scale <= MOST_DIGITS else pa.float64()
