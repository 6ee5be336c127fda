"""Where the blocks of a bzip2 file begin, and how much each holds: found by decompressing all of it, in parallel.

The file is cut anywhere. In every part the first block is looked for, and from there block after block is passed up to
the next part. What a part found is believed only if the one before it arrives at the very place where it began.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.bzip2_blocks import MAGIC_BITS, Bzip2Blocks, find_block_magics
from splitscan.content.codecs.content import is_bomb
from splitscan.content.codecs.contract import FileBytes, MemberTable
from splitscan.sizes import MIB

_READ_BYTES = MIB
_LEAST_PART_BYTES = 2 * MIB  # a few blocks
_PARTS_PER_THREAD = 4  # evens out parts that take longer
_HEADER_BYTES = 4


class _DamagedError(Exception):
    """The file is not what it should be: whoever reads it finds out where, and says so."""


def index_bzip2(file: FileBytes, threads: int, part_bytes: int | None = None, *, max_ratio: int) -> MemberTable | None:
    """Find all blocks of a bzip2 file.

    Args:
        file: The compressed file; all of it is read.
        threads: How many work on it; the library lets go of the interpreter while it decompresses.
        part_bytes: Into parts of which length the file is cut; by default a few for each thread.
        max_ratio: As for reading.

    Returns:
        The blocks; ``None`` if the file breaks off or is damaged, or any of its parts would be taken for a bomb.
    """
    if part_bytes is None:
        part_bytes = max(-(-file.size_bytes // (threads * _PARTS_PER_THREAD)), _LEAST_PART_BYTES)
    starts = range(part_bytes, file.size_bytes, part_bytes)
    with ThreadPoolExecutor(threads, thread_name_prefix="splitscan-bzip2") as pool:
        chains = list(pool.map(lambda start: _walk_part(file, start, start + part_bytes, max_ratio), starts))
    known = {chain.blocks[0][0]: chain for chain in chains if chain.blocks}
    try:
        return _link(file, known, max_ratio)
    except _DamagedError:
        return None


@dataclass(frozen=True, slots=True)
class _Chain:
    """Blocks that follow each other.

    Attributes:
        blocks: Offset in bits of each, and length of what it holds.
        stop: Where the next one begins; ``None`` after the last of the file.
    """

    blocks: list[tuple[int, int]]
    stop: int | None


class _Walk:
    """Goes from block to block of a file, and from stream to stream.

    Attributes:
        position: Where the next block begins, in bits; ``None`` at the end of the file.
    """

    def __init__(self, file: FileBytes, position: int, max_ratio: int) -> None:
        self._file = file
        self._max_ratio = max_ratio
        self._first = position
        self._content_bytes = 0
        self._enter(position)

    def _enter(self, position: int) -> None:
        self._blocks = Bzip2Blocks(position % 8)
        self._origin = self._fed_to = position // 8
        self.position: int | None = position

    def step(self) -> int:
        """Pass a block.

        Returns:
            The length of what it holds; 0 at the end of a stream.

        Raises:
            _DamagedError: If there is none, or it is damaged, or what was passed is taken for a bomb.
        """
        while (content := self._next_block()) is None and not self._blocks.eof:
            data = self._file.read_at(self._fed_to, _READ_BYTES)
            if not data:
                raise _DamagedError
            self._fed_to += len(data)
            self._blocks.feed(data)
        if content is None:
            self._pass_stream(self._fed_to - len(self._blocks.unused_data))
            return 0
        self.position = self._origin * 8 + self._blocks.bit_offset
        self._content_bytes += len(content)
        if is_bomb(self._content_bytes, (self.position - self._first) // 8, self._max_ratio):
            raise _DamagedError
        return len(content)

    def _next_block(self) -> bytes | None:
        try:
            return self._blocks.next_block()
        except ValueError as error:
            raise _DamagedError from error

    def _pass_stream(self, offset: int) -> None:
        header = self._file.read_at(offset, _HEADER_BYTES)
        if not header.strip(b"\0"):
            self.position = None  # the end, or zeros up to it, which its reader looks at
        elif header[:3] == b"BZh":
            self._enter((offset + _HEADER_BYTES) * 8)
        else:
            raise _DamagedError


def _walk_part(file: FileBytes, start: int, stop: int, max_ratio: int) -> _Chain:
    """The blocks from the first that begins in a part of the file to the first after it."""
    window = file.read_at(start, min(stop - start, 2 * _READ_BYTES) + MAGIC_BITS // 8)
    for bit in find_block_magics(b"\0" + window):  # a byte before it, where the search begins to look
        chain = _walk_chain(file, start * 8 + bit - 8, stop, max_ratio)
        if chain is not None:
            return chain
    return _Chain([], None)


def _walk_chain(file: FileBytes, position: int, stop: int, max_ratio: int) -> _Chain | None:
    """The blocks from one on; ``None`` if there is none. A chain that breaks ends before the break."""
    walk = _Walk(file, position, max_ratio)
    blocks: list[tuple[int, int]] = []
    try:
        while walk.position is not None and walk.position < stop * 8:
            begin, content_bytes = walk.position, walk.step()
            if content_bytes:
                blocks.append((begin, content_bytes))
    except _DamagedError:
        pass
    return _Chain(blocks, walk.position) if blocks else None


def _link(file: FileBytes, chains: dict[int, _Chain], max_ratio: int) -> MemberTable:
    """The blocks from the beginning of the file on, taken from the chains where one begins at the right place."""
    points, content_offset = [SeekPoint(0, 0)], 0
    position: int | None = _HEADER_BYTES * 8
    while position is not None:
        chain = chains.get(position) or _one_block(file, position, max_ratio)
        for begin, content_bytes in chain.blocks:
            if content_offset:
                points.append(SeekPoint(begin, content_offset, ""))
            content_offset += content_bytes
        position = chain.stop
        if is_bomb(content_offset, file.size_bytes if position is None else position // 8, max_ratio):
            raise _DamagedError
    return MemberTable(tuple(points), content_offset)


def _one_block(file: FileBytes, position: int, max_ratio: int) -> _Chain:
    walk = _Walk(file, position, max_ratio)
    content_bytes = walk.step()
    return _Chain([(position, content_bytes)] if content_bytes else [], walk.position)
