"""Containers of chunks that each hold a block of snappy or lz4: framed snappy, and what Hadoop, and so Spark, writes.

The container is walked here; the library decompresses each chunk, and verifies it where it has a checksum. A chunk
begins with its length, and none refers to another: a file is entered at any of them.

Hadoop writes ``.snappy`` and ``.lz4`` without any signature: a block is the length of its content, in four bytes, the
highest first, and then chunks that together hold that much, each after its length. An empty file is one block of length
0. Nothing has a checksum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from splitscan.sizes import MIB


class ChunkDecoder(ABC):
    """Decompresses chunk after chunk. A file has no end of its own: cut between two chunks, it is a whole one."""

    eof = False
    unused_data = b""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._passed_bytes = 0
        self._ready = memoryview(b"")

    @property
    def bit_offset(self) -> int:
        return self._passed_bytes * 8

    @property
    def has_failed(self) -> bool:
        return self._has_chunk()

    @property
    def needs_input(self) -> bool:
        return not self._ready and not self._has_chunk()

    @property
    def is_whole(self) -> bool:
        """True if a file that ends here ends between two chunks."""
        return not self._pending and not self._ready

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._pending += data
        if not self._ready and self._has_chunk():
            chunk = bytes(self._pending[: self._chunk_bytes(self._pending)])
            self._ready = memoryview(self._content_of(chunk))
            del self._pending[: len(chunk)]
            self._passed_bytes += len(chunk)
        taken, self._ready = self._ready[:max_length], self._ready[max_length:]
        return bytes(taken)

    def _has_chunk(self) -> bool:
        """True if the next chunk is at hand, or what begins there is none."""
        return bool(self._pending) and len(self._pending) >= self._chunk_bytes(self._pending)

    @abstractmethod
    def _chunk_bytes(self, data: bytes | bytearray) -> int:
        """Length of the chunk that begins with *data*; of its header alone if that is wrong, so that nobody waits."""

    @abstractmethod
    def _content_of(self, chunk: bytes) -> bytes:
        """Content of a chunk."""


def read_varint(data: bytes) -> int | None:
    """The number that *data* begins with, seven bits a byte, the lowest first; ``None`` if it does not end."""
    value = 0
    for index, byte in enumerate(data):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value
    return None


SNAPPY_SIGNATURE = b"\xff\x06\x00\x00sNaPpY"

SNAPPY_LOOK_BYTES = 13
"""How much of a chunk tells what it is: header, checksum and a length of up to five bytes; or a stream identifier."""

_HEADER_BYTES = 4
_CRC_BYTES = 4
_STREAM_IDENTIFIER = 0xFF
_COMPRESSED, _PLAIN = 0x00, 0x01
_FIRST_SKIPPABLE = 0x80  # and the padding 0xfe: chunks that readers pass over
_MOST_FRAMED_BYTES = 65_536  # of the content of a framed chunk


def look_at_chunk(head: bytes) -> tuple[int, int] | None:
    r"""Lengths of the chunk that begins with *head*, and of its content; ``None`` if no chunk of snappy begins so.

    Example:
        >>> look_at_chunk(b"\x01\x07\x00\x00CRC abc")
        (11, 3)
        >>> look_at_chunk(b"\x7f\x01\x00\x00?") is None
        True
    """
    if len(head) < _HEADER_BYTES:
        return None
    kind, body_bytes = head[0], _body_bytes(head)
    content_bytes: int | None = 0
    if kind == _PLAIN:
        content_bytes = body_bytes - _CRC_BYTES
    elif kind == _COMPRESSED:
        content_bytes = read_varint(head[_HEADER_BYTES + _CRC_BYTES : _HEADER_BYTES + body_bytes])
    elif kind == _STREAM_IDENTIFIER:
        content_bytes = 0 if head.startswith(SNAPPY_SIGNATURE) else None
    elif _is_reserved(kind):
        content_bytes = None
    if content_bytes is None or not 0 <= content_bytes <= _MOST_FRAMED_BYTES:
        return None
    return _HEADER_BYTES + body_bytes, content_bytes


class SnappyDecoder(ChunkDecoder):
    """Decompresses a framed snappy file from any chunk on; another stream after the first continues it."""

    def __init__(self, library: Any) -> None:
        super().__init__()
        self._library = library

    def _chunk_bytes(self, data: bytes | bytearray) -> int:
        if len(data) < _HEADER_BYTES or _is_reserved(data[0]):
            return _HEADER_BYTES
        return _HEADER_BYTES + _body_bytes(data)

    def _content_of(self, chunk: bytes) -> bytes:
        kind = chunk[0]
        if _is_reserved(kind):
            raise ValueError(f"a chunk of the reserved kind {kind:#04x}")
        if kind in {_COMPRESSED, _PLAIN}:
            return bytes(self._library.snappy.decompress(SNAPPY_SIGNATURE + chunk))
        if kind == _STREAM_IDENTIFIER and chunk != SNAPPY_SIGNATURE:
            raise ValueError("a stream identifier that is not snappy's")
        return b""


def _is_reserved(kind: int) -> bool:
    return _PLAIN < kind < _FIRST_SKIPPABLE


def _body_bytes(header: bytes | bytearray) -> int:
    return int.from_bytes(header[1:_HEADER_BYTES], "little")


_LENGTH_BYTES, _VARINT_BYTES = 4, 5
_MOST_CONTENT_BYTES = 64 * MIB  # of a chunk, and of a first block: writers fill buffers of 256 KiB
_MOST_BLOCK_BYTES = (1 << 31) - 1  # what Java writes as a length
_LZ4_RATIO = 255  # no block of lz4 holds more for each of its bytes
_SLACK_BYTES = 64
_MOST_ZEROS = 32  # that are empty files, one after the other; more are a hole


def read_length(data: bytes | bytearray, offset: int = 0) -> int:
    """A length, as Hadoop writes it."""
    return int.from_bytes(data[offset : offset + _LENGTH_BYTES], "big")


class HadoopDecoder(ChunkDecoder):
    """Decompresses blocks of chunks from any block on. A chunk is verified by its length, and its block by its sum."""

    def __init__(self, name: str, decompress: Callable[[bytes, int], bytes]) -> None:
        super().__init__()
        self._name, self._decompress = name, decompress
        self._left_bytes = 0  # of the content of the block

    @property
    def is_whole(self) -> bool:
        return super().is_whole and not self._left_bytes

    def _chunk_bytes(self, data: bytes | bytearray) -> int:
        start = self._header_bytes(data)
        if not start or len(data) < start:
            return start or _LENGTH_BYTES
        length = read_length(data, start - _LENGTH_BYTES)
        return start + (length if 0 < length <= _most_chunk_bytes(_MOST_CONTENT_BYTES) else 0)

    def _header_bytes(self, data: bytes | bytearray) -> int:
        """Length of what is before the raw chunk; 0 for a block without any."""
        if self._left_bytes:
            return _LENGTH_BYTES
        is_empty = len(data) >= _LENGTH_BYTES and not read_length(data)
        return 0 if is_empty else 2 * _LENGTH_BYTES

    def _content_of(self, chunk: bytes) -> bytes:
        start = self._header_bytes(chunk)
        if not start:
            return b""
        left = self._left_bytes or read_length(chunk)
        if left > _MOST_BLOCK_BYTES or len(chunk) == start:
            raise ValueError(f"no block of {self._name} begins with {chunk[:start].hex(' ')}")
        content = self._decompress(chunk[start:], min(left, _MOST_CONTENT_BYTES))
        if not 0 < len(content) <= left:
            raise ValueError(f"a chunk holds {len(content)} bytes where its block has {left} left")
        self._left_bytes = left - len(content)
        return content


def hadoop_snappy(library: Any) -> HadoopDecoder:
    """A decoder of what Hadoop writes as ``.snappy``."""

    def decompress(raw: bytes, most_bytes: int) -> bytes:
        said = read_varint(raw[:_VARINT_BYTES])
        if said is None or said > most_bytes:
            raise ValueError(f"a chunk says that it holds {said} bytes where there are at most {most_bytes}")
        return bytes(library.snappy.decompress_raw(raw))

    return HadoopDecoder("snappy", decompress)


def hadoop_lz4(library: Any) -> HadoopDecoder:
    """A decoder of what Hadoop writes as ``.lz4``."""

    def decompress(raw: bytes, most_bytes: int) -> bytes:
        room = min(most_bytes, len(raw) * _LZ4_RATIO + _SLACK_BYTES)
        content: bytes = library.decompress(raw, uncompressed_size=room)
        return content

    return HadoopDecoder("lz4", decompress)


def look_at_block(read_at: Callable[[int, int], bytes], offset: int, most_bytes: int) -> tuple[int, int] | None:
    """Lengths of the block of snappy at *offset* and of its content, as its chunks say; ``None`` if there is none."""
    header = read_at(offset, _LENGTH_BYTES)
    content_bytes = left = read_length(header)
    position = offset + _LENGTH_BYTES
    while left and position - offset <= most_bytes:
        look = read_at(position, _LENGTH_BYTES + _VARINT_BYTES)
        held = read_varint(look[_LENGTH_BYTES:])
        if held is None or not 0 < held <= left:
            return None
        position += _LENGTH_BYTES + read_length(look)
        left -= held
    return None if left or len(header) < _LENGTH_BYTES else (position - offset, content_bytes)


def _most_chunk_bytes(content_bytes: int) -> int:
    """Length of incompressible content of so many bytes; snappy and lz4 allow for about this."""
    return content_bytes + content_bytes // 6 + _SLACK_BYTES


def begins_hadoop_snappy(head: bytes) -> bool:
    r"""True if a file that begins with *head* may be Hadoop's snappy; asked of files that are named so.

    Example:
        >>> begins_hadoop_snappy(b"\0\0\0\3\0\0\0\5\3\x08abc"), begins_hadoop_snappy(b"id,name\n1,ada\n")
        (True, False)
    """
    content_bytes, raw = _first_block(head) or (-1, b"")
    if not raw:
        return content_bytes >= 0
    held = read_varint(raw[:_VARINT_BYTES])
    return 0 < held <= content_bytes if held is not None else len(raw) < _VARINT_BYTES


def begins_hadoop_lz4(head: bytes) -> bool:
    r"""True if a file that begins with *head* may be Hadoop's lz4: a chunk begins with bytes that are not compressed.

    Example:
        >>> begins_hadoop_lz4(b"\0\0\0\3\0\0\0\4\x30abc"), begins_hadoop_lz4(b"id,name\n1,ada\n")
        (True, False)
    """
    block = _first_block(head)
    return block is not None and (not block[1] or block[1][0] >> 4 > 0)


def _first_block(head: bytes) -> tuple[int, bytes] | None:
    """How much the first block holds that is not empty, and the beginning of its first raw chunk; ``None`` without."""
    if not any(head):
        return (0, b"") if len(head) <= _MOST_ZEROS else None
    while not read_length(head):
        head = head[_LENGTH_BYTES:]
    content_bytes, length = (read_length(head[at : at + _LENGTH_BYTES].ljust(_LENGTH_BYTES, b"\0")) for at in (0, 4))
    is_told = len(head) >= 2 * _LENGTH_BYTES
    if content_bytes > _MOST_CONTENT_BYTES or length > _most_chunk_bytes(content_bytes) or (is_told and not length):
        return None
    return content_bytes, head[2 * _LENGTH_BYTES :]
