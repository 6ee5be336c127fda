"""Columns of fixed width as a format: the user says where each is."""

from __future__ import annotations

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.column_rules import (
    block_fields,
    check_placed,
    decoding_of,
    filled,
    spelled_rescue,
    written_of,
)
from splitscan.formats.contract import NOTHING, BlockSpelling, Format, FoundSchema, Heads, Projection
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.formats.fixed.framing import FixedFormat
from splitscan.formats.fixed_width.decoder import FixedWidthDecoder
from splitscan.formats.fixed_width.options import FixedWidthOptions
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.text.lines import line_format
from splitscan.options import ReadOptions


class FixedWidth(Format[FixedWidthOptions]):
    """Lines, or records of a fixed length, whose columns are at fixed places."""

    options_class = FixedWidthOptions

    def framing(self, own: FixedWidthOptions) -> RecordFormat:
        if own.record_length is not None:
            if any(pa.types.is_binary(kind) for kind in _columns_of(own).types):
                return FixedFormat(own.record_length)
            return FixedFormat(own.record_length, resolve_encoding(own.encoding))
        return line_format(own.line_sep, None, own.encoding)

    def decoder(self, own: FixedWidthOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        places = {each.name.lower(): each for each in own.layout}
        decoder = FixedWidthDecoder(
            places=tuple(places[column.name.lower()] for column in wanted.decoded),
            own=own,
            null_value=own.null_value,
            **decoding_of(wanted, file, preamble),
        )
        return filled(wanted, decoder)

    def block_spelling(self, own: FixedWidthOptions, wanted: Projection) -> BlockSpelling:
        places = {each.name.lower(): each for each in own.layout}
        fields = block_fields(wanted, written_of(wanted))
        spelled = {
            "line_sep": own.line_sep,
            "record_length": own.record_length,
            "places": [
                (place.start - 1, place.stop) for place in (places[each.name.lower()] for each in wanted.decoded)
            ],
            "last": (own.last.name, own.last.start),
            "null_value": own.null_value,
            "trim_leading": own.ignore_leading_white_space,
            "trim_trailing": own.ignore_trailing_white_space,
            "rescue": spelled_rescue(wanted),
        }
        return BlockSpelling({"fixed_width": spelled}, fields, resolve_encoding(own.encoding), (own.line_sep or "",))

    def check_schema(self, own: FixedWidthOptions, options: ReadOptions, fields: pa.Schema) -> None:
        check_placed(fields, [each.name for each in own.layout], "column of option layout", "layout of")

    def infer(self, own: FixedWidthOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        return FoundSchema(_columns_of(own), NOTHING)


def _columns_of(own: FixedWidthOptions) -> pa.Schema:
    return parse_ddl(", ".join(f"`{each.name.replace('`', '``')}` {each.type}" for each in own.layout))
