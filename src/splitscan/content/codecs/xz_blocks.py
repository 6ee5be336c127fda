"""xz files of several blocks: where these begin, and decompressing from one of them on.

Every xz stream ends with an index of its blocks. A block in the middle is decompressed as a stream of its own that is
built around it - the header of its stream, the block, an index of one entry, a footer - so that the library verifies
its lengths and its check as it does those of a whole file.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import Decoder, FileBytes, MemberTable, container_error
from splitscan.content.codecs.listed_parts import ListedParts
from splitscan.sizes import MIB

MOST_XZ_MEMORY_BYTES = 512 * MIB
"""What xz -9 needs, several times over."""

_HEADER_BYTES = _FOOTER_BYTES = 12
_MAGIC, _END_MAGIC = b"\xfd7zXZ\x00", b"YZ"
_LONGEST_INDEX_BYTES = 64 * MIB  # of millions of blocks
_PAD_BYTES = 4


@dataclass(frozen=True, slots=True)
class _Stream:
    """One xz stream: its lengths, as its index has them.

    Attributes:
        start: Offset of its header.
        header: The header.
        blocks: Length of each block without padding, and of what it holds.
        tail_bytes: Length of its index and footer.
    """

    start: int
    header: bytes
    blocks: tuple[tuple[int, int], ...]
    tail_bytes: int

    @property
    def offsets(self) -> list[int]:
        """Where its blocks begin, and where the last one ends."""
        return [*accumulate((_padded(length) for length, _ in self.blocks), initial=self.start + _HEADER_BYTES)]


def find_xz_blocks(file: FileBytes) -> MemberTable | None:
    """The blocks of an xz file by its indexes, read from the end of the file.

    Returns:
        The table; ``None`` if the file is not what it should be.
    """
    streams = _find_streams(file)
    if streams is None:
        return None
    points, content_offset = [], 0
    for stream in streams:
        state = None  # the first block of a stream is entered through its header
        for offset, (_, content_bytes) in zip(stream.offsets, stream.blocks, strict=False):
            if content_bytes:
                points.append(SeekPoint((stream.start if state is None else offset) * 8, content_offset, state))
            state = ""
            content_offset += content_bytes
    return MemberTable(tuple(points), content_offset)


def resume_xz(file: FileBytes, point: SeekPoint) -> Decoder:
    """A decoder from a block in the middle of a stream to the end of the stream.

    Raises:
        SourceError: If no block begins there.
    """
    offset = point.bit_offset // 8
    for stream in _find_streams(file) or ():
        offsets = stream.offsets
        if offset in offsets[:-1]:
            return XzBlocks(stream.header, stream.blocks[offsets.index(offset) :], stream.tail_bytes)
    raise container_error(
        file, "xz", "no block begins where one was planned", offset, point.content_offset, "another index"
    )


class XzBlocks(ListedParts):
    """Decompresses blocks of an xz stream, and passes the end of the stream. Every block is verified.

    Args:
        header: Header of the stream.
        blocks: Length of each block without padding, and of what it holds.
        tail_bytes: What follows the last of them, up to the end of the stream.
    """

    def __init__(self, header: bytes, blocks: Sequence[tuple[int, int]], tail_bytes: int) -> None:
        super().__init__(blocks, tail_bytes)
        self._header = header
        self._end = b""  # of the stream that is built around the current block

    def _decompress_part(self, max_length: int) -> bytes:
        built = b""
        if self._inner is None:
            length, content_bytes = self._parts.popleft()
            self._inner = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_XZ_MEMORY_BYTES)
            self._left_bytes = _padded(length)
            self._end = _end_of_stream(self._header, length, content_bytes)
            built = self._header
        if self._inner.needs_input:
            built += self._take()
            if not self._left_bytes:
                built, self._end = built + self._end, b""
        piece = self._inner.decompress(built, max_length)
        if self._inner.eof:
            self._inner = None
        return piece


def _find_streams(file: FileBytes) -> list[_Stream] | None:
    """The streams of a file in order, found from the last to the first; ``None`` if it is not made of whole ones."""
    streams: list[_Stream] = []
    stop = file.size_bytes
    while stop > 0:
        if stop % _PAD_BYTES or stop < _HEADER_BYTES + _FOOTER_BYTES:
            return None
        footer = file.read_at(stop - _FOOTER_BYTES, _FOOTER_BYTES)
        if footer[-_PAD_BYTES:] == bytes(_PAD_BYTES):
            stop -= _PAD_BYTES  # zeros between streams, and after the last
            continue
        stream = _read_stream(file, stop, footer)
        if stream is None:
            return None
        streams.append(stream)
        stop = stream.start
    return streams[::-1]


def _read_stream(file: FileBytes, stop: int, footer: bytes) -> _Stream | None:
    """The stream that ends with *footer* at *stop*; ``None`` if none does."""
    index_bytes = (int.from_bytes(footer[4:8], "little") + 1) * _PAD_BYTES
    index_start = stop - _FOOTER_BYTES - index_bytes
    is_footer = footer[10:] == _END_MAGIC and footer[:4] == _crc(footer[4:10])
    if not is_footer or index_bytes > _LONGEST_INDEX_BYTES or index_start < _HEADER_BYTES:
        return None
    index = file.read_at(index_start, index_bytes)
    blocks = _read_index(index) if index[-4:] == _crc(index[:-4]) else None
    if blocks is None:
        return None
    start = index_start - sum(_padded(length) for length, _ in blocks) - _HEADER_BYTES
    header = file.read_at(start, _HEADER_BYTES) if start >= 0 else b""
    if header != _MAGIC + footer[8:10] + _crc(footer[8:10]):
        return None
    return _Stream(start, header, blocks, index_bytes + _FOOTER_BYTES)


def _read_index(index: bytes) -> tuple[tuple[int, int], ...] | None:
    numbers: list[int] = []
    position = 1
    count, position = _read_number(index, position)
    while len(numbers) < 2 * count:
        number, position = _read_number(index, position)
        if position > len(index) - 4:
            return None
        numbers.append(number)
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _read_number(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, position


def _written_number(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def _end_of_stream(header: bytes, length: int, content_bytes: int) -> bytes:
    """Index and footer of a stream of one block."""
    index = b"\0\x01" + _written_number(length) + _written_number(content_bytes)
    index = index.ljust(_padded(len(index)), b"\0")
    index += _crc(index)
    footer = (len(index) // _PAD_BYTES - 1).to_bytes(4, "little") + header[6:8]
    return index + _crc(footer) + footer + _END_MAGIC


def _padded(length: int) -> int:
    return -(-length // _PAD_BYTES) * _PAD_BYTES


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")
