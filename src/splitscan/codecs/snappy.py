"""Framed snappy, chunk by chunk: the container is walked here, the library decompresses and verifies each chunk."""

from __future__ import annotations

from typing import Any

SNAPPY_SIGNATURE = b"\xff\x06\x00\x00sNaPpY"

_HEADER_BYTES = 4
_STREAM_IDENTIFIER = 0xFF
_COMPRESSED, _PLAIN = 0x00, 0x01
_FIRST_SKIPPABLE = 0x80  # and the padding 0xfe: chunks that readers pass over


class SnappyDecoder:
    """Decompresses a framed snappy file; another stream behind the first continues it, so there is one member.

    The end is where the bytes end: a file cut between two chunks cannot be told from a whole one.

    Args:
        library: ``cramjam``.
    """

    ends_with_input = True

    def __init__(self, library: Any) -> None:
        self._library = library
        self._pending = bytearray()
        self._ready = b""

    eof = False
    unused_data = b""

    @property
    def needs_input(self) -> bool:
        """Whether no whole chunk is at hand."""
        return not self._ready and not self._has_chunk()

    @property
    def is_whole(self) -> bool:
        """Whether a file that ends here ends between two chunks."""
        return not self._pending and not self._ready

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take what is ready: one chunk at the most, 64 KiB."""
        self._pending += data
        if not self._ready and self._has_chunk():
            self._ready = self._next_chunk()
        taken, self._ready = self._ready[:max_length], self._ready[max_length:]
        return taken

    def _has_chunk(self) -> bool:
        return len(self._pending) >= _HEADER_BYTES and len(self._pending) >= _HEADER_BYTES + self._body_bytes()

    def _body_bytes(self) -> int:
        return int.from_bytes(self._pending[1:_HEADER_BYTES], "little")

    def _next_chunk(self) -> bytes:
        chunk = bytes(self._pending[: _HEADER_BYTES + self._body_bytes()])
        del self._pending[: len(chunk)]
        kind = chunk[0]
        if kind in {_COMPRESSED, _PLAIN}:
            return bytes(self._library.snappy.decompress(SNAPPY_SIGNATURE + chunk))
        if kind == _STREAM_IDENTIFIER:
            if chunk != SNAPPY_SIGNATURE:
                raise ValueError("a stream identifier that is not snappy's")
        elif kind < _FIRST_SKIPPABLE:
            raise ValueError(f"a chunk of the reserved kind {kind:#04x}")
        return b""
