"""Contract of record formats: how records are found in bytes.

Everything here is pure: no files, no threads, no clock, no Spark. A format never sees where its bytes
come from; a reader (:mod:`splitscan.reading.block_reader`) hands it buffers that begin at a record start.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

from splitscan.formats.framing.encodings import MAX_BOM_BYTES, Encoding, bom_matters, detect_bom
from splitscan.formats.framing.frames import Buffer, CountedRecords, Frames, Offsets, Summary

SHORT_RECORD = "short-record"
"""Reject code of a last record that the file cuts off."""

BEFORE_FIRST_RECORD = "before-first-record"
"""Reject code of what is before the first record, and is none."""

UNFINISHED_RECORD = "unfinished-record"
"""Reject code of a record that never ends."""


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
class Preamble:
    """Findings in the head of a file about the rest of it.

    Attributes:
        data_start: Offset of the first data record: after byte order mark, skipped rows and header.
        format: The format with everything resolved that only the file knows (byte order of UTF-16).
        header: Column names from the header record, or ``None`` without one.
        header_record: That record, as the file has it.
    """

    data_start: int
    format: RecordFormat
    header: tuple[str, ...] | None = None
    header_record: bytes | None = None


@runtime_checkable
class RecordFormat(Protocol):
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
        """True if a block that starts at *start* must look at the file's head before it can read."""

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Read the head of a file: its bytes from offset 0, *at_end* all of them.

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
        """Offset at which reading continues after giving up on the record that starts at ``data[0]``.

        Called for a record that is longer than ``max_record_bytes`` or that never ends.

        Returns:
            The offset of the next record start, or ``None`` when *data* does not reach it (never when *at_end*).
        """

    def droppable(self, data: Buffer) -> int:
        """How many leading bytes :meth:`resume_after` could do without when it answered ``None`` for *data*.

        Bounds the memory while a reader skips a record of any length: the rest, with more bytes after it,
        gives ``resume_after`` the same answer (shifted). Always greater than 0 for *data* of at least 64 KiB.
        """

    def reference_framer(self) -> ReferenceFramer:
        """A new slow, obviously correct framer for the same records."""


class FullFormat(RecordFormat, Protocol):
    """A format with all that one may have beside a :class:`RecordFormat`; :func:`has` tells which it has."""

    @property
    def encoding(self) -> Encoding:
        """Encoding of records that are text, its byte order resolved once the head was read.

        Files may be compressed, and bytes of a container cannot be records.
        """

    @property
    def may_be_packed(self) -> bool:
        """Always true, for a format whose records may be any bytes, and whose files may be compressed all the same.

        Then the name of a file must say so too: its first bytes alone may be a record.
        """

    @property
    def is_walked(self) -> bool:
        """Always true, for a context format whose summaries say nothing: records are found from one to the next."""

    @property
    def left_bytes(self) -> int:
        """Bytes of a group of records that are still to come at a position between records; 0 in front of a group.

        For a format whose records lie in groups, each with its length in front: only from the start of a group records
        can be found, so a range owns the groups whose first byte it has, with all of their records.
        """

    def after(self, passed: Buffer) -> Any:
        """This format after bytes that end between records, or in what is given up."""

    def group_bytes(self, head: bytes) -> int:
        """Bytes of a group with its length; 0 where none begins, more than any file has where nothing tells its end.

        *head* is :attr:`group_head_bytes` from its start on, or all that the file has.
        """

    @property
    def group_head_bytes(self) -> int:
        """How many bytes tell the length of a group, and whether it is in front of a trailer."""

    def drop(self, data: Buffer) -> tuple[int, Skipping]:
        """Drop what :meth:`droppable` allows, and give what goes on after that.

        For a format where the bytes that were dropped decide what those after them are.
        """

    def never_ends(self, data: Buffer) -> bool:
        """True if what is skipped is still open after *data*, where the file ends."""

    def open_starts(self, data: Buffer, longest_bytes: int) -> Offsets | None:
        """As :meth:`splitscan.formats.framing.frames.RecordFinder.open_starts`."""

    def first_start(self, before: bytes, after: bytes, *, at_start: bool, at_end: bool) -> int | Need:
        """Find the first record start at or after a position of a file, of a *local* format.

        Args:
            before: Bytes right before the position, as many as the reader chose to show.
            after: Bytes from the position on.
            at_start: Whether *before* begins where the records begin (at the file's ``data_start``).
            at_end: Whether *after* reaches the end of the file.

        Returns:
            The record start relative to the position (0 = a record starts right here), or what is missing.
            When no record starts in the rest of the file: ``len(after)`` (with *at_end*).
        """

    def first_start_after(self, position: int, data_start: int) -> int:
        """Offset of the first record start at or after *position*, of an *arithmetic* format.

        Records begin at *data_start*.
        """

    def rest_of_terminator(self, around: bytes) -> int:
        """How many bytes, from the second code unit of *around* on, only end the record of the first.

        A cut may go through a terminator.
        """

    def gap_bytes(self, data: Buffer, *, at_end: bool) -> int | Need:
        """How many bytes at the front of *data* belong to no record: blank lines, comments.

        *data* begins where a record may start. ``Need.AFTER`` when *data* is too short to tell.
        """

    def other_columns(self, data: bytes, *, at_end: bool) -> tuple[int | None, bytes]:
        """Find the first line that names other columns than the head, which names those of all records.

        Args:
            data: Bytes that begin where a line does, or with what the call before left over.
            at_end: Whether the file ends with them.

        Returns:
            Where the line begins; ``None`` where there is none. What is to be shown again, before what follows.
        """

    def count(self, data: Buffer) -> CountedRecords:
        """Count what ``frame(data, at_end=False)`` finds in *data*, faster than finding it."""

    def envelope_reader(self) -> EnvelopeReader | None:
        """A new reader of what lies around the records, if any of it is a column."""

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """Find the first position, relative to the one between *before* and *after*, with a state that summaries know.

        Of a *context* format, whose record starts depend on everything before them: a file is summarised piece by
        piece, in parallel; the summaries compose, and then every piece knows in which state it begins
        (:mod:`splitscan.reading.boundaries`). State 0 is always "a record starts here". Such a position is not inside a
        doubled quote, an escape, a delimiter. *before* has some KiB, or all.
        """

    def summarise(self, data: Buffer, before: bytes, after: bytes, mark: int) -> Summary:
        """Summarise *data*, which lies between two safe cuts.

        Args:
            data: The piece.
            before: A few bytes right before it; none where the file's records begin.
            after: A few bytes right after it.
            mark: Position in the piece from which on a record start is asked for (``Run.marked``).
        """

    def state_after(self, data: Buffer) -> int:
        """The state after *data*, which begins at a record start and stops at a safe cut."""

    def last_split_point(self, data: bytes) -> int | None:
        """The last record boundary in *data* that is one whatever comes before it; ``None`` without one.

        *data* is from anywhere after the file's head.
        """


def has(format: object, member: str) -> TypeGuard[FullFormat]:
    """True if a format has a member of :class:`FullFormat`."""
    return getattr(format, member, None) is not None


def encoding_of(format: RecordFormat, otherwise: Encoding) -> Encoding:
    """Encoding of a format whose records are text; of another one, *otherwise*."""
    return format.encoding if has(format, "encoding") else otherwise


def starts_anywhere(format: RecordFormat) -> TypeGuard[FullFormat]:
    """True if a reader can begin in the middle of a file without having read what is before."""
    is_near = format.splittability in (Splittability.LOCAL, Splittability.ARITHMETIC)
    return is_near and (has(format, "first_start_after") or has(format, "first_start"))


class EncodedRecords(ABC):
    """Base of formats whose files have at most a byte order mark before the first record, or what lies before it."""

    __slots__ = ()

    encoding: Encoding

    @abstractmethod
    def in_encoding(self, encoding: Encoding) -> Any:
        """This format for files in *encoding*."""

    @property
    def unit_bytes(self) -> int:
        """Bytes of a code unit."""
        return self.encoding.unit_bytes

    def needs_head(self, start: int) -> bool:
        """True if the byte order mark matters to a block that starts at *start*."""
        return bom_matters(self.encoding, start)

    def preamble(self, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Skip the byte order mark; the format that comes back knows its byte order."""
        if len(head) < MAX_BOM_BYTES and not at_end:
            return Need.AFTER
        encoding, start = detect_bom(head, self.encoding)
        format: Any = self
        return Preamble(start, format if encoding is self.encoding else self.in_encoding(encoding))


class Skipping(Protocol):
    """Gets past a record that is given up, or what lies between records, in bounded memory. Every format is one.

    It may have ``drop`` and ``never_ends`` of :class:`FullFormat`.
    """

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """As :meth:`RecordFormat.resume_after`."""

    def droppable(self, data: Buffer) -> int:
        """As :meth:`RecordFormat.droppable`."""


def drop(skipping: Skipping, data: Buffer) -> tuple[int, Skipping]:
    """How many leading bytes can be dropped on the way past something, and what goes on after them."""
    dropped: tuple[int, Skipping] | None = None
    if (own := getattr(skipping, "drop", None)) is not None:
        dropped = own(data)
    return dropped or (skipping.droppable(data), skipping)


def never_ends(skipping: Skipping, data: Buffer) -> bool:
    """True if what is skipped is still open after *data*, where the file ends."""
    own = getattr(skipping, "never_ends", None)
    return own is not None and bool(own(data))


class EnvelopeReader(Protocol):
    """Reads what lies around the records of a file, from its beginning to its end.

    Attributes:
        starts: Offsets from which on other values hold.
        values: Text of each column from there on; ``None`` for null.
    """

    starts: list[int]
    values: list[tuple[str | None, ...]]

    def feed(self, data: Buffer) -> None:
        """Take the next bytes that are part of no record, or lie between two."""

    def begin_records(self, offset: int) -> None:
        """Records go on at *offset*, in what is open now."""

    def take_records(self, data: Buffer, frames: Frames, offset: int) -> int:
        """Take records, and what lies between them.

        Args:
            data: Holds them.
            frames: Where they are in it.
            offset: Of its first byte in the file.

        Returns:
            The offset up to which all is taken.
        """

    def is_around(self, record: bytes) -> bool:
        """True if a record that begins like this is none, but lies around those that are."""

    def finish(self) -> None:
        """The file has ended."""


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
