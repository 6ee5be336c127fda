"""Values of JSON as variants: the definition."""

from __future__ import annotations

from splitscan.formats.decoding import variant
from splitscan.formats.decoding.variant import VariantParts
from splitscan.formats.json.text import JsonKind, JsonValue


def view_of_json(value: JsonValue) -> bytes | VariantParts[JsonValue]:
    """The bytes of a value, or the parts of an object or an array.

    Example:
        >>> from splitscan.formats.json.text import JsonDialect, parse_json
        >>> value = parse_json('{"b": 1.5}', JsonDialect())
        >>> parts = variant.encode_variant(value, view_of_json, variant.VariantRules())
        >>> parts["value"].hex(" "), parts["metadata"].hex(" ")
        ('02 01 00 00 06 20 01 0f 00 00 00', '01 01 00 01 62')
    """
    if value.kind is JsonKind.OBJECT:
        return VariantParts(True, value.value)
    if value.kind is JsonKind.ARRAY:
        return VariantParts(False, (("", item) for item in value.value))
    if value.kind is JsonKind.NUMBER:
        return variant.number(value.value)
    if value.kind is JsonKind.STRING:
        return variant.text(value.value)
    return {None: variant.NULL, True: variant.TRUE, False: variant.FALSE}[value.value]
