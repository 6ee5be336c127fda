"""Contract of record formats: how records are found in bytes.

Everything here is pure: no files, no threads, no clock, no Spark. A format never sees where its bytes
come from; a reader (:mod:`splitscan.read.block_reader`) hands it buffers that begin at a record start.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from splitscan.formats.framing.encodings import MAX_BOM_BYTES, Encoding, bom_matters, detect_bom
from splitscan.formats.framing.frames import Buffer, CountedRecords, Frames, Summary
from splitscan.protocols import QuickProtocol


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
        """True if a block that starts at *start* must look at the file's head before it can read."""

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


@runtime_checkable
class TextFormat(RecordFormat, Protocol):
    """A format whose records are text. Its files may be compressed, and bytes of a container cannot be its records."""

    @property
    def encoding(self) -> Encoding:
        """Of the file, its byte order resolved once the head was read."""


class _InOneEncoding(RecordFormat, Protocol):
    @property
    def encoding(self) -> Encoding: ...

    def in_encoding(self, encoding: Encoding) -> RecordFormat: ...


class EncodedRecords:
    """Base of formats whose files have at most a byte order mark before the first record, or what lies before it.

    Attributes:
        encoding: Encoding of the file.
    """

    __slots__ = ()

    encoding: Encoding

    @property
    def unit_bytes(self) -> int:
        """Bytes per code unit."""
        return self.encoding.unit_bytes

    def needs_head(self, start: int) -> bool:
        """True if the byte order mark matters to a block that starts at *start*."""
        return bom_matters(self.encoding, start)

    def preamble(self: _InOneEncoding, head: bytes, *, at_end: bool) -> Preamble | Need:
        """Skip the byte order mark; the format that comes back knows its byte order."""
        if len(head) < MAX_BOM_BYTES and not at_end:
            return Need.AFTER
        encoding, start = detect_bom(head, self.encoding)
        return Preamble(start, self if encoding is self.encoding else self.in_encoding(encoding))


@runtime_checkable
class TerminatedFormat(RecordFormat, Protocol):
    """A format whose records end with a terminator, which a cut may go through."""

    def rest_of_terminator(self, around: bytes) -> int:
        """How many bytes, from the second code unit of *around* on, only end the record of the first."""


@runtime_checkable
class PackedFormat(RecordFormat, Protocol):
    """A format whose records may be any bytes, and whose files may be compressed all the same.

    Then the name of a file must say so too: its first bytes alone may be a record.
    """

    @property
    def may_be_packed(self) -> bool:
        """Always."""


class Skipping(Protocol):
    """Gets past a record that is given up, or what lies between records, in bounded memory. Every format is one."""

    def resume_after(self, data: Buffer, *, at_end: bool) -> int | None:
        """As :meth:`RecordFormat.resume_after`."""

    def droppable(self, data: Buffer) -> int:
        """As :meth:`RecordFormat.droppable`."""


@runtime_checkable
class StatefulSkipping(Skipping, Protocol, metaclass=QuickProtocol):
    """Skips in a state: what the bytes after those that were dropped are depends on them."""

    def drop(self, data: Buffer) -> tuple[int, StatefulSkipping]:
        """Drop what :meth:`droppable` allows; the rest goes on after that."""

    def never_ends(self, data: Buffer) -> bool:
        """True if what is skipped is still open after *data*, where the file ends."""


def drop(skipping: Skipping, data: Buffer) -> tuple[int, Skipping]:
    """How many leading bytes can be dropped on the way past something, and what goes on after them."""
    return skipping.drop(data) if isinstance(skipping, StatefulSkipping) else (skipping.droppable(data), skipping)


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
class OneHeaderFormat(RecordFormat, Protocol, metaclass=QuickProtocol):
    """A format whose head names the columns of all records, and whose files may name others later."""

    def other_columns(self, data: bytes, *, at_end: bool) -> tuple[int | None, bytes]:
        """Find the first line that names other columns than the head.

        Args:
            data: Bytes that begin where a line does, or with what the call before left over.
            at_end: Whether the file ends with them.

        Returns:
            Where the line begins; ``None`` where there is none. What is to be shown again, before what follows.
        """


@runtime_checkable
class CountingFormat(RecordFormat, Protocol):
    """A format that counts records faster than it finds them."""

    def count(self, data: Buffer) -> CountedRecords:
        """Count what ``frame(data, at_end=False)`` finds in *data*, which begins at a record start."""


@runtime_checkable
class ContextFormat(RecordFormat, Protocol):
    """A format whose record starts depend on everything before them.

    A file is summarised piece by piece, in parallel; the summaries compose, and then every piece knows in which
    state it begins (:mod:`splitscan.read.boundaries`). State 0 is always "a record starts here".
    """

    def safe_cut(self, before: bytes, after: bytes) -> int | Need:
        """The first position, relative to the one between *before* and *after*, at which the state is one of
        the few that a summary knows: not inside a doubled quote, an escape, a delimiter. *before* has some KiB, or all.
        """  # noqa: D205 - the sentence is one

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


@runtime_checkable
class WalkedFormat(ContextFormat, Protocol):
    """A context format whose summaries say nothing: records are found from one to the next, from the first one on."""

    @property
    def is_walked(self) -> bool:
        """Always."""


@runtime_checkable
class SplitPointFormat(ContextFormat, Protocol):
    """A context format that has split points: record boundaries that are some whatever comes before them."""

    def last_split_point(self, data: bytes) -> int | None:
        """The last split point that *data*, bytes from anywhere after the file's head, shows; ``None`` without one."""


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
