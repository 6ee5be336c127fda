"""Containers of chunks that are decompressed one by one, each on its own: the container is walked here."""

from __future__ import annotations

from abc import ABC, abstractmethod


class ChunkDecoder(ABC):
    """Decompresses chunk after chunk. A file has no end of its own, so it is one member, and ends where its bytes end.

    Attributes:
        eof: Never: a file that is cut between two chunks cannot be told from a whole one.
        unused_data: Nothing.
    """

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
