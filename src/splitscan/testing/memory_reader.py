"""A small reader of records in memory, built on the contract of formats alone: what the laws of framing compare with.

It is no part of the real reader. On the way it checks that frames are well formed and that requests for bytes end.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from splitscan.formats.framing.contract import Need, Preamble, RecordFormat, has, starts_anywhere
from splitscan.formats.framing.frames import Frames

UNFINISHED = "unfinished"  # code that read_range gives to a tail that never ends


class FramedRecord(NamedTuple):
    """A record as the laws compare it.

    Attributes:
        start: Offset of its first byte in the file.
        content: Its bytes, without the terminator.
        code: Why its structure is broken, or ``None``.
    """

    start: int
    content: bytes
    code: str | None = None


def read_range(format: RecordFormat, data: bytes, start: int, stop: int, buffer_bytes: int = 64) -> list[FramedRecord]:
    r"""Read the records whose first byte lies in ``[start, stop)`` of a file that is *data*.

    Example:
        >>> from splitscan.formats.text.lines import LineFormat
        >>> [record.content for record in read_range(LineFormat(), b"ab\ncd\nef", 1, 7)]
        [b'cd', b'ef']
    """
    preamble = preamble_of(format, data, start)
    position = first_position(preamble, data, max(start, preamble.data_start), buffer_bytes)
    records: list[FramedRecord] = []
    while position < min(stop, len(data)):
        frames = _next_frames(preamble.format, data, position, buffer_bytes)
        records += records_of(frames, data, position)
        if not frames.next_start:
            records.append(FramedRecord(position, data[position:], UNFINISHED))
            break
        position += frames.next_start
    return [record for record in records if start <= record.start < stop]


def preamble_of(format: RecordFormat, data: bytes, start: int) -> Preamble:
    """Preamble of the file, shown byte by byte; a block asks only when its start makes it matter."""
    if starts_anywhere(format) and not format.needs_head(start):
        return Preamble(0, format)
    for shown in range(len(data) + 1):
        answer = format.preamble(data[:shown], at_end=shown == len(data))
        if not isinstance(answer, Need):
            return answer
    raise AssertionError(f"{format.name}: the preamble asks for more than the whole file")


def first_position(preamble: Preamble, data: bytes, position: int, window_bytes: int) -> int:
    """Position at which reading begins for a block that starts at *position*."""
    format = preamble.format
    if has(format, "first_start_after"):
        return format.first_start_after(position, preamble.data_start)
    if not starts_anywhere(format):
        return preamble.data_start
    position += -position % format.unit_bytes
    before_bytes = after_bytes = window_bytes
    while position < len(data):
        shown_from = max(preamble.data_start, position - before_bytes)
        at_start, at_end = shown_from == preamble.data_start, position + after_bytes >= len(data)
        before, after = data[shown_from:position], data[position : position + after_bytes]
        answer = format.first_start(before, after, at_start=at_start, at_end=at_end)
        if answer is Need.BEFORE and not at_start:
            before_bytes += window_bytes
        elif answer is Need.AFTER and not at_end:
            after_bytes += window_bytes
        elif isinstance(answer, Need):
            raise AssertionError(f"{format.name}: at {position}, {answer} was asked for and there is none")
        else:
            return position + answer
    return len(data)


def _next_frames(format: RecordFormat, data: bytes, position: int, buffer_bytes: int) -> Frames:
    """Show more and more bytes from *position* on until something is decided."""
    for shown in itertools.count(buffer_bytes, buffer_bytes):
        at_end = position + shown >= len(data)
        frames = format.frame(data[position : position + shown], at_end=at_end)
        must_be_well_formed(frames, min(shown, len(data) - position))
        if frames.next_start or at_end:
            return frames
    raise AssertionError  # the count never ends


def frame_all(format: RecordFormat, body: bytes) -> tuple[list[FramedRecord], int]:
    """All records of *body*, a tail that never ends included, and where that tail begins."""
    records: list[FramedRecord] = []
    position = 0
    while position < len(body):
        rest = body[position:]
        frames = format.frame(rest, at_end=True)
        must_be_well_formed(frames, len(rest))
        records += records_of(frames, body, position)
        if not frames.next_start:
            records.append(FramedRecord(position, rest, UNFINISHED))
            break
        position += frames.next_start
    return records, position


def records_of(frames: Frames, data: bytes, position: int) -> list[FramedRecord]:
    """The records of a buffer that begins at *position* of *data*."""
    ranges = zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
    return [
        FramedRecord(position + start, data[position + start : position + stop], frames.malformed.get(index))
        for index, (start, stop) in enumerate(ranges)
    ]


def moved(records: list[FramedRecord], offset: int) -> list[FramedRecord]:
    """Records found in a part of the file, with their offsets in the file."""
    return [record._replace(start=record.start + offset) for record in records]


def must_be_well_formed(frames: Frames, size: int) -> None:
    """Starts increase, records do not overlap, and nothing lies outside of the buffer."""
    ends = [*frames.starts.tolist(), frames.next_start][1:]
    last = -1
    for start, stop, limit in zip(frames.starts.tolist(), frames.stops.tolist(), ends, strict=True):
        if not last < start <= stop <= limit:
            raise AssertionError(
                f"record [{start}, {stop}) is out of order: after {last}, and the next begins at {limit}"
            )
        last = start
    if not 0 <= frames.next_start <= size:
        raise AssertionError(f"next_start {frames.next_start} is outside of a buffer of {size} bytes")
