"""Records found in a buffer, as offsets or as a number, and their way between Python and the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from splitscan.engine import kernel
from splitscan.formats.framing.encodings import Encoding, code_tables

Offsets: TypeAlias = npt.NDArray[np.int64]
Buffer: TypeAlias = bytes | bytearray | memoryview

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
        malformed: Records (by index into ``starts``) whose *structure* is broken, with the reject code; a format may
            add a blank and what its decoder says of it.
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

    def part(self, first: int, stop: int, moved_bytes: int) -> Frames:
        """The records with numbers in ``[first, stop)``, in a buffer that begins *moved_bytes* further."""
        broken = range(first, stop) if self.malformed else ()
        malformed = {i - first: self.malformed[i] for i in broken if i in self.malformed}
        starts, stops = (positions[first:stop] - moved_bytes for positions in (self.starts, self.stops))
        next_start = int(self.starts[stop]) if stop < len(self) else self.next_start
        return Frames(starts, stops, next_start - moved_bytes, malformed)


class CountedRecords(NamedTuple):
    """The complete records at the front of a buffer, by number."""

    records: int
    next_start: int

    @classmethod
    def of(cls, frames: Frames) -> CountedRecords:
        """Count records that were found."""
        return cls(len(frames), frames.next_start)


def as_units(data: Buffer, unit_bytes: int, big_endian: bool) -> npt.NDArray[Any]:
    """View bytes as an array of code units without copying; a partial unit at the end is left out."""
    if unit_bytes == 1:
        return np.frombuffer(data, dtype=np.uint8)
    whole = len(data) // unit_bytes
    return np.frombuffer(data, dtype=f"{'>' if big_endian else '<'}u{unit_bytes}", count=whole)


@dataclass(frozen=True, slots=True)
class Run:
    """Effect of a piece of a file on a parser that enters it in one given state.

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
        """Effect of the piece on a parser that enters it in *state*."""
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


def records_of(data: memoryview, frames: Frames) -> Iterator[bytes]:
    """The bytes of each record."""
    for start, stop in zip(frames.starts.tolist(), frames.stops.tolist(), strict=True):
        yield bytes(data[start:stop])


def records_in_utf8(data: memoryview, frames: Frames, encoding: Encoding) -> Iterator[bytes]:
    """Each record in valid UTF-8; bytes that are not text in *encoding* become U+FFFD."""
    for record in records_of(data, frames):
        yield encoding.text(record).encode("utf-8")


def as_bytes(data: Buffer) -> tuple[bytes, int, int]:
    """The object that holds some bytes, and where they are in it; nothing is copied if it is ``bytes``.

    Example:
        >>> as_bytes(memoryview(b"abcd")[1:3])
        (b'abcd', 1, 3)
    """
    if isinstance(data, bytes):
        return data, 0, len(data)
    if isinstance(data, memoryview) and type(data.obj) is bytes and len(data):
        if len(data) == len(data.obj):
            return data.obj, 0, len(data)
        start = _address(data) - _address(data.obj)
        return data.obj, start, start + len(data)
    copied = bytes(data)
    return copied, 0, len(copied)


def _address(data: bytes | memoryview) -> int:
    address: int = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    return address


class WholeReference:
    """A reference that looks at all bytes once the stream has ended; every tail of a file is a record.

    Args:
        find: Gives the content ranges of the records of a stream.
    """

    unfinished = None

    def __init__(self, find: Callable[[bytes], Iterable[tuple[int, int]]]) -> None:
        self._find = find
        self._data = bytearray()
        self.records: list[tuple[int, int]] = []

    def push(self, byte: int) -> None:
        self._data.append(byte)

    def finish(self) -> None:
        self.records = list(self._find(bytes(self._data)))


def pushed(framer: Any, data: bytes) -> list[tuple[int, int]]:
    """The records that a reference finds in a stream of these bytes."""
    for byte in data:
        framer.push(byte)
    framer.finish()
    return list(framer.records)


class RecordFinder(Protocol):
    """Finds records of one grammar. Every answer is the reference's, which is one of these."""

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """The complete records at the front of *data*, which begins outside of all records."""

    def count(self, data: Buffer) -> CountedRecords:
        """How many records ``frame(data, at_end=False)`` finds."""
        return CountedRecords.of(self.frame(data, at_end=False))

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Effect of *data* on a parser, for each state in which it may come to it.

        By default none is known: one state after the other takes too long, so whoever composes reads instead.
        """
        return Summary(len(data), ())

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        """Offsets at which records would begin that do not end in *data*, or are longer than *longest_bytes*; in order.

        *data* begins at a record start. Each of them is a record if those before it are given up, unless what is before
        it then hides it. ``None`` where that is not known of *data*.
        """


class Passed(NamedTuple):
    """Progress past something that is given up, or lies between records.

    Attributes:
        resume: Where reading goes on; ``None`` if that is not in the bytes.
        dropped_bytes: How many bytes are done with.
        past: The state after those, for the bytes that follow.
        is_open: Whether it is cut off, or is damaged, if the file ends with the bytes.
    """

    resume: int | None
    dropped_bytes: int
    past: object
    is_open: bool


class PassingFinder(RecordFinder, Protocol):
    """Finds records, and remembers what is around the bytes that it has gone past."""

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | None:
        """How many bytes at the front of *data* belong to no record; ``None`` where later bytes tell."""

    def pass_over(self, data: Buffer, past: object) -> Passed:
        """Go past what *data* begins with, or goes on with after bytes that were passed."""


@dataclass(frozen=True)
class Passing:
    """Goes past a record that is given up, or what lies between records.

    Args:
        finder: Of the file's records.
        past: The state after the bytes that were dropped.
    """

    finder: PassingFinder
    past: object = None

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """Offset at which reading goes on; ``None`` if *data* does not reach it."""
        resume = self.finder.pass_over(data, self.past).resume
        return len(data) if resume is None and at_end else resume

    def droppable(self, data: Buffer) -> int:
        """Number of bytes that are done with."""
        return self.drop(data)[0]

    def drop(self, data: Buffer) -> tuple[int, Passing]:
        """Drop those, and give what goes on after them."""
        passed = self.finder.pass_over(data, self.past)
        return passed.dropped_bytes, replace(self, past=passed.past)

    def never_ends(self, data: Buffer) -> bool:
        """True if it is cut off, or is damaged, if the file ends with *data*."""
        return self.finder.pass_over(data, self.past).is_open


class NativeFraming:
    """The kernel's answers for one grammar, as Python's types.

    Attributes:
        native: The kernel's class.

    Thread safety: immutable; calls run beside each other.
    """

    def __init__(self, native: Any, malformed_code: str = "") -> None:
        self.native = native
        self._malformed_code = malformed_code

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        starts, stops, malformed, next_start = self.native.frame(*as_bytes(data), at_end)
        first, last = (np.frombuffer(column, np.int64) for column in (starts, stops))
        return Frames(first, last, next_start, dict.fromkeys(malformed, self._malformed_code))

    def count(self, data: Buffer) -> CountedRecords:
        return CountedRecords(*self.native.count(*as_bytes(data), False))

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        runs = self.native.summarise(*as_bytes(data), before, after, mark)
        return Summary(len(data), tuple(None if run is None else Run(*run) for run in runs))

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        found = self.native.open_starts(*as_bytes(data), longest_bytes)
        return None if found is None else np.frombuffer(found, np.int64)

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | None:
        """As :meth:`PassingFinder.gap_bytes`; of JSON and XML."""
        gap: int | None = self.native.gap_bytes(*as_bytes(data), at_end)
        return gap

    def pass_over(self, data: Buffer, past: object) -> Passed:
        """As :meth:`PassingFinder.pass_over`; of JSON and XML."""
        return Passed(*self.native.pass_over(*as_bytes(data), past))

    def last_split_point(self, data: bytes) -> int | None:
        """The last record boundary that *data* shows whatever comes before it; only of CSV."""
        found: int | None = self.native.last_split_point(data)
        return found


def native(name: str, *given: Any, **options: Any) -> Any | None:
    """Native object of a grammar; ``None`` without a kernel, or where it does not support what is asked."""
    module = kernel()
    if module is None:
        return None
    try:
        return attrgetter(name)(module)(*given, **options)
    except module.Unsupported:
        return None


def native_framing(name: str, *given: Any) -> NativeFraming | None:
    """Finder of the records of a grammar, the same one for equal ones; ``None`` as of :func:`native`."""
    return None if kernel() is None else _native_framing(name, given)


@lru_cache(maxsize=256)
def _native_framing(name: str, given: tuple[Any, ...]) -> NativeFraming | None:
    found = native(name, *given)
    return None if found is None else NativeFraming(found)


@lru_cache(maxsize=64)
def plain_charset(encoding: Encoding, marks: tuple[str, ...], *, is_known: bool) -> dict[str, Any]:
    """An encoding as the kernel's block reader is told it: JSON values.

    Args:
        encoding: Of a file.
        marks: What tells where records are.
        is_known: Whether the tables of its characters of several bytes are told elsewhere.

    Raises:
        UsageError: If the encoding lacks a character of a mark.
    """
    written = {mark: list(encoding.encode(mark)) for mark in marks if not mark.isascii()}
    if encoding.longest_bytes > 1:
        return {"codes": {"tables": None if is_known else code_tables(encoding), "written": written}}
    if encoding.unit_bytes > 1:
        return {"units": [encoding.unit_bytes, encoding.big_endian]}
    return {"table": bytes(range(256)).decode(encoding.codec, "replace")}
