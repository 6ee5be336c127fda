"""Finds XML records by searching for marks: never byte by byte."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from splitscan.formats.xml.grammar import END_OF, INSIDE, TEXT, Kind, Marks, Place, Tags


@dataclass(slots=True)
class Scanner:
    """Goes through bytes.

    Args:
        marks: Of the row tag, in the encoding of the bytes.
        data: The bytes.
        depth: How many row tags are open where they begin.
        skips: Whether tags outside of records are given up.

    Attributes:
        starts: Of the records that begin.
        stops: After each record that ends.
        depth: How many row tags are open at the end.
        place: What the end is in; ``None`` where only what follows tells.
        tail: Where the same place is known without what is before; a mark that is not decided begins there.
        next_start: Where the record that is not complete begins, or else what may be a mark; all before is dealt with.
    """

    marks: Marks
    data: bytes
    depth: int = 0
    skips: bool = False
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    place: Place | None = TEXT
    tail: int = 0
    next_start: int = 0

    @property
    def is_between(self) -> bool:
        """Whether the end is outside of records and of marks."""
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
        if place.kind is Kind.CLOSING:
            return self._leave_closing(position, position)
        if not place.quote:
            return self._leave_tag(place.kind, position, before)
        return self._leave_value(place, position)

    def _open(self, at: int) -> None:
        if not self.depth:
            self.starts.append(at)
        self.depth += 1

    def _close(self, at: int, behind: int) -> int:
        if not self.depth:
            self._open(at)
        self.depth -= 1
        if not self.depth:
            self.stops.append(behind)
        return behind

    def _after(self, kind: str | None, at: int, behind: int) -> int | None:
        """Where what a mark begins ends; ``None`` if that is not known."""
        if kind == "close":
            return self._close(at, behind)
        if kind == "open":
            self._open(at)
            return self._leave_tag(Kind.ROW, behind)
        if kind == "inside":
            return self._leave_inside(INSIDE[self.data[at:behind]], behind)
        if kind == "undecided":
            name = at + len(self.marks.closing) - 1
            if behind > name and self.data.startswith(self.marks.closing[:-1], at):
                return self._leave_closing(at, name)
            self._ends_in(None, at)
            return None
        return self._leave_tag(Kind.DECLARATION, behind) if kind == "declaration" else self._leave_tag(Kind.TAG, at + 1)

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
            self._ends_in(Place(Kind.CLOSING), end)
            return None
        return self._close(at, end + 1) if last == b">" else end

    @property
    def _tags(self) -> Tags:
        if self.depth:
            return self.marks.inside
        return self.marks.skipped if self.skips else self.marks.outside

    def _leave_tag(self, kind: Kind, begin: int, before: bytes = b"") -> int | None:
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
        if last == b">" and kind is Kind.ROW and (self.data[begin:end] or before)[-1:] == b"/":
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
