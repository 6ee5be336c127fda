"""Values that stand around the records: found by going through a file once, and told by offset."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.arrays import number_array
from splitscan.blocks import UNKNOWN_END, BlockMetadata, Envelopes, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError, RecordError, SchemaError, SourceMissingError, Where, bad_option
from splitscan.formats.decoding.contract import type_name
from splitscan.formats.framing.contract import EnvelopeReader, RecordFormat, has
from splitscan.formats.framing.frames import Offsets
from splitscan.formats.registry import format_of, record_format
from splitscan.options import ReadOptions
from splitscan.reading.contents import head_of, open_planned_file, read_preamble
from splitscan.reading.cursor import RecordCursor, Records, Skipped, steps_until
from splitscan.sizes import MIB

_CACHED_FILES = 16  # each may have many values
_READ_BYTES = MIB


@dataclass(frozen=True)
class OffsetValues:
    """Values of a column of a block that hold for the records from some offsets on.

    Attributes:
        starts: The offsets, in order; the first is at the first record or before it.
        values: One for each.
    """

    starts: Offsets
    values: pa.Array

    def at(self, offsets: Offsets) -> pa.Array:
        """The values for the records at *offsets*."""
        return self.values.take(number_array(np.maximum(self.starts.searchsorted(offsets, "right") - 1, 0)))


def envelope_values(options: ReadOptions, column: pa.Field, number: int, block: BlockMetadata) -> OffsetValues:
    """The values of a column for the records of a block.

    Args:
        column: Name and type.
        number: Of the column among those that the options name.

    Raises:
        RecordError: ``[bad-envelope]`` if a value does not fit the type.
        SourceError: If the file cannot be read or has changed.
    """
    starts, values = block.around or find_around(options, block)
    array = format_of(options).envelope_values(options.format, options, column, [each[number] for each in values])
    return OffsetValues(np.array(starts, np.int64), array)


def find_around(options: ReadOptions, block: BlockMetadata) -> Envelopes:
    """The values around the records of a block; to find them its file is gone through once for each process."""
    reading = options.reading
    format: Any = record_format(options)  # formats are hashable: part of their contract
    file = _file(block.file, format, options.files, reading.max_record_bytes, reading.read_bytes)
    try:
        found = file.read()
    except SourceMissingError:
        if not options.files.ignore_missing_files:
            raise
        columns = len(format_of(options).envelope_columns(options.format))
        return Envelopes((0,), ((None,) * columns,))  # whoever reads its blocks finds it missing again
    return found if block.is_file else found.within(block.start, block.stop)


class _File:
    """The values around the records of one file, once they were asked for."""

    def __init__(self, *asked: Any) -> None:
        self._asked, self._lock = asked, Lock()
        self._found: Envelopes | None = None

    def read(self) -> Envelopes:
        with self._lock:
            if self._found is None:
                file, format, files, max_record_bytes, read_bytes = self._asked
                self._found = read_envelopes(
                    partial(open_planned_file, file, files, format), file, format,
                    max_record_bytes=max_record_bytes, read_bytes=read_bytes,
                )  # fmt: skip
        return self._found


@lru_cache(maxsize=_CACHED_FILES)
def _file(*asked: Any) -> _File:
    return _File(*asked)


def settled_columns(envelope: pa.Schema, schema: pa.Schema, *, declared: bool) -> pa.Schema:
    """Columns around the records with the names and types that a schema of the user gives them."""
    known = {column.name.lower(): column for column in schema}
    same = [known[name.lower()] for name in envelope.names if name.lower() in known]
    if same and not declared:
        raise bad_option(
            "a column of recordPathColumns has the name of a column of the records",
            repr(same[0].name),
            f"give it another name, as in $.name as other_{same[0].name}",
        )
    for column in same:
        if pa.types.is_nested(column.type):
            raise SchemaError(
                "columns of recordPathColumns have one value, or the text of an object or array",
                Where(column=column.name),
                seen=type_name(column.type),
                fix=f"declare it as: {column.name} string",
                code="bad-schema",
            )
    return pa.schema([known.get(column.name.lower(), column).remove_metadata() for column in envelope])


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
            records = Records(source, whole, preamble, max_record_bytes, read_bytes)
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
