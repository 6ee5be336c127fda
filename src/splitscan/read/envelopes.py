"""Values that stand around the records of a file, found by going through it once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from splitscan.blocks import UNKNOWN_END, Envelopes, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError, RecordError, Where
from splitscan.formats.framing.contract import EnvelopeReader, RecordFormat, has
from splitscan.read.contents import head_of, read_preamble
from splitscan.read.cursor import RecordCursor, Records, Skipped, steps_until
from splitscan.sizes import MIB

_READ_BYTES = MIB


def read_envelopes(
    open_file: Callable[[], ByteSource],
    file: FileMetadata,
    format: RecordFormat,
    *,
    max_record_bytes: int,
    read_bytes: int,
) -> Envelopes:
    """Go through a file for the values around its records.

    Args:
        open_file: Opens the file. What lies between two reads of records is read by a second source, so that what is
            compressed is decompressed in order.
    """
    with closing(open_file()) as source, closing(open_file()) as between:
        whole = head_of(file, source, UNKNOWN_END).file
        preamble = read_preamble(source, whole, format)
        reader = preamble.format.envelope_reader() if has(preamble.format, "envelope_reader") else None
        if reader is None:
            raise InvariantError("only a format with columns around its records has values there", seen=format.name)
        try:
            _feed(reader, between, 0, preamble.data_start)
            reader.begin_records(preamble.data_start)
            records = Records(source, whole, preamble.format, max_record_bytes, read_bytes)
            position = preamble.data_start
            for step in steps_until(RecordCursor(records, position), whole.content_bytes):
                first = int(step.record_offsets[0])
                _feed(reader, between, position, first)
                reader.begin_records(first)
                if not isinstance(step, Skipped):
                    position = reader.take_records(step.data, step.frames, step.offset)
                else:
                    position = first if reader.is_around(step.raw) else step.stop
            _feed(reader, between, position, whole.content_bytes)
            reader.finish()
        except RecordError as error:
            error.locate(Where(file.path))
            raise
        return Envelopes(tuple(reader.starts), tuple(reader.values))


def _feed(reader: EnvelopeReader, source: ByteSource, start: int, stop: int) -> None:
    while start < stop:
        wanted = min(_READ_BYTES, stop - start)
        data = source.read_at(start, wanted)
        reader.feed(data)
        start += len(data)
        if len(data) < wanted:
            return
