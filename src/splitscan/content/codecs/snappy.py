"""Framed snappy, chunk by chunk: the container is walked here, the library decompresses and verifies each chunk.

The header of a chunk says how long it is, and what stands after it how much it holds; no chunk refers to another. So
a file is entered at any of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from splitscan.content.codecs.chunks import ChunkDecoder, read_varint

SNAPPY_SIGNATURE = b"\xff\x06\x00\x00sNaPpY"

SNAPPY_LOOK_BYTES = 13
"""How much of a chunk tells what it is: header, checksum and a length of up to five bytes; or a stream identifier."""

_HEADER_BYTES = 4
_CRC_BYTES = 4
_STREAM_IDENTIFIER = 0xFF
_COMPRESSED, _PLAIN = 0x00, 0x01
_FIRST_SKIPPABLE = 0x80  # and the padding 0xfe: chunks that readers pass over
_MOST_CONTENT_BYTES = 65_536  # of a chunk


class SnappyChunk(NamedTuple):
    """Header of a chunk: its length with the header, and the length of its content."""

    length_bytes: int
    content_bytes: int


def look_at_chunk(head: bytes) -> SnappyChunk | None:
    r"""The chunk that begins with *head*: what the decoder finds there, unless it finds damage.

    Returns:
        The chunk; ``None`` if no chunk of snappy begins so.

    Example:
        >>> look_at_chunk(b"\x01\x07\x00\x00CRC abc")
        SnappyChunk(length_bytes=11, content_bytes=3)
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
    if content_bytes is None or not 0 <= content_bytes <= _MOST_CONTENT_BYTES:
        return None
    return SnappyChunk(_HEADER_BYTES + body_bytes, content_bytes)


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
