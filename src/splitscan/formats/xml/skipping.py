"""Gets past what is too long, or never ends, in an XML file: in the state in which it is, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

from splitscan.formats.framing.frames import Buffer
from splitscan.formats.xml.grammar import INSIDE, NAME_START, TEXT, Kind, Place
from splitscan.formats.xml.scanner import Scanner
from splitscan.formats.xml.symbols import Symbols


@dataclass(frozen=True, slots=True)
class XmlSkipping:
    """What goes on after the bytes that were dropped.

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
        found = self._go(data)[0]
        if found is not None:
            return found * self.symbols.encoding.unit_bytes
        return len(data) if at_end else None

    def drop(self, data: Buffer) -> tuple[int, XmlSkipping]:
        """All but the beginning of what may end it."""
        _, scanner, in_record = self._go(data)
        if scanner is None or not scanner.tail:
            return 0, self
        rest = XmlSkipping(self.symbols, scanner.place or TEXT, in_record)
        return scanner.tail * self.symbols.encoding.unit_bytes, rest

    def never_ends(self, data: Buffer) -> bool:
        """Whether it is still open after *data*."""
        return self._go(data)[0] is None

    def _go(self, data: Buffer) -> tuple[int | None, Scanner | None, bool]:
        """Where reading goes on; how the data was gone through, unless it is too short to begin; and whether in a
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
    """What begins with the first symbol, where that begins, and whether it is a record; ``None`` if that is open."""
    mark = symbols.marks.text.match(text)
    kind = None if mark is None else mark.lastgroup
    if mark is not None and kind == "inside":
        return INSIDE[mark[0]], mark.end(), False
    if mark is not None and kind == "declaration":
        return Place(Kind.DECLARATION), mark.end(), False
    if mark is not None and kind == "open":
        return Place(Kind.ROW), mark.end(), True
    if text.startswith(symbols.marks.closing[:-1]):
        return Place(Kind.CLOSING), len(symbols.marks.closing) - 1, True
    if kind == "undecided" or not text:
        return None
    return (Place(Kind.TAG) if NAME_START.match(text, 1) else TEXT), 1, False
