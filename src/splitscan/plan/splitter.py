"""Cut files into blocks, by arithmetic on lengths: no file is opened, no byte is read. And how long blocks are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from splitscan.blocks import ENTRY_SHARE, BlockMetadata, FileMetadata
from splitscan.errors import UsageError, Where
from splitscan.sizes import MIB


def split_file(file: FileMetadata, block_bytes: int, splittable: bool = True) -> Iterator[BlockMetadata]:
    """Cut one file into consecutive blocks.

    The blocks are disjoint, in order, and cover ``[0, size_bytes)`` exactly. They are not aligned to records: a
    record belongs to the block that holds its first byte.

    Args:
        file: The file as it was listed. An empty file has no block.
        block_bytes: Length of each block; the last may be shorter, and is never empty.
        splittable: Whether reading can start in the middle; if not, the whole file is one block.

    Returns:
        A lazy iterator over the blocks, lowest offset first.

    Raises:
        UsageError: If *block_bytes* is not positive or the file's length is negative; before the first block.

    Example:
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> [(block.start, block.stop) for block in split_file(file, block_bytes=4)]
        [(0, 4), (4, 8), (8, 10)]
        >>> len(list(split_file(file, block_bytes=4, splittable=False)))
        1
    """
    _check_block_bytes(block_bytes)
    _check_size(file)
    return _blocks(file, block_bytes if splittable else max(1, file.size_bytes))


def _blocks(file: FileMetadata, block_bytes: int) -> Iterator[BlockMetadata]:
    size_bytes = file.size_bytes
    start = 0
    for index in range(-(-size_bytes // block_bytes)):
        stop = min(start + block_bytes, size_bytes)
        yield BlockMetadata(file, start, stop, index)
        start = stop


def _check_block_bytes(block_bytes: int) -> None:
    if isinstance(block_bytes, bool) or not isinstance(block_bytes, int) or block_bytes < 1:
        raise UsageError(
            "blocks must be at least one byte long", seen=f"block_bytes={block_bytes!r}",
            fix="set option blockSize to a positive size, e.g. 128 MiB", code="bad-option",
        )  # fmt: skip


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
