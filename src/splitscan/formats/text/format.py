"""Text as a format: records are lines, each one value."""

from __future__ import annotations

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError
from splitscan.formats.contract import Projection
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.decoding.values import TextDecoder
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.sampling import FoundSchema, Heads, one_value
from splitscan.formats.text.delimited import DelimitedFormat, line_format
from splitscan.formats.text.kernel import with_kernel
from splitscan.formats.text.lines import LineFormat
from splitscan.formats.text.options import TextOptions
from splitscan.options import ReadOptions


class Text:
    """Lines with any delimiter; the column is ``value: string``."""

    options_class = TextOptions

    def framing(self, own: TextOptions) -> RecordFormat:
        """Lines, with the delimiter and the escape that were given."""
        return line_format(own.line_sep, own.escape, own.encoding)

    def decoder(self, own: TextOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """The line without its delimiter, as text."""
        format = preamble.format
        if not isinstance(format, LineFormat | DelimitedFormat):
            raise InvariantError("text is framed by delimiters", seen=format.name)
        return with_kernel(TextDecoder(format.encoding, wanted=bool(wanted.validated)), format)

    def check_header(self, own: TextOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """A file of lines says nothing of columns."""

    def check_schema(self, own: TextOptions, options: ReadOptions, fields: pa.Schema) -> None:
        """Whatever a value is to be, it is converted from the text."""

    def infer(self, own: TextOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """One column of text."""
        return one_value(pa.string())
