"""What a record format is: how records are found in bytes.

Everything here is pure: no files, no threads, no clock, no Spark. A format never sees where its bytes
come from; a reader (:mod:`splitscan.splitting.block_reader`) hands it buffers that begin at a record start.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from splitscan.protocols import QuickProtocol

Offsets: TypeAlias = npt.NDArray[np.int64]
Buffer: TypeAlias = bytes | bytearray | memoryview

NO_OFFSETS: Offsets = np.empty(0, dtype=np.int64)


class Splittability(enum.Enum):
    """How a block finds its first record from the middle of a file."""

    ARITHMETIC = "computed from the offset"
    LOCAL = "a bounded look around the start of the block"
    CONTEXT = "the parser's state at the start of the block must be known"
    WHOLE = "cannot be split"


class Need(enum.Enum):
    """A format's request for more bytes than it was shown."""

    BEFORE = "more bytes before the position"
    AFTER = "more bytes after the position"


@dataclass(frozen=True, slots=True)
class Frames:
    """The complete records at the front of a buffer. All positions are relative to the buffer.

    Records may be separated by bytes that belong to no record (terminators, blank lines, comments).

    Attributes:
        starts: First byte of each record, strictly increasing.
        stops: First byte behind each record's content; the terminator is not included.
        next_start: Where the next record starts: everything before it is dealt with. The bytes from here on are
            an unfinished record (or nothing).
        malformed: Records (by index into ``starts``) whose *structure* is broken, with the reject code.
        regular: Whether every record obeys the strict grammar of its format, so that a fast parser which
            knows only the strict grammar decodes these bytes exactly. ``False`` makes the decoder take the slow road.
    """

    starts: Offsets
    stops: Offsets
    next_start: int
    malformed: Mapping[int, str] = field(default_factory=dict)
    regular: bool = True

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def first(self) -> int:
        """First byte of the first record."""
        return int(self.starts[0])

    def head(self, count: int, next_start: int) -> Frames:
        """The first *count* records, with what follows them beginning at *next_start*."""
        malformed = {i: code for i, code in self.malformed.items() if i < count}
        return Frames(self.starts[:count], self.stops[:count], next_start, malformed, self.regular)


class CountedFrames(Frames):
    """Records whose number is known, and which are found only when somebody asks where they are.

    Args:
        count: How many records there are, at least one; all are regular.
        first: First byte of the first one.
        next_start: As for :class:`Frames`.
        find: Finds them.
    """

    __slots__ = ("_count", "_find", "_first", "_found")
    _count: int
    _first: int
    _find: Callable[[], Frames]
    _found: Frames | None

    def __init__(self, count: int, first: int, next_start: int, find: Callable[[], Frames]) -> None:
        for name, value in (
            ("next_start", next_start), ("malformed", {}), ("regular", True),
            ("_count", count), ("_first", first), ("_find", find), ("_found", None),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def starts(self) -> Offsets:
        """As for :class:`Frames`."""
        return self._frames().starts

    @property
    def stops(self) -> Offsets:
        """As for :class:`Frames`."""
        return self._frames().stops

    def __len__(self) -> int:
        return self._count

    @property
    def first(self) -> int:
        """First byte of the first record."""
        return self._first

    def _frames(self) -> Frames:
        found = self._found
        if found is None:
            found = self._find()
            object.__setattr__(self, "_found", found)
        return found


@dataclass(frozen=True, slots=True)
class Preamble:
    """What the head of a file says about the rest of it.

    Attributes:
        data_start: Offset of the first data record: behind byte order mark, skipped rows and header.
        format: The format with everything resolved that only the file knows (byte order of UTF-16).
        header: Column names from the header record, or ``None`` without one.
    """

    data_start: int
    format: RecordFormat
    header: tuple[str, ...] | None = None


@runtime_checkable
class RecordFormat(Protocol, metaclass=QuickProtocol):
    """Configuration of one way to find records. Immutable, hashable, picklable.

    Guarantees every implementation gives, checked by :mod:`splitscan.testing`: *chunking* (the records do not
    depend on how the bytes are delivered) and *fast path* (``frame`` equals ``reference_framer``).
    """

    @property
    def name(self) -> str:
        """Short name for messages."""

    @property
    def splittability(self) -> Splittability:
        """How a block finds its first record."""

    @property
    def unit_bytes(self) -> int:
        """Bytes per code unit: records start only at multiples of it (2 for UTF-16, 4 for UTF-32, else 1)."""

    def needs_head(self, start: int) -> bool:
        """Whether a block that starts at *start* must look at the file's head before it can read."""

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Read the head of a file.

        Args:
            head: The file's bytes from offset 0.
            at_end: Whether *head* is the whole file.

        Returns:
            The preamble, or ``Need.AFTER`` when *head* is too short to tell.
        """

    def frame(self, data: Buffer, *, at_end: bool) -> Frames:
        """Find the complete records at the front of *data*, which begins at a record start.

        A record is complete when no byte that may follow *data* could change where it stops or where the next one
        starts. With ``at_end`` nothing follows, so the last record needs no terminator; then ``next_start`` is
        ``len(data)`` unless the tail is a record that never ends (an unclosed quote): the tail is left over.
        """

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """Where reading goes on after giving up on the record that starts at ``data[0]``.

        Called for a record that is longer than ``max_record_bytes`` or that never ends.

        Returns:
            The offset of the next record start, or ``None`` when *data* does not reach it (never when *at_end*).
        """

    def droppable(self, data: Buffer) -> int:
        """How many leading bytes :meth:`resume_after` could do without when it answered ``None`` for *data*.

        Bounds the memory while a reader skips a record of any length: the rest, with more bytes behind it,
        gives ``resume_after`` the same answer (shifted). Always greater than 0 for *data* of at least 64 KiB.
        """

    def reference_framer(self) -> ReferenceFramer:
        """A new slow, obviously correct framer for the same records."""


@runtime_checkable
class LocalFormat(RecordFormat, Protocol):
    """A format whose record starts can be found from a bounded look around a position."""

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        """Find the first record start at or after a position of a file.

        Args:
            before: Bytes right before the position, as many as the reader chose to show.
            after: Bytes from the position on.
            at_start: Whether *before* begins where the records begin (at the file's ``data_start``).
            at_end: Whether *after* reaches the end of the file.

        Returns:
            The record start relative to the position (0 = a record starts right here), or what is missing.
            When no record starts in the rest of the file: ``len(after)`` (with *at_end*).
        """


@runtime_checkable
class ArithmeticFormat(RecordFormat, Protocol):
    """A format whose record starts are a function of the offset alone."""

    def first_start_after(self, position: int, data_start: int) -> int:
        """Offset of the first record start at or after *position*, for records that begin at *data_start*."""


@runtime_checkable
class GappedFormat(RecordFormat, Protocol):
    """A format with bytes between records that belong to none: blank lines, comments."""

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """How many bytes at the front of *data* belong to no record.

        *data* begins where a record may start. ``Need.AFTER`` when *data* is too short to tell.
        """


@runtime_checkable
class CountedFormat(RecordFormat, Protocol):
    """A format that needs not look for regular records of which it is known how many there are."""

    def count_regular(self, data: Buffer) -> Counted | None:
        """Count the complete records at the front of *data*, which begins at a record boundary.

        Returns:
            As ``CountingFormat.count``; ``None`` also where one of them may not be regular.
        """

    def counted_frames(self, data: Buffer, count: int) -> CountedFrames:
        """What ``frame`` finds in bytes that begin at a record boundary, and end at the next one behind a record.

        Args:
            data: The bytes.
            count: How many records they hold, at least one; all of them regular.
        """


class Counted(NamedTuple):
    """The complete records at the front of a buffer, by number.

    Attributes:
        records: How many there are.
        next_start: Where the next record starts, as :class:`Frames` has it.
    """

    records: int
    next_start: int


@runtime_checkable
class CountingFormat(RecordFormat, Protocol):
    """A format that counts records faster than it finds them."""

    def count(self, data: Buffer) -> Counted | None:
        """Count the complete records at the front of *data*, which begins at a record start.

        Returns:
            What ``frame(data, at_end=False)`` would find, up to some record boundary; ``None`` when only ``frame``
            can tell.
        """


@runtime_checkable
class ContextFormat(RecordFormat, Protocol):
    """A format whose record starts depend on everything before them.

    A file is summarised piece by piece, in parallel; the summaries compose, and then every piece knows in which
    state it begins (:mod:`splitscan.splitting.boundaries`). State 0 is always "a record starts here".
    """

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """The first position, relative to the one between *before* and *after*, at which the state is one of
        the few that a summary knows: not inside a doubled quote, an escape, a delimiter.
        """  # noqa: D205 - the sentence is one

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Summarise *data*, which lies between two safe cuts.

        Args:
            data: The piece.
            before: A few bytes right before it; none where the file's records begin.
            after: A few bytes right behind it.
            mark: Position in the piece from which on a record start is asked for (``Run.marked``).
        """

    def state_after(self, data: Buffer) -> int:
        """The state behind *data*, which begins at a record start and stops at a safe cut."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a piece of a file does to a parser that enters it in one given state.

    Attributes:
        state: The state in which the parser leaves.
        first: Where the first record start lies (relative to the piece), ``None`` without one.
        last: Where the last record start lies.
        marked: Where the first record start at or behind the mark lies.
        records: How many records start in the piece, those of its first byte included; ``None`` where a format does not
            count them.
    """

    state: int
    first: int | None
    last: int | None
    marked: int | None = None
    records: int | None = None


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
        """The summary of this piece and the one right behind it; the marks of both name the same position."""
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
        return Run(tail.state, first, last, marked, (run.records or 0) + (tail.records or 0) if counted else None)

    def _shift(self, position: int | None) -> int | None:
        return None if position is None else position + self.length_bytes


class ReferenceFramer(Protocol):
    """A byte-at-a-time state machine: slow, small, the definition of its format."""

    def push(self, byte: int) -> None:
        """Take the next byte of the stream."""

    def finish(self) -> None:
        """The stream has ended."""

    @property
    def records(self) -> list[tuple[int, int]]:
        """Content ranges ``(start, stop)`` of the records known so far, offsets from the first byte pushed."""

    @property
    def unfinished(self) -> int | None:
        """After :meth:`finish`: start of a tail that is no record because it never ends, or ``None``."""


def as_units(data: Buffer, unit_bytes: int, big_endian: bool) -> npt.NDArray[Any]:
    """View bytes as an array of code units without copying; a partial unit at the end is left out."""
    if unit_bytes == 1:
        return np.frombuffer(data, dtype=np.uint8)
    whole = len(data) // unit_bytes
    return np.frombuffer(data, dtype=f"{'>' if big_endian else '<'}u{unit_bytes}", count=whole)
