"""Values of JSON as variants: the definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from splitscan.formats.decoding import variant
from splitscan.formats.decoding.variant import MOST_VARIANT_LEVELS, VariantKeys, VariantRules
from splitscan.formats.json.text import JsonKind, JsonValue

_CONTAINERS = (JsonKind.OBJECT, JsonKind.ARRAY)


class _Open(NamedTuple):
    """An object or an array whose parts are being encoded; an array's have no names."""

    name: str  # under which it is a part of another one
    is_object: bool
    left: Iterator[tuple[str, JsonValue]]
    done: list[tuple[str, bytes]]


def encode_variant(value: JsonValue, rules: VariantRules) -> dict[str, bytes]:
    """Encode a value: its bytes, and those of the names of its keys.

    Raises:
        VariantError: If it is no variant.

    Example:
        >>> from splitscan.formats.json.text import JsonDialect, parse_json
        >>> parts = encode_variant(parse_json('{"b": 1.5}', JsonDialect()), VariantRules())
        >>> parts["value"].hex(" "), parts["metadata"].hex(" ")
        ('02 01 00 00 06 20 01 0f 00 00 00', '01 01 00 01 62')
    """
    keys = VariantKeys(rules)
    open_ = [_Open("", False, iter([("", value)]), [])]  # the outermost one holds nothing but the value
    while True:
        inner = open_[-1]
        found = next(inner.left, None)
        if found is None:
            open_.pop()
            if not open_:
                return keys.finish(inner.done[0][1])
            parts = inner.done
            done = keys.object(parts) if inner.is_object else variant.array([part for _, part in parts])
            open_[-1].done.append((inner.name, done))
            continue
        name, part = found
        if inner.is_object:
            keys.add(name)
        if part.kind not in _CONTAINERS:
            inner.done.append((name, _scalar(part)))
            continue
        if len(open_) > MOST_VARIANT_LEVELS:
            raise variant.too_deep()
        is_object = part.kind is JsonKind.OBJECT
        left = part.value if is_object else [("", item) for item in part.value]
        open_.append(_Open(name, is_object, iter(left), []))


def _scalar(value: JsonValue) -> bytes:
    if value.kind is JsonKind.NUMBER:
        return variant.number(value.value)
    if value.kind is JsonKind.STRING:
        return variant.text(value.value)
    return {None: variant.NULL, True: variant.TRUE, False: variant.FALSE}[value.value]
