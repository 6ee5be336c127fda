"""Cut files into blocks, compressed ones too: those are looked at before.

A file whose container says where its members (or blocks) begin and how much they hold is cut between these: its blocks
are ranges of the compressed file, and a member belongs to the one that holds its first byte. The reader of a
block begins to decompress a little before it, so that it can look back, and goes on after it to finish its last
record.

So is one whose blocks or members were looked for, once, by decompressing all of it: a seek index that was kept. For
bzip2, which is slow to decompress, it is made where there are few files, before these are cut.

A compressed file whose container cannot be entered in the middle is divided by offsets of its content: every task
decompresses all that comes before its share, which is much cheaper than parsing it, and parses its share. How long the
content is need not be known for that: the last share has no end.
"""

# Over 400 lines: how long blocks are, and the cuts that follow, are one question.

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Self

from splitscan.blocks import ENTRY_SHARE, UNKNOWN_END, ArchiveEntry, BlockMetadata, Compression, FileMetadata, SeekPoint
from splitscan.content.archives.opening import MemberSource, is_compressed_member, is_cut_off, open_listed
from splitscan.content.codecs.content import BEGINNING, estimate_content_bytes
from splitscan.content.codecs.contract import Codec, MemberTable
from splitscan.content.codecs.formats import named_after
from splitscan.content.kept import SeekStore
from splitscan.content.storage import ByteSource
from splitscan.errors import SourceMissingError, UsageError, Where, bad_option
from splitscan.formats.framing.contract import Splittability
from splitscan.options.files import FileOptions, SourceCompression
from splitscan.reading.contents import codec_in
from splitscan.reading.own_formats import Reading
from splitscan.scans.archived import in_batches
from splitscan.sizes import MIB


def split_file(file: FileMetadata, block_bytes: int, splittable: bool = True) -> Iterator[BlockMetadata]:
    """Cut one file into consecutive blocks.

    The blocks are disjoint, in order, and cover ``[0, size_bytes)`` exactly. They are not aligned to records: a
    record belongs to the block that holds its first byte.

    Args:
        file: The file as it was listed. An empty file has no block.
        block_bytes: Length of each block; the last may be shorter, and is never empty.
        splittable: Whether reading can start in the middle; if not, the whole file is one block.

    Raises:
        UsageError: ``[bad-option]`` if blocks would hold nothing; ``[bad-file]`` if the file has a negative length.

    Example:
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> [(block.start, block.stop) for block in split_file(file, block_bytes=4)]
        [(0, 4), (4, 8), (8, 10)]
        >>> len(list(split_file(file, block_bytes=4, splittable=False)))
        1
    """
    _check_size(file)
    if block_bytes < 1:
        raise bad_option("a block holds one byte at least", f"block_bytes={block_bytes}", "give a positive length")
    return _blocks(file, block_bytes if splittable else max(1, file.size_bytes))


def _blocks(file: FileMetadata, block_bytes: int) -> Iterator[BlockMetadata]:
    size_bytes = file.size_bytes
    start = 0
    for index in range(-(-size_bytes // block_bytes)):
        stop = min(start + block_bytes, size_bytes)
        yield BlockMetadata(file, start, stop, index)
        start = stop


def _check_size(file: FileMetadata) -> None:
    if file.size_bytes < 0:
        raise UsageError(
            "a file cannot have a negative length", Where(path=file.path), f"size_bytes={file.size_bytes}",
            "list the file again", "bad-file",
        )  # fmt: skip


MOST_SHARES = 4
"""Into how many shares one stream is cut: each task decompresses what comes before its own."""

_PIECES = 512  # of all files: 100 slots are kept busy by them
_LEAST_PIECE_BYTES = 8 * MIB  # to begin a block costs a hundredth of reading this much
_LEAST_COMPRESSED_BYTES = MIB  # a shorter file seldom holds two pieces
_SHORTER = 1 - 1 / ENTRY_SHARE  # a share than the one before it: whose content is decompressed, too
_MOST_LOOKED_INTO = 64  # files: more of them than that keep all slots busy as they are
_BLOCKS_OF_A_TASK = 16  # at the most, of plain files: half a block more or less does not make tasks uneven
_LEAST_BLOCK_OF_A_TASK_BYTES = 4 * MIB  # one read: to begin a block costs a twentieth of reading this much


@dataclass(frozen=True, slots=True)
class BlockLengths:
    """How long the blocks of a scan are.

    Attributes:
        block_bytes: Most bytes of a file in a block.
        piece_bytes: Where given, blocks of a file are about even, and hold no more than so many bytes of its content.
        whole_bytes: Where pieces are given: a compressed file that is not longer is left whole, whatever it holds.
        plain_bytes: Where given, blocks of a plain file are even, not shorter than that, and at most twice as long.
    """

    block_bytes: int
    piece_bytes: int | None = None
    whole_bytes: int = 0
    plain_bytes: int | None = None

    @classmethod
    def fine(cls, block_bytes: int, total_bytes: int) -> Self:
        """Blocks so short that any number of tasks can be made about even, whatever the number is."""
        piece_bytes = max(_LEAST_PIECE_BYTES, total_bytes // _PIECES)
        if piece_bytes > block_bytes:
            return cls(block_bytes)
        return cls(block_bytes, piece_bytes, max(_LEAST_COMPRESSED_BYTES, total_bytes // _MOST_LOOKED_INTO))

    @classmethod
    def for_tasks(cls, block_bytes: int, task_bytes: int) -> Self:
        """Blocks of which even tasks can be made, however long the files are."""
        return cls(block_bytes, plain_bytes=max(_LEAST_BLOCK_OF_A_TASK_BYTES, task_bytes // _BLOCKS_OF_A_TASK))

    def of_plain(self, size_bytes: int) -> int:
        """How long the blocks of a file are that is not compressed.

        Example:
            >>> BlockLengths(100).of_plain(250), BlockLengths(100, 60).of_plain(250)
            (100, 50)
            >>> BlockLengths(100, plain_bytes=20).of_plain(39), BlockLengths(100, plain_bytes=20).of_plain(250)
            (39, 21)
        """
        if self.plain_bytes is not None and self.plain_bytes < self.block_bytes:
            return min(self.block_bytes, max(1, -(-size_bytes // max(1, size_bytes // self.plain_bytes))))
        return self.block_bytes if self.piece_bytes is None else _evenly(size_bytes, self.piece_bytes)

    def keeps_compressed(self, size_bytes: int) -> bool:
        """True if a compressed file of that length is one block, whatever it holds."""
        least = self.block_bytes if self.piece_bytes is None else min(self.whole_bytes, self.block_bytes)
        return size_bytes <= least

    def of_content(self, content_bytes: int) -> int | None:
        """How long pieces of the content of a compressed file are; ``None`` where it is cut by bytes of the file."""
        return None if self.piece_bytes is None else _evenly(content_bytes, self.piece_bytes)

    def shares(self, size_bytes: int, content_bytes: int, most_shares: int) -> int:
        """Into how many shares one stream is cut."""
        length, piece = (
            (size_bytes, self.block_bytes) if self.piece_bytes is None else (content_bytes, self.piece_bytes)
        )
        return min(-(-length // piece), most_shares)

    def share_bounds(self, content_bytes: int, shares: int) -> list[int]:
        """Starts of the shares of one stream, after the first, so that tasks take about as long as each other.

        Blocks are tasks of their own; of pieces two tasks may read all: then the second half is the shorter one.

        Example:
            >>> BlockLengths(100).share_bounds(1000, 4), BlockLengths(100, 60).share_bounds(1000, 4)
            ([290, 552, 788], [270, 526, 769])
        """
        ratio = _SHORTER if self.piece_bytes is None else _SHORTER ** (2 / shares)
        return share_bounds(content_bytes, shares, ratio)


def shares_for(files: int, slots: int) -> int:
    """Into how many shares each of some streams is cut, so that the last slot is done first; no more than needed.

    Example:
        >>> shares_for(1, slots=2), shares_for(1, slots=8), shares_for(3, slots=2), shares_for(100, slots=8)
        (2, 4, 2, 1)
    """

    def done_after(shares: int) -> float:
        longest = 1 / sum(_SHORTER**number for number in range(shares))
        return -(-files * shares // slots) * longest

    return min(range(1, MOST_SHARES + 1), key=done_after)


def _evenly(length_bytes: int, most_bytes: int) -> int:
    """The length of as few equal pieces as possible, none longer than *most_bytes*."""
    return max(1, -(-length_bytes // max(1, -(-length_bytes // most_bytes))))


def share_bounds(content_bytes: int, shares: int, ratio: float) -> list[int]:
    """Starts of the shares of one stream, after the first.

    Example:
        >>> share_bounds(1000, 2, 0.75), share_bounds(1000, 4, 0.75)
        ([571], [365, 640, 845])
    """
    weights = [ratio**number for number in range(shares)]
    whole = sum(weights)
    bounds = {int(content_bytes * sum(weights[:number]) / whole) for number in range(1, shares)}
    return sorted(bounds - {0})


_LOOK_BACK_BYTES = 64 * 1024  # readers look around the start of a block; to look further, they decompress it all
_PLACE = attrgetter("content_offset")
_FEW_FILES = 4  # long ones: more of them are work enough for several tasks as they are
_LONGEST_WALK_BYTES = 64 * MIB  # through a member that is longer than a block
_PERHAPS_PLAIN = (SourceCompression.AUTO, SourceCompression.NONE)


def cut_files(
    files: Iterable[FileMetadata],
    lengths: BlockLengths,
    format: Reading,
    options: FileOptions,
    most_shares: int = MOST_SHARES,
) -> Iterator[BlockMetadata]:
    """Cut many files into blocks. A file that fits in one is not opened; of a longer one the first bytes are read.

    One that vanished is cut as if it were there: whoever reads it decides.
    """

    def look_of(batch: Sequence[FileMetadata]) -> Callable[[FileMetadata], Iterator[BlockMetadata]]:
        return partial(
            cut_file,
            lengths=lengths,
            format=format,
            options=options,
            most_shares=most_shares,
            may_index=sum(file.size_bytes > lengths.block_bytes for file in batch) <= _FEW_FILES,
        )

    return in_batches(files, look_of, lambda file: _is_worth_opening(file, lengths, options))


def cut_file(
    file: FileMetadata,
    lengths: BlockLengths,
    format: Reading,
    options: FileOptions,
    most_shares: int = MOST_SHARES,
    *,
    may_index: bool = True,
) -> Iterator[BlockMetadata]:
    """Cut one file into blocks: see :func:`cut_files`; without *may_index* no file is decompressed for it."""
    plain_bytes = lengths.of_plain(file.size_bytes)
    cut: Iterator[BlockMetadata] | None = None
    if format.splittability is not Splittability.WHOLE and _is_worth_opening(file, lengths, options):
        if file.packed is not None and codec_in(_PackedHead(file, file.packed), file.path, options, format) is None:
            return _entered(split_file(file, plain_bytes, splittable=not is_cut_off(file)), file.packed)
        try:
            with closing(open_listed(file, options.storage_options)) as source:
                codec = codec_in(source, file.path, options, format)
                if codec is None:
                    return split_file(file, plain_bytes)
                if most_shares and not lengths.keeps_compressed(file.size_bytes):
                    cut = _cut_compressed(source, file, codec, lengths, options, most_shares, may_index=may_index)
        except SourceMissingError:
            return split_file(file, plain_bytes)
    return split_file(file, lengths.block_bytes, splittable=False) if cut is None else cut


def _cut_compressed(
    source: ByteSource,
    file: FileMetadata,
    codec: Codec,
    lengths: BlockLengths,
    options: FileOptions,
    most_shares: int,
    *,
    may_index: bool,
) -> Iterator[BlockMetadata] | None:
    """The blocks of a compressed file; ``None`` where it is best left whole."""
    max_ratio = options.max_decompression_ratio
    if not options.ignore_corrupt_files:  # else all begin at its beginning, and end at the same damage
        finds_blocks = may_index and file.size_bytes > lengths.block_bytes and most_shares > 1
        longest_bytes = max(lengths.block_bytes, _LONGEST_WALK_BYTES)
        table = SeekStore().find(source, file, codec, longest_bytes, finds_blocks=finds_blocks, max_ratio=max_ratio)
        if table is not None and len(starts := _cut_members(table, lengths)) > 1:
            return _between_members(replace(file, compression=Compression(codec.name, table.content_bytes)), starts)
    if not codec.is_fast or most_shares < 2:
        return None
    content_bytes = _content_bytes(source, codec, max_ratio)
    shares = lengths.shares(file.size_bytes, content_bytes, most_shares)
    if shares < 2:
        return None
    return _share_out(replace(file, compression=Compression(codec.name)), lengths.share_bounds(content_bytes, shares))


def _is_worth_opening(file: FileMetadata, lengths: BlockLengths, options: FileOptions) -> bool:
    """True if a file may become several blocks. A short one only if it is said to be compressed: most are not."""
    if file.size_bytes > lengths.of_plain(file.size_bytes):
        return True
    return may_be_compressed(file, options) and not lengths.keeps_compressed(file.size_bytes)


def may_be_compressed(file: FileMetadata, options: FileOptions) -> bool:
    """True if a file is compressed by what is said of it: its name, its archive, or an option."""
    return (
        named_after(file.path) is not None
        or is_compressed_member(file)
        or options.source_compression not in _PERHAPS_PLAIN
    )


def _content_bytes(source: ByteSource, codec: Codec, max_ratio: int) -> int:
    if isinstance(source, MemberSource):
        return source.unpacked_bytes
    return estimate_content_bytes(source, codec, max_ratio)


@dataclass(frozen=True, slots=True)
class _Start:
    """Start of a block in the content, and the point at which decompressing begins for it."""

    content_offset: int
    seek: SeekPoint


def _cut_members(table: MemberTable, lengths: BlockLengths) -> list[_Start]:
    """The starts of blocks: the first member that begins at or after each multiple of the length of a block."""
    if len(table.points) < 2:
        return []
    piece_bytes = lengths.of_content(table.content_bytes)
    starts: list[_Start] = []
    next_cut = 0
    entry = 0
    for point in table.points:
        position = point.bit_offset // 8 if piece_bytes is None else point.content_offset
        if position < next_cut:
            continue
        while table.points[entry + 1].content_offset <= point.content_offset - _LOOK_BACK_BYTES:
            entry += 1
        starts.append(_Start(point.content_offset, table.points[entry]))
        length = lengths.block_bytes if piece_bytes is None else piece_bytes
        next_cut = (position // length + 1) * length
    return starts


def _between_members(file: FileMetadata, starts: list[_Start]) -> Iterator[BlockMetadata]:
    bounds = [*(start.content_offset for start in starts), file.content_bytes]
    return (
        BlockMetadata(file, bounds[index], bounds[index + 1], index, seek=start.seek)
        for index, start in enumerate(starts)
    )


def describe_cut(block: BlockMetadata) -> str:
    """Why a block is what it is: how its file was cut.

    Example:
        >>> file = FileMetadata("/data/a.csv.bz2", 10, 0, "10-0", "a.csv.bz2")
        >>> describe_cut(BlockMetadata(file, 0, 10, 0))
        'whole: not longer than a block, or nothing can begin inside it'
        >>> describe_cut(BlockMetadata(file, 0, 5, 0))
        'by bytes'
    """
    compression = block.file.compression
    if block.file.packed is not None:
        return _describe_entry(block, block.file.packed)
    if compression is None:
        return "whole: not longer than a block, or nothing can begin inside it" if block.is_file else "by bytes"
    if compression.content_bytes < UNKNOWN_END:
        seek = BEGINNING if block.seek is None else block.seek
        where = "inside members, by a seek index" if seek.state else "between members or blocks"
        return f"{compression.codec}: {where}, decompressed from byte {seek.bit_offset // 8} of the file on"
    return f"{compression.codec}: one stream, decompressed by each of its tasks"


def _describe_entry(block: BlockMetadata, packed: ArchiveEntry) -> str:
    if block.file.compression is not None:
        return f"tar in {packed.codec}, of a {block.file.compression.codec} file: decompressed by each of its tasks"
    if not packed.points:
        return f"tar in {packed.codec}: one stream, decompressed once by each of its tasks"
    seek = block.seek or packed.points[0]
    return f"tar in {packed.codec}: decompressed from byte {seek.bit_offset // 8} of the archive on"


class _PackedHead:
    """The beginning of a member of a compressed archive, which was seen when the archive was listed."""

    def __init__(self, file: FileMetadata, packed: ArchiveEntry) -> None:
        self.path, self.size_bytes, self.fingerprint = file.path, file.size_bytes, file.fingerprint
        self._head = packed.head

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        """The first bytes, as far as they were seen."""
        return self._head[offset : offset + length_bytes]

    def close(self) -> None:
        """Nothing is open."""


def _entered(blocks: Iterable[BlockMetadata], packed: ArchiveEntry) -> Iterator[BlockMetadata]:
    """The blocks of a member of a compressed archive, with the places where decompressing begins for them."""
    for block in blocks:
        near = packed.offset + max(block.start - _LOOK_BACK_BYTES, 0)
        before = bisect_right(packed.points, near, key=_PLACE)
        yield replace(block, seek=packed.points[before - 1]) if before and block.start else block


def _share_out(file: FileMetadata, bounds: Sequence[int]) -> Iterator[BlockMetadata]:
    """Blocks that begin at the start of the content, and at *bounds*; the last has no end."""
    ends = pairwise([0, *bounds, UNKNOWN_END])
    return (BlockMetadata(file, start, stop, index) for index, (start, stop) in enumerate(ends))


def is_compressed(file: FileMetadata, format: Reading, options: FileOptions) -> bool:
    """True if a file is read as a compressed one, by its first bytes. One that vanished is not."""
    if is_cut_off(file):
        return True
    try:
        with closing(open_listed(file, options.storage_options)) as source:
            return codec_in(source, file.path, options, format) is not None
    except SourceMissingError:
        return False
