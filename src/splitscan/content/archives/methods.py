"""How members of zip files are compressed, and what decompresses and verifies them."""

from __future__ import annotations

import lzma
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from splitscan.content.codecs.contract import Decompressor
from splitscan.content.codecs.formats import BZIP2, XZ, ZSTD, inflate
from splitscan.content.codecs.listed_parts import MOST_XZ_MEMORY_BYTES

_LZMA_HEADER_BYTES = 9  # version, length of the properties, and these
_PROPERTIES_BYTES, _PROPERTIES = slice(2, 4), slice(4, 9)
_NO_LENGTH = (1 << 64) - 1


class ZipMethod(NamedTuple):
    """One way in which a zip file compresses a member.

    Attributes:
        codec: What it is called in plans and errors.
        make_decoder: A decoder for a member that holds so many bytes. Raises ``UsageError`` ``[no-codec]`` if its
            library is not there.
        is_fast: As for :class:`Codec`.
        may_follow: Whether a member may hold several frames or streams, of which a decoder takes one.
    """

    codec: str
    make_decoder: Callable[[int], Decompressor]
    is_fast: bool
    may_follow: bool = False


class DecoderAround(ABC):
    """A decoder that takes what another needs, and ends where that one ends."""

    def __init__(self, inner: Decompressor) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return self._inner.needs_input

    @property
    def unused_data(self) -> bytes | None:
        return self._inner.unused_data

    @abstractmethod
    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""


class ZipLzmaDecoder(DecoderAround):
    """Decompresses LZMA after the header that zip files give it."""

    def __init__(self, content_bytes: int | None) -> None:
        super().__init__(lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MOST_XZ_MEMORY_BYTES))
        self._length = (_NO_LENGTH if content_bytes is None else content_bytes).to_bytes(8, "little")
        self._header = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        missing = _LZMA_HEADER_BYTES - len(self._header)
        if missing > 0:
            self._header += data[:missing]
            if len(self._header) < _LZMA_HEADER_BYTES:
                return b""
            if self._header[_PROPERTIES_BYTES] != b"\x05\0":
                raise ValueError(f"a header of LZMA with properties of {self._header[_PROPERTIES_BYTES].hex()} bytes")
            data = self._header[_PROPERTIES] + self._length + data[missing:]
        return self._inner.decompress(data, max_length)


class FollowingFrames:
    """Decompresses frame after frame up to the end of the member; zeros may follow the last one.

    Where the end is, the archive tells.
    """

    def __init__(self, make_decoder: Callable[[], Decompressor], stored_bytes: int) -> None:
        self._make_decoder = make_decoder
        self._inner = make_decoder()
        self._left_bytes = stored_bytes  # not fed yet
        self._behind = b""  # fed, and after the end of a frame

    @property
    def eof(self) -> bool:
        return self._inner.eof and not self._behind and not self._left_bytes

    @property
    def needs_input(self) -> bool:
        return not self._behind and (self._inner.eof or self._inner.needs_input)

    @property
    def unused_data(self) -> bytes:
        return b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._left_bytes -= len(data)
        if self._inner.eof:
            data, self._behind = (self._behind + data).lstrip(b"\0"), b""  # no frame begins with zeros: they fill up
            if not data:
                return b""
            self._inner = self._make_decoder()
        piece = self._inner.decompress(data, max_length)
        if self._inner.eof:
            self._behind = self._inner.unused_data or b""
        return piece


class CheckedDecoder(DecoderAround):
    """Decompresses one member, and verifies that it holds what was said of it."""

    def __init__(self, inner: Decompressor, content_bytes: int, crc: int) -> None:
        super().__init__(inner)
        self._left_bytes = content_bytes
        self._wanted = crc
        self._crc = 0

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._inner.decompress(data, max_length)
        self._crc = zlib.crc32(piece, self._crc)
        self._left_bytes -= len(piece)
        if self._left_bytes < 0:
            raise ValueError("it holds more than its directory says")
        if self.eof and self._left_bytes:
            raise ValueError(f"it holds {self._left_bytes} bytes less than its directory says")
        if self.eof and self._crc != self._wanted:
            raise ValueError(f"its CRC-32 is {self._crc:08x}, and its directory says {self._wanted:08x}")
        return piece


ZIP_METHODS = {
    "deflated": ZipMethod("deflate", lambda _: inflate(), is_fast=True),
    "bzip2": ZipMethod("bzip2 in zip", lambda _: BZIP2.make_decoder(), is_fast=False, may_follow=True),
    "lzma": ZipMethod("lzma in zip", lambda _: ZipLzmaDecoder(None), is_fast=False),
    "lzma-unmarked": ZipMethod("lzma in zip", ZipLzmaDecoder, is_fast=False),
    "xz": ZipMethod("xz in zip", lambda _: XZ.make_decoder(), is_fast=False, may_follow=True),
    "zstd": ZipMethod("zstd in zip", lambda _: ZSTD.make_decoder(), is_fast=True, may_follow=True),
}
"""By the method of a member. None has the name of a codec: a member can be entered at its beginning only."""
