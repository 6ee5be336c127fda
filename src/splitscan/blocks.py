"""The frozen values that all layers exchange: byte ranges, files, blocks.

**Ownership rule**: a record belongs to the range that holds its first byte,
``start <= first_byte < stop``. Everything else in splitscan follows from it.
"""

# Over 400 lines: every value that rooms hand to each other, with its meaning.

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from splitscan.errors import Where
from splitscan.redaction import redact
from splitscan.spelling import native_path, portable_path


class ByteRange(NamedTuple):
    """A half-open range of byte offsets in a file, ``[start, stop)``."""

    start: int
    stop: int

    @property
    def length_bytes(self) -> int:
        """Number of bytes in the range."""
        return self.stop - self.start


UNKNOWN_END = 1 << 62
"""Stands for the length of content that only reading it to its end tells; greater than every offset there can be."""

ENTRY_SHARE = 10
"""To decompress a byte on the way to a block costs this part of what it takes to read one, for Spark or as Parquet."""


class SeekPoint(NamedTuple):
    """A place in a compressed file where decompressing can begin.

    Attributes:
        bit_offset: Where it lies in the compressed file, in bits: some containers have blocks that begin inside a byte.
        content_offset: Offset in the content of the first byte that comes from there.
        state: ``None`` where a member begins; inside one, what its codec has to know to go on there, as ASCII text.
    """

    bit_offset: int
    content_offset: int
    state: str | None = None


class Compression(NamedTuple):
    """Findings of planning about a compressed file whose blocks are ranges of its content.

    Attributes:
        content_bytes: Length of the content, or ``UNKNOWN_END``.
    """

    codec: str
    content_bytes: int = UNKNOWN_END


class ArchiveEntry(NamedTuple):
    """Position of a member in an archive that is compressed as a whole, and points to enter it.

    Attributes:
        archive_bytes: Length of what the archive holds decompressed.
        offset: Where in that the member begins.
        points: Where decompressing may begin for it, in order: the last place before it, and those inside it. None
            where only the beginning of the archive will do.
        head: The first bytes of the member, for whoever plans.
    """

    codec: str
    archive_bytes: int
    offset: int
    points: tuple[SeekPoint, ...] = ()
    head: bytes = b""


class Damage(NamedTuple):
    """End of the content of a damaged compressed file that is read all the same (``ignoreCorruptFiles``).

    Attributes:
        file_offset: Offset in the compressed file after which nothing could be decompressed.
        content_offset: Length of the content that could.
        lost_bytes: Length of the rest of the compressed file.
    """

    code: str
    file_offset: int
    content_offset: int
    lost_bytes: int

    def __str__(self) -> str:
        what = "is damaged" if self.code == "corrupt-container" else "breaks off"
        return f"the compressed file {what} at byte {self.file_offset}, {self.lost_bytes} bytes of it were not read"


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """One file as it was when it was listed. Nothing of its content has been read.

    Attributes:
        path: Where it is: an absolute local path, or a URI kept whole (scheme and authority too).
        modified_us: Modification time in microseconds since the epoch, 0 when the storage has none.
        fingerprint: Identity of this version of the content: equal fingerprints mean the same bytes
            as far as the storage can tell (size, nanosecond mtime, ETag).
        relative_path: Path below the directory or glob root the user named, ``/``-separated.
        compression: Set if offsets of this file's blocks and records are offsets in what the file holds decompressed.
            ``None`` for files that are not compressed, and for compressed ones that are planned as one block: whoever
            reads them finds out.
        packed: Set for a member of an archive that is compressed as a whole. It tells how to get there, not what is
            there: no two files differ by it.

    Pickling: plain values only.
    """

    path: str
    size_bytes: int
    modified_us: int
    fingerprint: str
    relative_path: str
    compression: Compression | None = None
    packed: ArchiveEntry | None = field(default=None, compare=False, repr=False)

    @property
    def content_bytes(self) -> int:
        """Length of what is read: of the file, or of the content of a compressed one; perhaps ``UNKNOWN_END``."""
        return self.size_bytes if self.compression is None else self.compression.content_bytes

    def __repr__(self) -> str:
        return (
            f"FileMetadata(path={redact(self.path)!r}, size_bytes={self.size_bytes}, modified_us={self.modified_us}, "
            f"fingerprint={self.fingerprint!r}, relative_path={redact(self.relative_path)!r}, "
            f"compression={self.compression!r})"
        )

    @property
    def name(self) -> str:
        """Last component of the path."""
        return self.path.rstrip("/").rpartition("/")[2]


class Envelopes(NamedTuple):
    """Values of columns that stand around the records of a file.

    Attributes:
        starts: Offsets from which on other values hold, in order.
        values: Text of each column from there on; ``None`` for null.
    """

    starts: tuple[int, ...]
    values: tuple[tuple[str | None, ...], ...]

    def within(self, start: int, stop: int) -> Envelopes:
        """Those that hold for records that begin between two offsets, and at least one.

        Example:
            >>> Envelopes((0, 5, 9), (("a",), ("b",), ("c",))).within(6, 9)
            Envelopes(starts=(5,), values=(('b',),))
        """
        first = max(bisect_right(self.starts, start) - 1, 0)
        last = max(bisect_left(self.starts, stop), first + 1)
        return Envelopes(self.starts[first:last], self.values[first:last])


@dataclass(frozen=True, slots=True)
class BlockMetadata:
    """A planned unit of reading: a file and a byte range of it.

    The range is not aligned to records. Its reader yields exactly the records whose first byte lies in
    ``[start, stop)`` and may read past ``stop`` to finish the last one.

    Attributes:
        index: Number of this block in its file, from 0.
        first_record_start: Offset of the first record that starts at or after ``start``, where it had to be
            computed beforehand (formats that need context). ``None`` when the reader finds it by itself.
            May lie at or after ``stop``: then the block owns no record.
        seek: Where decompressing may begin for this block; ``None`` where it begins with the file. Of a member of a
            compressed archive, where it may begin in the content of that.
        around: Values around its records, where planning has found them. They travel with the block to a task, and are
            not written down.
    """

    file: FileMetadata
    start: int
    stop: int
    index: int
    first_record_start: int | None = None
    seek: SeekPoint | None = None
    around: Envelopes | None = field(default=None, compare=False, repr=False)

    @property
    def block_id(self) -> int:
        """Stable identity: a non-negative 63-bit hash of file path, fingerprint and range."""
        key = f"{portable_path(self.file.path)}\0{self.file.fingerprint}\0{self.start}\0{self.stop}"
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    @property
    def length_bytes(self) -> int:
        """Number of bytes in the range."""
        return self.stop - self.start

    @property
    def is_last(self) -> bool:
        """True if the range ends where the file ended when it was planned."""
        return self.stop >= self.file.content_bytes

    @property
    def is_file(self) -> bool:
        """True if the range is all of the file, in bytes of the file."""
        return self.start == 0 and self.stop == self.file.size_bytes and self.file.compression is None

    @property
    def cost_bytes(self) -> int:
        """Cost of reading the block, in bytes; of the last share of one stream, about as many as of those before."""
        if self.stop < UNKNOWN_END:
            return self.length_bytes
        return self.start // self.index if self.index else self.file.size_bytes

    @property
    def entry_bytes(self) -> int:
        """Cost of beginning with the block, in bytes: a stream is decompressed up to it."""
        packed = self.file.packed
        if packed is not None and not packed.points:
            return (packed.offset + self.start) // ENTRY_SHARE
        return self.start // ENTRY_SHARE if self.file.content_bytes == UNKNOWN_END else 0

    def where(self, offset: int | None = None, column: str | None = None, row: int | None = None) -> Where:
        """The block, or a place in it, for messages."""
        return Where(self.file.path, offset, (self.start, self.stop), column, row=row)

    def starting_at(self, first_record_start: int) -> BlockMetadata:
        """Return this block with its first record start filled in."""
        return replace(self, first_record_start=first_record_start)


class Reject(NamedTuple):
    """A record that breaks a rule, and which.

    Attributes:
        length_bytes: Number of bytes of its content; of a record that was given up, of all that was skipped.
        code: Stable reason, a heading of ``docs/errors.md``.
        raw: The bytes themselves, cut to a bounded prefix.
        delivered: Whether a row was delivered for it all the same (mode PERMISSIVE: broken fields are null).
    """

    path: str
    offset: int
    length_bytes: int
    code: str
    reason: str
    raw: bytes
    delivered: bool

    def __repr__(self) -> str:
        shown = {**self._asdict(), "path": redact(self.path), "reason": redact(self.reason)}
        return f"Reject({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Oddity(NamedTuple):
    """Records of a block that are read, and not as anybody expects.

    Attributes:
        code: What is odd about them, a heading of ``docs/errors.md``.
        offset: The place of the first, in the content of the file.
    """

    code: str
    records: int
    offset: int


def next_start(block_start: int, span_stop: int) -> int | None:
    """Start of the first record after a block with such a span, if its reader had to know it.

    Example:
        >>> next_start(10, 25), next_start(10, 10)
        (25, None)
    """
    return span_stop if span_stop > block_start else None


@dataclass(frozen=True, slots=True)
class BlockReport:
    """Report of one block's reader: the line of the ledger.

    The spans of all blocks of a file, without the empty ones, tile it exactly: each begins where the one before it
    stops, the first at 0, and the last stops at the file's size, or the length of the content of a compressed file.
    That is the proof that nothing was skipped or read twice.

    The span of a block in which no record starts is empty. It lies at the start of the block if nobody looked for the
    next record, which may be far away.

    Attributes:
        span_start: First byte this reader is responsible for.
        span_stop: Where the next record starts: first byte after the last record it owns, and what follows that.
        digest: SHA-256 of the bytes of the span, hexadecimal; empty when not asked for.
        missing: Whether the file was gone, and may be (``ignoreMissingFiles``): nothing of it was read.
        content_bytes: Length of the content of a compressed file, by the reader that reached its end; else ``None``.
        damage: Where a damaged file could not be read on (``ignoreCorruptFiles``), by the block that holds that place.
        noticed: Columns that its records have and the scan does not, as a serialised Arrow schema; empty for none.
        oddities: What is odd about its records.
    """

    block: BlockMetadata
    span_start: int
    span_stop: int
    rows: int
    rejects: int
    digest: str
    missing: bool = False
    content_bytes: int | None = None
    damage: Damage | None = None
    noticed: bytes = b""
    oddities: tuple[Oddity, ...] = ()

    @property
    def next_start(self) -> int | None:
        """Start of the first record after the block, if its reader had to know it."""
        return next_start(self.block.start, self.span_stop)


VERSION = 1

BLOCK_FIELDS = ("start", "stop", "index", "first_record_start", "seek")
"""Names of the values of a block, in order."""


def plain_file(file: FileMetadata) -> list[Any]:
    """Spell a file. Of the way into an archive it has what a reader has to know.

    Example:
        >>> plain_file(FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv"))
        ['/data/a.csv', 10, 0, '10-0', 'a.csv', None]
    """
    relative_path = portable_path(file.relative_path, file.path)
    plain = [portable_path(file.path), file.size_bytes, file.modified_us, file.fingerprint, relative_path]
    packed = file.packed
    if packed is None:
        return [*plain, file.compression]
    points = packed.points[:1]  # those inside it are with the blocks that begin there
    return [*plain, file.compression, [packed.codec, packed.archive_bytes, packed.offset, points]]


def read_file(plain: Sequence[Any]) -> FileMetadata:
    """Understand what :func:`plain_file` spells."""
    path, size_bytes, modified_us, fingerprint, relative_path, compression, packed = (*plain, None)[:7]
    entered = None
    if packed is not None:
        codec, archive_bytes, offset, points = packed
        entered = ArchiveEntry(codec, archive_bytes, offset, tuple(SeekPoint(*point) for point in points))
    return FileMetadata(
        native_path(path),
        size_bytes,
        modified_us,
        fingerprint,
        native_path(relative_path, path),
        None if compression is None else Compression(*compression),
        entered,
    )


def plain_block(block: BlockMetadata) -> list[Any]:
    """Spell a block of a file: the values of :data:`BLOCK_FIELDS`."""
    return [block.start, block.stop, block.index, block.first_record_start, block.seek]


def read_block(file: FileMetadata, plain: Sequence[Any], names: Sequence[str] = BLOCK_FIELDS) -> BlockMetadata:
    """Understand what :func:`plain_block` spells.

    Args:
        file: Its file.
        plain: Its values.
        names: What they are.
    """
    values = dict(zip(names, plain, strict=True))
    seek = values.pop("seek", None)
    return BlockMetadata(file, **values, seek=None if seek is None else SeekPoint(*seek))


def write_blocks(blocks: Iterable[BlockMetadata]) -> bytes:
    """Write blocks, each file once.

    Guarantees: :func:`read_blocks` gives equal blocks in the same order.

    Example:
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> blocks = [BlockMetadata(file, 0, 4, 0), BlockMetadata(file, 4, 10, 1, first_record_start=7)]
        >>> read_blocks(write_blocks(blocks)) == blocks
        True
    """
    numbers: dict[FileMetadata, int] = {}
    rows = [[numbers.setdefault(block.file, len(numbers)), *plain_block(block)] for block in blocks]
    document = {"version": VERSION, "files": list(map(plain_file, numbers)), "blocks": rows}
    return json.dumps(document, separators=(",", ":")).encode("ascii")


def read_blocks(written: bytes) -> list[BlockMetadata]:
    """Read what :func:`write_blocks` writes."""
    document = json.loads(written)
    files = list(map(read_file, document["files"]))
    return [read_block(files[number], plain) for number, *plain in document["blocks"]]
