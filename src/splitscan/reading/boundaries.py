"""The boundary index: where the first record of every block starts, for formats that need context.

Every block is summarised on its own, in parallel, piece by piece: under each assumption about the parser's state at its
start, a summary says in which state a piece ends, and where its first and last records start. Pieces lie between safe
cuts, so that no quote or delimiter is cut in two. The driver then walks the summaries in order. Where a summary cannot
tell (its quotes are not all structural), or a record crosses more bytes than ``max_record_bytes``, the driver reads
from the last known record start until it is on firm ground again.
The result is exact, never a guess.
"""

# Over 400 lines: summaries and the walk through them are read together.

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from splitscan.blocks import BlockMetadata, ByteRange
from splitscan.content.codecs.content import BEGINNING
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError
from splitscan.formats.contract import Suspects
from splitscan.formats.framing.contract import FullFormat, Need, Preamble, has
from splitscan.formats.framing.frames import Offsets, Run, Summary
from splitscan.reading.cursor import (
    NONE_GIVEN_UP,
    RecordChunk,
    RecordCursor,
    Records,
    Skipped,
    UnreadableRecords,
    first_boundary,
    keep_freed_memory,
    steps_until,
)
from splitscan.sizes import KIB, MIB

PIECE_BYTES = 4 * MIB
"""Readers deal with one in one go; with smaller ones threads wait for each other."""

LOOK_BYTES = 4096
"""How much is looked at before a position, and after it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A summarised range of a file.

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
    wanted: ByteRange,
    mark: int,
    content: ByteRange,
    max_record_bytes: int,
    suspects: Suspects | None = None,
) -> Iterator[Piece]:
    """Summarise a range of a file, piece by piece, from the safe cut after its start to the one after its stop.

    They are read in order: what is decompressed is soon forgotten.

    Args:
        content: Where records are. The source may end before, if how long it is was not known.
        max_record_bytes: Pieces are not longer than this.
    """
    if has(format, "is_walked"):
        yield from _unread_pieces(source, wanted, content)
        return
    width = format.unit_bytes
    piece_bytes = max(width, min(PIECE_BYTES, max_record_bytes) // width * width)
    start = _cut(source, format, wanted.start, content)
    while start < wanted.stop:
        stop = _cut(source, format, min(start + piece_bytes, wanted.stop), content)
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


def _unread_pieces(source: ByteSource, wanted: ByteRange, content: ByteRange) -> Iterator[Piece]:
    """Pieces of which no summary says anything: whoever walks through them reads them."""
    start, end = max(wanted.start, content.start), min(wanted.stop, content.stop)
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


_START = 0  # the state in which a record starts right here


@dataclass(frozen=True, slots=True)
class FileIndex:
    """Result of the walk through the summaries of a file.

    Attributes:
        blocks: The blocks with ``first_record_start``: a record boundary at or after the block's start, such that no
            record starts in between; the size of the file where none follows.
        records: How many records reading the file delivers, without those it gives up; ``None`` if the format's
            summaries do not count.
    """

    blocks: list[BlockMetadata]
    records: int | None = None
    preamble: Preamble | None = None
    given_up: UnreadableRecords = NONE_GIVEN_UP
    suspect: bool = False


def index_file(records: Records, blocks: Sequence[BlockMetadata], pieces: Iterable[Piece]) -> FileIndex:
    """Find where the first record of every block starts, and how many records there are.

    Args:
        records: Those of the file: the same bounds as for reading give the same records.
        blocks: All blocks of the file, in order.
        pieces: The pieces of all blocks (:func:`summarise_block`), in order.
    """
    walk = _BoundaryWalk(records, (block.start for block in blocks))
    suspect = False
    for piece in pieces:
        walk.take(piece)
        suspect = suspect or piece.suspect
    filled = [block.starting_at(start) for block, start in zip(blocks, walk.finish(), strict=True)]
    return FileIndex(filled, walk.tally.records, records.preamble, walk.tally.given_up, suspect)


def find_first_start(records: Records, block: BlockMetadata) -> int:
    """Start of the first record of one block, found by summarising all that comes before it.

    For sources that have to go through that anyway. ``UNKNOWN_END`` where no record starts after the block's start, or
    where the content, whose end was not known, ends there or before.
    """
    walk = _BoundaryWalk(records, [block.start])
    source, size = records.source, block.file.content_bytes
    content = ByteRange(records.preamble.data_start, size)
    pieces = summarise_pieces(source, walk.format, content, block.start, content, records.max_record_bytes)
    while walk.answers.wanted and (piece := next(pieces, None)) is not None:
        walk.take(piece)
    if not walk.answers.wanted:
        return walk.answers.found[0]
    return walk.finish()[0] if source.read_at(block.start, 1) else size


class _Answers:
    """The first record boundary at or after each of some offsets, in order; *data_start* for all before it."""

    def __init__(self, asked: Iterable[int], data_start: int) -> None:
        offsets = list(asked)
        self.wanted = deque(offset for offset in offsets if offset > data_start)
        self.found = [data_start] * (len(offsets) - len(self.wanted))

    def give(self, boundary: int) -> None:
        """The answer for the next offset."""
        self.found.append(boundary)
        self.wanted.popleft()

    def up_to(self, boundary: int) -> None:
        """Answer for every offset up to a boundary, with no record start between them and it."""
        while self.wanted and self.wanted[0] <= boundary:
            self.give(boundary)

    def from_starts(self, starts: Offsets) -> None:
        """Answer for the offsets up to the last of some adjacent record starts."""
        while self.wanted and self.wanted[0] <= starts[-1]:
            self.give(int(starts[starts.searchsorted(self.wanted[0])]))


class _Tally:
    """How many records there are, told by summaries and by reading: where reading begins, some were counted already.

    Attributes:
        records: How many start before the position reached; ``None`` when a summary did not count.
        has_counted: Whether a record that was counted may start at the last boundary or after it.
    """

    def __init__(self) -> None:
        self.records: int | None = 0
        self.given_up = NONE_GIVEN_UP
        self.has_counted = False
        self._counted_to = 0  # summaries have counted the records that start before this offset
        self._reread_to = 0  # the first record that is read was counted already if it starts before this offset

    def add(self, records: int | None) -> None:
        """Count records."""
        self.records = None if self.records is None or records is None else self.records + records

    def reach(self, offset: int, *, begins_with_record: bool) -> None:
        """All records that start before *offset* are counted, and none after.

        If it *begins_with_record*, one that was counted may start at the last boundary or after it. What never ends
        between records, such as a comment, is given up too, and was not counted.
        """
        self._counted_to = offset
        self.has_counted = begins_with_record

    def begin_reading(self) -> None:
        """From here on records are read, beginning with the last one that starts before the position reached."""
        self._reread_to = self._counted_to

    def take(self, step: RecordChunk | Skipped, records: int) -> None:
        """Count *records* of a step; its first one was perhaps counted already, and now counts as read."""
        if step.record_offsets[0] < self._reread_to and self.has_counted:
            self.add(-1)
        self._reread_to = 0
        self.given_up = self.given_up.and_of(step)
        self.add(records)


class _BoundaryWalk:
    """Goes through the pieces of one file in order, in a known state."""

    def __init__(self, records: Records, asked: Iterable[int]) -> None:
        format, data_start = records.format, records.preamble.data_start
        if not has(format, "summarise"):
            raise InvariantError(f"format {format.name} has no boundary index")
        self.answers = _Answers(asked, data_start)
        self.tally = _Tally()
        self._records = records
        self.format = format
        self._size = records.file.content_bytes
        self._state = _START
        self._boundary = data_start  # the last known record boundary before the current piece
        self._cursor: RecordCursor | None = None  # reading: the state at the start of the next piece is not known

    def take(self, piece: Piece) -> None:
        """Go through the next piece."""
        if self._cursor is None:
            run = piece.summary.run(self._state)
            if run is not None and self._is_certain(piece, run):
                self._follow(piece, run)
                return
        self._read_through(piece.stop)

    def finish(self) -> list[int]:
        """Answers for all offsets, in order."""
        rest = self._size - self._boundary
        is_open = self._state != _START or rest > self._records.max_record_bytes
        if self._cursor is not None or (is_open and rest > 0):  # it may end inside quotes, or in too long a record
            self._read_through(self._size)
        return self.answers.found + [self._size] * len(self.answers.wanted)

    def _is_certain(self, piece: Piece, run: Run) -> bool:
        """True if no record that touches the piece can be longer than allowed."""
        if run.is_gap:
            return True
        if run.first is None or run.last is None:
            return piece.stop - self._boundary <= self._records.max_record_bytes
        longest = max(piece.start + run.first - self._boundary, run.last - run.first)
        return longest <= self._records.max_record_bytes

    def _follow(self, piece: Piece, run: Run) -> None:
        if run.first is not None:
            self.answers.up_to(piece.start + run.first)
            wanted = self.answers.wanted
            while wanted and wanted[0] <= piece.stop and (marked := self._marked(piece, run, wanted[0])) is not None:
                self.answers.give(marked)
        if run.last is not None:
            self._boundary = piece.start + run.last
        self._state = run.state
        self.tally.reach(piece.stop, begins_with_record=self.tally.has_counted or bool(run.records))
        self.tally.add(run.records)

    def _marked(self, piece: Piece, run: Run, wanted: int) -> int | None:
        """The first boundary at or after the wanted offset in this piece, if there is one."""
        if wanted != piece.mark and run.last is not None and wanted <= piece.start + run.last:
            # blocks so small that several start in one piece: read for the answer
            return first_boundary(RecordCursor(self._records, self._boundary), wanted)
        return None if run.marked is None or wanted != piece.mark else piece.start + run.marked

    def _read_through(self, stop: int) -> None:
        """Read records until one starts at or after *stop*, then find the state at *stop*."""
        if has(self.format, "left_bytes"):
            self._pass_groups(stop)
            return
        cursor = self._cursor
        if cursor is None:
            cursor = self._cursor = RecordCursor(self._records, self._boundary)
            self.tally.begin_reading()
        boundary = cursor.position if cursor.position < stop else None
        last = None
        beyond = 0
        for step in steps_until(cursor, stop):
            starts = step.record_offsets
            before = min(int(starts.searchsorted(stop)), step.records)
            beyond = step.records - before
            self.tally.take(step, before)
            self.answers.from_starts(starts)
            boundary = step.boundary_near(stop, boundary)
            last = int(starts[before - 1]) if before else last
        self.answers.up_to(cursor.position)
        self._resume_at(stop, cursor.position, boundary)
        if self._cursor is None:
            self.tally.reach(stop, begins_with_record=self._boundary == last)
        else:
            self.tally.add(beyond)

    def _pass_groups(self, stop: int) -> None:
        """Go from one group of records to the next, by the length in front of each, to the first at or after *stop*."""
        source, format = self._records.source, self.format
        self.tally.add(None)
        while self._boundary < stop:
            length = format.group_bytes(source.read_at(self._boundary, format.group_head_bytes))
            if length:
                self.answers.up_to(self._boundary)
            self._boundary = min(self._boundary + length, self._size) if length else self._size

    def _resume_at(self, stop: int, position: int, boundary: int | None) -> None:
        """Leave reading behind when the state at *stop* is known."""
        if stop in (position, boundary):
            self._state, self._boundary, self._cursor = _START, stop, None
        elif boundary is not None and stop - boundary <= self._records.max_record_bytes + self._records.read_bytes:
            data = self._records.source.read_at(boundary, stop - boundary)
            state = self.format.state_after(data)
            if state >= 0:  # else no summary has an answer for it
                self._state, self._boundary, self._cursor = state, boundary, None


LOOKS_BYTES = (64 * KIB, MIB)
"""How much is read before a block: the second where the first shows nothing."""


def find_start_nearby(records: Records, block: BlockMetadata) -> int | None:
    """Start of the first record of a block, as ``FileIndex.blocks`` has it, by a look at what is before the block.

    ``None`` if only all that comes before can tell, or the content ends before it. Of a compressed file nothing is read
    that decompressing would have to begin again for.
    """
    source, format, start, data_start = records.source, records.format, block.start, records.preamble.data_start
    if not has(format, "last_split_point"):
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
            found = first_boundary(RecordCursor(records, low + point), start)
            return found if found >= start else None  # a record that damage cuts off has no end
        if low == entry:
            return None
    return None


def guess_start(records: Records, block: BlockMetadata) -> int | None:
    """Start of the first record of a block, if the bytes before it begin as bytes from anywhere mostly do.

    That is the first state for which a summary of them has an answer: outside quotes, at the lowest depth. Only who
    learns later where the first record starts may ask. The stop of a block that is shorter than the look at it and has
    none; ``None`` if no record starts soon after the start of another one, whatever the state.
    """
    format, start, data_start = records.format, block.start, records.preamble.data_start
    if not has(format, "summarise"):
        return None
    low = max(_entry(block, data_start), start - LOOKS_BYTES[0])
    around = ByteRange(low, min(start + LOOKS_BYTES[0], block.stop))
    content = ByteRange(data_start, block.file.content_bytes)
    piece = next(summarise_pieces(records.source, format, around, start, content, around.length_bytes), None)
    runs = () if piece is None else piece.summary.runs
    marked = next((run.marked for run in runs if run is not None and run.marked is not None), None)
    if piece is None or marked is None:
        return block.stop if around.stop == block.stop else None
    return piece.start + marked


def _entry(block: BlockMetadata, data_start: int) -> int:
    """Offset from which on a block's file can be read without decompressing it from the beginning again."""
    seek = BEGINNING if block.seek is None or block.file.packed is not None else block.seek  # else of the archive
    return max(data_start, seek.content_offset)


def shows_split_points(records: Records) -> bool:
    """True if the first records of a file show split points, so that others probably do."""
    format, head = records.format, records.preamble.data_start
    if not has(format, "last_split_point"):
        return False
    return format.last_split_point(records.source.read_at(head, LOOKS_BYTES[0])) is not None
