"""XML as a format: records are the elements of one name, their parts are columns."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

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
from splitscan.formats.decoding.contract import VARIANT, Decoder, bounded
from splitscan.formats.decoding.variant import VariantRules
from splitscan.formats.first_bytes import row_tags
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.members import infer_members
from splitscan.formats.xml.decoder import XmlDecoder
from splitscan.formats.xml.framing import XmlFormat
from splitscan.formats.xml.inference import XmlMembers
from splitscan.formats.xml.options import XmlOptions
from splitscan.options import ReadOptions


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
