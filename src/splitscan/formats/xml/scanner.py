"""Finds XML records by searching for marks, never byte by byte; gets past what is too long; summarises pieces."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace

from splitscan.formats.framing.frames import Buffer, Run, Summary
from splitscan.formats.xml.grammar import (
    END_OF,
    INSIDE,
    NAME_START,
    PLACES,
    TEXT,
    Marks,
    MarkupKind,
    Place,
    Symbols,
    Tags,
)


@dataclass(slots=True)
class Scanner:
    """Goes through bytes.

    Args:
        marks: Of the row tag, in the encoding of the bytes.
        data: The bytes.
        depth: How many row tags are open where they begin.
        skips: Whether tags outside of records are given up.
        longest: How many symbols are not long.

    Attributes:
        starts: Of the records that begin.
        stops: After each record that ends.
        opened: The row tags that are open at the end, of those that were met.
        long: The row tags whose elements are longer than *longest*.
        depth: How many row tags are open at the end.
        place: What the end is in; ``None`` where only what follows tells.
        tail: Where the same place is known without what is before; a mark that is not decided begins there.
        next_start: Where the record that is not complete begins, or else what may be a mark; all before is dealt with.
    """

    marks: Marks
    data: bytes
    depth: int = 0
    skips: bool = False
    longest: int = sys.maxsize
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    opened: array[int] = field(default_factory=lambda: array("q"))
    long: list[int] = field(default_factory=list)
    place: Place | None = TEXT
    tail: int = 0
    next_start: int = 0

    @property
    def is_between(self) -> bool:
        """True if the end is outside of records and of marks."""
        return self.place == TEXT and not self.depth

    def run(self, position: int = 0, *, to_first: bool = False, until: Container[int] = ()) -> int | None:
        """Go on from a position outside of all marks.

        Args:
            position: Where to begin.
            to_first: Whether to stop before the first row tag.
            until: Where to stop outside of records.

        Returns:
            Where it stopped; ``None`` at the end.
        """
        search = self.marks.text.search
        while (mark := search(self.data, position)) is not None:
            kind, at = mark.lastgroup, mark.start()
            if to_first and kind in {"open", "close"}:
                return at
            after = self._after(kind, at, mark.end())
            if after is None:
                self.next_start = self.starts[-1] if self.depth and self.starts else at
                return None
            if after in until and not self.depth:
                return after
            position = after
        self.place, self.tail = TEXT, len(self.data)
        self.next_start = self.starts[-1] if self.depth and self.starts else len(self.data)
        return None

    def leave(self, place: Place, position: int = 0, before: bytes = b"") -> int | None:
        """Go to the end of what a position is in.

        Args:
            place: What it is in.
            position: The position.
            before: Bytes before it, all of the same comment, instruction, CDATA or tag.

        Returns:
            The first position outside of it; ``None`` if the data ends before.
        """
        if place == TEXT:
            return position
        if place in END_OF:
            return self._leave_inside(place, position, before)
        if place.kind is MarkupKind.CLOSING:
            return self._leave_closing(position, position)
        if not place.quote:
            return self._leave_tag(place.kind, position, before)
        return self._leave_value(place, position)

    def _open(self, at: int) -> None:
        if not self.depth:
            self.starts.append(at)
        self.depth += 1
        self.opened.append(at)

    def _close(self, at: int, behind: int) -> int:
        if not self.depth:
            self._open(at)
        self.depth -= 1
        if self.opened and behind - (begun := self.opened.pop()) > self.longest:
            self.long.append(begun)
        if not self.depth:
            self.stops.append(behind)
        return behind

    def _after(self, kind: str | None, at: int, behind: int) -> int | None:
        """End of what a mark begins; ``None`` if that is not known."""
        if kind == "close":
            return self._close(at, behind)
        if kind == "open":
            self._open(at)
            return self._leave_tag(MarkupKind.ROW, behind)
        if kind == "inside":
            return self._leave_inside(INSIDE[self.data[at:behind]], behind)
        if kind == "undecided":
            name = at + len(self.marks.closing) - 1
            if behind > name and self.data.startswith(self.marks.closing[:-1], at):
                return self._leave_closing(at, name)
            self._ends_in(None, at)
            return None
        return (
            self._leave_tag(MarkupKind.DECLARATION, behind)
            if kind == "declaration"
            else self._leave_tag(MarkupKind.TAG, at + 1)
        )

    def _leave_inside(self, place: Place, position: int, before: bytes = b"") -> int | None:
        end = END_OF[place]
        known = before[1 - len(end) :]
        around = (known + self.data[position : position + len(end)]).find(end)
        if around >= 0:
            return position + around - len(known) + len(end)
        found = self.data.find(end, position)
        if found < 0:
            self._ends_in(place, max(position, len(self.data) + 1 - len(end)))
            return None
        return found + len(end)

    def _leave_closing(self, at: int, begin: int) -> int | None:
        space = self.marks.white.match(self.data, begin)
        end = begin if space is None else space.end()
        last = self.data[end : end + 1]
        if not last:
            self._ends_in(Place(MarkupKind.CLOSING), end)
            return None
        return self._close(at, end + 1) if last == b">" else end

    @property
    def _tags(self) -> Tags:
        if self.depth:
            return self.marks.inside
        return self.marks.skipped if self.skips else self.marks.outside

    def _leave_tag(self, kind: MarkupKind, begin: int, before: bytes = b"") -> int | None:
        matched = self._tags.rest(kind).match(self.data, begin)
        end = begin if matched is None else matched.end()
        last = self.data[end : end + 1]
        if last in {b'"', b"'"}:  # nobody closes it here
            return self._leave_value(Place(kind, last), end + 1)
        if not last:
            self._ends_in(Place(kind), max(begin, end - (self.data[end - 1 : end] == b"/")))
            return None
        if last == b"<":
            return end
        if last == b">" and kind is MarkupKind.ROW and (self.data[begin:end] or before)[-1:] == b"/":
            return self._close(begin, end + 1)
        return end + 1

    def _leave_value(self, place: Place, begin: int) -> int | None:
        matched = self._tags.quoted[place.quote].match(self.data, begin)
        end = begin if matched is None else matched.end()
        last = self.data[end : end + 1]
        if last == b"<":
            return end
        if last:
            return self._leave_tag(place.kind, end + 1)
        mark = self.data.find(b"<", max(begin, end - self.marks.longest - 1))
        self._ends_in(place, end if mark < 0 else mark)
        return None

    def _ends_in(self, place: Place | None, tail: int) -> None:
        self.place, self.tail = place, tail


_FIRST_LOOK_BYTES = 4096


def looks(data: Buffer) -> Iterator[Buffer]:
    """The beginnings of *data* to look at: each four times as long as the one before, the last one is all."""
    shown = _FIRST_LOOK_BYTES
    while shown < len(data):
        yield memoryview(data)[:shown]
        shown *= 4
    yield data


@dataclass(frozen=True, slots=True)
class XmlSkipping:
    """State after bytes that were dropped.

    Args:
        symbols: Of the file.
        place: What the first byte is in; ``None`` where nothing was dropped: a record or a mark begins there.
        in_record: Whether that is in a record.
    """

    symbols: Symbols
    place: Place | None = None
    in_record: bool = False

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """After the record or the mark, or where it is broken off by another row tag."""
        found = self._end(data)
        if found is not None:
            return found * self.symbols.encoding.unit_bytes
        return len(data) if at_end else None

    def droppable(self, data: Buffer) -> int:
        return self.drop(data)[0]

    def drop(self, data: Buffer) -> tuple[int, XmlSkipping]:
        """All but the beginning of what may end it, and what goes on after that."""
        _, scanner, in_record = self._go(data)
        if scanner is None or not scanner.tail:
            return 0, self
        rest = XmlSkipping(self.symbols, scanner.place or TEXT, in_record)
        return scanner.tail * self.symbols.encoding.unit_bytes, rest

    def never_ends(self, data: Buffer) -> bool:
        return self._end(data) is None

    def _end(self, data: Buffer) -> int | None:
        """Offset at which reading continues, by a look at no more than a few times what is before that."""
        found = (self._go(shown)[0] for shown in looks(data))
        return next((end for end in found if end is not None), None)

    def _go(self, data: Buffer) -> tuple[int | None, Scanner | None, bool]:
        """Offset to continue at; how the data was gone through, unless it is too short to begin; and whether in a
        record.
        """  # noqa: D205 - the sentence is one
        text = self.symbols.of(data)
        if self.place is None:
            begun = _begin(self.symbols, text)
            if begun is None:
                return None, None, False
            place, position, in_record = begun
        else:
            place, position, in_record = self.place, 0, self.in_record
        scanner = Scanner(self.symbols.marks, text, depth=int(in_record), skips=True)
        left = scanner.leave(place, position)
        if left is None or not in_record or scanner.stops:
            return left, scanner, in_record
        row = scanner.run(left, to_first=True)
        if row is None:
            return None, scanner, True
        closing = text.startswith(b"</", row)
        return (text.index(b">", row) + 1 if closing else row), scanner, True


def _begin(symbols: Symbols, text: bytes) -> tuple[Place, int, bool] | None:
    """Markup of the first symbol, where that begins, and whether it is a record; ``None`` if that is open."""
    mark = symbols.marks.text.match(text)
    kind = None if mark is None else mark.lastgroup
    if mark is not None and kind == "inside":
        return INSIDE[mark[0]], mark.end(), False
    if mark is not None and kind == "declaration":
        return Place(MarkupKind.DECLARATION), mark.end(), False
    if mark is not None and kind == "open":
        return Place(MarkupKind.ROW), mark.end(), True
    if text.startswith(symbols.marks.closing[:-1]):
        return Place(MarkupKind.CLOSING), len(symbols.marks.closing) - 1, True
    if kind == "undecided" or not text:
        return None
    return (Place(MarkupKind.TAG) if NAME_START.match(text, 1) else TEXT), 1, False


UNKNOWN_STATE = -1
"""No summary has an answer for it."""

_DEEPEST = 2  # row tags inside each other for which summaries have answers
_IN_RECORDS = {MarkupKind.ROW, MarkupKind.CLOSING}  # outside of records, where such a tag begins is no longer known
_MOST_BEFORE = 4  # units of the beginning of what ends a comment and the like


def state_of(scanner: Scanner) -> int:
    """The number of the place and depth that a scanner has come to; 0 is outside of everything."""
    if scanner.place is None or not _has_answer(scanner.place, scanner.depth):
        return UNKNOWN_STATE
    return PLACES.index(scanner.place) + len(PLACES) * scanner.depth


def _has_answer(place: Place, depth: int) -> bool:
    return depth <= _DEEPEST and (depth > 0 or place.kind not in _IN_RECORDS)


def summarise(symbols: Symbols, data: Buffer, before: bytes, mark: int) -> Summary:
    """Go through *data* from every place and depth."""
    width = symbols.encoding.unit_bytes
    piece = _Piece(symbols, symbols.of(data), symbols.of(before[-_MOST_BEFORE * width :]), -(-mark // width))
    runs = (piece.run(place, depth) for depth in range(_DEEPEST + 1) for place in PLACES)
    return Summary(len(data), tuple(None if run is None else _in_bytes(run, width) for run in runs))


class _Piece:
    """The way through a piece from outside of everything; every other way ends where it meets that one."""

    def __init__(self, symbols: Symbols, text: bytes, before: bytes, mark: int) -> None:
        self._before = before
        self._mark = mark
        self._main = Scanner(symbols.marks, text)
        self._main.run()
        self._begun = {stop: count for count, stop in enumerate(self._main.stops, start=1)}

    def run(self, place: Place, depth: int) -> Run | None:
        """Effect of the piece on a parser in one place."""
        if not _has_answer(place, depth):
            return None
        scanner = Scanner(self._main.marks, self._main.data, depth=depth)
        position = scanner.leave(place, 0, self._before)
        if position is not None and (scanner.depth or position not in self._begun):
            position = scanner.run(position, until=self._begun)
        if position is None:
            return self._joined(scanner, scanner.starts, len(self._main.starts), depth)
        return self._joined(self._main, scanner.starts, self._begun[position], depth)

    def _joined(self, end: Scanner, own: list[int], begun: int, depth: int) -> Run | None:
        """The records that one way has, and those of the main one but for the first *begun*."""
        if end.place == Place(MarkupKind.CLOSING) and not end.depth:
            return None  # a record begins with this tag if nothing but white space follows in it
        main = self._main.starts
        count = len(own) + len(main) - begun
        state = state_of(end)
        if not count:
            return Run(state, None, None, None, 0, is_gap=not depth and not end.depth and state != UNKNOWN_STATE)
        first = own[0] if own else main[begun]
        last = main[-1] if begun < len(main) else own[-1]
        place = bisect_left(own, self._mark)
        marked = own[place] if place < len(own) else None
        if marked is None and (place := bisect_left(main, self._mark, begun)) < len(main):
            marked = main[place]
        return Run(state, first, last, marked, count)


def _in_bytes(run: Run, width: int) -> Run:
    if width == 1:
        return run
    first, last, marked = (None if each is None else each * width for each in (run.first, run.last, run.marked))
    return replace(run, first=first, last=last, marked=marked)
