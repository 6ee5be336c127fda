"""Read the head of a file: byte order mark, skipped lines, header. Bytes of a container are refused as text."""

from __future__ import annotations

from splitscan.blocks import UNKNOWN_END, FileMetadata
from splitscan.content.codecs.formats import ARCHIVE_HEAD_BYTES
from splitscan.content.storage import ByteSource
from splitscan.errors import RecordError, Where
from splitscan.formats.framing.contract import Need, Preamble, RecordFormat, TextFormat
from splitscan.read.contents import damage_of, refuse_compressed
from splitscan.read.cursor import truncated

HEAD_BYTES = 64 * 1024
_LONGEST_HEAD_BYTES = 64 * 1024 * 1024  # a header larger than this is not a header


def read_preamble(source: ByteSource, file: FileMetadata, format: RecordFormat) -> Preamble:
    """Read as much of the head of *file* as its format needs.

    Raises:
        RecordError: If the head never ends (a header with an unclosed quote).
        SourceChangedError: If the file is shorter than planned.
        SourceError: ``[compressed-input]`` if the format is text and the bytes are those of a container.
    """
    length = HEAD_BYTES
    end = file.content_bytes
    while True:
        wanted = min(length, end)
        head = source.read_at(0, wanted)
        if len(head) < wanted:
            if end < UNKNOWN_END:
                raise truncated(file, len(head))
            wanted = end = len(head)
        refuse_compressed(file.path, format, head)
        try:
            is_torn = wanted == end and damage_of(source) is not None
            preamble = format.preamble(head, at_end=wanted == end and not is_torn)
        except RecordError as error:
            raise RecordError(
                error.rule, Where(file.path, offset=0), error.seen, error.fix, error.reason_code
            ) from error
        if not isinstance(preamble, Need):
            return preamble
        if is_torn:
            return Preamble(end, format)  # a header that is cut off says nothing, and no record follows it
        if length >= _LONGEST_HEAD_BYTES:
            raise RecordError(
                f"the header does not end within {_LONGEST_HEAD_BYTES} bytes",
                Where(file.path, offset=0),
                fix="check options quote, escape and lineSep, or set header=false",
                code="bad-header",
            )
        length *= 4


def preamble_for(source: ByteSource, file: FileMetadata, format: RecordFormat, start: int) -> Preamble:
    """What a reader of a range from *start* on has to know of the head of *file*; no byte is read where it is nothing.

    Raises:
        RecordError: If the head never ends (a header with an unclosed quote).
        SourceChangedError: If the file is shorter than planned.
        SourceError: ``[compressed-input]`` if the range begins the file, the format is text and the file is compressed.
    """
    if format.needs_head(start):
        return read_preamble(source, file, format)
    if start == 0:
        check_head(source, file, format)
    return Preamble(0, format)


def check_head(source: ByteSource, file: FileMetadata, format: RecordFormat) -> None:
    """Refuse a compressed file of text, for readers that need nothing else from the head of *file*.

    Raises:
        SourceError: ``[compressed-input]``: its records are those of the file that was compressed, not of its bytes.
    """
    if isinstance(format, TextFormat):
        refuse_compressed(file.path, format, source.read_at(0, min(ARCHIVE_HEAD_BYTES, file.content_bytes)))
