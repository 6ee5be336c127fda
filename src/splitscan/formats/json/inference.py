"""Members of JSON records and the types of their values."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from splitscan.formats.decoding.contract import MOST_LEVELS
from splitscan.formats.decoding.conversions import DOUBLE_DIGITS, outgrows_double
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.text import JsonDialect, JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.formats.members import settled_schema
from splitscan.formats.merge import MIXED, MOST_DIGITS, NO_VALUE, WIDE, join, join_all, spoken

_DIGITS = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?")


@dataclass(frozen=True)
class JsonMembers:
    """The members of objects.

    Numbers are ``bigint``, ``double`` or, beyond 64 bits, decimals; objects are structs and arrays arrays, with the
    union of what their values hold. Where values disagree, the column is a string.

    Example:
        >>> str(JsonMembers(JsonOptions()).kind_of(b'{"a": 1, "b": [], "a": 0.5}'))
        'struct<a: double, b: list<item: null>>'
    """

    own: JsonOptions

    text = None
    instead_of_columns = (
        "give a schema of the columns to read; where the names are data, read each record as one value: "
        "singleVariantColumn=record, or recordFormat=text"
    )

    def kind_of(self, record: bytes, repeated: list[str] | None = None) -> pa.DataType | None:
        try:
            value = parse_json(record.decode("utf-8", "replace"), JsonDialect.of(self.own))
        except NotJsonError:
            return None
        found = list[str]() if repeated is None else repeated
        return _type_of(value, self.own, found) if value.kind is JsonKind.OBJECT else None

    @property
    def spelled(self) -> dict[str, Any]:
        own = {
            "dialect": asdict(JsonDialect.of(self.own)),
            "primitives_as_string": self.own.primitives_as_string,
            "prefers_decimal": self.own.prefers_decimal,
        }
        return {"json": own}

    def settled(self, kind: pa.DataType) -> pa.DataType | None:
        """The type without what was never seen: nulls and objects without members become strings, or go."""
        if pa.types.is_struct(kind) and kind.num_fields:
            members = settled_schema(pa.schema(list(kind)), self.settled)
            return pa.struct(members) if len(members) else None
        if pa.types.is_null(kind) or pa.types.is_struct(kind):
            return None if self.own.drop_field_if_all_null else pa.string()
        if pa.types.is_list(kind):
            inner = self.settled(kind.value_type)
            return None if inner is None else pa.list_(inner)
        return spoken(kind)


def _type_of(value: JsonValue, json: JsonOptions, repeated: list[str], depth: int = 0) -> pa.DataType:
    if value.kind is JsonKind.NULL:
        return NO_VALUE
    if value.kind in {JsonKind.OBJECT, JsonKind.ARRAY} and depth > MOST_LEVELS:
        return MIXED
    if value.kind is JsonKind.OBJECT:
        types: dict[str, pa.DataType] = {}
        for name, inner in value.value:  # of a name that comes twice, all values
            if name in types:
                repeated.append(name)
            types.setdefault(name, NO_VALUE)
            types[name] = join(types[name], _type_of(inner, json, repeated, depth + 1))
        return pa.struct(list(types.items()))
    if value.kind is JsonKind.ARRAY:
        return pa.list_(join_all(_type_of(item, json, repeated, depth + 1) for item in value.value))
    if json.primitives_as_string or value.kind is JsonKind.STRING:
        return pa.string()
    return pa.bool_() if value.kind is JsonKind.BOOLEAN else _number_type(value.value, json)


def _number_type(text: str, json: JsonOptions) -> pa.DataType:
    double = pa.string() if outgrows_double(text) else pa.float64()
    found = _DIGITS.fullmatch(text)
    if found is None:
        return double
    whole, fraction = found.group(1).lstrip("0"), found.group(2)
    if fraction is None and len(text) <= MOST_DIGITS + 1:
        if -(1 << 63) <= int(text) < 1 << 63:
            return WIDE if len(whole) > DOUBLE_DIGITS else pa.int64()
        return pa.decimal256(len(whole), 0) if len(whole) <= MOST_DIGITS else double
    digits = len(whole) + len(fraction or "")
    if json.prefers_decimal and fraction is not None and digits <= MOST_DIGITS:
        return pa.decimal128(max(digits, 1), len(fraction))
    return double
