"""Finds XML records by searching for marks: never byte by byte."""

from __future__ import annotations

from dataclasses import dataclass, field

from splitscan.formats.xml.grammar import ENDS, Marks, marks_of


@dataclass(slots=True)
class Scanner:
    """Goes through bytes that begin outside of all records.

    Args:
        tag: The row tag, in the encoding of the file.
        data: The bytes.

    Attributes:
        starts: Of the complete records.
        stops: Behind each of them.
        depth: How many row tags are open at the end.
        next_start: Where the record that is not complete begins, or else what may be a mark; all before is dealt with.
        is_between: Whether the end is outside of records and of marks.
    """

    tag: bytes
    data: bytes
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    depth: int = 0
    next_start: int = 0
    is_between: bool = False
    _marks: Marks = field(init=False)
    _start: int = 0

    def __post_init__(self) -> None:
        self._marks = marks_of(self.tag)

    def run(self, *, to_first: bool = False) -> int | None:
        """Go to the end.

        Args:
            to_first: Whether to stop at the first record instead.

        Returns:
            Where that begins; ``None`` without one.
        """
        data, position = self.data, 0
        search = self._marks.text.search
        while (mark := search(data, position)) is not None:
            kind, at, behind = mark.lastgroup, mark.start(), mark.end()
            if to_first and self.starts_record(kind):
                return at
            if kind == "close":
                position = self._close(at, behind)
                continue
            if kind == "open":
                self._open(at)
            after = self._end_of(kind, at, behind)
            if after is None:
                self.next_start = self._start if self.depth else at
                return None
            position = after
        self.is_between = not self.depth
        self.next_start = self._start if self.depth else len(data)
        return None

    @staticmethod
    def starts_record(kind: str | None) -> bool:
        """Whether such a mark outside of records begins one."""
        return kind in {"open", "close"}

    def _open(self, at: int) -> None:
        if not self.depth:
            self._start = at
        self.depth += 1

    def _close(self, at: int, behind: int) -> int:
        if not self.depth:
            self._open(at)
        self.depth -= 1
        if not self.depth:
            self.starts.append(self._start)
            self.stops.append(behind)
        return behind

    def _end_of(self, kind: str | None, at: int, behind: int) -> int | None:
        """Where what a mark begins ends; ``None`` if that is not known."""
        if kind == "undecided":
            return None
        if kind == "inside":
            end = ENDS[self.data[at:behind]]
            found = self.data.find(end, behind)
            return None if found < 0 else found + len(end)
        return self._end_of_tag(kind, at, behind)

    def _end_of_tag(self, kind: str | None, at: int, behind: int) -> int | None:
        marks = self._marks
        if kind == "declaration":
            rest, begin = (marks.declaration_inside if self.depth else marks.declaration), behind
        else:
            rest, begin = (marks.inside if self.depth else marks.outside), (behind if kind == "open" else at + 1)
        matched = rest.match(self.data, begin)
        end = begin if matched is None else matched.end()
        last = self.data[end : end + 1]
        if last in {b'"', b"'"}:  # nobody closes it
            closing = self.data.find(marks.closing, end) if self.depth else -1
            return None if closing < 0 else closing
        if last == b">" and kind == "open" and self.data[end - 1 : end] == b"/":
            return self._close(at, end + 1)
        if not last:
            return None
        return end if last == b"<" else end + 1
