"""XML as a format: records are the elements of one name, their parts are columns."""

from __future__ import annotations

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError, UsageError
from splitscan.formats.column_rules import filled, own_rules_of, rules_of_format
from splitscan.formats.contract import Projection
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.sampling import FoundSchema, Heads
from splitscan.formats.xml.decoder import XmlDecoder
from splitscan.formats.xml.framing import XmlFormat
from splitscan.formats.xml.inference import infer_columns
from splitscan.formats.xml.options import XmlOptions
from splitscan.options import ReadOptions


class Xml:
    """Elements by their name."""

    options_class = XmlOptions

    def framing(self, own: XmlOptions) -> RecordFormat:
        """Row tags, outside of comments and the like."""
        return XmlFormat(own.row_tag, resolve_encoding(own.encoding))

    def decoder(self, own: XmlOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Attributes and child elements by name, as columns; those that a record lacks get their default."""
        if not isinstance(preamble.format, XmlFormat):
            raise InvariantError("XML is framed as XML", seen=preamble.format.name)
        decoder = XmlDecoder(
            encoding=preamble.format.encoding,
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            own=own,
            rules=rules_of_format(wanted.options),
            own_rules=own_rules_of(wanted),
        )
        return filled(wanted, decoder)

    def check_header(self, own: XmlOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """Every record names its own parts."""

    def check_schema(self, own: XmlOptions, options: ReadOptions, fields: pa.Schema) -> None:
        """Refuse a column of what does not fit: XML keeps none."""
        if options.schema.rescued_data_column is not None:
            raise UsageError(
                "record format xml keeps no data that does not fit its columns",
                seen=f"rescuedDataColumn={options.schema.rescued_data_column!r}",
                fix="leave it out, and add the corrupt column to the schema: it shows the record whole",
                code="bad-option",
            )

    def infer(self, own: XmlOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """The parts of all sampled records."""
        return infer_columns(own, options, heads)
