"""What a sample of a file shows that is probably not meant as the options read it."""

from __future__ import annotations

import re

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.errors import InvariantError, Where
from splitscan.formats.contract import Projection
from splitscan.formats.csv.columns import array_decoder, check_array, check_flat, columns_decoder, field_names
from splitscan.formats.csv.decoder import CsvFrameDecoder
from splitscan.formats.csv.dialect import Dialect
from splitscan.formats.csv.framing import QuotedFormat
from splitscan.formats.csv.inference import infer_columns
from splitscan.formats.csv.options import CsvOptions
from splitscan.formats.decoding.contract import Decoder
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.sampling import FoundSchema, Heads
from splitscan.options import ReadOptions

_SHOWN_CHARACTERS = 60


def advice(csv: CsvOptions, text: str) -> str | None:
    """What to say about a file that doubles quotes and is read with Spark's default escape."""
    if csv.escape != "\\" or csv.quote is None or not _doubles_quotes(text, csv):
        return None
    return (
        "doubles quotes inside quoted fields and never escapes one with a backslash: "
        f"it probably wants option escape={csv.quote}"
    )


def contradiction(csv: CsvOptions, given: frozenset[str], text: str) -> str | None:
    """A quoted field with a doubled quote in it, if no quote is escaped by a backslash and nobody asked for that.

    Spark's default escape is the backslash. With it such fields keep their quotes, and separators in them end fields.
    """
    if csv.quote is None or csv.escape != "\\" or "escape" in given or f"\\{csv.quote}" in text:
        return None
    quote, sep = re.escape(csv.quote), re.escape(csv.sep)
    edge = rf"(?:{sep}|[\r\n])"
    found = re.search(rf"(?:\A|{edge})({quote}[^{quote}]*{quote}{quote}(?!{quote})(?!{edge})(?!\Z).{{0,20}})", text)
    return None if found is None else found[1][-_SHOWN_CHARACTERS:]


def _doubles_quotes(text: str, csv: CsvOptions) -> bool:
    quote, sep = re.escape(csv.quote or ""), re.escape(csv.sep)
    edge = rf"(?:{sep}|[\r\n])"
    doubled = re.search(rf"(?<!{quote})(?<!{sep})(?<![\r\n]){quote}{quote}(?!{quote})(?!{edge})(?!\Z)", text)
    return doubled is not None and f"\\{csv.quote}" not in text


class Csv:
    """Rows with separators and quotes."""

    options_class = CsvOptions

    def framing(self, own: CsvOptions) -> RecordFormat:
        """Line ends, but for those in quotes with ``multiLine``."""
        dialect = Dialect(
            encoding=resolve_encoding(own.encoding),
            sep=own.sep,
            quote=own.quote,
            escape=own.escape,
            comment=own.comment,
            line_sep=own.line_sep,
            multi_line=own.multi_line,
            trim_leading=own.ignore_leading_white_space,
        )
        return QuotedFormat(
            dialect, header=own.header, skip_lines=own.skip_rows, trim_trailing=own.ignore_trailing_white_space
        )

    def decoder(self, own: CsvOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> Decoder:
        """Fields as columns, or all of them as one array."""
        if _has_no_fields(wanted):
            return CsvFrameDecoder()
        if not isinstance(preamble.format, QuotedFormat):
            raise InvariantError("CSV is framed as CSV", Where(file.path), seen=preamble.format.name)
        if wanted.is_array:
            return array_decoder(wanted, own, preamble.format)
        return columns_decoder(wanted, own, preamble.format, file, preamble.header)

    def check_header(self, own: CsvOptions, wanted: Projection, file: FileMetadata, preamble: Preamble) -> None:
        """The header agrees with the schema, unless nobody reads it."""
        if not (wanted.is_array or _has_no_fields(wanted)):
            field_names(wanted, own, file, preamble.header)

    def check_schema(self, own: CsvOptions, options: ReadOptions, fields: pa.Schema) -> None:
        """Fields are one value each, and not too many; or they are all one array."""
        if not check_array(own, fields):
            check_flat(own, fields)

    def advice(self, own: CsvOptions, text: str) -> str | None:
        """Doubled quotes under another escape."""
        return advice(own, text)

    def contradiction(self, own: CsvOptions, given: frozenset[str], text: str) -> str | None:
        """Doubled quotes in a quoted field, under an escape that nobody asked for."""
        return contradiction(own, given, text)

    def infer(self, own: CsvOptions, options: ReadOptions, heads: Heads) -> FoundSchema:
        """Names from the header, types from the values."""
        return infer_columns(own, options, heads)


def _has_no_fields(wanted: Projection) -> bool:
    """Whether nothing says how many fields a record has."""
    return not wanted.fields and wanted.delivers_no_value
