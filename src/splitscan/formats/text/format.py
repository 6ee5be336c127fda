"""Text as a format: records are lines, each one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.formats.column_rules import block_fields
from splitscan.formats.contract import BlockSpelling, Format, FoundSchema, Heads, Projection, check_one_value, one_value
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.decoding.values import ValueDecoder
from splitscan.formats.framing.contract import Preamble, RecordFormat, encoding_of
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.text.lines import line_format
from splitscan.options import ReadOptions
from splitscan.options.read import EncodedOptions, line_separator
from splitscan.options.table import character, option

_WHOLE_TEXT = (
    "leave it out (false is accepted), or use Spark's own text reader: "
    "with wholetext every file is one document, which cannot be split"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions(EncodedOptions):
    r"""How text is cut into records."""

    in_messages: ClassVar[str] = "text"
    refused_if_true: ClassVar[Mapping[str, str]] = MappingProxyType({"wholeText": _WHOLE_TEXT})

    line_sep: str | None = line_separator()
    escape: str | None = option(character(off=True), "A delimiter after an odd run of this character is data.", None)


class Text(Format[TextOptions]):
    """Lines with any delimiter; the column is ``value: string``, or binary: text of UTF-16 and UTF-32 is UTF-8 then."""

    options_class = TextOptions

    def framing(self, own: TextOptions) -> RecordFormat:
        return line_format(own.line_sep, own.escape, own.encoding)

    def decoder(self, own: TextOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        encoding = encoding_of(preamble.format, resolve_encoding(own.encoding))
        kind = next((column.type for column in wanted.decoded), pa.string())
        as_written = pa.types.is_binary(kind) and encoding.unit_bytes == 1
        return ValueDecoder(None if as_written else encoding, wanted=bool(wanted.validated), kind=kind)

    def block_spelling(self, own: TextOptions, wanted: Projection) -> BlockSpelling:
        fields = block_fields(wanted)
        spelled = {"line_sep": own.line_sep, "escape": own.escape}
        return BlockSpelling({"text": spelled}, fields, resolve_encoding(own.encoding), (own.line_sep or "",))

    def check_schema(self, own: TextOptions, options: ReadOptions, fields: pa.Schema) -> None:
        check_one_value(fields, [pa.string(), pa.binary()])

    def infer(self, own: TextOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        return one_value(pa.string())
