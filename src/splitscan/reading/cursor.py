"""How one reader finds its records: its buffer, the memory that holds it, and the records given up as too long."""

# Over 400 lines: what is too long, or does not end, is remembered from step to step.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np

from splitscan.blocks import UNKNOWN_END, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError, Where
from splitscan.formats.framing.contract import Need, Preamble, RecordFormat, Skipping, drop, has, never_ends
from splitscan.formats.framing.frames import NO_OFFSETS, Buffer, Frames, Offsets
from splitscan.reading.contents import damage_of, truncated
from splitscan.sizes import MIB


class OpenRecords:
    """Records that would not end in a buffer, or would be too long, wherever in it reading goes on.

    Where one is given up and the next one begins inside of it, that one does not end either. Who looked for its end
    again would take quadratic time for a file of opening tags.
    """

    def __init__(self, format: RecordFormat, longest_bytes: int) -> None:
        self._unit_bytes = format.unit_bytes
        self._open_starts = getattr(format, "open_starts", None)  # a format may have it, whose records hold others
        self._longest_bytes = longest_bytes
        self._starts = NO_OFFSETS  # in the file
        self._read_to = -1  # where the buffer ended that they are known of
        self._hidden = 1  # how many were forgotten last, and where reading was
        self._position = -1

    def note(self, buffer: Buffer, position: int) -> None:
        """Look for them, if that was not yet done, in all that was read from the start of a record that is given up."""
        read_to = position + len(buffer)
        if read_to == self._read_to or self._open_starts is None:
            return
        starts = self._open_starts(buffer, self._longest_bytes)
        if starts is not None:
            self._starts, self._read_to = starts + position, read_to

    def bytes_before(self, position: int, read_to: int) -> int:
        """How many bytes from *position* on, of those up to *read_to*, tell all records before the next of them.

        Its first code unit, too, may end the record before it. 0 if it begins at *position*.
        """
        if read_to == self._read_to and (at := int(self._starts.searchsorted(position))) < len(self._starts):
            distance = int(self._starts[at]) - position
            return min(distance + self._unit_bytes, read_to - position) if distance else 0
        return read_to - position

    def forget(self, position: int) -> None:
        """Bytes from *position* on hide the next of them: a record goes on there. Each time it does, twice as many."""
        self._hidden = 2 * self._hidden if position == self._position else 1
        self._position = position
        at = int(self._starts.searchsorted(position))
        self._starts = self._starts[at + self._hidden :]


class FramesAhead:
    """Records that were found together with one that is too long: each of them is found once."""

    def __init__(self, longest_bytes: int) -> None:
        self._longest_bytes = longest_bytes
        self._frames: Frames | None = None
        self._long = NO_OFFSETS  # by their numbers
        self._position = 0  # in the file, of the buffer in which they were found

    def first_of(self, frames: Frames, position: int) -> Frames:
        """The records before the first one that is too long, or only that one; the others can be had later."""
        is_long = frames.stops - frames.starts > self._longest_bytes
        if not is_long.any():
            return frames
        self._frames, self._position, self._long = frames, position, np.flatnonzero(is_long)
        return self._part(frames, 0, 0)

    def take(self, position: int) -> Frames | None:
        """Records from *position* on likewise; ``None`` if none of those that are known begins there.

        A last one without a byte, right after one that is given up, is part of what is given up.
        """
        frames, moved = self._frames, position - self._position
        if frames is None or not (first := int(frames.starts.searchsorted(moved))) < len(frames):
            return None
        if int(frames.starts[first]) != moved or (first and frames.stops[first] == frames.stops[first - 1]):
            return None
        return self._part(frames, first, moved)

    def _part(self, frames: Frames, first: int, moved: int) -> Frames:
        long = int(self._long.searchsorted(first))
        stop = max(int(self._long[long]), first + 1) if long < len(self._long) else len(frames)
        return frames.part(first, stop, moved)


_LARGEST_BYTES = 32 * MIB - 8192  # the C library of Linux follows no larger one


@cache
def keep_freed_memory() -> None:
    """Have the C library keep up to 64 MiB of freed buffers, once per process.

    Reading allocates buffers of a few MiB over and over, and rows of a row group of Parquet are freed together. glibc
    gives such memory back to the system, so that each new page costs a fault, until it has seen a larger buffer freed:
    from then on it keeps twice as much as that. The buffer here is never touched and takes no memory. With other C
    libraries this does nothing.
    """
    np.empty(_LARGEST_BYTES, dtype=np.uint8)


RECORD_TOO_LONG = "record-too-long"
UNCLOSED_QUOTE = "unclosed-quote"
RAW_BYTES = 64 * 1024  # how much of a rejected record is kept for people to look at
_EDGE_BYTES = 16 * 1024  # read past the stop together with what lies before it: most records that cross it end there

OVERRUN_BYTES = 64 * 1024
"""Length of the first read that begins after the stop."""

SLACK_BYTES = 4096
"""A terminator that is cut by the edge of the buffer is shorter than this."""


@dataclass(frozen=True, slots=True)
class RecordChunk:
    """Complete records and the bytes that hold them.

    Attributes:
        data: The bytes up to ``frames.next_start``.
        offset: Offset in the file of ``data[0]``.
        frames: The records, positions relative to ``data``.
    """

    data: memoryview
    offset: int
    frames: Frames

    @property
    def record_offsets(self) -> Offsets:
        """Offset in the file of each record."""
        return self.frames.starts + self.offset

    @property
    def stop(self) -> int:
        """Offset at which reading continues."""
        return self.offset + self.frames.next_start

    @property
    def records(self) -> int:
        """How many records there are to deliver."""
        return len(self.frames)

    def head(self, count: int) -> RecordChunk:
        """The first *count* records."""
        next_start = int(self.frames.starts[count])
        return RecordChunk(self.data[:next_start], self.offset, self.frames.head(count, next_start))

    def boundary_near(self, stop: int, known: int | None) -> int | None:
        """The last record boundary at or before *stop*, where *known* is the last one before these records."""
        starts = self.record_offsets
        before = int(starts.searchsorted(stop, "right"))
        if before:
            return int(starts[before - 1])
        return self.offset if self.offset < stop else known


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that was given up.

    Attributes:
        length_bytes: Bytes up to where reading goes on.
    """

    offset: int
    length_bytes: int
    code: str
    raw: bytes

    data: ClassVar[None] = None
    """Its bytes are not kept."""
    records: ClassVar[int] = 0
    """It is not delivered."""

    @property
    def record_offsets(self) -> Offsets:
        """Offset in the file of the one record."""
        return np.array([self.offset], np.int64)

    @property
    def stop(self) -> int:
        """Offset at which reading continues."""
        return self.offset + self.length_bytes

    def head(self, count: int) -> Skipped:
        """One record is not cut."""
        return self

    def boundary_near(self, stop: int, known: int | None) -> int | None:
        """Offset at which reading continues, if that is before *stop*: nothing is known of the state inside."""
        return self.stop if self.stop < stop else None


class UnreadableRecords(NamedTuple):
    """Records that were given up on the way through a file, or a part of it.

    Attributes:
        offset: First byte of the first of them; -1 where there is none.
        code: Why that one was given up; ``None`` where there is none.
    """

    records: int = 0
    offset: int = -1
    code: str | None = None

    def and_of(self, step: RecordChunk | Skipped) -> UnreadableRecords:
        """These, and the one of a step after them, if it is one that was given up."""
        if isinstance(step, RecordChunk):
            return self
        if self.records:
            return self._replace(records=self.records + 1)
        return UnreadableRecords(1, step.offset, step.code)


NONE_GIVEN_UP = UnreadableRecords()


class Records(NamedTuple):
    """The records of an open file, for cursors that begin anywhere in it.

    Attributes:
        file: The file as it was planned; reading never goes beyond its planned size, which content may not have.
    """

    source: ByteSource
    file: FileMetadata
    preamble: Preamble
    max_record_bytes: int
    read_bytes: int

    @property
    def format(self) -> RecordFormat:
        """Format of the file, with everything resolved that its head tells."""
        return self.preamble.format


class RecordCursor:
    """Steps through a file from a record boundary on.

    Memory is bounded by the size of a read plus ``max_record_bytes``, whatever the file contains.

    Thread safety: none; one reader, one cursor.
    """

    def __init__(self, records: Records, position: int) -> None:
        keep_freed_memory()
        self._source, self._file, preamble, self._max_record_bytes, self._read_bytes = records
        self._format = preamble.format
        self._end = self._file.content_bytes
        self._buffer = memoryview(b"")
        self._position = position
        self._overrun_bytes = OVERRUN_BYTES
        self._open = OpenRecords(self._format, self._max_record_bytes)
        self._ahead = FramesAhead(self._max_record_bytes)

    @property
    def position(self) -> int:
        """Offset of the boundary that the next step begins at."""
        return self._position

    def is_before(self, stop: int) -> bool:
        """True if the next step is of a range that stops there: it owns groups of records that start in it."""
        return self._position < stop or self.is_in_group

    @property
    def is_in_group(self) -> bool:
        """True if records of the same group follow."""
        return getattr(self._format, "left_bytes", 0) > 0

    @property
    def owns_steps(self) -> bool:
        """True if all records of a step that begins before a stop are owned: they are of one group."""
        return has(self._format, "left_bytes")

    @property
    def _read_to(self) -> int:
        return self._position + len(self._buffer)

    @property
    def is_torn(self) -> bool:
        """True if the end of the content was reached, and is where a file is damaged: a record may be cut off there."""
        return self._at_end and damage_of(self._source) is not None

    @property
    def _at_end(self) -> bool:
        return self._read_to >= self._end

    def step(self, stop: int) -> RecordChunk | Skipped | None:
        """Deal with the next records, or one that is given up; ``None`` where none starts before *stop*.

        Reads end a little after *stop*, and go on in small steps.
        """
        while True:
            taken = self._take_records(stop)
            if taken is not None:
                return taken
            if not self.is_before(stop):
                return None  # after what lies between records
            is_long = len(self._buffer) > self._max_record_bytes + SLACK_BYTES
            if self._at_end:
                may_be_whole = self.is_torn and not (is_long and self._gap_bytes() is not Need.AFTER)
                return self._give_up(self._unfinished_code) if len(self._buffer) and not may_be_whole else None
            if not is_long:
                self._fill(stop, _EDGE_BYTES)
            elif self._gap_bytes() is Need.AFTER:  # a comment; it may be of any length
                if (open_one := self._skip_gap()) is not None:
                    return open_one
            else:
                return self._give_up(RECORD_TOO_LONG)

    def count(self, stop: int) -> int | None:
        """Count records that start, and end, before *stop*; ``None`` where the next ones need a :meth:`step`."""
        if not has(self._format, "count") or self._read_to >= min(stop, self._end):
            return None
        self._fill(stop)
        if self._at_end or len(self._buffer) > self._max_record_bytes:
            return None
        counted = self._format.count(self._buffer)
        self._advance(counted.next_start)
        return counted.records

    @property
    def _unfinished_code(self) -> str:
        """Why a record that never ends is given up; a format may have a word of its own."""
        return str(getattr(self._format, "unfinished_code", UNCLOSED_QUOTE))

    def gap_stop(self) -> int:
        """Start of the next record: after blank lines and comments at the position, or the end of the file."""
        while True:
            gap = self._gap_bytes()
            if not isinstance(gap, Need):
                return self._position + gap
            if self._at_end:  # a comment that is cut off
                return self._end
            self._advance(self._format.frame(self._buffer, at_end=False).next_start)
            if len(self._buffer) > self._max_record_bytes + SLACK_BYTES:
                if (open_one := self._skip_gap()) is not None:
                    return open_one.offset
            else:
                self._fill(self._position)

    def _gap_bytes(self) -> int | Need:
        if not has(self._format, "gap_bytes"):
            return 0
        return self._format.gap_bytes(self._buffer, at_end=self._at_end and not self.is_torn)

    def _take_records(self, stop: int) -> RecordChunk | Skipped | None:
        while known := self._open.bytes_before(self._position, self._read_to):
            if self.owns_steps and not self.is_before(stop):
                break
            data, is_all = self._buffer[:known], known == len(self._buffer)
            at_end = self._at_end and not self.is_torn and is_all
            frames = self._frame(data, at_end=at_end)
            if not len(frames) and self.owns_steps and self.is_torn:
                frames = self._last_whole(data) or frames
            if len(frames):
                return self._checked(frames)
            self._advance(frames.next_start)  # only blank lines and comments
            if not frames.next_start and is_all:
                break
            if not frames.next_start:
                self._open.forget(self._position)
        return None

    def _frame(self, data: memoryview, *, at_end: bool) -> Frames:
        known = self._ahead.take(self._position)
        return known or self._ahead.first_of(self._format.frame(data, at_end=at_end), self._position)

    def _last_whole(self, data: memoryview) -> Frames | None:
        """The record before damage that is complete, though more of its group is to come."""
        frames = self._format.frame(data, at_end=True)
        is_whole = len(frames) > 0 and 0 not in frames.malformed
        return frames.head(1, int(frames.stops[0])) if is_whole else None

    def _checked(self, frames: Frames) -> RecordChunk | Skipped:
        if int(frames.stops[0]) - frames.first <= self._max_record_bytes:
            framed = RecordChunk(self._buffer[: frames.next_start], self._position, frames)
            self._advance(frames.next_start)
            return framed
        self._advance(frames.first)
        return self._give_up(RECORD_TOO_LONG)

    def _give_up(self, code: str) -> Skipped:
        """Skip the record at the position, in bounded memory."""
        if len(self._buffer) > self._max_record_bytes:
            code = RECORD_TOO_LONG
        return self._skip(code)[0]

    def _skip_gap(self) -> Skipped | None:
        """Skip what lies between records, of any length; what never ends is given up."""
        skipped, is_open = self._skip(self._unfinished_code)
        return skipped if is_open and not self.is_torn else None

    def _skip(self, code: str) -> tuple[Skipped, bool]:
        """Go on where the format would after what begins at the position, and say if the file ends before it does."""
        self._open.note(self._buffer, self._position)
        offset = self._position
        skipping: Skipping = self._format
        resume = skipping.resume_after(self._buffer, at_end=self._at_end)
        raw = bytes(self._buffer[:resume][: min(RAW_BYTES, self._max_record_bytes)])  # which any buffer has by now
        while resume is None:
            dropped, skipping = drop(skipping, self._buffer)
            self._advance(dropped)
            self._fill(self._end)
            resume = skipping.resume_after(self._buffer, at_end=self._at_end)
        is_open = self._at_end and never_ends(skipping, self._buffer)
        self._advance(resume)
        return Skipped(offset, length := self._position - offset, code, raw[:length]), is_open

    def _advance(self, count: int) -> None:
        if has(self._format, "left_bytes"):
            self._format = self._format.after(self._buffer[:count])
        self._buffer = self._buffer[count:]
        self._position += count

    def _fill(self, stop: int, edge_bytes: int = 0) -> None:
        """Read on: to *stop* in full reads, the last one *edge_bytes* further, after it in growing small ones."""
        read_to = self._read_to
        if read_to < stop:
            rest = stop - read_to
            wanted = rest + edge_bytes if rest <= self._read_bytes else self._read_bytes
        else:
            wanted = self._overrun_bytes
            self._overrun_bytes = min(2 * wanted, max(self._read_bytes, OVERRUN_BYTES))
        wanted = min(wanted, self._end - read_to)
        again = len(self._buffer) if len(self._buffer) <= min(OVERRUN_BYTES, wanted // 8) else 0  # no copy of both then
        data = self._source.read_at(read_to - again, again + wanted)
        if len(data) < again + wanted:
            if self._end < UNKNOWN_END:
                raise truncated(self._file, read_to - again + len(data))
            self._end = read_to - again + len(data)
        self._buffer = memoryview(data if again == len(self._buffer) else b"".join((self._buffer, data)))


def steps_until(cursor: RecordCursor, stop: int) -> Iterator[RecordChunk | Skipped]:
    """Steps of *cursor* as long as they begin before *stop*."""
    while cursor.is_before(stop):
        step = cursor.step(stop)
        if step is None:
            return
        if step.stop <= step.offset:
            raise InvariantError("a step must move forward", Where(offset=step.offset), seen=repr(step)[:200])
        yield step


def first_boundary(cursor: RecordCursor, position: int) -> int:
    """The first record boundary at or after *position*, by framing from where *cursor* is, which is at most that.

    No record starts between *position* and it; it is the end of the content where none follows.
    """
    for step in steps_until(cursor, position):
        starts = step.record_offsets
        if not cursor.owns_steps and (first := int(starts.searchsorted(position))) < len(starts):
            return int(starts[first])
    return cursor.gap_stop()
