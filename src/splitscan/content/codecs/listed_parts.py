"""Containers that list their parts: xz files of several blocks, and zstd in the seekable format.

Every xz stream ends with an index of its blocks. A block in the middle is decompressed as a stream of its own that is
built around it - the header of its stream, the block, an index of one entry, a footer - so that the library verifies
its lengths and its check as it does those of a whole file.

The seek table of zstd holds the length of every frame, in a skippable frame at the end of the file. Frames that were
written as a stream do not say how much they hold; the table does. It is compared, frame by frame, with what is
decompressed.
"""

from __future__ import annotations

import lzma
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import Decompressor, MemberTable, container_error
from splitscan.content.storage.contract import ByteSource
from splitscan.sizes import MIB

MOST_XZ_MEMORY_BYTES = 512 * MIB
"""What xz -9 needs, several times over."""

_HEADER_BYTES = _FOOTER_BYTES = 12  # of an xz stream
XZ_MAGIC, _XZ_END_MAGIC = b"\xfd7zXZ\x00", b"YZ"
_LONGEST_INDEX_BYTES = 64 * MIB  # of millions of blocks
_PAD_BYTES = 4
_FRAME_MAGIC = b"\x5e\x2a\x4d\x18"
_TABLE_FOOTER_MAGIC = b"\xb1\xea\x92\x8f"
_TABLE_HEADER_BYTES, _TABLE_FOOTER_BYTES = 8, 9  # of the seek table of zstd
_RESERVED_BITS = 0x7C


class ListedParts(ABC):
    """A decoder of the parts of a container, one after the other, up to the end of what follows them."""

    def __init__(self, parts: Sequence[tuple[int, int]], tail_bytes: int) -> None:
        self._parts = deque(parts)
        self._tail_bytes = tail_bytes
        self._pending = b""
        self._inner: Decompressor | None = None
        self._left_bytes = 0  # of the current part that were not fed yet

    @property
    def eof(self) -> bool:
        return self._inner is None and not self._parts and not self._tail_bytes

    @property
    def needs_input(self) -> bool:
        return not self._pending and (self._inner is None or self._inner.needs_input)

    @property
    def unused_data(self) -> bytes:
        return self._pending if self.eof else b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._pending += data
        if self._inner is None and not self._parts:
            passed = min(self._tail_bytes, len(self._pending))
            self._tail_bytes -= passed
            self._pending = self._pending[passed:]
            return b""
        return self._decompress_part(max_length)

    @abstractmethod
    def _decompress_part(self, max_length: int) -> bytes:
        """Go on with the current part, or begin the next; ``_inner`` is ``None`` once it has ended."""

    def _take(self) -> bytes:
        taken, self._pending = self._pending[: self._left_bytes], self._pending[self._left_bytes :]
        self._left_bytes -= len(taken)
        return taken


@dataclass(frozen=True, slots=True)
class _Stream:
    """One xz stream: its lengths, as its index has them."""

    start: int
    header: bytes
    blocks: tuple[tuple[int, int], ...]
    tail_bytes: int

    @property
    def offsets(self) -> list[int]:
        """Starts of its blocks, and the end of the last one."""
        return [*accumulate((_padded(length) for length, _ in self.blocks), initial=self.start + _HEADER_BYTES)]


def find_xz_blocks(file: ByteSource) -> MemberTable | None:
    """The blocks of an xz file by its indexes, read from its end; ``None`` if the file is not what it should be."""
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


def resume_xz(file: ByteSource, point: SeekPoint) -> Decompressor:
    """A decoder from a block in the middle of a stream to the end of the stream."""
    offset = point.bit_offset // 8
    for stream in _find_streams(file) or ():
        offsets = stream.offsets
        if offset in offsets[:-1]:
            return XzBlocks(stream.header, stream.blocks[offsets.index(offset) :], stream.tail_bytes)
    raise container_error(
        file, "xz", "no block begins where one was planned", offset, point.content_offset, "another index"
    )


class XzBlocks(ListedParts):
    """Decompresses blocks of an xz stream, and passes the end of the stream. Every block is verified."""

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


def _find_streams(file: ByteSource) -> list[_Stream] | None:
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


def _read_stream(file: ByteSource, stop: int, footer: bytes) -> _Stream | None:
    """The stream that ends with *footer* at *stop*; ``None`` if none does."""
    index_bytes = (int.from_bytes(footer[4:8], "little") + 1) * _PAD_BYTES
    index_start = stop - _FOOTER_BYTES - index_bytes
    is_footer = footer[10:] == _XZ_END_MAGIC and footer[:4] == _crc(footer[4:10])
    if not is_footer or index_bytes > _LONGEST_INDEX_BYTES or index_start < _HEADER_BYTES:
        return None
    index = file.read_at(index_start, index_bytes)
    blocks = _read_index(index) if index[-4:] == _crc(index[:-4]) else None
    if blocks is None:
        return None
    start = index_start - sum(_padded(length) for length, _ in blocks) - _HEADER_BYTES
    header = file.read_at(start, _HEADER_BYTES) if start >= 0 else b""
    if header != XZ_MAGIC + footer[8:10] + _crc(footer[8:10]):
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
    return index + _crc(footer) + footer + _XZ_END_MAGIC


def _padded(length: int) -> int:
    return -(-length // _PAD_BYTES) * _PAD_BYTES


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class _SeekTable:
    """Length of each frame, and of what it holds; and the length of the table's own frame."""

    frames: tuple[tuple[int, int], ...]
    table_bytes: int

    @property
    def offsets(self) -> list[int]:
        """Starts of the frames, and the end of the last one."""
        return [*accumulate((length for length, _ in self.frames), initial=0)]


def find_seekable_frames(file: ByteSource) -> MemberTable | None:
    """The frames of a zstd file by its seek table; ``None`` if it has none."""
    table = _read_table(file)
    if table is None:
        return None
    points, content_offset = [], 0
    for offset, (_, content_bytes) in zip(table.offsets, table.frames, strict=False):
        if content_bytes:
            points.append(SeekPoint(offset * 8, content_offset, ""))
        content_offset += content_bytes
    return MemberTable(tuple(points), content_offset)


def resume_seekable(file: ByteSource, point: SeekPoint, make_decoder: Callable[[], Decompressor]) -> Decompressor:
    """A decoder from one frame to the end of the file, that compares the table with what it finds."""
    table = _read_table(file)
    offset = point.bit_offset // 8
    if table is None or offset not in table.offsets[:-1]:
        raise container_error(
            file, "zstd", "no frame begins where one was planned", offset, point.content_offset, "another seek table"
        )
    return TabledFrames(table.frames[table.offsets.index(offset) :], table.table_bytes, make_decoder)


class TabledFrames(ListedParts):
    """Decompresses frames that a seek table lists, and passes the table."""

    def __init__(
        self, frames: Sequence[tuple[int, int]], table_bytes: int, make_decoder: Callable[[], Decompressor]
    ) -> None:
        super().__init__(frames, table_bytes)
        self._make_decoder = make_decoder
        self._left_content = 0  # of the current frame

    def _decompress_part(self, max_length: int) -> bytes:
        if self._inner is None:
            self._left_bytes, self._left_content = self._parts.popleft()
            self._inner = self._make_decoder()
        inner = self._inner
        taken = self._take() if inner.needs_input else b""
        piece = inner.decompress(taken, max_length)
        self._left_content -= len(piece)
        if inner.eof:
            if self._left_bytes or self._left_content or inner.unused_data:
                raise ValueError("a frame is not as long as the seek table says")
            self._inner = None
        elif self._left_content < 0 or (not self._left_bytes and inner.needs_input):
            raise ValueError("a frame is longer than the seek table says")
        return piece


def _read_table(file: ByteSource) -> _SeekTable | None:
    footer = file.read_at(max(file.size_bytes - _TABLE_FOOTER_BYTES, 0), _TABLE_FOOTER_BYTES)
    if footer[5:] != _TABLE_FOOTER_MAGIC or footer[4] & _RESERVED_BITS:
        return None
    count = int.from_bytes(footer[:4], "little")
    numbers = 3 if footer[4] & 0x80 else 2  # the third is a checksum of what the frame holds; most writers leave it out
    table_bytes = _TABLE_HEADER_BYTES + 4 * numbers * count + _TABLE_FOOTER_BYTES
    if table_bytes > file.size_bytes:
        return None
    table = file.read_at(file.size_bytes - table_bytes, table_bytes)
    if table[:4] != _FRAME_MAGIC or int.from_bytes(table[4:8], "little") != table_bytes - _TABLE_HEADER_BYTES:
        return None
    entries = np.frombuffer(table, "<u4", numbers * count, _TABLE_HEADER_BYTES).reshape(count, numbers)
    frames = tuple((int(length), int(content)) for length, content in entries[:, :2].tolist())
    if sum(length for length, _ in frames) + table_bytes != file.size_bytes:
        return None
    return _SeekTable(frames, table_bytes)
