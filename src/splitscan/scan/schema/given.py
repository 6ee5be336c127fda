"""What users say of columns beside a full schema: a provided schema, and hints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from splitscan.formats.column_rules import options_of
from splitscan.formats.decoding.contract import format_ddl
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


_PROVIDED = frozenset({"providedschema", "provided_schema"})
_COLUMNS = frozenset({"columnoptions", "column_options"})


def as_options(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Options in which a provided Arrow schema is DDL, and what its fields' metadata says is in ``columnOptions``.

    Example:
        >>> field = pa.field("n", pa.int64(), metadata={"splitscan.default": "0"})
        >>> as_options({"provided_schema": pa.schema([field])})
        {'provided_schema': 'n bigint', 'columnOptions': {'n': {'default': '0'}}}
    """
    options = dict(raw)
    for name, value in raw.items():
        if str(name).lower() not in _PROVIDED or not isinstance(value, pa.Schema):
            continue
        options[name] = format_ddl(value)
        said = {field.name: found for field in value if (found := options_of(field).to_json())}
        if said:
            given = next((other for other in options if str(other).lower() in _COLUMNS), "columnOptions")
            options[given] = {**said, **_as_mapping(options.get(given))}
    return options


def _as_mapping(value: Any) -> Mapping[str, Any]:
    """Column options as they were written; what is no mapping is refused where options are parsed."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
