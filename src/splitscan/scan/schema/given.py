"""Hints: what users say of single columns, or parts of them, beside what files show."""

from __future__ import annotations

import pyarrow as pa

from splitscan.formats.merge import ELEMENT


def apply_hint(field: pa.Field | None, path: tuple[str, ...], hint: pa.Field) -> pa.Field:
    """A column with the type that a hint gives to it, or to a part of it; what is not there is added.

    Args:
        field: The column; ``None`` if there is none.
        path: Its name; then members of structs, and ``element`` for what is in an array.
        hint: Type and nullability.

    Example:
        >>> str(apply_hint(pa.field("m", pa.struct([("x", pa.int64())])), ("m", "y"), pa.field("y", pa.date32())).type)
        'struct<x: int64, y: date32[day]>'
    """
    name = path[0] if field is None else field.name
    if len(path) == 1:
        return pa.field(name, hint.type, hint.nullable)
    kind = _inside(None if field is None else field.type, path[1:], hint)
    return pa.field(name, kind, True if field is None else field.nullable)


def _inside(kind: pa.DataType | None, path: tuple[str, ...], hint: pa.Field) -> pa.DataType:
    if kind is not None and pa.types.is_list(kind) and path[0] == ELEMENT:
        return pa.list_(apply_hint(kind.value_field, path, hint).type)
    members = [kind.field(i) for i in range(kind.num_fields)] if kind is not None and pa.types.is_struct(kind) else []
    names = [member.name for member in members]
    if path[0] in names:
        index = names.index(path[0])
        members[index] = apply_hint(members[index], path, hint)
    else:
        members.append(apply_hint(None, path, hint))
    return pa.struct(members)
