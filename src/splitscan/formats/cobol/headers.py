"""Finding records by their lengths, which stand in front of them, in front of blocks of them too, or in an item."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from splitscan.errors import InvariantError
from splitscan.formats.cobol.framing import BAD_RECORD_HEADER, CobolRecords
from splitscan.formats.cobol.nodes import Pieces, spelled_pieces
from splitscan.formats.cobol.notation import Expanded, Notation, Segments, expand
from splitscan.formats.framing.contract import SHORT_RECORD, Need, Skipping, Splittability
from splitscan.formats.framing.frames import Buffer, Summary

HEADER_BYTES = 4
"""Bytes in front of a record, or of a block, that say how long it is."""

LOST = 1 << 62
"""How many bytes of a block are still to come, where nothing tells that: those up to the end of the file."""


@dataclass(frozen=True, slots=True)
class WalkedRecords(CobolRecords):
    """Base of records that only the record before tells the start of."""

    splittability: ClassVar[Splittability] = Splittability.CONTEXT

    is_walked: ClassVar[bool] = True

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        return 0

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Nothing: only a walk from record to record tells where they are."""
        return Summary(len(data), ())

    def state_after(self, data: Buffer) -> int:
        """How many bytes of the last record are still to come, or of its header, at least."""
        frames = self.frame(data, at_end=False)
        return 0 if frames.next_start == len(data) else 1


@dataclass(frozen=True, slots=True)
class SizedRecords(WalkedRecords):
    """Base of records that tell where they end.

    Where the first bytes of a record say no length, the rest of the file is one record that is flagged.

    Args:
        is_lost: Whether bytes were dropped, so that nothing tells where another record is before the trailer.
        rest_bytes: How many bytes of the record that is given up are still to come, where that is known.
    """

    is_lost: bool = False
    rest_bytes: int = 0

    @abstractmethod
    def known_length(self, content: memoryview) -> int | None:
        """Bytes of the record that *content* begins with; ``None`` where nothing tells them, or not yet."""

    @abstractmethod
    def is_untold(self, content: memoryview) -> bool:
        """True if nothing tells the length of the record that *content* begins with, whatever follows."""

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        start, size = 0, len(content)
        while start < size:
            length = self.known_length(content[start:])
            if length is None or start + length > size:
                break
            yield start, start + length, start + length, None
            start += length
        if at_end and start < size:
            yield start, size, size, BAD_RECORD_HEADER if self.is_untold(content[start:]) else SHORT_RECORD

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """After so many bytes; at the end of all where nothing tells how many."""
        content = self.content(data)
        length = self.known_length(content)
        if length is not None and length <= len(content):
            return length
        return len(content) if at_end else None

    def droppable(self, data: Buffer) -> int:
        """All in front of the trailer, once what tells how long a record is was seen."""
        content = self.content(data)
        is_told = self.is_lost or self.is_untold(content) or self.known_length(content) is not None
        return len(content) if is_told else 0

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        """After what is dropped only the length that it told, if it told one, tells where another record is."""
        length, dropped = self.known_length(self.content(data)), self.droppable(data)
        if not dropped:
            return 0, self
        rest = 0 if length is None else length - dropped
        return dropped, replace(self, is_lost=length is None, rest_bytes=rest)


@dataclass(frozen=True, slots=True)
class MeasuredRecords(SizedRecords):
    """Base of records whose first bytes say how long they are."""

    @property
    def head_bytes(self) -> int:
        """How many bytes of a record tell its length."""
        return HEADER_BYTES

    @abstractmethod
    def length(self, head: bytes) -> int | None:
        """Bytes of a record with what is in front of it; ``None`` if its first bytes say none."""

    def known_length(self, content: memoryview) -> int | None:
        if self.rest_bytes:
            return self.rest_bytes
        if self.is_lost or len(content) < self.head_bytes:
            return None
        return self.length(bytes(content[: self.head_bytes]))

    def is_untold(self, content: memoryview) -> bool:
        return len(content) >= self.head_bytes and self.known_length(content) is None


@dataclass(frozen=True, slots=True)
class HeaderRecords(MeasuredRecords):
    r"""Records with four bytes in front that say how long they are: two of a number, and two of zeros.

    A record begins with its header.

    Args:
        big_endian: Whether the number comes first, from the highest byte on; else it comes last, from the lowest on.
            ``None`` for either: the zeros tell.
        adjustment: How many bytes a record has more than that number says.

    Example:
        >>> frames = HeaderRecords().frame(b"\0\2\0\0ab\0\1\0\0c\0\0\0\0d", at_end=True)
        >>> frames.starts.tolist(), frames.malformed
        ([0, 6, 11], {2: 'bad-record-header'})
    """

    big_endian: bool | None = None
    adjustment: int = 0

    def records_spelled(self) -> dict[str, Any]:
        return {"headers": {"big_endian": self.big_endian, "adjustment": self.adjustment}}

    def length(self, head: bytes) -> int | None:
        number = _number(head, self.big_endian)
        length = None if number is None else number + self.adjustment
        return None if length is None or length < 0 else length + HEADER_BYTES


@dataclass(frozen=True, slots=True)
class FieldRecords(MeasuredRecords):
    """Records that say in an item how long they are.

    Args:
        field: The item, and how it is read.
        lengths: Bytes of a record by the text of the item; ``_`` for all other texts. Empty for a number of bytes.
        factor: What that number is multiplied by.
        adjustment: How many bytes a record has more, those in front of its items and after them included.
    """

    field: Segments | None = None
    lengths: tuple[tuple[str, int], ...] = ()
    factor: int = 1
    adjustment: int = 0

    def records_spelled(self) -> dict[str, Any]:
        names = ("lengths", "factor", "adjustment")
        return {"field": {"field": self._field.spelled(), **{name: getattr(self, name) for name in names}}}

    @property
    def _field(self) -> Segments:
        if self.field is None:
            raise InvariantError("an item says how long records are")
        return self.field

    @property
    def head_bytes(self) -> int:
        return self._field.stop

    def length(self, head: bytes) -> int | None:
        key = self._field.key(head)
        if self.lengths:
            lengths = dict(self.lengths)
            number = lengths.get(key or "_", lengths.get("_"))
        else:
            number = int(key) if key is not None and re.fullmatch("[0-9]{1,9}", key) else None
        length = None if number is None else number * self.factor + self.adjustment
        return None if length is None or length < self.head_bytes else length


@dataclass(frozen=True, slots=True)
class ShiftedRecords(SizedRecords):
    """Records whose lists have only the items that there are.

    Args:
        pieces: What a record is made of.
        before: Bytes in front of that.
        after: Bytes after it.
    """

    pieces: Pieces = ()
    notation: Notation | None = None
    before: int = 0
    after: int = 0

    def records_spelled(self) -> dict[str, Any]:
        own = {"before": self.before, "after": self.after, "pieces": spelled_pieces(self.pieces)}
        return {"shifted": {**own, "notation": None if self.notation is None else self.notation.spelled()}}

    def _expanded(self, content: memoryview) -> Expanded:
        if self.notation is None:
            raise InvariantError("a notation says how many items lists have")
        return expand(self.pieces, self.notation, content[self.before :])

    def known_length(self, content: memoryview) -> int | None:
        if self.is_lost or self.rest_bytes:
            return self.rest_bytes or None
        used = self._expanded(content).used if len(content) >= self.before else None
        return None if used is None else self.before + used + self.after

    def is_untold(self, content: memoryview) -> bool:
        return not self.is_lost and self._expanded(content).is_uncounted


def _number(header: bytes, big_endian: bool | None) -> int | None:
    """The number of a header; ``None`` if it has none of that byte order, which ``None`` leaves open."""
    high, low = int.from_bytes(header[:2], "big"), int.from_bytes(header[2:4], "little")
    if (high and low) or not (high or low) or big_endian is (not high):
        return None
    return high or low


@dataclass(frozen=True, slots=True)
class BlockedRecords(HeaderRecords):
    r"""Such records in blocks, each with four bytes in front that say how long it is.

    The first bit of a number of 31 bits is 1. A block that begins in a range is its own, with all of its records. In a
    block whose records do not fill it, what follows them is one record that is flagged; so is the rest of a file where
    a block should begin and does not. Where a file ends between the records of a block, one without a byte is flagged
    there, with how many bytes are missing. So the record before it is complete only once it is known what follows.

    Args:
        blocks_big_endian: As *big_endian*. Where that is not told, numbers of 31 bits come from the highest byte on.
        blocks_adjustment: How many bytes a block has more than its number says.
        left_bytes: How many bytes of the block at hand are still to come; 0 in front of one.

    Example:
        >>> frames = BlockedRecords().frame(b"\0\x0a\0\0" b"\0\1\0\0a" b"\0\1\0\0b" b"\0\5\0\0", at_end=False)
        >>> frames.starts.tolist(), frames.next_start
        ([4, 9], 14)
    """

    blocks_big_endian: bool | None = None
    blocks_adjustment: int = 0
    left_bytes: int = 0

    def records_spelled(self) -> dict[str, Any]:
        blocks = {"big_endian": self.blocks_big_endian, "adjustment": self.blocks_adjustment}
        return {"blocks": [HeaderRecords.records_spelled(self)["headers"], blocks]}

    def _block_length(self, header: bytes) -> int | None:
        """Bytes after the header of a block; ``None`` if that says none."""
        is_long = header[0] >= 0x80 if self.blocks_big_endian is not False else header[3] >= 0x80
        if is_long:
            order: Any = "little" if self.blocks_big_endian is False else "big"
            number: int | None = int.from_bytes(header[:4], order) & 0x7FFFFFFF
        else:
            number = _number(header, self.blocks_big_endian)
            number = None if number is not None and number >= 0x8000 else number
        length = None if number is None else number + self.blocks_adjustment
        return None if length is None or length < 0 else length

    @property
    def group_head_bytes(self) -> int:
        return HEADER_BYTES + self.trailer

    def group_bytes(self, head: bytes) -> int:
        if len(head) < self.group_head_bytes:
            return LOST if len(head) > self.trailer else 0
        length = self._block_length(head)
        return LOST if length is None else HEADER_BYTES + length

    def after(self, passed: Buffer) -> Self:
        data, left = memoryview(passed), self.left_bytes
        while len(data) > left:
            header, data = bytes(data[left : left + HEADER_BYTES]), data[left + HEADER_BYTES :]
            length = self._block_length(header) if len(header) == HEADER_BYTES else None
            left = LOST if length is None else length
        return replace(self, left_bytes=left - len(data))

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        """The records of one block."""
        size, start, left = len(content), 0, self.left_bytes
        if left == 0:
            header = bytes(content[:HEADER_BYTES])
            length = self._block_length(header) if size >= HEADER_BYTES else None
            if length is None:
                if at_end and size:
                    yield 0, size, size, BAD_RECORD_HEADER if size >= HEADER_BYTES else SHORT_RECORD
                return
            start, left = HEADER_BYTES, length
        end = start + left
        while start < min(end, size):
            length = self._length_in_block(content[start:end], end - start)
            stop = end if length is None else start + length
            is_bad = length is None and (size - start >= HEADER_BYTES or end - start < HEADER_BYTES)
            if stop > size or (length is None and not is_bad):
                if at_end:
                    yield start, size, size, BAD_RECORD_HEADER if is_bad else SHORT_RECORD
                return
            if stop == size < end and not at_end:
                return
            yield start, stop, stop, BAD_RECORD_HEADER if is_bad else None
            start = stop
        if at_end and 0 < start < end:
            yield size, size, size, f"{SHORT_RECORD} {end - size}"

    def _length_in_block(self, content: memoryview, left: int) -> int | None:
        length = self.known_length(content)
        return None if length is None or length > left else length

    def gap_in_front(self, content: memoryview) -> int:
        if self.left_bytes or len(content) < HEADER_BYTES:
            return 0
        length = self._block_length(bytes(content[:HEADER_BYTES]))
        return 0 if length is None or (length and len(content) == HEADER_BYTES) else HEADER_BYTES

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """Nothing: a range begins in front of a block; at the end of the file, the trailer."""
        if self.content(data) or not self.trailer:
            return 0
        return len(data) if at_end else Need.AFTER

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        content = self.content(data)
        left = self.left_bytes
        length = self._length_in_block(content[:left], left) if left else None
        stop = length or left or LOST
        return stop if stop <= len(content) else len(content) if at_end else None

    def droppable(self, data: Buffer) -> int:
        content = self.content(data)
        is_open = len(content) < HEADER_BYTES and not self.is_lost
        has_length = self.left_bytes > 0 and self._length_in_block(content, self.left_bytes) is not None
        return 0 if is_open or has_length else min(len(content), self.left_bytes or LOST)

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        dropped = self.droppable(data)
        left = self.left_bytes - dropped if self.left_bytes else LOST
        return dropped, replace(self, is_lost=True, left_bytes=left) if dropped else self
