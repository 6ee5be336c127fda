"""The exact JSON framer, one string or bracket at a time, for bytes that break the grammar of JSON.

Regular expressions skip what makes no difference at C speed; nothing here depends on parity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from splitscan.framing.frames import Buffer, Frames
from splitscan.framing.json.grammar import (
    BACKSLASH,
    BEFORE_BRACE,
    BLANKS,
    BRACE,
    LOOSE_STATE,
    OPENERS,
    QUOTE,
    SPACE,
    Shape,
    ends_loose,
    separators,
    state_of,
)

_STRING = re.compile(rb'"(?:[^"\\\n]++|\\[^\n])*+(?:"|\\?(\n))?+')  # a line feed ends it, and is not taken
_STRUCTURAL = re.compile(rb'[{}\[\]"]')


def frame_exactly(data: Buffer, shape: Shape, *, at_end: bool, enough_bytes: int) -> Frames:
    """Find the records of *data*, which begins outside of all records: at least one, and enough of them."""
    walk = Walk(bytes(data), shape, at_end=at_end, enough_bytes=enough_bytes)
    walk.run()
    starts, stops = (np.array(column, dtype=np.int64) for column in (walk.starts, walk.stops))
    return Frames(starts, stops, walk.next_start, regular=False)


def state_behind(data: Buffer, shape: Shape) -> int:
    """The state behind *data*, which begins outside of all records."""
    walk = Walk(bytes(data), shape, at_end=False, enough_bytes=len(data) + 1)
    walk.run()
    return walk.state


@dataclass
class Walk:
    """One pass over a buffer. Afterwards the records, and the state behind the buffer, are known."""

    data: bytes
    shape: Shape
    at_end: bool
    enough_bytes: int
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    next_start: int = 0
    state: int = 0

    def run(self) -> None:
        """Go through the buffer."""
        gap = _members(separators(self.shape))
        while True:
            found = gap.match(self.data, self.next_start)
            self.next_start = found.end() if found else self.next_start
            if self.next_start == len(self.data) or (self.starts and self.next_start >= self.enough_bytes):
                return
            start = self.next_start
            stops = self._value(start) if self.data[start] in OPENERS else self._loose(start)
            if stops is None:
                return
            self.starts.append(start)
            self.stops.append(stops[0])
            self.next_start = stops[1]

    def _value(self, start: int) -> tuple[int, int] | None:
        """Stop of the content and of the record that begins with the bracket at *start*; None if it does not end."""
        data = self.data
        depth, position, broken_at = 1, start + 1, -1
        while (found := _STRUCTURAL.search(data, position)) is not None:
            at = found.start()
            symbol = data[at]
            position = at + 1
            if symbol == QUOTE:
                if not self._is_escaped(at, start):
                    position, is_closed = self._string(at)
                    if position == len(data) and not is_closed:
                        self.state = state_of(depth, in_string=True)
                        return None
                    broken_at = broken_at if is_closed else position
            elif symbol in OPENERS:
                if symbol == BRACE:
                    last = self._last_before(at)
                    if last < broken_at or data[last] not in BEFORE_BRACE:
                        return last + 1, at
                depth += 1
            else:
                depth -= 1
                if depth == 0:
                    return position, position
        known = self._last_before(len(data)) >= broken_at  # else a brace would begin a record whatever is before it
        self.state = state_of(depth, in_string=False) if known else LOOSE_STATE
        return None

    def _loose(self, start: int) -> tuple[int, int] | None:
        data, position = self.data, start
        ends = _loose_ends(self.shape)
        while (found := ends.search(data, position)) is not None:
            at = found.start()
            if data[at] != QUOTE:
                return self._trimmed(start, at), at
            position = at + 1
            if not self._is_escaped(at, start):
                position, is_closed = self._string(at)
                if not is_closed and position < len(data):
                    return self._trimmed(start, position), position
        self.state = LOOSE_STATE
        return (self._trimmed(start, len(data)), len(data)) if self.at_end else None

    def _string(self, at: int) -> tuple[int, bool]:
        """Where the string that opens at *at* ends, and whether by a quote; else it ends at a line feed or nowhere."""
        found = _STRING.match(self.data, at)
        if found is None:
            return len(self.data), False
        if found.group(1) is not None:
            return found.start(1), False
        stop = found.end()
        is_closed = stop > at + 1 and self.data[stop - 1] == QUOTE and not self._is_escaped(stop - 1, at + 1)
        return (stop, True) if is_closed else (len(self.data), False)

    def _is_escaped(self, at: int, low: int) -> bool:
        first = at
        while first > low and self.data[first - 1] == BACKSLASH:
            first -= 1
        return (at - first) % 2 == 1

    def _last_before(self, at: int) -> int:
        at -= 1
        while self.data[at] in SPACE:
            at -= 1
        return at

    def _trimmed(self, start: int, stop: int) -> int:
        return start + len(self.data[start:stop].rstrip(BLANKS))


@lru_cache(maxsize=8)
def _members(symbols: frozenset[int]) -> re.Pattern[bytes]:
    return re.compile(b"[" + re.escape(bytes(sorted(symbols))) + b"]*+")


@lru_cache(maxsize=8)
def _loose_ends(shape: Shape) -> re.Pattern[bytes]:
    return re.compile(b"[" + re.escape(bytes(sorted(ends_loose(shape) | {QUOTE}))) + b"]")
