"""Members of the documents around the arrays below a path, as columns of the records in those arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from splitscan.errors import RecordError, Where
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Buffer, Frames
from splitscan.formats.json.paths import (
    BACKSLASH,
    BEFORE_BRACE,
    BRACE,
    END_OF_ARRAY,
    OPENERS,
    QUOTE,
    EnvelopeColumn,
    RecordPath,
    level_of,
    unescape,
)

LONGEST_VALUE_BYTES = 64 * 1024
MOST_VALUES_BYTES = 64 * 1024 * 1024
MOST_ARRAYS = 1_000_000
_LONGEST_NAME_BYTES = 64 * 1024


@dataclass
class _Wanted:
    """A member that is a column, or holds others that are.

    Attributes:
        columns: Numbers of the columns that it is; none if it only holds others.
        all: Numbers of these columns and those in it.
    """

    columns: list[int] = field(default_factory=list)
    inner: dict[str, _Wanted] = field(default_factory=dict)
    all: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Container:
    """An open container whose members or elements matter.

    Attributes:
        level: Its number on the path; 0 if it is not on it.
        names: Members that are wanted.
        values: Of the columns that belong to the container of the path it is in, by number.
        first: Number of the first array in it.
        value: Bytes of the member that is being read, if that is a column.
    """

    level: int
    is_object: bool
    names: Mapping[str, _Wanted]
    values: dict[int, bytes]
    first: int
    has_value: bool = False
    key: str | None = None
    member: _Wanted | None = None
    is_next: bool = False
    value: bytearray | None = None


_IN_STRING = re.compile(rb'[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+')
_ANY_MARK = re.compile(rb'["{}\[\],:]')
_BRACKET = re.compile(rb'["{}\[\]]')
_WHITE = b" \t\r\n"
_BETWEEN = b" \t\r\n,\x1e"
_AROUND = np.frombuffer(b"]:", np.uint8)


class JsonEnvelope:
    """Reads what lies around the arrays below a path: all bytes of a file but those of the records.

    It takes what is there as the framer does: strings end with their line, and a brace where no value begins starts
    another document. What a document lacks, or is cut off in, is null.

    """

    def __init__(self, path: RecordPath, columns: tuple[EnvelopeColumn, ...], encoding: Encoding) -> None:
        self._path, self._columns, self._encoding = path, columns, encoding
        self._wanted: dict[int, dict[str, _Wanted]] = {}
        for number, column in enumerate(columns):
            level = level_of(column.steps, path) or 0
            names = self._wanted.setdefault(level, {})
            for step in column.steps[level - 1 :]:
                member = names.setdefault(str(step), _Wanted())
                member.all.append(number)
                names = member.inner
            member.columns.append(number)
        self.starts: list[int] = []
        self.values: list[tuple[str | None, ...]] = []
        self._found: list[list[bytes | None]] = []  # of every start
        self._has_news = True  # since records began
        self._stack: list[_Container] = []
        self._depth = 0  # of open containers that do not matter, in the last that does
        self._in_string = False
        self._name: bytearray | None = None  # of the string that is being read, if it may be a name
        self._last = 0  # the last byte that is no white space
        self._kept = b""  # a backslash whose next byte is not there yet
        self._copied = 0  # up to where bytes of columns were taken
        self._bytes = 0

    def begin_records(self, offset: int) -> None:
        if not self._has_news:
            return
        self._has_news = False
        self.starts.append(offset)
        self._found.append([None] * len(self._columns))
        if len(self.starts) > MOST_ARRAYS:
            raise _too_many(f"more than {MOST_ARRAYS:,} arrays")

    def take_records(self, data: Buffer, frames: Frames, offset: int) -> int:
        symbols = np.frombuffer(data, np.uint8)
        starts, stops = frames.starts, frames.stops.copy()
        around = np.flatnonzero(np.isin(symbols[starts], _AROUND))
        stops[around] = starts[around]
        ends = np.flatnonzero(symbols == END_OF_ARRAY)
        after = starts.searchsorted(ends, "right")
        gaps = after[(after > 0) & (ends >= stops[after - 1])]
        for number in np.union1d(gaps, around + 1).tolist():
            if number < len(starts):
                self.feed(bytes(data[stops[number - 1] : starts[number]]))
                self.begin_records(offset + int(starts[number]))
        return offset + int(stops[-1])

    def is_around(self, record: bytes) -> bool:
        return record[:1] in (b"]", b":")

    def feed(self, data: Buffer) -> None:
        data = self._kept + bytes(data)
        self._has_news = self._has_news or bool(data.strip(_BETWEEN))
        self._kept, self._copied = b"", 0
        at, size = 0, len(data)
        while at < size:
            at = self._go_through_string(data, at) if self._in_string else self._go_on(data, at)
        self._copy(data, size - len(self._kept))

    def finish(self) -> None:
        """End of the file: a value that is open may be cut off."""
        self._leave_document()
        text = self._encoding.text
        starts, self.starts = self.starts, []
        for start, found in zip(starts, self._found, strict=True):
            values = tuple(None if value is None else text(value) for value in found)
            if not self.values or values != self.values[-1]:
                self.starts.append(start)
                self.values.append(values)

    # ------------------------------------------------------------------ bytes

    def _go_through_string(self, data: bytes, at: int) -> int:
        found = _IN_STRING.match(data, at)
        stop = at if found is None else found.end()
        if self._name is not None and len(self._name) <= _LONGEST_NAME_BYTES:
            self._name += data[at:stop]
        if stop == len(data):
            return stop
        if data[stop] == BACKSLASH:
            if stop + 1 == len(data):
                self._kept = data[stop:]
                return stop + 1
            stop += 1  # a line feed comes next, whose backslash saves nothing
        self._in_string = False
        if self._name is not None and self._stack:
            self._stack[-1].key = unescape(self._encoding.text(bytes(self._name))) if data[stop] == QUOTE else None
        self._name = None
        return stop + 1

    def _go_on(self, data: bytes, at: int) -> int:
        found = (_BRACKET if self._depth else _ANY_MARK).search(data, at)
        stop = len(data) if found is None else found.start()
        between = data[at:stop].rstrip(_WHITE)
        top = self._stack[-1] if self._stack and not self._depth else None
        if between:
            self._last = between[-1]
            if top is not None and not top.has_value and between.strip(_WHITE):
                top.key = None
        if found is None:
            return stop
        mark = data[stop]
        before, self._last = self._last, mark
        if mark == BRACE and before not in BEFORE_BRACE and (self._stack or self._depth):
            self._leave_document()
            top = None
        if mark == QUOTE:
            self._in_string = True
            if top is not None and top.is_object and not top.has_value:
                self._name = bytearray()
        elif self._depth:
            self._depth += 1 if mark in OPENERS else -1
        elif mark in OPENERS:
            self._open(mark, top)
        elif top is not None:
            self._take_mark(mark, top, data, stop)
        return stop + 1

    def _take_mark(self, mark: int, top: _Container, data: bytes, at: int) -> None:
        if mark == _COLON:
            if top.is_object and not top.has_value:
                self._begin_value(top, data, at + 1)
        elif mark == _COMMA:
            self._end_value(top, data, at)
            top.has_value = False
        else:
            self._end_value(top, data, at)
            self._stack.pop()
            self._settle(top)
            if self._stack:
                self._stack[-1].has_value = True

    def _copy(self, data: bytes, stop: int) -> None:
        """Give the columns that are being read the bytes up to here."""
        for each in self._stack:
            if each.value is not None:
                each.value += data[self._copied : stop]
                if len(each.value) > LONGEST_VALUE_BYTES:
                    self._bound(each, each.value.lstrip(_WHITE))
        self._copied = stop

    # ----------------------------------------------------------------- values

    def _begin_value(self, top: _Container, data: bytes, at: int) -> None:
        top.has_value = True
        top.is_next = bool(top.level) and top.key is not None and top.key == self._path.name_in(top.level)
        top.member = None if top.key is None else top.names.get(top.key)
        top.key = None
        if top.member is None:
            return
        for number in top.member.all:  # of a name that comes twice the last counts
            top.values.pop(number, None)
        if top.member.columns:
            self._copy(data, at)
            top.value = bytearray()

    def _end_value(self, top: _Container, data: bytes, at: int) -> None:
        if top.value is not None and top.member is not None:
            self._copy(data, at)
            value = bytes(top.value).strip(_WHITE)
            top.values.update(dict.fromkeys(top.member.columns, value))
            self._bytes += len(value)
            if self._bytes > MOST_VALUES_BYTES:
                raise _too_many(f"values of more than {MOST_VALUES_BYTES:,} bytes")
        top.key = top.member = top.value = None
        top.is_next = False

    def _open(self, bracket: int, top: _Container | None) -> None:
        level = 0 if top is None else top.level
        is_object = bracket == BRACE
        if top is None or top.is_next or (level and not top.is_object):
            if level < self._path.deepest and self._path.opener_of(level + 1) == bracket:
                names = self._wanted.get(level + 1, {})
                self._stack.append(_Container(level + 1, is_object, names, {}, len(self.starts)))
            else:
                self._depth = 1
        elif top.member is not None and top.member.inner and is_object:
            self._stack.append(_Container(0, is_object, top.member.inner, top.values, len(self.starts)))
        else:
            self._depth = 1
        if top is not None:
            top.is_next = False

    def _settle(self, container: _Container) -> None:
        """Give the arrays in a container that ends its values."""
        if container.level and container.values:
            for number in range(container.first, len(self.starts)):
                for column, value in container.values.items():
                    self._found[number][column] = value

    def _leave_document(self) -> None:
        while self._stack:
            self._settle(self._stack.pop())
        self._depth = 0

    def _bound(self, container: _Container, value: bytearray) -> None:
        """Refuse a value that is too long; of blanks, which may follow it, only as many are kept as would be."""
        container.value = value[: LONGEST_VALUE_BYTES + 1]
        if len(value if self._in_string else value.rstrip(_WHITE)) <= LONGEST_VALUE_BYTES:
            return
        number = container.member.columns[0] if container.member is not None else 0
        raise RecordError(
            f"a value of recordPathColumns has at most {LONGEST_VALUE_BYTES:,} bytes",
            Where(column=self._columns[number].name),
            seen="a longer one",
            fix=f"leave {self._columns[number]} out of recordPathColumns, or name a member of it",
            code=BAD_ENVELOPE,
        )


BAD_ENVELOPE = "bad-envelope"
_COLON, _COMMA = b":,"


def _too_many(seen: str) -> RecordError:
    return RecordError(
        f"the values of recordPathColumns of one file fit into {MOST_VALUES_BYTES:,} bytes, for {MOST_ARRAYS:,} arrays "
        "at most",
        seen=seen,
        fix="leave out recordPathColumns, or divide the file",
        code=BAD_ENVELOPE,
    )
