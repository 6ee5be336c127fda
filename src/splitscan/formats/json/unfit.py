"""Which parts of a JSON record its columns cannot hold, as JSON again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pyarrow as pa

from splitscan.formats.json.text import JsonKind, JsonValue
from splitscan.formats.json.values import MismatchError, ValueReader

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def unfit_members(
    pairs: list[tuple[str, JsonValue]],
    kinds: Mapping[str, pa.DataType],
    readers: Mapping[str, ValueReader],
) -> list[str]:
    """Members of a record that have no column, or a value that is not of its column's type, as JSON has them.

    Of a struct only the members that do not fit are kept; an array or a map with such a part is kept whole.

    Args:
        pairs: The record's members; of a name that comes twice the last counts.
        kinds: Types of the columns, by name.
        readers: What reads the values of each column.
    """
    members = []
    for name, value in dict(pairs).items():
        reader = readers.get(name)
        unfit = _as_json(value) if reader is None else _unfit(value, kinds[name], reader)
        if unfit is not None:
            members.append(f"{json.dumps(name, ensure_ascii=False)}:{unfit}")
    return members


def _unfit(value: JsonValue, kind: pa.DataType, reader: ValueReader) -> str | None:
    """The part of a value that a type cannot hold; ``None`` if it holds all."""
    if value.kind is JsonKind.OBJECT and pa.types.is_struct(kind):
        kinds = {kind.field(index).name: kind.field(index).type for index in range(kind.num_fields)}
        members = unfit_members(value.value, kinds, dict.fromkeys(kinds, reader))
        return "{" + ",".join(members) + "}" if members else None
    if value.kind is JsonKind.ARRAY and pa.types.is_list(kind):
        fits = all(_unfit(item, kind.value_type, reader) is None for item in value.value)
    elif value.kind is JsonKind.OBJECT and pa.types.is_map(kind):
        fits = all(_unfit(item, kind.item_type, reader) is None for _, item in value.value)
    else:
        fits = _fits(value, kind, reader)
    return None if fits else _as_json(value)


def _fits(value: JsonValue, kind: pa.DataType, reader: ValueReader) -> bool:
    try:
        reader.read(value, kind)
    except MismatchError:
        return False
    return True


def _as_json(value: JsonValue) -> str:
    """A value as strict JSON without white space, however deep it is; numbers as they are written."""
    parts: list[str] = []
    left: list[JsonValue | str] = [value]
    while left:  # what is still to be written, the next one last
        each = left.pop()
        if isinstance(each, str):
            parts.append(each)
        elif each.kind is JsonKind.ARRAY:
            left += reversed(["[", *_separated([[item] for item in each.value]), "]"])
        elif each.kind is JsonKind.OBJECT:
            pairs = [[f"{json.dumps(name, ensure_ascii=False)}:", item] for name, item in each.value]
            left += reversed(["{", *_separated(pairs), "}"])
        elif each.kind is JsonKind.NUMBER and not _NUMBER.fullmatch(each.value):
            parts.append(json.dumps(each.value))  # NaN, or zeros in front: JSON has no such numbers
        else:
            parts.append(each.value if each.kind is JsonKind.NUMBER else json.dumps(each.value, ensure_ascii=False))
    return "".join(parts)


def _separated(items: list[list[JsonValue | str]]) -> list[JsonValue | str]:
    return [each for number, item in enumerate(items) for each in ([",", *item] if number else item)]
