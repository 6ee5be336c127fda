"""The definition of JSON framing: a state machine that takes one byte at a time."""

from __future__ import annotations

import enum
from array import array

import numpy as np
import numpy.typing as npt

from splitscan.formats.framing.encodings import LF
from splitscan.formats.framing.frames import Buffer, CountedRecords, Frames, Offsets, Summary

UNFINISHED_RECORD = "unfinished-record"

QUOTE, BACKSLASH, BRACE = (ord(symbol) for symbol in '"\\{')
OPENERS = frozenset(b"{[")
CLOSERS = frozenset(b"}]")
SPACE = frozenset(b" \t\r\n")
BLANKS = b" \t"
BEFORE_BRACE = frozenset(b"[,:")
"""What may stand before an opening brace inside a value."""

_SEPARATORS = frozenset(b" \t\r\n,\x1e")  # 0x1e begins a record in JSON text sequences (RFC 7464)


class JsonShape(enum.Enum):
    """Shape of a file, by its head."""

    UNKNOWN = "not read yet"
    VALUES = "values one after the other, divided by nothing, white space or commas"
    ARRAY = "one array, whose elements are the records"


def separators(shape: JsonShape) -> frozenset[int]:
    """Bytes between records that belong to none."""
    return _SEPARATORS | frozenset(b"]") if shape is JsonShape.ARRAY else _SEPARATORS


def ends_loose(shape: JsonShape) -> frozenset[int]:
    """Bytes outside of strings that end a loose record."""
    return (separators(shape) - frozenset(BLANKS)) | OPENERS


def table(members: frozenset[int]) -> npt.NDArray[np.bool_]:
    """Membership of every byte, as an array to index with bytes."""
    found = np.zeros(256, dtype=bool)
    found[sorted(members)] = True
    return found


def state_of(depth: int, *, in_string: bool) -> int:
    """The number by which summaries know a state; 0 is "between records"."""
    return 2 * depth + int(in_string)


LOOSE_STATE = -1
"""The state inside a loose record, for which no summary has an answer."""


class JsonState(enum.Enum):
    """State of the machine between two bytes."""

    BETWEEN = "outside of all records"
    LOOSE = "in a scalar or garbage"
    LOOSE_STRING = "in a string at depth 0"
    VALUE = "inside brackets, outside of strings"
    STRING = "inside brackets, in a string"


class JsonReferenceFramer:
    """Byte-at-a-time framer. Slow; everything else is compared with it."""

    def __init__(self, shape: JsonShape) -> None:
        self._separators = separators(shape)
        self._ends_loose = ends_loose(shape)
        self.records: list[tuple[int, int]] = []  # content ranges of those known so far
        self.unfinished: int | None = None  # start of a tail whose brackets never close
        self._position = 0
        self._start = 0
        self._depth = 0
        self._escaped = False  # an odd number of backslashes lies right before this byte
        self._before: int | None = None  # the last byte that is no white space; None after a broken string
        self._content_stop = 0  # after the last byte of the record that is no white space
        self.state = JsonState.BETWEEN

    @property
    def summary_state(self) -> int:
        """The state as a summary knows it."""
        if self.state in {JsonState.LOOSE, JsonState.LOOSE_STRING} or (
            self.state is JsonState.VALUE and self._before is None
        ):
            return LOOSE_STATE
        return state_of(self._depth, in_string=self.state is JsonState.STRING)

    @property
    def next_start(self) -> int:
        """Start of the next record, if there is one: all before it is dealt with."""
        return self._position if self.state is JsonState.BETWEEN else self._start

    def push(self, byte: int) -> None:
        is_quote = byte == QUOTE and not self._escaped
        if self.state in {JsonState.STRING, JsonState.LOOSE_STRING}:
            self._take_in_string(byte, is_quote)
        elif self.state is JsonState.VALUE:
            self._take_in_value(byte, is_quote)
        else:
            self._take_outside(byte, is_quote)
        self._escaped = byte == BACKSLASH and not self._escaped
        self._position += 1

    def finish(self) -> None:
        """End of the stream: brackets must be closed."""
        if self.state in {JsonState.VALUE, JsonState.STRING}:
            self.unfinished = self._start
        elif self.state is not JsonState.BETWEEN:
            self._emit(self._content_stop)

    def _take_in_string(self, byte: int, is_quote: bool) -> None:
        in_value = self.state is JsonState.STRING
        if byte == LF:
            self._before = None
            if in_value:
                self.state = JsonState.VALUE
            else:
                self._emit(self._content_stop)
        else:
            if is_quote:
                self.state = JsonState.VALUE if in_value else JsonState.LOOSE
            self._see(byte)

    def _take_in_value(self, byte: int, is_quote: bool) -> None:
        if byte == BRACE and self._before not in BEFORE_BRACE:
            self._emit(self._content_stop)
            self._open(byte)
            return
        if is_quote:
            self.state = JsonState.STRING
        elif byte in OPENERS:
            self._depth += 1
        elif byte in CLOSERS:
            self._depth -= 1
        self._see(byte)
        if self._depth == 0:
            self._emit(self._position + 1)

    def _take_outside(self, byte: int, is_quote: bool) -> None:
        if self.state is JsonState.LOOSE and byte in self._ends_loose:
            self._emit(self._content_stop)
        if byte in OPENERS:
            self._open(byte)
            return
        if self.state is JsonState.BETWEEN:
            if byte in self._separators:
                return
            self._start = self._position
        self.state = JsonState.LOOSE_STRING if is_quote else JsonState.LOOSE
        self._see(byte)

    def _open(self, byte: int) -> None:
        self.state = JsonState.VALUE
        self._start = self._position
        self._depth = 1
        self._see(byte)

    def _see(self, byte: int) -> None:
        if byte not in (SPACE if self.state in {JsonState.VALUE, JsonState.STRING} else BLANKS):
            self._before = byte
            self._content_stop = self._position + 1

    def _emit(self, stop: int) -> None:
        self.records.append((self._start, stop))
        self._depth = 0
        self.state = JsonState.BETWEEN


class JsonReferenceFraming:
    """Finds records by the state machine: right, and slow.

    Args:
        shape: Of the file.
    """

    def __init__(self, shape: JsonShape) -> None:
        self._shape = shape

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        machine = self._run(data)
        if at_end:
            machine.finish()
        starts, stops = np.array(machine.records, dtype=np.int64).reshape(-1, 2).T.copy()
        return Frames(starts, stops, machine.next_start)

    def count(self, data: Buffer) -> CountedRecords:
        frames = self.frame(data, at_end=False)
        return CountedRecords(len(frames), frames.next_start)

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets:
        opened, found = array("q"), array("q")
        in_string = escaped = False
        before, stop = None, 0
        for at, byte in enumerate(bytes(data)):
            is_quote = byte == QUOTE and not escaped
            escaped = byte == BACKSLASH and not escaped
            if in_string:
                in_string = not is_quote and byte != LF
                if byte == LF:
                    before = None
                    continue
            elif byte in OPENERS:
                if byte == BRACE and before not in BEFORE_BRACE:
                    found.extend(start for start in opened if stop - start > longest_bytes)
                    del opened[:]
                opened.append(at)
            elif byte in CLOSERS:
                if opened and at + 1 - (start := opened.pop()) > longest_bytes:
                    found.append(start)
            else:
                in_string = is_quote
            if byte not in SPACE:
                before, stop = byte, at + 1
        return np.sort(np.array([*found, *opened], dtype=np.int64))

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Nothing: one state after the other takes too long, so whoever composes reads instead."""
        del before, after, mark
        return Summary(len(data), ())

    def state_after(self, data: Buffer) -> int:
        """The state after *data*."""
        return self._run(data).summary_state

    def _run(self, data: Buffer) -> JsonReferenceFramer:
        machine = JsonReferenceFramer(self._shape)
        for byte in bytes(data):
            machine.push(byte)
        return machine
