"""JSON as a format: records are values, their members are columns."""

from __future__ import annotations

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError
from splitscan.formats.column_rules import filled, own_rules_of, rescue_for, rules_of_format
from splitscan.formats.contract import Projection
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.json.decoder import JsonDecoder
from splitscan.formats.json.framing import JsonFormat
from splitscan.formats.json.inference import infer_columns
from splitscan.formats.json.kernel import json_with_kernel
from splitscan.formats.json.lines import JsonLinesFormat, json_lines
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.text import JsonDialect
from splitscan.formats.sampling import FoundSchema, Heads
from splitscan.options import ReadOptions


class Json:
    """JSON Lines; with ``multiLine`` values or one array over any number of lines."""

    options_class = JsonOptions

    def framing(self, own: JsonOptions) -> RecordFormat:
        """Lines, or values wherever they end."""
        if own.multi_line:
            return JsonFormat(resolve_encoding(own.encoding))
        return json_lines(own.line_sep, own.encoding)

    def decoder(self, own: JsonOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Members by name, as columns; those that a record lacks get their default."""
        if not isinstance(preamble.format, JsonFormat | JsonLinesFormat):
            raise InvariantError("JSON is framed as JSON", seen=preamble.format.name)
        reference = JsonDecoder(
            encoding=preamble.format.encoding,
            fields=tuple(column.remove_metadata() for column in wanted.decoded),
            dialect=JsonDialect.of(own),
            rules=rules_of_format(wanted.options),
            own_rules=own_rules_of(wanted),
            rescue=rescue_for(wanted, file),
        )
        decoder = json_with_kernel(reference, preamble.format)
        return filled(wanted, decoder)

    def check_header(self, own: JsonOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """Every record names its own members."""

    def check_schema(self, own: JsonOptions, options: ReadOptions, fields: pa.Schema) -> None:
        """Values have every type that a column can have."""

    def infer(self, own: JsonOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """The members of all sampled records."""
        return infer_columns(own, options, heads)
