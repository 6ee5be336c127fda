"""The definition of XML framing: a state machine that takes one byte at a time."""

from __future__ import annotations

import enum

from splitscan.formats.xml.grammar import CDATA, COMMENT, DECLARATION, ENDS, INSTRUCTION, NAME_START, SPACE, Symbols


class XmlState(enum.Enum):
    """State of the machine between two bytes."""

    TEXT = "outside of all marks"
    MARK = "in what may be a mark"
    INSIDE = "in a comment, CDATA or a processing instruction"
    TAG = "in a tag, outside of quotes"
    QUOTED = "in a tag, in quotes"


class XmlReferenceFramer:
    """Byte-at-a-time framer. Slow; the scanner is compared with it."""

    def __init__(self, symbols: Symbols) -> None:
        self._open, self._close = b"<" + symbols.tag, b"</" + symbols.tag
        self._symbols = symbols
        self._partial = b""  # bytes of a unit that is not complete
        self._records: list[tuple[int, int]] = []
        self._unfinished: int | None = None
        self._position = 0
        self._state = XmlState.TEXT
        self._seen = b""  # of the mark, of what is inside, or of the tag
        self._kind = b""  # what began it
        self._at = 0  # where the mark began
        self._start = 0
        self._depth = 0

    @property
    def records(self) -> list[tuple[int, int]]:
        width = self._symbols.encoding.unit_bytes
        return [(start * width, stop * width) for start, stop in self._records]

    @property
    def unfinished(self) -> int | None:
        return None if self._unfinished is None else self._unfinished * self._symbols.encoding.unit_bytes

    def push(self, byte: int) -> None:
        self._partial += bytes([byte])
        symbol = self._symbols.of(self._partial)
        if symbol:
            self._partial = b""
            self._take(symbol)
            self._position += 1

    def finish(self) -> None:
        if self._depth:
            self._unfinished = self._start
        elif self._state is not XmlState.TEXT:
            self._unfinished = self._at

    def _take(self, byte: bytes) -> None:
        if self._state is XmlState.INSIDE:
            self._seen += byte
            if self._seen.endswith(ENDS[self._kind]):
                self._state = XmlState.TEXT
        elif self._state is XmlState.TAG:
            self._take_in_tag(byte)
        elif self._state is XmlState.QUOTED:
            self._take_in_quotes(byte)
        elif byte == b"<":
            self._state, self._seen, self._at = XmlState.MARK, byte, self._position
        elif self._state is XmlState.MARK:
            self._take_in_mark(byte)

    def _take_in_mark(self, byte: bytes) -> None:
        self._seen += byte
        seen = self._seen
        if seen in ENDS:
            self._state, self._kind, self._seen = XmlState.INSIDE, seen, b""
        elif seen.rstrip(SPACE + b">") == self._close and byte in SPACE + b">":
            if byte == b">":
                self._end_row(self._position + 1)
        elif seen[:-1] == self._open and byte in SPACE + b"/>":
            self._begin_row()
            self._begin_tag(self._open, byte)
        elif any(mark.startswith(seen) for mark in (COMMENT, CDATA, INSTRUCTION, self._open, self._close)):
            return
        elif seen.startswith(DECLARATION):
            self._begin_tag(DECLARATION, seen[2:])
        elif NAME_START.match(seen, 1):
            self._begin_tag(b"<", seen[1:])
        else:
            self._state = XmlState.TEXT

    def _begin_tag(self, kind: bytes, rest: bytes) -> None:
        self._state, self._kind, self._seen = XmlState.TAG, kind, b""
        for byte in rest:
            self._take(bytes([byte]))

    def _take_in_tag(self, byte: bytes) -> None:
        if byte == b"<":
            self._state, self._seen, self._at = XmlState.MARK, byte, self._position
        elif byte == b">":
            self._state = XmlState.TEXT
            if self._kind == self._open and self._seen == b"/":
                self._end_row(self._position + 1)
        elif byte == b"[" and self._kind == DECLARATION:
            self._state = XmlState.TEXT
        elif byte in b"\"'":
            self._state, self._seen = XmlState.QUOTED, byte
        else:
            self._seen = byte

    def _take_in_quotes(self, byte: bytes) -> None:
        self._seen += byte
        if byte == self._seen[:1]:
            self._state, self._seen = XmlState.TAG, byte
        elif self._depth and self._seen.endswith(self._close + b">"):
            self._end_row(self._position + 1)

    def _begin_row(self) -> None:
        if not self._depth:
            self._start = self._at
        self._depth += 1

    def _end_row(self, stop: int) -> None:
        self._state = XmlState.TEXT
        if not self._depth:
            self._begin_row()
        self._depth -= 1
        if not self._depth:
            self._records.append((self._start, stop))
