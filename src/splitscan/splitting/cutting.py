"""Cut files into blocks, compressed ones too: those are looked at before.

A file whose container says where its members (or blocks) begin and how much they hold is cut between these: its blocks
are ranges of the compressed file, and a member belongs to the one that holds its first byte. The reader of a
block begins to decompress a little before it, so that it can look back, and goes on behind it to finish its last
record.

So is one whose blocks or members were looked for, once, by decompressing all of it: a seek index that was kept. For
bzip2, which is slow to decompress, it is made where there are few files, before these are cut.

A compressed file whose container cannot be entered in the middle is shared out by offsets of its content: every task
decompresses all that comes before its share, which is much cheaper than parsing it, and parses its share. How long the
content is need not be known for that: the last share has no end.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import Protocol

from splitscan.blocks import UNKNOWN_END, BlockMetadata, Compression, FileMetadata, SeekPoint
from splitscan.codecs.bzip2_index import index_bzip2
from splitscan.codecs.content import BEGINNING
from splitscan.codecs.contract import Codec, MemberTable
from splitscan.codecs.estimate import estimate_content_bytes
from splitscan.codecs.formats import BZIP2
from splitscan.codecs.tables import find_members
from splitscan.errors import SourceMissingError
from splitscan.framing.contract import Splittability
from splitscan.options.files import FileOptions
from splitscan.sizes import MIB
from splitscan.splitting.contents import codec_in
from splitscan.splitting.seek_store import SeekStore
from splitscan.splitting.splitter import split_file
from splitscan.storage import ByteSource, open_source

MOST_SHARES = 4
"""Into how many shares a compressed file is cut: each costs decompressing it, a quarter of parsing it."""


_LOOK_BACK_BYTES = 64 * 1024  # readers look around the start of a block; to look further, they decompress it all
_LOOKED_AT_ONCE = 64  # files; what is planned stays lazy
_THREADS = 16  # mostly waiting for the storage
_FEW_FILES = 4  # long ones: more of them are work enough for several tasks as they are
_LONGEST_WALK_BYTES = 64 * MIB  # through a member that is longer than a block


class Splittable(Protocol):
    """Whatever finds records, and says how a block finds its first one."""

    @property
    def splittability(self) -> Splittability:
        """How a block finds its first record."""


def cut_files(
    files: Iterable[FileMetadata],
    block_bytes: int,
    format: Splittable,
    options: FileOptions,
    most_shares: int = MOST_SHARES,
    plain_bytes: int | None = None,
) -> Iterator[BlockMetadata]:
    """Cut many files into blocks, file after file.

    A file that fits in one block is not opened; of a longer one the first bytes are read.

    Args:
        files: The files, consumed some at a time.
        block_bytes: Most bytes of a file in a block.
        format: How records are found.
        options: How files are opened, and what is said of their compression.
        most_shares: Into how many blocks the content of a compressed file is cut, if there is nothing else to go by;
            0 to leave every compressed file whole.
        plain_bytes: Where given, files that are not compressed are cut into equal blocks of at most so many bytes.

    Returns:
        A lazy iterator over all blocks, in the order of the files, then of the offsets.

    Raises:
        UsageError: If *block_bytes* is not positive.
        SourceError: If a file cannot be opened. One that vanished is cut as if it were there: whoever reads it decides.
    """
    files = iter(files)
    while batch := list(islice(files, _LOOKED_AT_ONCE)):
        long_files = sum(file.size_bytes > min(block_bytes, plain_bytes or block_bytes) for file in batch)
        cut = partial(
            cut_file,
            block_bytes=block_bytes,
            format=format,
            options=options,
            most_shares=most_shares,
            may_index=sum(file.size_bytes > block_bytes for file in batch) <= _FEW_FILES,
            plain_bytes=plain_bytes,
        )
        if long_files < 2:
            yield from chain.from_iterable(map(cut, batch))
        else:
            with ThreadPoolExecutor(_THREADS, thread_name_prefix="splitscan-cut") as pool:
                yield from chain.from_iterable(list(pool.map(cut, batch)))


def cut_file(
    file: FileMetadata,
    block_bytes: int,
    format: Splittable,
    options: FileOptions,
    most_shares: int = MOST_SHARES,
    *,
    may_index: bool = True,
    plain_bytes: int | None = None,
) -> Iterator[BlockMetadata]:
    """Cut one file into blocks: see :func:`cut_files`.

    Without *may_index* no file is decompressed for it.
    """
    cut_bytes = block_bytes
    if plain_bytes is not None and plain_bytes < block_bytes:
        cut_bytes = -(-file.size_bytes // max(1, -(-file.size_bytes // plain_bytes)))
    if format.splittability is Splittability.WHOLE or file.size_bytes <= cut_bytes:
        return split_file(file, block_bytes, splittable=False)
    try:
        with closing(open_source(file.path, options.storage_options)) as source:
            codec = codec_in(source, file.path, options, format)
            if codec is None or file.size_bytes <= block_bytes:
                return split_file(file, cut_bytes, splittable=codec is None)
            sound = not options.ignore_corrupt_files  # else all begin at its beginning, and end at the same damage
            table = _find_table(source, file, codec, block_bytes) if most_shares and sound else None
            if table is None and sound and may_index and most_shares > 1 and codec is BZIP2:
                table = _find_blocks(source, file, options.max_decompression_ratio)
            if table is not None and len(starts := _cut_members(table, block_bytes)) > 1:
                return _between_members(replace(file, compression=Compression(codec.name, table.content_bytes)), starts)
            shares = min(-(-file.size_bytes // block_bytes), most_shares)
            if not codec.is_fast or shares < 2:
                return split_file(file, block_bytes, splittable=False)
            content_bytes = estimate_content_bytes(source, codec, options.max_decompression_ratio)
    except SourceMissingError:
        return split_file(file, cut_bytes)
    return _share_out(replace(file, compression=Compression(codec.name)), content_bytes, shares)


def _find_table(source: ByteSource, file: FileMetadata, codec: Codec, block_bytes: int) -> MemberTable | None:
    """Where a file can be entered: what it says itself, else what was found and kept."""
    table = find_members(source, codec, max(block_bytes, _LONGEST_WALK_BYTES))
    return SeekStore().load(source, file, codec.name) if table is None else table


def _find_blocks(source: ByteSource, file: FileMetadata, max_ratio: int) -> MemberTable | None:
    """Find the blocks of a bzip2 file, and keep where they are."""
    table = index_bzip2(source, os.cpu_count() or 1, max_ratio=max_ratio)
    if table is not None:
        SeekStore().save(source, file, BZIP2.name, table)
    return table


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a block starts in the content, and where decompressing begins for it."""

    content_offset: int
    seek: SeekPoint


def _cut_members(table: MemberTable, block_bytes: int) -> list[_Start]:
    """The starts of blocks: the first member that begins at or behind each multiple of *block_bytes* of the file."""
    if len(table.points) < 2:
        return []
    starts: list[_Start] = []
    next_cut = 0
    entry = 0
    for point in table.points:
        if point.bit_offset // 8 < next_cut:
            continue
        while table.points[entry + 1].content_offset <= point.content_offset - _LOOK_BACK_BYTES:
            entry += 1
        starts.append(_Start(point.content_offset, table.points[entry]))
        next_cut = (point.bit_offset // 8 // block_bytes + 1) * block_bytes
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
    if compression is None:
        return "whole: not longer than a block, or nothing can begin inside it" if block.is_file else "by bytes"
    if compression.content_bytes < UNKNOWN_END:
        seek = BEGINNING if block.seek is None else block.seek
        where = "inside members, by a seek index" if seek.state else "between members or blocks"
        return f"{compression.codec}: {where}, decompressed from byte {seek.bit_offset // 8} of the file on"
    return f"{compression.codec}: one stream, decompressed by each of its tasks"


def _share_out(file: FileMetadata, content_bytes: int, shares: int) -> Iterator[BlockMetadata]:
    """Blocks of equal lengths, if the content is as long as it seems; the last has no end."""
    inner = sorted({content_bytes * i // shares for i in range(1, shares)} - {0})
    bounds = [0, *inner, UNKNOWN_END]
    return (BlockMetadata(file, start, stop, index) for index, (start, stop) in enumerate(pairwise(bounds)))


def is_compressed(file: FileMetadata, format: Splittable, options: FileOptions) -> bool:
    """Whether a file is read as a compressed one, by its first bytes. One that vanished is not."""
    try:
        with closing(open_source(file.path, options.storage_options)) as source:
            return codec_in(source, file.path, options, format) is not None
    except SourceMissingError:
        return False
