"""Reader contexts: a format of one's own, one record at a time.

The slow but simple door: whoever can write a loop that reads records from a file can have them read in parallel, each
exactly once, with the same rows, rejects, ledger and errors as any other format.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from splitscan.blocks import BlockMetadata, ByteRange, FileMetadata
from splitscan.content.storage import ByteSource, ContentDigest
from splitscan.content.storage.contract import SourceStream
from splitscan.errors import InvariantError, RecordError, SplitscanError, UsageError
from splitscan.formats.framing.frames import Frames, Offsets
from splitscan.reading.contents import truncated
from splitscan.reading.cursor import NONE_GIVEN_UP, RAW_BYTES, RECORD_TOO_LONG, RecordChunk, Skipped, UnreadableRecords
from splitscan.sizes import KIB, MIB

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _SourceBytes(SourceStream):
    """The unbuffered half of a stream: reads where it stands, never beyond the planned size of the file."""

    def __init__(self, source: ByteSource, file: FileMetadata) -> None:
        super().__init__(file.size_bytes)
        self._source, self._file = source, file

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), self._file.size_bytes - self._position)
        if wanted <= 0:
            return 0
        data = self._source.read_at(self._position, wanted)
        if not data:
            raise truncated(self._file, self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def open_stream(source: ByteSource, file: FileMetadata, buffer_bytes: int) -> io.BufferedReader:
    """Read a byte source as a file: buffered, seekable, read-only.

    The stream ends where the file ended when it was planned: bytes that were appended since are not seen. A read that
    returns less than was asked for is not taken for the end; a file that really became shorter is an error.
    """
    return io.BufferedReader(_SourceBytes(source, file), max(buffer_bytes, 1))


class StreamSource:
    """A seekable binary file as a byte source, for code that reads at offsets.

    Closing it leaves the stream open: it belongs to somebody else.

    Thread safety: none; it moves the stream.

    Example:
        >>> StreamSource(io.BytesIO(b"abcdef"), FileMetadata("f", 6, 0, "v1", "f")).read_at(2, 3)
        b'cde'
    """

    def __init__(self, stream: BinaryIO, file: FileMetadata) -> None:
        self._stream = stream
        self.path, self.size_bytes, self.fingerprint = file.path, file.size_bytes, file.fingerprint  # as planned

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        self._stream.seek(offset)
        return self._stream.read(length_bytes)

    def close(self) -> None:
        """Leave the stream as it is."""


_STEP_RECORDS = 4096  # records handed over together: enough to make Arrow columns of, few enough to hold
_STEP_BYTES = MIB
_BUFFER_BYTES = MIB  # buffer of a stream; less for small blocks, so that they are not read many times over
_SMALLEST_BUFFER_BYTES = 64 * KIB


class Entity(NamedTuple):
    """One record and what reading it took.

    Attributes:
        record: The bytes of the record.
        used_bytes: How many bytes of the file it took: with its delimiter, and whatever else lies before the next one.
        reject: Why this is no good record, as a short code, or ``None``. A rejected record is reported with its place
            and first bytes, and is not delivered.
    """

    record: bytes
    used_bytes: int
    reject: str | None = None


@runtime_checkable
class ReaderContext(Protocol):
    """Finds the records of a block in a stream.

    A context owes one thing to its blocks: **a record belongs to the block that holds its first byte**,
    ``block.start <= first byte < block.stop``. It may read outside of its block to find out.

    Optional attributes, looked up by name:

    * ``convert_to_record(record: bytes)`` makes the value that is delivered; ``None`` drops the record.
    * ``schema``, DDL text or an Arrow schema: the columns of what ``convert_to_record`` makes (tuples, dictionaries,
      or plain values for one column). Without it records are bytes, in one column ``value: binary``.
    * ``splittable = False``: only whole files can be read.
    * ``emits_fragments = True``: the first record of a block may be the tail of one that began before it, which
      ``convert_to_record`` recognises and drops.

    Pickling: before ``initialize``, so that Spark can send it to its workers.
    """

    def initialize(self, stream: BinaryIO, block: BlockMetadata, consecutive: bool) -> None:
        """Prepare for reading a block.

        When it returns, the stream must stand where the first record of the block begins; or, where none begins in it,
        at the first record after it.

        Args:
            stream: The whole file, seekable, standing at ``block.start``. It ends at the planned size of the file.
            block: The block.
            consecutive: Always False: every block gets a stream and a context of its own. The argument is that of the
                originals, for contexts that were written for them.
        """

    def next(self) -> Entity | None:
        """Read the next record: it begins where the one before it stopped, ``used_bytes`` further on.

        Returns:
            The record, or ``None`` when the next one begins at or after ``block.stop``, or there is none.
        """


@dataclass(frozen=True, slots=True)
class Converted(RecordChunk):
    """Records that a context has read, side by side in ``data``, and what was made of them.

    Attributes:
        starts: Offset in the file of each record.
        values: What ``convert_to_record`` made of each; the bytes themselves without it.
    """

    starts: Offsets
    values: tuple[Any, ...]

    @property
    def record_offsets(self) -> Offsets:
        return self.starts


class ContextReader:
    """Reads the records of one block with a context; to whoever iterates, it is like a ``BlockReader``.

    It watches the context: one that stands still, leaves bytes of its block unread, or reads a record of another
    block is stopped with an error that names it, the file, the block and the offset. What a context raises is wrapped
    in such an error too. The stream is closed whatever happens.

    Args:
        source: The open file; closed by whoever opened it.
        context: Reads the records; one reader at a time may use it.
        max_record_bytes: A record that is longer becomes one reject.
        read_bytes: Most bytes asked of the source at a time.
        with_digest: Whether to hash the bytes of the span (:class:`ContentDigest`); they are read a second time for it.

    Raises:
        RecordError: On iteration, ``[context-failed]``, if the context raises something.
        UsageError: On iteration, ``[context-broken]``, if the context does not keep its promises.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> from splitscan.reading.framed_contexts import FixedBytesReaderContext
        >>> from splitscan.testing.faults import MemorySource
        >>> file = FileMetadata("f", 5, 0, "v1", "f")
        >>> reader = ContextReader(MemorySource(b"aabbc"), BlockMetadata(file, 1, 3, 1), FixedBytesReaderContext(2),
        ...                        max_record_bytes=10, read_bytes=10)
        >>> [step.values for step in reader], reader.span
        ([(b'bb',)], ByteRange(start=2, stop=4))
    """

    preamble: ClassVar[None] = None
    """A context reads the head of its file itself."""
    content_bytes: ClassVar[None] = None
    """A context reads the bytes of its file, which is never decompressed."""
    damage: ClassVar[None] = None
    """Nor is it mended."""

    def __init__(
        self,
        source: ByteSource,
        block: BlockMetadata,
        context: ReaderContext,
        *,
        max_record_bytes: int,
        read_bytes: int,
        with_digest: bool = False,
    ) -> None:
        self._source = source
        self._block = block
        self._context = context
        self._convert: Callable[[bytes], Any] | None = getattr(context, "convert_to_record", None)
        self._max_record_bytes = max_record_bytes
        self._read_bytes = read_bytes
        self._with_digest = with_digest
        self._digest = ""
        self._span: ByteRange | None = None
        self._given_up = NONE_GIVEN_UP
        self._begin_step()

    @property
    def span(self) -> ByteRange:
        """The bytes this reader answered for; known once iteration has ended."""
        if self._span is None:
            raise InvariantError("the span of a block is known only after it was read", self._block.where())
        return self._span

    @property
    def digest(self) -> str:
        """Digest of the span's bytes; empty without ``with_digest``."""
        return self._digest

    @property
    def given_up(self) -> UnreadableRecords:
        """Records that :meth:`count` met and the context rejected."""
        return self._given_up

    def count(self) -> int:
        """Number of records that iteration would give. Call it instead."""
        records = 0
        for step in self:
            records += step.records
            self._given_up = self._given_up.and_of(step)
        return records

    def __iter__(self) -> Iterator[RecordChunk | Skipped]:
        with self._open_stream() as stream:
            yield from self._read(stream)

    def _open_stream(self) -> io.BufferedReader:
        size = min(self._read_bytes, _BUFFER_BYTES, max(self._block.length_bytes, _SMALLEST_BUFFER_BYTES))
        return open_stream(self._source, self._block.file, size)

    def _read(self, stream: io.BufferedReader) -> Iterator[RecordChunk | Skipped]:
        span_start = position = self._enter(stream)
        may_be_fragment = self._block.start > 0 and getattr(self._context, "emits_fragments", False)
        while (entity := self._ask("next", position, self._context.next)) is not None:
            self._check(entity, position)
            code = RECORD_TOO_LONG if len(entity.record) > self._max_record_bytes else entity.reject
            value = entity.record
            if not code and self._convert is not None:
                value = self._ask("convert_to_record", position, self._convert, value)
            if code:
                yield from self._take_step()
                yield Skipped(position, entity.used_bytes, code, entity.record[:RAW_BYTES])
            elif value is not None:
                self._add(position, entity.record, value)
            elif may_be_fragment:
                span_start = position + entity.used_bytes  # it belongs to the block before
            may_be_fragment = False
            position += entity.used_bytes
            if len(self._values) >= _STEP_RECORDS or self._step_bytes >= _STEP_BYTES:
                yield from self._take_step()
        if position < min(self._block.stop, self._block.file.size_bytes):
            raise self._broken("next() must not return None before the block's stop", position, "None")
        yield from self._take_step()
        self._span = ByteRange(span_start if self._block.start else 0, position)
        if self._with_digest:
            self._digest = self._hash(self._span)

    # ---------------------------------------------------------- the context

    def _enter(self, stream: io.BufferedReader) -> int:
        start = self._block.start
        stream.seek(start)
        self._ask("initialize", start, self._context.initialize, stream, self._block, False)
        position: int = self._ask("initialize", start, stream.tell)  # which a context may have closed
        if not start <= position <= self._block.file.size_bytes:
            raise self._broken("initialize() must leave the stream at or after the block's start", position)
        return position

    def _ask(self, method: str, position: int, function: Callable[..., Any], *given: Any) -> Any:
        """Answer of the context; an error names the context and the place."""
        try:
            return function(*given)
        except SplitscanError:
            raise
        except Exception as error:
            raise self._failed(method, position, error) from error

    def _check(self, entity: Entity, position: int) -> None:
        if entity.used_bytes <= 0:
            raise self._broken("a record must use at least one byte", position, f"used_bytes={entity.used_bytes}")
        if position + entity.used_bytes > self._block.file.size_bytes:
            rule = "a record must not reach beyond the end of the file"
            raise self._broken(rule, position, f"used_bytes={entity.used_bytes}")
        if position >= self._block.stop:
            raise self._broken("a record that begins at or after the block's stop is the next block's", position)

    def _failed(self, method: str, offset: int, error: Exception) -> RecordError:
        return RecordError(
            f"{self._name}.{method}() failed",
            self._block.where(offset),
            seen=f"{type(error).__name__}: {error}",
            fix="correct the reader context; give an Entity with a reject code for a record that is to be passed over",
            code="context-failed",
        )

    def _broken(self, rule: str, offset: int, seen: str | None = None) -> UsageError:
        return UsageError(
            f"{self._name}: {rule}",
            self._block.where(offset),
            seen=seen,
            fix="correct the reader context; splitscan.testing.context_laws.check_context_laws finds small examples",
            code="context-broken",
        )

    @property
    def _name(self) -> str:
        return f"reader context {type(self._context).__name__}"

    # ---------------------------------------------------- records, together

    def _begin_step(self) -> None:
        self._starts: list[int] = []
        self._records: list[bytes] = []
        self._values: list[Any] = []
        self._step_bytes = 0

    def _add(self, start: int, record: bytes, value: Any) -> None:
        self._starts.append(start)
        self._records.append(record)
        self._values.append(value)
        self._step_bytes += len(record)

    def _take_step(self) -> Iterator[Converted]:
        if not self._values:
            return
        lengths = np.fromiter(map(len, self._records), dtype=np.int64, count=len(self._records))
        stops = np.cumsum(lengths)
        frames = Frames(stops - lengths, stops, int(stops[-1]))
        starts = np.array(self._starts, dtype=np.int64)
        data = memoryview(b"".join(self._records))
        step = Converted(data, self._starts[0], frames, starts, tuple(self._values))
        self._begin_step()
        yield step

    def _hash(self, span: ByteRange) -> str:
        digest = ContentDigest()
        with self._open_stream() as stream:
            stream.seek(span.start)
            while chunk := stream.read(min(_STEP_BYTES, span.stop - stream.tell())):
                digest.update(chunk)
        return digest.text
