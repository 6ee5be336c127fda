"""The definition of XML framing: a state machine that takes one symbol at a time.

Outside of comments, CDATA, processing instructions and tags, an opening row tag begins a record, and the closing row
tag that matches it ends it; row tags inside are counted. A tag ends at ``>`` or, broken, before ``<``. A value in
quotes may hold both. Inside a record it ends at the closing row tag too, so that a quote that nobody closes costs one
record. A closing row tag that no opening one belongs to is a record that a decoder refuses. A declaration that opens a
bracket (the internal subset of a DOCTYPE) ends there: what it declares is read as further declarations.

What is too long is skipped in the same states, however long it is. A record that is given up ends at its closing row
tag or before the next opening one; a tag or declaration between records, which may lack a quote, ends before the next
opening row tag, in a value too. A comment, CDATA or processing instruction that nobody closes lasts to the end of the
file.
"""

from __future__ import annotations

import copy
import enum
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from splitscan.errors import UsageError
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import (
    Buffer,
    Frames,
    Offsets,
    Passed,
    PassingFinder,
    as_units,
)

SPACE = b" \t\r\n"
COMMENT, CDATA, INSTRUCTION, DECLARATION = b"<!--", b"<![CDATA[", b"<?", b"<!"
NAME_START = re.compile(rb"[A-Za-z_:\x80-\xff]")

_MARKS = b"<>!?-[]/\"'"
_OTHER = 0x80  # any unit beyond ASCII that the row tag does not have
_MOST_OWN = 0xFF - _OTHER
_LOOK_BYTES = 4096  # whole units


@dataclass(frozen=True)
class Symbols:
    r"""How the units of an encoding are written as bytes: ASCII as it is, and what else the row tag has.

    Raises:
        UsageError: If marks may be part of characters of the encoding, or the row tag cannot be written.

    Example:
        >>> from splitscan.formats.framing.encodings import UTF_16_LE
        >>> symbols_of("r", UTF_16_LE).of("<r>é".encode("utf-16-le"))
        b'<r>\x80'
    """

    row_tag: str
    encoding: Encoding

    def __post_init__(self) -> None:
        if not all(self.encoding.tells_apart(bytes([mark])) for mark in _MARKS):
            raise UsageError(
                "XML is read in encodings whose characters beyond ASCII hold no mark of XML",
                seen=f"encoding={self.encoding.name}",
                fix="convert the file to UTF-8",
                code="bad-option",
            )
        if len(self._own) > _MOST_OWN:
            raise UsageError(
                f"option rowTag has at most {_MOST_OWN} different characters beyond ASCII in {self.encoding.name}",
                seen=f"{len(self._own)} of them",
                fix="convert the file to UTF-8",
                code="bad-option",
            )

    @cached_property
    def longest_mark(self) -> int:
        """Symbols of the longest mark, but for white space in a closing row tag."""
        return max(len(CDATA), len(self.tag) + len("</"))

    @cached_property
    def tag(self) -> bytes:
        """The row tag in symbols."""
        return self.of(self.written_tag)

    @cached_property
    def written_tag(self) -> bytes:
        """The row tag as files have it."""
        return self.encoding.encode(self.row_tag)

    def of(self, data: Buffer) -> bytes:
        """The symbols of whole units; a part of one at the end is left out."""
        encoding = self.encoding
        if encoding.unit_bytes == 1:
            return bytes(data)
        units = as_units(data, encoding.unit_bytes, encoding.big_endian)
        symbols: npt.NDArray[np.uint8] = np.minimum(units, _OTHER).astype(np.uint8)
        for index, unit in enumerate(self._own, start=_OTHER + 1):
            symbols[units == unit] = index
        return symbols.tobytes()

    def each(self, data: Buffer) -> Iterator[int]:
        """The symbols one by one: of no more than are asked for."""
        for start in range(0, len(data), _LOOK_BYTES):
            yield from self.of(memoryview(data)[start : start + _LOOK_BYTES])

    @cached_property
    def _own(self) -> tuple[int, ...]:
        """Units beyond ASCII that the row tag has."""
        if self.encoding.unit_bytes == 1:
            return ()
        units = self.encoding.units(self.written_tag)
        return tuple(sorted({unit for unit in units if unit >= _OTHER}))


@lru_cache(maxsize=64)
def symbols_of(row_tag: str, encoding: Encoding) -> Symbols:
    """The symbols of files in one encoding."""
    return Symbols(row_tag, encoding)


class XmlPlace(enum.Enum):
    """Markup around a position."""

    TEXT = "outside of all marks"
    COMMENT = "in a comment"
    CDATA = "in CDATA"
    INSTRUCTION = "in a processing instruction"
    CLOSING = "in a closing row tag, after its name"
    ROW = "in an opening row tag"
    TAG = "in another tag"
    DECLARATION = "in a declaration"


_INSIDE = {COMMENT: XmlPlace.COMMENT, CDATA: XmlPlace.CDATA, INSTRUCTION: XmlPlace.INSTRUCTION}
_ENDS = {XmlPlace.COMMENT: b"-->", XmlPlace.CDATA: b"]]>", XmlPlace.INSTRUCTION: b"?>"}
_BRACKET, _CLOSE, _SUBSET = b"<>["
_QUOTES = b"\"'"


class XmlReferenceFramer:
    """Symbol-at-a-time framer. Slow; the kernel is compared with it.

    Args:
        symbols: Of the row tag.
        gives_up: Whether it goes past what it begins with, a record or a mark: up to :attr:`boundary`.
        longest: How many symbols are not long.

    Attributes:
        starts: Of the records that begin, in symbols.
        stops: After each record that ends.
        opened: The row tags that are open, of those that were met.
        long: The row tags whose elements are longer than *longest*.
        place: Markup around the position.
        quote: The quote of the value around the position; 0 outside of values.
        depth: How many row tags are open.
        boundary: Where reading goes on after what is given up.
        unfinished: Start of a tail that never ends.
    """

    def __init__(self, symbols: Symbols, *, gives_up: bool = False, longest: int = sys.maxsize) -> None:
        self._symbols = symbols
        self._width = symbols.encoding.unit_bytes
        self._open_mark, self._close_mark = b"<" + symbols.tag, b"</" + symbols.tag
        self._marks = (COMMENT, CDATA, INSTRUCTION, self._open_mark, self._close_mark)
        self._gives_up = gives_up
        self._longest = longest
        self._partial = b""  # bytes of a unit that is not complete
        self._position = 0
        self._mark = b""  # what may be a mark, in text or in a value
        self._at = 0  # where the last mark began
        self._last = b""  # symbols of the place right before the position
        self.starts: list[int] = []
        self.stops: list[int] = []
        self.opened: list[int] = []
        self.long: list[int] = []
        self.place = XmlPlace.TEXT
        self.quote = 0
        self.depth = 0
        self.boundary: int | None = None
        self.unfinished: int | None = None

    @property
    def records(self) -> list[tuple[int, int]]:
        return [(start * self._width, stop * self._width) for start, stop in zip(self.starts, self.stops, strict=False)]

    @property
    def is_in_mark(self) -> bool:
        """True if only what follows tells what the last symbols are."""
        return bool(self._mark)

    @property
    def is_between(self) -> bool:
        """True outside of records and of marks."""
        return self.place is XmlPlace.TEXT and not self.depth and not self._mark

    @property
    def next_start(self) -> int:
        """Start in bytes of the record that is not complete, or else of the mark; all before it is dealt with."""
        if self.depth and self.starts:
            return self.starts[-1] * self._width
        return (self._position if self.is_between else self._at) * self._width

    @property
    def done_bytes(self) -> int:
        """Number of bytes that are done with: all but what may be a mark."""
        return (self._at if self._mark else self._position) * self._width

    def push(self, byte: int) -> None:
        self._partial += bytes([byte])
        if symbol := self._symbols.of(self._partial):
            self._partial = b""
            self.take(symbol[0])

    def finish(self) -> None:
        self.unfinished = None if self.is_between else self.next_start

    def take(self, symbol: int) -> None:
        """Take the next symbol."""
        if self._mark:
            self._mark += bytes((symbol,))
            if self.quote:
                self._decide_in_value(symbol)
            else:
                self._decide(symbol)
        else:
            self._take(symbol)
        self._position += 1

    def rebase(self) -> None:
        """Count positions from where all before is done with: what may be a mark is to be taken again."""
        self.starts, self.stops, self.opened, self.long = [], [], [], []
        self._position, self._mark = 0, b""

    def _take(self, symbol: int) -> None:
        place = self.place
        if self.quote:
            self._take_in_value(symbol)
        elif place is XmlPlace.TEXT:
            if symbol == _BRACKET:
                self._mark, self._at = b"<", self._position
            elif self._gives_up and not self.depth:
                self._leave(self._position + 1)
        elif place in _ENDS:
            self._last = self._last[-2:] + bytes((symbol,))
            if self._last.endswith(_ENDS[place]):
                self._leave(self._position + 1)
        elif place is not XmlPlace.CLOSING:
            self._take_in_tag(symbol)
        elif symbol == _CLOSE:
            self._close()
        elif symbol not in SPACE:
            self._leave(self._position)
            self._take(symbol)

    def _decide(self, symbol: int) -> None:
        """Begin what the symbols since the last bracket begin, if they tell."""
        mark = self._mark
        if mark in _INSIDE:
            self._enter(_INSIDE[mark], len(mark))
        elif mark == self._close_mark:
            self.depth += self._gives_up and not self.depth
            self._enter(XmlPlace.CLOSING, len(mark))
        elif mark[:-1] == self._open_mark and symbol in SPACE + b"/>":
            if self._gives_up and self.depth:
                self._mark, self.boundary = b"", self._at
                return
            self._open()
            self._enter(XmlPlace.ROW, len(mark) - 1)
        elif any(each.startswith(mark) for each in self._marks):
            return
        elif mark.startswith(DECLARATION):
            self._enter(XmlPlace.DECLARATION, len(DECLARATION))
        elif NAME_START.match(mark, 1):
            self._enter(XmlPlace.TAG, 1)
        else:
            self._leave(self._at + 1)
            self._enter(XmlPlace.TEXT, 1)

    def _enter(self, place: XmlPlace, length: int) -> None:
        """Begin a place after so many symbols of the mark, and take the others in it."""
        rest, self._mark, self._last, self.place = self._mark[length:], b"", b"", place
        for position, symbol in enumerate(rest, self._at + length):
            self._position = position
            self._take(symbol)

    def _take_in_tag(self, symbol: int) -> None:
        if symbol == _BRACKET:
            self._leave(self._position)
            self._take(symbol)
        elif symbol == _CLOSE and self.place is XmlPlace.ROW and self._last == b"/":
            self._close()
        elif symbol == _CLOSE or (symbol == _SUBSET and self.place is XmlPlace.DECLARATION):
            self._leave(self._position + 1)
        else:
            self.quote = symbol if symbol in _QUOTES else 0
            self._last = bytes((symbol,))

    def _take_in_value(self, symbol: int) -> None:
        if symbol == self.quote:
            self.quote = 0
            self._last = b""
        elif symbol == _BRACKET and (self.depth or self._gives_up):
            self._mark, self._at = b"<", self._position

    def _decide_in_value(self, symbol: int) -> None:
        """End the value before a row tag: in a record the closing one, else an opening one."""
        seen = self._mark
        if (self._close_mark if self.depth else self._open_mark).startswith(seen):
            return
        self._mark = b""
        if self.depth and seen == self._close_mark + b">":
            self._close()
        elif not self.depth and seen[:-1] == self._open_mark and symbol in SPACE + b"/>":
            self._leave(self._at)
        else:
            self._take(symbol)

    def _open(self) -> None:
        if not self.depth:
            self.starts.append(self._at)
        self.depth += 1
        self.opened.append(self._at)

    def _close(self) -> None:
        stop = self._position + 1
        if not self.depth:
            self._open()
        self.depth -= 1
        if self.opened and stop - (start := self.opened.pop()) > self._longest:
            self.long.append(start)
        if not self.depth:
            self.stops.append(stop)
        self._leave(stop)

    def _leave(self, position: int) -> None:
        self.place, self.quote, self._last = XmlPlace.TEXT, 0, b""
        if not self.depth and self.boundary is None:
            self.boundary = position


class XmlReferenceFraming(PassingFinder):
    """Finds records by the state machine: right, and slow."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._width = symbols.encoding.unit_bytes

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        machine = self._run(data)
        starts, stops = (np.array(found, dtype=np.int64) * self._width for found in (machine.starts, machine.stops))
        next_start = len(data) if at_end and machine.is_between else machine.next_start
        return Frames(starts[: len(stops)], stops, next_start)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | None:
        machine = XmlReferenceFramer(self._symbols)
        for symbol in self._symbols.each(data):
            machine.take(symbol)
            if machine.starts:
                return machine.starts[0] * self._width
        if not at_end:
            return None
        return len(data) if machine.is_between else machine.next_start

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        machine = self._run(data, longest_bytes // self._width)
        found = np.array(sorted([*machine.long, *machine.opened]), dtype=np.int64) * self._width
        return found if len(found) and not found[0] else None

    def pass_over(self, data: Buffer, past: object) -> Passed:
        begun = past if isinstance(past, XmlReferenceFramer) else XmlReferenceFramer(self._symbols, gives_up=True)
        machine = copy.copy(begun)
        machine.rebase()
        for symbol in self._symbols.each(data):
            machine.take(symbol)
            if machine.boundary is not None:
                resume = machine.boundary * self._width
                return Passed(resume, resume, past, False)
        return Passed(None, machine.done_bytes, machine, True)

    def is_between(self, data: Buffer) -> bool:
        """True if what follows *data* is outside of records and of marks."""
        return self._run(data).is_between

    def _run(self, data: Buffer, longest: int = sys.maxsize) -> XmlReferenceFramer:
        machine = XmlReferenceFramer(self._symbols, longest=longest)
        for symbol in self._symbols.each(data):
            machine.take(symbol)
        return machine
