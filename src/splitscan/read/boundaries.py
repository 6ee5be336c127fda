"""The boundary index: where the first record of every block starts, for formats that need context.

Every block is summarised on its own, in parallel (:mod:`splitscan.read.pieces`). The driver then walks the
summaries in order. Where a summary cannot tell (its quotes are not all structural), or a record crosses more bytes than
``max_record_bytes``, the driver reads from the last known record start until it is on firm ground again.
The result is exact, never a guess.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError, Where
from splitscan.formats.framing.contract import ContextFormat, Preamble
from splitscan.formats.framing.frames import Run
from splitscan.read.cursor import NONE_GIVEN_UP, GivenUp, RecordCursor, Skipped, steps_until
from splitscan.read.pieces import Piece, summarise_pieces

_START = 0  # the state in which a record starts right here


@dataclass(frozen=True, slots=True)
class FileIndex:
    """What the walk through the summaries of a file finds.

    Attributes:
        blocks: The blocks with ``first_record_start``: a record boundary at or after the block's start, such that no
            record starts in between; the size of the file where none follows.
        records: How many records reading the file delivers, without those it gives up; ``None`` if the format's
            summaries do not count.
        preamble: What the file's head says; ``None`` where it was not read for the index.
        given_up: The records that reading gives up.
    """

    blocks: list[BlockMetadata]
    records: int | None = None
    preamble: Preamble | None = None
    given_up: GivenUp = NONE_GIVEN_UP


def index_file(
    source: ByteSource,
    blocks: Sequence[BlockMetadata],
    preamble: Preamble,
    pieces: Iterable[Piece],
    *,
    max_record_bytes: int,
    read_bytes: int,
) -> FileIndex:
    """Find where the first record of every block starts, and how many records there are.

    Args:
        source: The open file.
        blocks: All blocks of the file, in order.
        preamble: What the file's head says.
        pieces: The pieces of all blocks (:func:`~splitscan.read.pieces.summarise_block`), in order.
        max_record_bytes: As for reading: the same limit gives the same records.
        read_bytes: Size of one read, where reading is needed.
    """
    if not isinstance(preamble.format, ContextFormat):
        raise InvariantError(f"format {preamble.format.name} has no boundary index")
    file = blocks[0].file
    walk = _Walk(source, file, preamble.format, preamble.data_start, max_record_bytes, read_bytes)
    walk.expect(block.start for block in blocks)
    for piece in pieces:
        walk.take(piece)
    filled = [block.starting_at(start) for block, start in zip(blocks, walk.finish(), strict=True)]
    return FileIndex(filled, walk.records, preamble, walk.given_up)


def find_first_start(
    source: ByteSource,
    block: BlockMetadata,
    preamble: Preamble,
    *,
    max_record_bytes: int,
    read_bytes: int,
) -> int:
    """Where the first record of one block starts, found by summarising all that comes before it.

    For sources that have to go through everything before the block anyway: what decompresses it sees it.

    Args:
        source: The open file.
        block: The block.
        preamble: What the file's head says.
        max_record_bytes: As for reading.
        read_bytes: Size of one read, where reading is needed.

    Returns:
        As ``FileIndex.blocks`` has it; ``UNKNOWN_END`` where no record starts behind the block's start, or the content
        ends there or before, and where it ends was not known.
    """
    if not isinstance(preamble.format, ContextFormat):
        raise InvariantError(f"format {preamble.format.name} has no boundary index")
    walk = _Walk(source, block.file, preamble.format, preamble.data_start, max_record_bytes, read_bytes)
    walk.expect([block.start])
    size = block.file.content_bytes
    content = ByteRange(preamble.data_start, size)
    pieces = summarise_pieces(source, preamble.format, content, block.start, content, max_record_bytes)
    while not walk.is_answered and (piece := next(pieces, None)) is not None:
        walk.take(piece)
    if walk.is_answered:
        return walk.answers[0]
    return walk.finish()[0] if source.read_at(block.start, 1) else size


@dataclass
class _Walk:
    """Goes through the pieces of one file in order, in a known state."""

    source: ByteSource
    file: FileMetadata
    format: ContextFormat
    data_start: int
    max_record_bytes: int
    read_bytes: int
    _wanted: deque[int] = field(default_factory=deque)
    _found: list[int] = field(default_factory=list)
    _state: int = _START
    _boundary: int = 0  # the last known record boundary before the current piece
    _cursor: RecordCursor | None = None  # reading, because the state at the start of the next piece is not known
    records: int | None = 0
    """How many records start before the position reached; ``None`` when a summary did not count."""
    given_up: GivenUp = NONE_GIVEN_UP
    """The records before the position reached that are too long, or never end."""
    _counted_to: int = 0  # the summaries have counted the records that start before this offset
    _reread_to: int = 0  # the first record that is read was counted already if it starts before this offset

    def expect(self, block_starts: Iterable[int]) -> None:
        """Remember what is asked for: the first boundary at or after each of these offsets."""
        self._boundary = self.data_start
        for start in block_starts:
            if start <= self.data_start:
                self._found.append(self.data_start)
            else:
                self._wanted.append(start)

    def take(self, piece: Piece) -> None:
        """Go through the next piece."""
        if self._cursor is None:
            run = piece.summary.run(self._state)
            if run is not None and self._is_certain(piece, run):
                self._follow(piece, run)
                return
            self._begin_reading()
        self._read_through(piece.stop)

    @property
    def is_answered(self) -> bool:
        """Whether nothing is asked for any more."""
        return not self._wanted

    @property
    def answers(self) -> list[int]:
        """What was found so far."""
        return self._found

    def finish(self) -> list[int]:
        """Answers for all blocks, in order."""
        rest = self.file.content_bytes - self._boundary
        if self._cursor is None and (self._state != _START or rest > self.max_record_bytes) and rest > 0:
            self._begin_reading()  # the file may end inside quotes, or in too long a record
        if self._cursor is not None:
            self._read_through(self.file.content_bytes)
        return self._found + [self.file.content_bytes] * len(self._wanted)

    def _is_certain(self, piece: Piece, run: Run) -> bool:
        """Whether no record that touches the piece can be longer than allowed."""
        if run.first is None or run.last is None:
            return piece.stop - self._boundary <= self.max_record_bytes
        longest = max(piece.start + run.first - self._boundary, run.last - run.first)
        return longest <= self.max_record_bytes

    def _follow(self, piece: Piece, run: Run) -> None:
        if run.first is not None:
            first = piece.start + run.first
            while self._wanted and self._wanted[0] <= first:
                self._answer(first)
            while self._wanted and self._wanted[0] <= piece.stop:
                marked = self._marked(piece, run)
                if marked is None:
                    break
                self._answer(marked)
        if run.last is not None:
            self._boundary = piece.start + run.last
        self._state = run.state
        self._counted_to = piece.stop
        self._count(run.records)

    def _count(self, records: int | None) -> None:
        self.records = None if self.records is None or records is None else self.records + records

    def _begin_reading(self) -> None:
        self._cursor = self._open_cursor(self._boundary)
        self._reread_to = self._counted_to

    def _take_back(self, first: int) -> None:
        """The record that began behind the last boundary, and no other, was counted already: now it counts as read."""
        if first < self._reread_to:
            self._count(-1)
        self._reread_to = 0

    def _marked(self, piece: Piece, run: Run) -> int | None:
        """The first boundary at or behind the wanted offset in this piece, if there is one."""
        wanted = self._wanted[0]
        if wanted != piece.mark and run.last is not None and wanted <= piece.start + run.last:
            return self._read_for(wanted)
        return None if run.marked is None or wanted != piece.mark else piece.start + run.marked

    def _read_for(self, wanted: int) -> int:
        """Blocks so small that several start in one piece: read for the answer."""
        for start in self._starts(self._open_cursor(self._boundary), wanted + 1):
            if start >= wanted:
                return start
        return self.file.content_bytes

    def _answer(self, boundary: int) -> None:
        self._found.append(boundary)
        self._wanted.popleft()

    def _open_cursor(self, position: int) -> RecordCursor:
        return RecordCursor(
            self.source,
            self.file,
            self.format,
            position,
            max_record_bytes=self.max_record_bytes,
            read_bytes=self.read_bytes,
        )

    def _starts(self, cursor: RecordCursor, stop: int) -> Iterator[int]:
        for step in steps_until(cursor, stop):
            if isinstance(step, Skipped):
                yield step.offset
            else:
                yield from (step.frames.starts + step.offset).tolist()
        yield cursor.gap_stop()

    def _read_through(self, stop: int) -> None:
        """Read records until one starts at or behind *stop*, then find the state at *stop*."""
        cursor = self._cursor
        if cursor is None:
            raise InvariantError("nothing to read with", Where(self.file.path, offset=stop))
        boundary = cursor.position if cursor.position < stop else None
        beyond = 0
        for step in steps_until(cursor, stop):
            if isinstance(step, Skipped):
                self.given_up = self.given_up.and_one(step)
                self._take_back(step.offset)
                self._answer_up_to(step.offset)
                boundary = cursor.position if cursor.position < stop else None
                continue
            starts = step.frames.starts + step.offset
            before = int(np.searchsorted(starts, stop))
            self._take_back(int(starts[0]))
            self._count(before)
            beyond = len(starts) - before
            self._answer_from(starts)
            if beyond and int(starts[before]) == stop:
                boundary = stop
            elif before:
                boundary = int(starts[before - 1])
            elif step.offset < stop:
                boundary = step.offset
        self._answer_up_to(cursor.position)
        self._resume_at(stop, cursor.position, boundary)
        if self._cursor is None:
            self._counted_to = stop
        else:
            self._count(beyond)

    def _resume_at(self, stop: int, position: int, boundary: int | None) -> None:
        """Leave reading behind when the state at *stop* is known."""
        if stop in (position, boundary):
            self._state, self._boundary, self._cursor = _START, stop, None
        elif boundary is not None:
            data = self.source.read_at(boundary, stop - boundary)
            self._state, self._boundary, self._cursor = self.format.state_after(data), boundary, None

    def _answer_from(self, starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        last = int(starts[-1])
        while self._wanted and self._wanted[0] <= last:
            self._answer(int(starts[int(np.searchsorted(starts, self._wanted[0]))]))

    def _answer_up_to(self, boundary: int) -> None:
        while self._wanted and self._wanted[0] <= boundary:
            self._answer(boundary)
