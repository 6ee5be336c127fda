"""Pieces of a file, each summarised on its own: what it does to a parser that comes to it in any state.

Under each assumption about the parser's state at its start, a summary says in which state a piece ends, and where its
first and last records start. Pieces lie between safe cuts, so that no quote or delimiter is cut in two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from splitscan.blocks import BlockMetadata, ByteRange
from splitscan.content.storage import ByteSource
from splitscan.formats.contract import Suspects
from splitscan.formats.framing.contract import FullFormat, Need, has
from splitscan.formats.framing.frames import Summary
from splitscan.reading.cursor import keep_freed_memory

PIECE_BYTES = 4 * 1024 * 1024
"""Readers deal with one in one go; with smaller ones threads wait for each other."""

LOOK_BYTES = 4096
"""How much is looked at before a position, and after it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A summarised stretch of a file.

    Attributes:
        mark: Block start that the runs' ``marked`` refers to.
    """

    start: int
    stop: int
    mark: int
    summary: Summary
    suspect: bool = False


def summarise_block(
    source: ByteSource,
    block: BlockMetadata,
    format: FullFormat,
    data_start: int,
    max_record_bytes: int,
    suspects: Suspects | None = None,
) -> list[Piece]:
    """Summarise one block: adjacent pieces from its cut to the next block's, none longer than *max_record_bytes*."""
    keep_freed_memory()
    content = ByteRange(data_start, block.file.content_bytes)
    around = ByteRange(block.start, block.stop)
    return list(summarise_pieces(source, format, around, block.stop, content, max_record_bytes, suspects))


def summarise_pieces(
    source: ByteSource,
    format: FullFormat,
    stretch: ByteRange,
    mark: int,
    content: ByteRange,
    max_record_bytes: int,
    suspects: Suspects | None = None,
) -> Iterator[Piece]:
    """Summarise a stretch of a file, piece by piece, from the safe cut after its start to the one after its stop.

    They are read in order: what is decompressed is soon forgotten.

    Args:
        content: Where records are. The source may end before, if how long it is was not known.
        max_record_bytes: Pieces are not longer than this.
    """
    if has(format, "is_walked"):
        yield from _unread_pieces(source, stretch, content)
        return
    width = format.unit_bytes
    piece_bytes = max(width, min(PIECE_BYTES, max_record_bytes) // width * width)
    start = _cut(source, format, stretch.start, content)
    while start < stretch.stop:
        stop = _cut(source, format, min(start + piece_bytes, stretch.stop), content)
        if stop <= start:
            return
        low = max(content.start, start - LOOK_BYTES)
        window = memoryview(source.read_at(low, min(content.stop, stop + LOOK_BYTES) - low))
        before, data, after = window[: start - low], window[start - low : stop - low], window[stop - low :]
        if not data:
            return  # the source has ended
        piece_mark = min(mark, stop)
        summary = format.summarise(data, bytes(before), bytes(after), max(piece_mark - start, 0))
        yield Piece(start, stop, piece_mark, summary, suspects is not None and suspects.may_be_in(window))
        start = stop


def _unread_pieces(source: ByteSource, stretch: ByteRange, content: ByteRange) -> Iterator[Piece]:
    """Pieces of which no summary says anything: whoever walks through them reads them."""
    start, end = max(stretch.start, content.start), min(stretch.stop, content.stop)
    while start < end and source.read_at(start, 1):
        stop = min(start + PIECE_BYTES, end)
        yield Piece(start, stop, stop, Summary(stop - start, ()))
        start = stop


def _cut(source: ByteSource, format: FullFormat, position: int, content: ByteRange) -> int:
    """The first safe cut at or after *position*."""
    if position <= content.start:
        return content.start
    width, size = format.unit_bytes, content.stop
    position = -(-position // width) * width
    length = LOOK_BYTES
    while position < size:
        low = max(position - LOOK_BYTES, content.start)
        window = source.read_at(low, position - low + length)
        if len(window) < position - low + length:
            size = min(size, low + len(window))
        answer = format.safe_cut(window[: position - low], window[position - low :])
        if not isinstance(answer, Need):
            return min(position + answer, size)
        if position + length >= size:
            break
        length *= 4
    return size
