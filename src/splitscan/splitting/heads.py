"""Read the head of a file: byte order mark, skipped lines, header."""

from __future__ import annotations

from splitscan.blocks import FileMetadata
from splitscan.errors import RecordError, Where
from splitscan.framing.contract import Need, Preamble, RecordFormat
from splitscan.splitting.cursor import truncated
from splitscan.storage import ByteSource

_HEAD_BYTES = 64 * 1024
_LONGEST_HEAD_BYTES = 64 * 1024 * 1024  # a header larger than this is not a header


def read_preamble(source: ByteSource, file: FileMetadata, format: RecordFormat) -> Preamble:
    """Read as much of the head of *file* as its format needs.

    Raises:
        RecordError: If the head never ends (a header with an unclosed quote).
        SourceChangedError: If the file is shorter than planned.
    """
    length = _HEAD_BYTES
    while True:
        wanted = min(length, file.size_bytes)
        head = source.read_at(0, wanted)
        if len(head) < wanted:
            raise truncated(file, len(head))
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
