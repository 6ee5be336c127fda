"""The blocks of bzip2: where they begin, and decompressing a stream from any of them on.

Blocks of bzip2 begin at any bit, after 48 bits that may turn up inside a block too. So where those bits are, a block
begins only perhaps; it is proven by decompressing what lies between two such places, as a stream of its own built
around it. The library does that only if the block ends exactly there, and its checksum is right.

An index of all blocks takes decompressing all of the file, in parallel. The file is cut anywhere. In every part the
first block is looked for, and from there block after block is passed up to the next part. What a part found is believed
only if the one before it arrives at the very place where it began.
"""

from __future__ import annotations

import bz2
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.content import is_bomb
from splitscan.content.codecs.contract import Decompressor, MemberTable
from splitscan.content.storage.contract import ByteSource
from splitscan.sizes import MIB

_MAGIC_BITS = 48
_BLOCK_MAGIC, _END_MAGIC = 0x314159265359, 0x177245385090
_CRC_BITS = 32
_END_BITS = _MAGIC_BITS + _CRC_BITS  # of a stream; a checksum of all its blocks follows the magic
_LONGEST_BLOCK_BYTES = 4 * MIB  # 900,000 symbols of at most 20 bits, and its tables
_MOST_ENDS = 256  # places that might end a block; by chance there is one in 30 TB
_WIDEST_BYTES = 7  # that 48 bits can touch
_STREAM_HEADER_BITS = 32
_READ_BYTES = MIB
_LEAST_PART_BYTES = 2 * MIB  # a few blocks
_PARTS_PER_THREAD = 4  # evens out parts that take longer
_HEADER_BYTES = 4


def find_block_magics(data: bytes, start_byte: int = 0) -> list[int]:
    """Offsets in bits at which a block may begin, in order."""
    return _find_magic(data, _BLOCK_MAGIC, start_byte)


class Bzip2Blocks:
    """Decompresses the blocks of one bzip2 stream from one of them on, and passes the end of the stream.

    What is given out was verified: a block comes as a whole. The checksum over all blocks of the stream is not, as that
    takes those before.

    Args:
        bit: Bits of what is fed first which belong to the block before, or to the header of the stream.
    """

    def __init__(self, bit: int = 0) -> None:
        self._data = b""
        self._dropped_bits = 0  # before the data; all offsets in bits count from the first byte that was fed
        self._bit = bit
        self._ends: deque[int] = deque()  # where blocks may end
        self._tried = 0  # of these, without success
        self._content = memoryview(b"")
        self._is_starving = True
        self._is_behind_blocks = False

    @property
    def bit_offset(self) -> int:
        return self._bit

    @property
    def has_failed(self) -> bool:
        return self._tried > 0

    @property
    def eof(self) -> bool:
        return self._is_behind_blocks and not self._content

    @property
    def needs_input(self) -> bool:
        return self._is_starving and not self._content

    @property
    def unused_data(self) -> bytes:
        return self._data[(self._bit - self._dropped_bits) // 8 :] if self.eof else b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self.feed(data)
        if not self._content:
            self._content = memoryview(self.next_block() or b"")
        piece, self._content = bytes(self._content[:max_length]), self._content[max_length:]
        return piece

    def feed(self, data: bytes) -> None:
        """Append *data*."""
        passed = min((self._bit - self._dropped_bits) // 8, len(self._data))
        self._data, searched = self._data[passed:] + data, max(len(self._data) - passed - _WIDEST_BYTES, 0)
        self._dropped_bits += passed * 8
        found = (_find_magic(self._data, magic, searched) for magic in (_BLOCK_MAGIC, _END_MAGIC))
        last = self._ends[-1] if self._ends else self._bit
        self._ends += [bit for bit in (each + self._dropped_bits for each in sorted(chain(*found))) if bit > last]
        self._is_starving = self._is_starving and not data

    def next_block(self) -> bytes | None:
        """The content of the next block; ``None`` at the end, or if more has to be fed; ``ValueError`` for damage."""
        if self._is_behind_blocks or not self._begins_block():
            return None
        while self._ends and self._ends[0] < self._bit + _END_BITS:
            self._ends.popleft()
        for end in islice(self._ends, self._tried, _MOST_ENDS):
            content = _decompress_block(self._data, self._bit - self._dropped_bits, end - self._dropped_bits)
            if content is not None:
                self._bit, self._tried = end, 0
                return content
            self._tried += 1
        if self._tried == _MOST_ENDS or len(self._data) > _LONGEST_BLOCK_BYTES:
            raise ValueError("a block of bzip2 does not end, or it is damaged")
        self._is_starving = True
        return None

    def _begins_block(self) -> bool:
        """True if a block begins here. Passes the end of the stream."""
        start = self._bit - self._dropped_bits
        magic = _bits(self._data, start, _MAGIC_BITS)
        if magic == _END_MAGIC and start + _END_BITS <= len(self._data) * 8:
            self._bit = self._dropped_bits + -(-(start + _END_BITS) // 8) * 8
            self._is_behind_blocks = True
        elif magic is not None and magic not in (_BLOCK_MAGIC, _END_MAGIC):
            raise ValueError("no block of bzip2 begins where one should")
        elif magic != _BLOCK_MAGIC:
            self._is_starving = True
        return magic == _BLOCK_MAGIC


def bzip2_block_by_block() -> Bzip2Blocks:
    """A decoder of a whole stream that gives out verified blocks only."""
    return Bzip2Blocks(_STREAM_HEADER_BITS)


def resume_bzip2(file: ByteSource, point: SeekPoint) -> Decompressor:
    """A decoder from a block to the end of its stream."""
    del file  # the block itself tells whether it is one
    return Bzip2Blocks(point.bit_offset % 8)


def _find_magic(data: bytes, magic: int, start_byte: int) -> list[int]:
    """Offsets in bits of *magic*, by the five bytes of it that are whole at each of the eight shifts."""
    found = []
    for shift in range(8):
        inner = (magic << 8 - shift).to_bytes(_WIDEST_BYTES, "big")[1:6]
        position = data.find(inner, start_byte + 1)
        while position >= 0:
            bit = (position - 1) * 8 + shift
            if _bits(data, bit, _MAGIC_BITS) == magic:
                found.append(bit)
            position = data.find(inner, position + 1)
    return sorted(found)


def _bits(data: bytes, start: int, count: int) -> int | None:
    """Some bits as a number; ``None`` if there are not so many."""
    stop = start + count
    if stop > len(data) * 8:
        return None
    value = int.from_bytes(data[start // 8 : -(-stop // 8)], "big")
    return value >> -stop % 8 & (1 << count) - 1


def _decompress_block(data: bytes, start: int, stop: int) -> bytes | None:
    """The content of the block between two offsets in bits; ``None`` if there is none."""
    block, checksum = _bits(data, start, stop - start), _bits(data, start + _MAGIC_BITS, _CRC_BITS)
    if block is None or checksum is None:
        return None
    count = stop - start + _END_BITS
    stream = (block << _END_BITS | _END_MAGIC << _CRC_BITS | checksum) << -count % 8
    decoder = bz2.BZ2Decompressor()
    try:
        content = decoder.decompress(b"BZh9" + stream.to_bytes(-(-count // 8), "big"))
    except OSError:
        return None
    return content if decoder.eof else None


class _DamagedError(Exception):
    """The file is not what it should be: whoever reads it finds out where, and says so."""


def index_bzip2(file: ByteSource, threads: int, part_bytes: int | None = None, *, max_ratio: int) -> MemberTable | None:
    """Find all blocks of a bzip2 file; ``None`` if it breaks off or is damaged, or a part is taken for a bomb."""
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
    """Blocks that follow each other: offset in bits and content length of each; ``stop`` is where the next begins."""

    blocks: list[tuple[int, int]]
    stop: int | None


class _BlockWalk:
    """Goes from block to block of a file, and from stream to stream."""

    def __init__(self, file: ByteSource, position: int, max_ratio: int) -> None:
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
        """Pass a block, and return the length of what it holds; 0 at the end of a stream. Raises ``_DamagedError``."""
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


def _walk_part(file: ByteSource, start: int, stop: int, max_ratio: int) -> _Chain:
    """The blocks from the first that begins in a part of the file to the first after it."""
    window = file.read_at(start, min(stop - start, 2 * _READ_BYTES) + _MAGIC_BITS // 8)
    for bit in find_block_magics(b"\0" + window):  # a byte before it, where the search begins to look
        chain = _walk_chain(file, start * 8 + bit - 8, stop, max_ratio)
        if chain is not None:
            return chain
    return _Chain([], None)


def _walk_chain(file: ByteSource, position: int, stop: int, max_ratio: int) -> _Chain | None:
    """The blocks from one on; ``None`` if there is none. A chain that breaks ends before the break."""
    walk = _BlockWalk(file, position, max_ratio)
    blocks: list[tuple[int, int]] = []
    try:
        while walk.position is not None and walk.position < stop * 8:
            begin, content_bytes = walk.position, walk.step()
            if content_bytes:
                blocks.append((begin, content_bytes))
    except _DamagedError:
        pass
    return _Chain(blocks, walk.position) if blocks else None


def _link(file: ByteSource, chains: dict[int, _Chain], max_ratio: int) -> MemberTable:
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


def _one_block(file: ByteSource, position: int, max_ratio: int) -> _Chain:
    walk = _BlockWalk(file, position, max_ratio)
    content_bytes = walk.step()
    return _Chain([(position, content_bytes)] if content_bytes else [], walk.position)
