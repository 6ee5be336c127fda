"""Start of a block's first record, by the bytes right before the block, where they decide it.

CSV with newlines in quotes nearly always has a line, in some hundred bytes, that ends at a record boundary whatever
comes before it (:mod:`splitscan.formats.csv.framing`). Framing goes on from there: the answer is that of the
boundary index, which looks at all that comes before, and it costs one small read.
"""

from __future__ import annotations

from splitscan.blocks import BlockMetadata, ByteRange
from splitscan.content.codecs.content import BEGINNING
from splitscan.content.storage import ByteSource
from splitscan.formats.framing.contract import ContextFormat, Preamble, SplitPointFormat
from splitscan.read.cursor import RecordCursor, Records, first_boundary
from splitscan.read.pieces import summarise_pieces
from splitscan.sizes import KIB, MIB

LOOKS_BYTES = (64 * KIB, MIB)
"""How much is read before a block: the second where the first shows nothing."""


def find_start_nearby(
    source: ByteSource, block: BlockMetadata, preamble: Preamble, *, max_record_bytes: int, read_bytes: int
) -> int | None:
    """Start of the first record of a block, as ``FileIndex.blocks`` has it, by a look at what is before the block.

    Args:
        source: The open file.
        block: The block. Of a compressed file nothing is read that decompressing would have to begin again for.
        preamble: What the file's head says.
        max_record_bytes: As for reading.
        read_bytes: Size of one read.

    Returns:
        The offset; ``None`` if only all that comes before the block can tell, or the content ends before it.
    """
    format, start, data_start = preamble.format, block.start, preamble.data_start
    if not isinstance(format, SplitPointFormat):
        return None
    entry = _entry(block, data_start)
    for look_bytes in LOOKS_BYTES:
        low = max(entry, start - look_bytes)
        window = source.read_at(low, start - low) if low < start else b""
        if len(window) < start - low:
            return None
        point = format.last_split_point(window)
        if point is None and low == data_start:
            point = 0
        if point is not None:
            records = Records(source, block.file, format, max_record_bytes, read_bytes)
            found = first_boundary(RecordCursor(records, low + point), start)
            return found if found >= start else None  # a record that damage cuts off has no end
        if low == entry:
            return None
    return None


def guess_start(source: ByteSource, block: BlockMetadata, preamble: Preamble) -> int | None:
    """Start of the first record of a block, if the bytes before it begin as bytes from anywhere mostly do.

    That is the first state for which a summary of them has an answer: outside quotes, at the lowest depth. Only who
    learns later where the first record starts may ask.

    Args:
        source: The open file.
        block: The block.
        preamble: What the file's head says.

    Returns:
        The offset, the stop of a block that is shorter than the look at it and has none; ``None`` if no record starts
        soon after the start of another one, whatever the state.
    """
    format, start = preamble.format, block.start
    if not isinstance(format, ContextFormat):
        return None
    low = max(_entry(block, preamble.data_start), start - LOOKS_BYTES[0])
    around = ByteRange(low, min(start + LOOKS_BYTES[0], block.stop))
    content = ByteRange(preamble.data_start, block.file.content_bytes)
    piece = next(summarise_pieces(source, format, around, start, content, around.length_bytes), None)
    runs = () if piece is None else piece.summary.runs
    marked = next((run.marked for run in runs if run is not None and run.marked is not None), None)
    if piece is None or marked is None:
        return block.stop if around.stop == block.stop else None
    return piece.start + marked


def _entry(block: BlockMetadata, data_start: int) -> int:
    """Offset from which on a block's file can be read without decompressing it from the beginning again."""
    seek = BEGINNING if block.seek is None or block.file.packed is not None else block.seek  # else of the archive
    return max(data_start, seek.content_offset)


def shows_split_points(source: ByteSource, format: ContextFormat, data_start: int) -> bool:
    """True if the first records of a file show split points, so that others probably do."""
    if not isinstance(format, SplitPointFormat):
        return False
    return format.last_split_point(source.read_at(data_start, LOOKS_BYTES[0])) is not None
