"""XML as a format: records are the elements of one name, their parts are columns."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.column_rules import (
    block_fields,
    check_single_variant,
    decoding_of,
    filled,
    rules_of_format,
    spelled_rescue,
)
from splitscan.formats.contract import NOTHING, BlockSpelling, Format, FoundSchema, Heads, Projection
from splitscan.formats.decoding.contract import MOMENT, MOST_DIGITS, MOST_LEVELS, VARIANT, Decoder, bounded
from splitscan.formats.decoding.conversions import (
    DOUBLE_DIGITS,
    LOST,
    NANOSECONDS,
    Rules,
    outgrows_double,
    stored_value,
)
from splitscan.formats.decoding.variant import VariantRules
from splitscan.formats.first_bytes import row_tags
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.members import infer_members
from splitscan.formats.merge import NO_VALUE, WIDE, join_all, settled
from splitscan.formats.xml.decoder import Element, NotXmlError, XmlDecoder, XmlValueReader, parse_element
from splitscan.formats.xml.framing import XmlFormat
from splitscan.formats.xml.options import XmlOptions
from splitscan.options import ReadOptions

# ---------------------------------------------------------------- parts of records, and the types of their values


_INTEGER = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?([0-9]*)\.([0-9]+)")
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
            moments = [] if not self.rules.timestamp_format and re.search(NANOSECONDS, written) else [MOMENT]
            kinds += moments if plain or not self.own.prefer_date else [pa.date32(), *moments]
        return next((kind for kind in kinds if stored_value(written, kind, self.rules) is not None), pa.string())


# ---------------------------------------------------------------- the format


class Xml(Format[XmlOptions]):
    """Elements by their name."""

    options_class = XmlOptions
    shows_columns = repeats_members = True

    def framing(self, own: XmlOptions) -> RecordFormat:
        return XmlFormat(own.row_tag, resolve_encoding(own.text_encoding), own.reads_declaration)

    def decoder(self, own: XmlOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Attributes and child elements by name, as columns; those that a record lacks get their default."""
        decoder = XmlDecoder(
            own=own,
            variants=VariantRules(max_bytes=own.max_variant_bytes),
            is_whole=own.single_variant_column is not None,
            **decoding_of(wanted, file, preamble),
        )
        return filled(wanted, decoder)

    def block_spelling(self, own: XmlOptions, wanted: Projection) -> BlockSpelling:
        fields = block_fields(wanted)
        spelled = {
            "row_tag": own.row_tag,
            "naming": {
                "attribute_prefix": own.attribute_prefix,
                "value_tag": own.value_tag,
                "exclude_attribute": own.exclude_attribute,
                "ignore_namespace": own.ignore_namespace,
                "ignore_surrounding_spaces": own.ignore_surrounding_spaces,
                "null_value": own.null_value,
            },
            "variants": asdict(VariantRules(max_bytes=own.max_variant_bytes)),
            "is_whole": own.single_variant_column is not None,
            "rescue": spelled_rescue(wanted),
        }
        return BlockSpelling(
            {"xml": spelled}, fields, resolve_encoding(own.text_encoding), (own.row_tag,), own.reads_declaration
        )

    def advice(self, own: XmlOptions, text: str) -> str | None:
        prefix = r"(?:[^\s<>/:]+:)?" if own.ignore_namespace else ""
        if "<" not in text or re.search(rf"<{prefix}{re.escape(own.row_tag)}[\s/>]", text):
            return None
        others = ", ".join(row_tags(text.encode())) or "none"
        return f"has no element {own.row_tag} in its first {len(text):,} characters; elements below the root: {others}"

    def shape(self, own: XmlOptions, options: ReadOptions, record: bytes) -> pa.DataType:
        found = XmlMembers(own, rules_of_format(options)).kind_of(record) or pa.struct([])
        return pa.struct([each.with_type(bounded(each.type)) for each in found])

    def check_schema(self, own: XmlOptions, options: ReadOptions, fields: pa.Schema) -> None:
        if own.single_variant_column is not None:
            check_single_variant(own.single_variant_column, options, fields)

    def infer(self, own: XmlOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        if own.single_variant_column is not None:
            return FoundSchema(pa.schema([(own.single_variant_column, VARIANT)]), NOTHING)
        found = infer_members(XmlMembers(own, rules_of_format(options)), options, heads, refuses_case=False)
        return replace(
            found,
            without_columns="check that they are well-formed, as names without blanks are; recordFormat=text reads "
            "lines; or pass a schema",
        )
