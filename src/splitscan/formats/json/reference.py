"""The definition of JSON framing: a state machine that takes one byte at a time."""

from __future__ import annotations

import copy
import enum
from array import array

import numpy as np

from splitscan.formats.framing.encodings import LF
from splitscan.formats.framing.frames import Buffer, Frames, Offsets, Passed, PassingFinder
from splitscan.formats.json.outside import COLON, Outside
from splitscan.formats.json.paths import (
    BACKSLASH,
    BEFORE_BRACE,
    BLANKS,
    BRACE,
    BRACKET,
    CLOSERS,
    END_OF_ARRAY,
    OPENERS,
    QUOTE,
    SPACE,
    RecordPath,
)

_SEPARATORS = frozenset(b" \t\r\n,\x1e")  # 0x1e begins a record in JSON text sequences (RFC 7464)


class JsonShape(enum.Enum):
    """Shape of a file, by its head."""

    UNKNOWN = "not read yet"
    VALUES = "values one after the other, divided by nothing, white space or commas"
    ARRAY = "one array, whose elements are the records"
    BELOW = "documents with arrays below a path, whose elements are the records"
    NOWHERE = "documents without any: what is left of them is one record, and is wrong"


def separators(shape: JsonShape) -> frozenset[int]:
    """Bytes between records that belong to none."""
    return _SEPARATORS | frozenset(b"]") if shape is JsonShape.ARRAY else _SEPARATORS


def ends_loose(shape: JsonShape) -> frozenset[int]:
    """Bytes outside of strings that end a loose record."""
    below = frozenset(b"]") if shape is JsonShape.BELOW else frozenset()
    return (separators(shape) - frozenset(BLANKS)) | OPENERS | below


def state_of(depth: int, *, in_string: bool) -> int:
    """The number by which summaries know a state; 0 is "between records"."""
    return 2 * depth + int(in_string)


LOOSE_STATE = -1
"""The state inside a loose record, or outside of the arrays below a path, for which no summary has an answer."""


class JsonState(enum.Enum):
    """State of the machine between two bytes."""

    BETWEEN = "outside of all records"
    LOOSE = "in a scalar or garbage"
    LOOSE_STRING = "in a string at depth 0"
    VALUE = "inside brackets, outside of strings"
    STRING = "inside brackets, in a string"
    OUTSIDE = "after the end of an array below a path, and before the next one begins"


class JsonReferenceFramer:
    """Byte-at-a-time framer. Slow; everything else is compared with it.

    Args:
        shape: Of the file.
        path: To the arrays, if records are the elements of arrays below one. Then reading can begin again at three
            kinds of bytes: at an element or what separates two of them, at the bracket that ends an array, and at a
            colon, which no element begins with. The value after it is at the path, and is no array, or an array before
            which the file is damaged; such a colon begins a record that is wrong.
    """

    def __init__(self, shape: JsonShape, path: RecordPath | None = None) -> None:
        self._path = path if shape is JsonShape.BELOW else None
        self._outside: Outside | None = None  # None also right after a colon that begins a record
        self._is_wrong = False  # a colon began what is outside
        self.boundary: int | None = None  # where reading went on after what it began with
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
        if self.state in {JsonState.LOOSE, JsonState.LOOSE_STRING, JsonState.OUTSIDE} or (
            self.state is JsonState.VALUE and self._before is None
        ):
            return LOOSE_STATE
        return state_of(self._depth, in_string=self.state is JsonState.STRING)

    @property
    def is_in_record(self) -> bool:
        """True if a record has begun, perhaps with a colon outside of the arrays."""
        return self.state is not JsonState.BETWEEN and (self.state is not JsonState.OUTSIDE or self._is_wrong)

    @property
    def kept_bytes(self) -> int:
        """How many of the last bytes outside of the arrays may begin what reading goes on with."""
        if self.state is not JsonState.OUTSIDE:
            return 0
        if self._outside is None:
            return self._position - self._start
        return len(self._outside.kept or b"")

    @property
    def is_open(self) -> bool:
        """True if the file is cut off, or damaged, if it ends here."""
        place = None if self._outside is None else self._outside.place
        return self.state is not JsonState.OUTSIDE or place is None or not place.is_outside or place.is_damaged

    def rebase(self) -> None:
        """Count positions from here on."""
        self._position = 0

    @property
    def next_start(self) -> int:
        """Start of the next record, if there is one: all before it is dealt with."""
        return self._position if self.state is JsonState.BETWEEN else self._start

    def push(self, byte: int) -> None:
        if self.state is JsonState.LOOSE and byte in self._ends_loose:
            self._emit(self._content_stop, self._position)
        if self.state is JsonState.OUTSIDE or (
            self.state is JsonState.BETWEEN and self._path is not None and byte in (END_OF_ARRAY, COLON)
        ):
            self._take_around(byte)
            return
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
        outside = self._outside
        if self.state in {JsonState.VALUE, JsonState.STRING}:
            self.unfinished = self._start
        elif self.state is JsonState.OUTSIDE and outside is not None and not self._is_wrong:
            if not outside.place.is_outside:
                self.unfinished = self._start
            elif outside.place.is_damaged:
                self._emit(self._content_stop, self._position)
            else:
                self.state = JsonState.BETWEEN
        elif self.state is not JsonState.BETWEEN:
            self._emit(self._content_stop, self._position)

    def _take_around(self, byte: int) -> None:
        """A byte outside of the arrays, from the bracket that ends one on, or from a colon."""
        path, begins = self._path, self.state is JsonState.BETWEEN
        self._position += 1
        if path is None:
            return
        if byte not in SPACE and not (self._is_wrong and self._outside is not None and not begins):
            self._content_stop = self._position
        if begins:
            self._begin_around(byte, path)
            return
        if self._outside is None:
            if byte in SPACE:
                return
            if byte == BRACKET:
                self._emit(self._content_stop, self._position)
                return
            self._outside = Outside.before_value(path)
        back = self._outside.push(byte)
        if back is not None:
            self._end_around(back)

    def _begin_around(self, byte: int, path: RecordPath) -> None:
        self._start = self._position - 1
        self.state = JsonState.OUTSIDE
        self._is_wrong = byte == COLON
        self._outside = None if self._is_wrong else Outside.after_array(path)
        self._escaped = False

    def _end_around(self, back: int) -> None:
        """Reading begins again so many bytes before this one's end."""
        again = b"" if not back or self._outside is None else bytes(self._outside.kept or b"")
        if self._is_wrong:
            self._emit(self._content_stop, self._position - back)
        else:
            self.state = JsonState.BETWEEN
            self._go_on_at(self._position - back)
        self._position -= back
        for byte in again:
            self.push(byte)

    def _take_in_string(self, byte: int, is_quote: bool) -> None:
        in_value = self.state is JsonState.STRING
        if byte == LF:
            self._before = None
            if in_value:
                self.state = JsonState.VALUE
            else:
                self._emit(self._content_stop, self._position)
        else:
            if is_quote:
                self.state = JsonState.VALUE if in_value else JsonState.LOOSE
            self._see(byte)

    def _take_in_value(self, byte: int, is_quote: bool) -> None:
        if byte == BRACE and self._before not in BEFORE_BRACE:
            self._emit(self._content_stop, self._position)
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
            self._emit(self._position + 1, self._position + 1)

    def _take_outside(self, byte: int, is_quote: bool) -> None:
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

    def _go_on_at(self, position: int) -> None:
        if self.boundary is None:
            self.boundary = position

    def _emit(self, stop: int, position: int) -> None:
        self.records.append((self._start, stop))
        self._go_on_at(position)
        self._depth = 0
        self.state = JsonState.BETWEEN


class JsonReferenceFraming(PassingFinder):
    """Finds records by the state machine: right, and slow.

    Args:
        shape: Of the file.
        path: To the arrays, if records are below one.
    """

    def __init__(self, shape: JsonShape, path: RecordPath | None = None) -> None:
        self._shape = shape
        self._path = path

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        machine = self._run(data)
        if at_end:
            machine.finish()
        starts, stops = np.array(machine.records, dtype=np.int64).reshape(-1, 2).T.copy()
        return Frames(starts, stops, machine.next_start)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | None:
        """How many bytes at the front of *data* belong to no record, of a file with a path."""
        machine = self._machine()
        for byte in bytes(data):
            machine.push(byte)
            if machine.records or machine.is_in_record:
                return machine.records[0][0] if machine.records else machine.next_start
        if not at_end:
            return None
        machine.finish()
        return machine.records[0][0] if machine.records else machine.next_start

    def pass_over(self, data: Buffer, past: object) -> Passed:
        """Go past what *data* begins with, or goes on with after bytes that were passed."""
        machine, resume = self._run_from(past, data)
        if resume is not None:
            return Passed(resume, resume, past, False)
        done = len(data) - machine.kept_bytes
        if done < len(data):  # what is kept begins again with the next bytes
            machine, _ = self._run_from(past, memoryview(data)[:done])
        return Passed(None, done, machine if done else past, machine.is_open or done < len(data))

    def _run_from(self, past: object, data: Buffer) -> tuple[JsonReferenceFramer, int | None]:
        machine = copy.deepcopy(past) if isinstance(past, JsonReferenceFramer) else self._machine()
        machine.rebase()
        for byte in bytes(data):
            machine.push(byte)
            if machine.boundary is not None:
                break
        return machine, machine.boundary

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

    def state_after(self, data: Buffer) -> int:
        """The state after *data*."""
        return self._run(data).summary_state

    def _machine(self) -> JsonReferenceFramer:
        return JsonReferenceFramer(self._shape, self._path)

    def _run(self, data: Buffer) -> JsonReferenceFramer:
        machine = self._machine()
        for byte in bytes(data):
            machine.push(byte)
        return machine
