"""Decompressing a bzip2 stream from any of its blocks on.

Blocks of bzip2 begin at any bit, after 48 bits that may turn up inside a block too. So where those bits are, a block
begins only perhaps; it is proven by decompressing what lies between two such places, as a stream of its own built
around it. The library does that only if the block ends exactly there, and its checksum is right.
"""

from __future__ import annotations

import bz2
from collections import deque
from itertools import chain, islice

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import Decoder, FileBytes
from splitscan.sizes import MIB

MAGIC_BITS = 48
_BLOCK_MAGIC, _END_MAGIC = 0x314159265359, 0x177245385090
_CRC_BITS = 32
_END_BITS = MAGIC_BITS + _CRC_BITS  # of a stream; a checksum of all its blocks follows the magic
_LONGEST_BLOCK_BYTES = 4 * MIB  # 900,000 symbols of at most 20 bits, and its tables
_MOST_ENDS = 256  # places that might end a block; by chance there is one in 30 TB
_WIDEST_BYTES = 7  # that 48 bits can touch
_STREAM_HEADER_BITS = 32


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
        """Where the next block begins, or the stream's end mark, in bits from the first byte that was fed."""
        return self._bit

    @property
    def has_failed(self) -> bool:
        """Whether the next block would end within what was fed, were it not damaged."""
        return self._tried > 0

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""
        return self._is_behind_blocks and not self._content

    @property
    def needs_input(self) -> bool:
        """Whether it can give nothing more before it is fed."""
        return self._is_starving and not self._content

    @property
    def unused_data(self) -> bytes:
        """What was fed and lies after the end of the stream."""
        return self._data[(self._bit - self._dropped_bits) // 8 :] if self.eof else b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""
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
        """The content of the next block; ``None`` if the stream has ended, or more has to be fed.

        Raises:
            ValueError: If no block begins where it should, or it does not end, or it is damaged.
        """
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
        """Whether a block begins here. Passes the end of the stream."""
        start = self._bit - self._dropped_bits
        magic = _bits(self._data, start, MAGIC_BITS)
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


def resume_bzip2(file: FileBytes, point: SeekPoint) -> Decoder:
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
            if _bits(data, bit, MAGIC_BITS) == magic:
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
    block, checksum = _bits(data, start, stop - start), _bits(data, start + MAGIC_BITS, _CRC_BITS)
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
