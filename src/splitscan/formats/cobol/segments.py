"""Finding records of several parts: segments of one, and a root with the records that follow it up to the next root."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from splitscan.errors import InvariantError
from splitscan.formats.cobol.framing import BAD_RECORD_HEADER, CobolRecords
from splitscan.formats.cobol.headers import HEADER_BYTES, HeaderRecords, SizedRecords, WalkedRecords
from splitscan.formats.cobol.nodes import Leaf, SegmentKind
from splitscan.formats.cobol.notation import Notation, Segments
from splitscan.formats.framing.contract import BEFORE_FIRST_RECORD, SHORT_RECORD, Skipping, drop
from splitscan.formats.framing.frames import Buffer

# ---------------------------------------------------------------- segments of a record, each with its length in front


MISSING_SEGMENT = "missing-segment"
"""Reject code of segments that are no record."""

_ONLY, _FIRST, _LAST, _MIDDLE = range(4)
"""Which segment of a record one is: the third byte of its header."""


class Ending(enum.Enum):
    """Knowledge of the end of a record."""

    WHOLE = "whole"
    BROKEN = "broken"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class SpannedRecords(HeaderRecords):
    r"""Records as those of the base, or of segments: a first one, some in the middle, and a last one.

    Such a header has its number first, then which segment it is, and a zero. Segments that do not follow each other
    like this are one record that is flagged: up to the one that has another place, or ends a record.

    Args:
        is_open: Whether segments of a record were dropped, and others may follow.

    Example:
        >>> records = SpannedRecords()
        >>> frames = records.frame(b"\0\1\1\0a" b"\0\1\2\0b" b"\0\1\2\0c", at_end=True)
        >>> frames.starts.tolist(), frames.malformed, records.joined(b"\0\1\1\0a" b"\0\1\2\0b")
        ([0, 10], {1: 'missing-segment'}, b'\x00\x01\x01\x00ab')
    """

    is_open: bool = False

    def records_spelled(self) -> dict[str, Any]:
        return {"spanned": HeaderRecords.records_spelled(self)["headers"]}

    def _segment(self, content: Buffer) -> tuple[int, int] | None:
        """Length of the segment that begins here, and which it is; ``None`` if its header says no length."""
        header = bytes(content[:HEADER_BYTES])
        part = header[2] if any(header[:2]) and header[2] <= _MIDDLE and not header[3] else _ONLY
        length = self.length(header[:2] + bytes(2) if part else header)
        return None if length is None else (length, part)

    def _follow(self, content: Buffer, stop: int) -> tuple[int, Ending]:
        """End of segments that begin after others of a record, as far as they are shown."""
        while stop + HEADER_BYTES <= len(content):
            length, part = self._segment(content[stop : stop + HEADER_BYTES]) or (0, _ONLY)
            if part not in {_LAST, _MIDDLE}:
                return stop, Ending.BROKEN
            stop += length
            if part == _LAST:
                return stop, Ending.WHOLE
        return stop, Ending.OPEN

    def _extent(self, content: Buffer) -> tuple[int, Ending] | None:
        """End of the record at hand, as far as that is told; ``None`` if it is not."""
        if self.is_open:
            return self._follow(content, self.rest_bytes)
        if self.rest_bytes:
            return self.rest_bytes, Ending.WHOLE
        if self.is_lost or len(content) < HEADER_BYTES or (segment := self._segment(content)) is None:
            return None
        length, part = segment
        if part == _ONLY:
            return length, Ending.WHOLE
        if part == _LAST:
            return length, Ending.BROKEN
        stop, ending = self._follow(content, length)
        return stop, Ending.BROKEN if part == _MIDDLE and ending is Ending.WHOLE else ending

    def known_length(self, content: memoryview) -> int | None:
        extent = self._extent(content)
        return None if extent is None or extent[1] is Ending.OPEN else extent[0]

    def is_untold(self, content: memoryview) -> bool:
        return len(content) >= HEADER_BYTES and self._extent(content) is None

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        start, size = 0, len(content)
        while (extent := self._extent(content[start:])) is not None:
            stop, ending = start + extent[0], extent[1]
            if ending is Ending.OPEN or stop > size:
                break
            yield start, stop, stop, MISSING_SEGMENT if ending is Ending.BROKEN else None
            start = stop
        if at_end and start < size:
            yield start, size, size, BAD_RECORD_HEADER if self.is_untold(content[start:]) else SHORT_RECORD

    def droppable(self, data: Buffer) -> int:
        return self.drop(data)[0]

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        """Drop the segments that are shown; all in front of the trailer where nothing tells how long one is."""
        content = self.content(data)
        extent = self._extent(content)
        if extent is None:
            is_lost = self.is_lost or self.is_untold(content)
            return (len(content), replace(self, is_lost=True)) if is_lost else (0, self)
        stop, ending = extent
        dropped = min(stop, len(content))
        return dropped, replace(self, rest_bytes=stop - dropped, is_open=ending is Ending.OPEN) if dropped else self

    def joined(self, record: bytes) -> bytes:
        """A record as one segment: without the headers of all but the first."""
        found = bytearray(record[:HEADER_BYTES])
        start = 0
        while (
            start + HEADER_BYTES <= len(record)
            and (segment := self._segment(record[start : start + HEADER_BYTES])) is not None
        ):
            found += record[start + HEADER_BYTES : start + segment[0]]
            start += segment[0]
        return bytes(found)


# ---------------------------------------------------------------- a root, and the records that belong to it


@dataclass(frozen=True, slots=True)
class RootedRecords(WalkedRecords):
    """A root and all records up to the next root as one record.

    Records in front of the first root of a file are one that is flagged. So is a record at the end of a file that is
    cut off, or has no length: it is no child.

    Args:
        inner: How each of them is found.
        roots: Which are roots.
        seeks_root: Whether bytes of a record were dropped, so that the next root is the next record.
    """

    inner: CobolRecords | None = None
    roots: Segments | None = None
    seeks_root: bool = False

    def spelled(self) -> dict[str, Any]:
        return self._inner.spelled() | {"roots": self._roots.spelled()}

    def records_spelled(self) -> dict[str, Any] | str:
        return self._inner.records_spelled()

    @property
    def _inner(self) -> CobolRecords:
        if self.inner is None:
            raise InvariantError("records are found in some way")
        return self.inner

    @property
    def _roots(self) -> Segments:
        if self.roots is None:
            raise InvariantError("an item says which records are roots")
        return self.roots

    def each(self, content: memoryview, *, at_end: bool) -> Iterator[tuple[int, int, int, str | None]]:
        first: tuple[int, str | None] | None = None
        end = 0
        for start, stop, next_start, code in self._inner.each(content, at_end=at_end):
            is_root = code is None and self._roots.has(bytes(content[start:stop]))
            if first is not None and (is_root or code is not None):
                yield first[0], start, start, first[1]
                first = None
            if code is not None:
                yield start, stop, next_start, code
            elif first is None:
                first = (start, None if is_root else BEFORE_FIRST_RECORD)
            end = next_start
        if first is not None and (at_end or self._begins_root(content[end:])):
            yield first[0], end, end, first[1]

    def _passed(self, content: memoryview, *, at_end: bool) -> tuple[int, int | None]:
        """End of the complete records that belong to the one at hand, and the start of the next root, if it is seen."""
        inner, seeks_root, end = self._inner, self.seeks_root, 0
        if isinstance(inner, SizedRecords) and (inner.rest_bytes or inner.is_lost):
            if inner.is_lost or inner.rest_bytes > len(content):
                return 0, None
            seeks_root, end, inner = True, inner.rest_bytes, replace(inner, rest_bytes=0)
        base = end
        for start, stop, _, code in inner.each(content[base:], at_end=at_end):
            if seeks_root and (code is not None or self._roots.has(bytes(content[base + start : base + stop]))):
                return base + start, base + start
            seeks_root, end = True, base + stop
        return end, end if seeks_root and self._begins_root(content[end:]) else None

    def _begins_root(self, content: memoryview) -> bool:
        """True if what is shown is enough to see that the next record is a root."""
        stop = self._roots.stop
        return len(content) >= stop and self._roots.has(bytes(content[:stop]))

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        content = self.content(data)
        _, root = self._passed(content, at_end=at_end)
        return len(content) if root is None and at_end else root

    def droppable(self, data: Buffer) -> int:
        return self.drop(data)[0]

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        """Drop the complete records in front of the next root; of another all, if its length is known."""
        content, inner = self.content(data), self._inner
        end, root = self._passed(content, at_end=False)
        if end:
            fresh = replace(inner, rest_bytes=0) if isinstance(inner, SizedRecords) else inner
            return end, replace(self, inner=fresh, seeks_root=True)
        is_open = self.seeks_root and len(content) < self._roots.stop
        if root is not None or (is_open and not _is_inside(inner)):
            return 0, self
        dropped, after = drop(inner, data)
        if not dropped or not isinstance(after, CobolRecords):
            return 0, self
        return dropped, replace(self, inner=after, seeks_root=True)


def _is_inside(records: CobolRecords) -> bool:
    """True if the first bytes of a record were dropped."""
    return isinstance(records, SizedRecords) and (records.rest_bytes > 0 or records.is_lost)


class Base(NamedTuple):
    """A record, or an item of a list in it: the places of its items are counted from its start.

    Attributes:
        stop: Where the record ends.
        children: Of a record, by the number of their kind.
    """

    at: int
    stop: int
    children: dict[int, list[Base]]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Which records are children of which.

    A record is the child of the last one before it that is of its parent's kind, if none of a kind above came after.

    Args:
        records: How each of them is found.
        leaf: The item that tells the kind of each.
        segments: The kinds, each after its parent's.
        start: Bytes of each in front of its items.
    """

    records: CobolRecords
    leaf: Leaf
    segments: tuple[SegmentKind, ...]
    start: int

    def spelled(self) -> dict[str, Any]:
        """It, as the kernel is told it."""
        return {"name": self.leaf.name, "segments": [[segment.ids, segment.parent] for segment in self.segments]}

    def tree(self, record: bytes, notation: Notation) -> tuple[Base, list[tuple[int, str, bytes]]]:
        """The root of some records, and those that are no children: number, name and bytes of the item of each."""
        kinds = {each: kind for kind, segment in reversed([*enumerate(self.segments)]) for each in segment.ids}
        open_records: dict[int, Base] = {}
        strangers: list[tuple[int, str, bytes]] = []
        for number, (start, stop, _, _) in enumerate(self.records.each(memoryview(record), at_end=True)):
            at = start + self.start
            base = Base(at, stop, {})
            told = record[at + self.leaf.at : min(at + self.leaf.at + self.leaf.size, stop)]
            kind = kinds.get(notation.key(self.leaf, told) or "", 0)
            if number == 0:
                open_records[0] = base
                continue
            parent = open_records.get(self.segments[kind].parent) if kind else None
            if parent is None:
                strangers.append((number, f"{self.leaf.name}[{number}]", told))
                continue
            parent.children.setdefault(kind, []).append(base)
            open_records[kind] = base
            self._close_below(kind, open_records)
        return open_records[0], strangers

    def _close_below(self, kind: int, open_records: dict[int, Base]) -> None:
        below = {kind}
        for number, segment in enumerate(self.segments):
            if number and segment.parent in below:
                below.add(number)
                open_records.pop(number, None)
