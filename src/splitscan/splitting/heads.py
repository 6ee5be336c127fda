"""Read the head of a file: is it compressed? byte order mark, skipped lines, header."""

from __future__ import annotations

from splitscan.blocks import FileMetadata
from splitscan.errors import RecordError, SourceError, Where, quote_bytes
from splitscan.framing.compression import SIGNATURE_BYTES, compression_of
from splitscan.framing.contract import Need, Preamble, RecordFormat
from splitscan.framing.delimited import DelimitedFormat
from splitscan.framing.json import JsonFormat, JsonLinesFormat
from splitscan.framing.lines import LineFormat
from splitscan.framing.quoted import QuotedFormat
from splitscan.splitting.cursor import truncated
from splitscan.storage import ByteSource

_HEAD_BYTES = 64 * 1024
_LONGEST_HEAD_BYTES = 64 * 1024 * 1024  # a header larger than this is not a header
_TEXT_FORMATS = (LineFormat, DelimitedFormat, QuotedFormat, JsonFormat, JsonLinesFormat)  # others may want the bytes


def read_preamble(source: ByteSource, file: FileMetadata, format: RecordFormat) -> Preamble:
    """Read as much of the head of *file* as its format needs.

    Raises:
        RecordError: If the head never ends (a header with an unclosed quote).
        SourceChangedError: If the file is shorter than planned.
        SourceError: ``[compressed-input]`` if the format is text and the file is compressed.
    """
    length = _HEAD_BYTES
    while True:
        wanted = min(length, file.size_bytes)
        head = source.read_at(0, wanted)
        if len(head) < wanted:
            raise truncated(file, len(head))
        _refuse_compressed(file, format, head)
        try:
            preamble = format.preamble(head, at_end=wanted == file.size_bytes)
        except RecordError as error:
            raise RecordError(
                error.rule, Where(file.path, offset=0), error.seen, error.fix, error.reason_code
            ) from error
        if not isinstance(preamble, Need):
            return preamble
        if length >= _LONGEST_HEAD_BYTES:
            raise RecordError(
                f"the header does not end within {_LONGEST_HEAD_BYTES} bytes",
                Where(file.path, offset=0),
                fix="check options quote, escape and lineSep, or set header=false",
                code="bad-header",
            )
        length *= 4


def check_head(source: ByteSource, file: FileMetadata, format: RecordFormat) -> None:
    """Refuse a compressed file of text, for readers that need nothing else from the head of *file*.

    Raises:
        SourceError: ``[compressed-input]``: its records are those of the file that was compressed, not of its bytes.
    """
    if isinstance(format, _TEXT_FORMATS):
        _refuse_compressed(file, format, source.read_at(0, min(SIGNATURE_BYTES, file.size_bytes)))


def _refuse_compressed(file: FileMetadata, format: RecordFormat, head: bytes) -> None:
    compression = compression_of(head) if isinstance(format, _TEXT_FORMATS) else None
    if compression is not None:
        raise SourceError(
            "compressed files are not read as text",
            Where(file.path, offset=0),
            seen=f"a {compression} file: {quote_bytes(head[:SIGNATURE_BYTES])}",
            fix="decompress the file first, so that it can be split; or leave it out, as with option pathGlobFilter",
            code="compressed-input",
        )
