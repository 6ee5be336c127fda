"""Parts of XML records and the types of their values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from splitscan.formats.decoding.contract import MOST_LEVELS, bounded
from splitscan.formats.decoding.conversions import (
    DOUBLE_DIGITS,
    LOST,
    NANOSECONDS,
    Rules,
    outgrows_double,
    stored_value,
)
from splitscan.formats.merge import MOST_DIGITS, NO_VALUE, WIDE, join_all, settled
from splitscan.formats.xml.decoder import Element, NotXmlError, XmlValueReader, parse_element
from splitscan.formats.xml.options import XmlOptions

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?([0-9]*)\.([0-9]+)")
_MOMENT = pa.timestamp("us", "UTC")
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*", re.DOTALL)


@dataclass(frozen=True)
class XmlMembers:
    """Attributes, texts and child elements; what comes several times in an element is an array.

    Example:
        >>> str(XmlMembers(XmlOptions(row_tag="r")).kind_of(b"<r n='1'><a>x</a><a>y</a><b c='2020-01-31'>0.5</b></r>"))
        'struct<_n: int64, a: list<item: string>, b: struct<_c: date32[day], _VALUE: double>>'
    """

    own: XmlOptions
    rules: Rules = field(default_factory=Rules)

    instead_of_columns = "give a schema of the columns to read; where the names are data, choose another rowTag"

    @property
    def text(self) -> str:
        """Texts are members of elements that have other parts."""
        return self.own.value_tag

    def kind_of(self, record: bytes, repeated: list[str] | None = None) -> pa.DataType | None:
        try:
            return self._struct(parse_element(record, ignore_namespace=self.own.ignore_namespace), 0)
        except NotXmlError:
            return None

    @property
    def spelled(self) -> dict[str, Any]:
        names = (
            "attribute_prefix", "value_tag", "exclude_attribute", "ignore_namespace", "null_value", "prefers_decimal",
            "prefer_date",
        )  # fmt: skip
        return {"xml": {name: getattr(self.own, name) for name in names} | {"rules": self.rules.spelled}}

    def settled(self, kind: pa.DataType) -> pa.DataType:
        return bounded(settled(kind))

    def _struct(self, element: Element, depth: int) -> pa.DataType:
        members = XmlValueReader(b"", self.own, self.rules, {}).members(element)
        types = []
        for name, parts in members.items():
            kind = join_all((self._type_of(part, depth) for part in parts), self.text)
            types.append((name, pa.list_(kind) if len(parts) > 1 else kind))
        return pa.struct(types)

    def _type_of(self, part: Element | str, depth: int) -> pa.DataType:
        if isinstance(part, str):
            return self._scalar(part)
        if part.children or (part.attributes and not self.own.exclude_attribute):
            return pa.string() if depth > MOST_LEVELS else self._struct(part, depth + 1)
        return self._scalar("".join(part.texts))

    def _scalar(self, text: str) -> pa.DataType:
        written = text.strip()
        if not written or written == self.own.null_value:
            return NO_VALUE
        is_number = not re.match(LOST, written) and not self.rules.loses_point(written)
        if is_number and _INTEGER.fullmatch(written) and (digits := len(written.lstrip("+-"))) <= MOST_DIGITS:
            if stored_value(written, pa.int64(), self.rules) is None:
                return pa.decimal256(digits)
            return WIDE if digits > DOUBLE_DIGITS else pa.int64()
        fraction = _FRACTION.fullmatch(written) if is_number and self.own.prefers_decimal else None
        if fraction is not None and (digits := len(fraction[1].lstrip("0")) + len(fraction[2])) <= MOST_DIGITS:
            return pa.decimal128(digits, len(fraction[2]))
        kinds = [pa.float64()] if is_number and written[-1] not in "dDfF" and not outgrows_double(written) else []
        if written.lower() in {"true", "false"}:
            kinds = [pa.bool_()]
        elif self.rules.date_format or self.rules.timestamp_format or _DATED.fullmatch(written):
            plain = len(written) > len("2020-01-01") and not self.rules.date_format
            moments = [] if not self.rules.timestamp_format and re.search(NANOSECONDS, written) else [_MOMENT]
            kinds += moments if plain or not self.own.prefer_date else [pa.date32(), *moments]
        return next((kind for kind in kinds if stored_value(written, kind, self.rules) is not None), pa.string())
