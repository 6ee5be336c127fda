"""What a format found in a buffer: where its records are, how many, or what it does to a parser that enters it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from splitscan.formats.framing.encodings import Encoding

Offsets: TypeAlias = npt.NDArray[np.int64]
Buffer: TypeAlias = bytes | bytearray | memoryview
Units: TypeAlias = npt.NDArray[Any]  # code units of any width

NO_OFFSETS: Offsets = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Frames:
    """The complete records at the front of a buffer. All positions are relative to the buffer.

    Records may be separated by bytes that belong to no record (terminators, blank lines, comments).

    Attributes:
        starts: First byte of each record, strictly increasing.
        stops: First byte after each record's content; the terminator is not included.
        next_start: Where the next record starts: everything before it is dealt with. The bytes from here on are
            an unfinished record (or nothing).
        malformed: Records (by index into ``starts``) whose *structure* is broken, with the reject code.
    """

    starts: Offsets
    stops: Offsets
    next_start: int
    malformed: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def first(self) -> int:
        """First byte of the first record."""
        return int(self.starts[0])

    def head(self, count: int, next_start: int) -> Frames:
        """The first *count* records, with what follows them beginning at *next_start*."""
        malformed = {i: code for i, code in self.malformed.items() if i < count}
        return Frames(self.starts[:count], self.stops[:count], next_start, malformed)


class Counted(NamedTuple):
    """The complete records at the front of a buffer, by number.

    Attributes:
        records: How many there are.
        next_start: Where the next record starts, as :class:`Frames` has it.
    """

    records: int
    next_start: int


def as_units(data: Buffer, unit_bytes: int, big_endian: bool) -> npt.NDArray[Any]:
    """View bytes as an array of code units without copying; a partial unit at the end is left out."""
    if unit_bytes == 1:
        return np.frombuffer(data, dtype=np.uint8)
    whole = len(data) // unit_bytes
    return np.frombuffer(data, dtype=f"{'>' if big_endian else '<'}u{unit_bytes}", count=whole)


@dataclass(frozen=True, slots=True)
class Run:
    """What a piece of a file does to a parser that enters it in one given state.

    Attributes:
        state: The state in which the parser leaves.
        first: Where the first record start lies (relative to the piece), ``None`` without one.
        last: Where the last record start lies.
        marked: Where the first record start at or after the mark lies.
        records: How many records start in the piece, those of its first byte included; ``None`` where a format does not
            count them.
        is_gap: Whether nothing in the piece, nor what goes on after it, is of any record.
    """

    state: int
    first: int | None
    last: int | None
    marked: int | None = None
    records: int | None = None
    is_gap: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """A function from start state to :class:`Run`; composition is associative.

    Attributes:
        length_bytes: Length of the piece.
        runs: One run per start state. ``None``, or no run for a state, means: only a reading from a known record start
            can tell (quotes that are not structural, brackets nested too deeply), so whoever composes must do that
            reading if the state turns out real.
    """

    length_bytes: int
    runs: tuple[Run | None, ...]

    def run(self, state: int) -> Run | None:
        """What the piece does to a parser that enters it in *state*."""
        return self.runs[state] if 0 <= state < len(self.runs) else None

    def then(self, following: Summary) -> Summary:
        """The summary of this piece and the one right after it; the marks of both name the same position."""
        return Summary(self.length_bytes + following.length_bytes, tuple(self._join(r, following) for r in self.runs))

    def _join(self, run: Run | None, following: Summary) -> Run | None:
        if run is None:
            return None
        tail = following.run(run.state)
        if tail is None:
            return None
        first = run.first if run.first is not None else self._shift(tail.first)
        last = self._shift(tail.last) if tail.last is not None else run.last
        marked = run.marked if run.marked is not None else self._shift(tail.marked)
        counted = run.records is not None and tail.records is not None
        records = (run.records or 0) + (tail.records or 0) if counted else None
        return Run(tail.state, first, last, marked, records, is_gap=run.is_gap and tail.is_gap)

    def _shift(self, position: int | None) -> int | None:
        return None if position is None else position + self.length_bytes


class TailFramer(ABC):
    """Records between two boundaries each; the last boundary is the end of the stream."""

    def __init__(self) -> None:
        self._offset = 0  # bytes pushed
        self._start = 0  # of the current record
        self._records: list[tuple[int, int]] = []

    @abstractmethod
    def push(self, byte: int) -> None:
        """Take the next byte."""

    def finish(self) -> None:
        """The stream has ended: what is left is the last record."""
        if self._start < self._offset:
            self._records.append((self._start, self._offset))

    @property
    def records(self) -> list[tuple[int, int]]:
        """Content ranges of the records known so far."""
        return self._records

    @property
    def unfinished(self) -> None:
        """Always ``None``: every tail of a file is a record."""
        return None

    def _end_record(self, terminator_bytes: int = 0) -> None:
        """A record, and the terminator after it, ends here."""
        self._records.append((self._start, self._offset - terminator_bytes))
        self._start = self._offset


class UnitFramer(TailFramer):
    """A framer that looks at whole code units."""

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        self._encoding = encoding
        self._partial = b""  # bytes of a code unit that is not complete

    def push(self, byte: int) -> None:
        """Take the next byte."""
        self._partial += bytes([byte])
        self._offset += 1
        if len(self._partial) == self._encoding.unit_bytes:
            (unit,) = self._encoding.units(self._partial)
            self._partial = b""
            self._take(unit)

    @abstractmethod
    def _take(self, unit: int) -> None:
        """Take the next code unit, whose last byte was the last one pushed."""
