r"""The reader contexts that come with splitscan: lines and fixed lengths.

They find their records with the formats of :mod:`splitscan.formats`, so a line here is the same line as everywhere.
What differs from the originals of these names, and why, is told in ``docs/reader-contexts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

from splitscan.blocks import BlockMetadata
from splitscan.formats.fixed.framing import SliceFormat
from splitscan.formats.framing.contract import RecordFormat, has
from splitscan.formats.text.lines import line_format
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.contents import read_preamble
from splitscan.reading.cursor import Skipped
from splitscan.reading.reader_context import Entity, StreamSource
from splitscan.sizes import MIB

_MAX_RECORD_BYTES = 32 * MIB  # the default of option maxRecordBytes
_READ_BYTES = MIB


class _FramedContext:
    """A record format behind the door of a reader context."""

    def __init__(self, format: RecordFormat, max_record_bytes: int) -> None:
        self._format = format
        self._max_record_bytes = max_record_bytes
        self._entities: Iterator[tuple[int, Entity]] = iter(())

    def initialize(self, stream: BinaryIO, block: BlockMetadata, consecutive: bool) -> None:
        source = StreamSource(stream, block.file)
        reader = FramedRecords(
            source,
            self._entered(source, block),
            self._format,
            max_record_bytes=self._max_record_bytes,
            read_bytes=_READ_BYTES,
        )
        entities = _entities_of(reader)
        first = next(entities, None)
        self._entities = entities if first is None else chain([first], entities)
        stream.seek(max(reader.span.stop, min(block.stop, block.file.size_bytes)) if first is None else first[0])

    def next(self) -> Entity | None:
        _, entity = next(self._entities, (0, None))
        return entity

    def convert_to_record(self, record: bytes) -> Any | None:
        """Convert a record to a row; ``None`` drops it. Override it, and name the columns in ``schema``."""
        return record

    def _entered(self, source: StreamSource, block: BlockMetadata) -> BlockMetadata:
        """The block, possibly with where to begin in it."""
        return block


def _entities_of(reader: FramedRecords) -> Iterator[tuple[int, Entity]]:
    """The records of a block with their offsets; each uses all bytes up to the next one."""
    for step in reader:
        if isinstance(step, Skipped):
            yield step.offset, Entity(step.raw, step.length_bytes, step.code)
            continue
        starts, stops = step.frames.starts.tolist(), step.frames.stops.tolist()
        resumes = [*starts[1:], step.frames.next_start]
        for start, stop, resume in zip(starts, stops, resumes, strict=True):
            yield step.offset + start, Entity(bytes(step.data[start:stop]), resume - start)


class _LineContext(_FramedContext):
    def __init__(
        self,
        line_sep: str | None = None,
        *,
        escape: str | None = None,
        encoding: str = "UTF-8",
        max_record_bytes: int = _MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(line_format(line_sep, escape, encoding), max_record_bytes)


class ReadAheadLineReaderContext(_LineContext):
    r"""Lines, each exactly once, wherever the blocks are cut.

    A block has the lines whose first byte lies in it. It finds the first one by a look at the bytes around its start,
    and reads after its stop to finish the last one. Empty lines are records; the last line needs no terminator.

    Args:
        line_sep: The delimiter; ``None`` for any of ``\n``, ``\r\n`` and ``\r``.
        escape: A terminator after an odd run of this character is data.
        max_record_bytes: A longer line becomes one reject, and reading resumes after it.

    Raises:
        UsageError: If an argument has no meaning.

    Pickling: before ``initialize``.
    """


class LineReaderContext(_LineContext):
    r"""Lines of blocks that begin where lines begin; never looks at the lines before its block.

    A block has what begins at its start, and every line that begins in it. So:

    * where every block begins with a line (the block size is a multiple of the length of all lines), it gives each
      line exactly once and needs no byte of its neighbours but the one before its start;
    * elsewhere it gives every whole line exactly once, and besides, at the start of a block, the *fragment* of a line
      that began before it. ``convert_to_record`` must return ``None`` for fragments. Where it misses one, the fragment
      is delivered, and the block's span overlaps the one before: an ingest refuses to publish it.

    A line end at the start of a block that only finishes the line before is no record. Where fragments cannot be told
    from lines, use :class:`ReadAheadLineReaderContext`, whose arguments are the same.
    """

    emits_fragments = True

    def _entered(self, source: StreamSource, block: BlockMetadata) -> BlockMetadata:
        width = self._format.unit_bytes
        start = min(-(-block.start // width) * width, block.file.size_bytes)
        format = self._format
        if format.needs_head(start):
            format = read_preamble(source, block.file, format).format
        if start and has(format, "rest_of_terminator"):
            start += format.rest_of_terminator(source.read_at(start - width, 3 * width))
        return block.starting_at(start)


class FixedBytesReaderContext(_FramedContext):
    """Records of equal length, counted from the first byte of the file.

    A block has the records whose first byte lies in it, so no block size cuts a record in two. Only the last record
    of a file can be shorter.

    Raises:
        UsageError: If the length is not positive.

    Pickling: before ``initialize``.
    """

    def __init__(self, length: int) -> None:
        super().__init__(SliceFormat(length), length)
