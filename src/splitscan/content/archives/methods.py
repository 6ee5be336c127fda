"""How members of zip files are compressed, and what decompresses them."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from typing import NamedTuple

from splitscan.content.codecs.around import DecoderAround
from splitscan.content.codecs.contract import Decoder
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
    make_decoder: Callable[[int], Decoder]
    is_fast: bool
    may_follow: bool = False


class ZipLzmaDecoder(DecoderAround):
    """Decompresses LZMA after the header that zip files give it.

    Args:
        content_bytes: Length of the content, where that tells the end; ``None`` where a mark does.
    """

    def __init__(self, content_bytes: int | None) -> None:
        super().__init__(lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MOST_XZ_MEMORY_BYTES))
        self._length = (_NO_LENGTH if content_bytes is None else content_bytes).to_bytes(8, "little")
        self._header = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes.

        Raises:
            LZMAError: If it is damaged, or takes too much memory.
            ValueError: If its header is not that of LZMA.
        """
        missing = _LZMA_HEADER_BYTES - len(self._header)
        if missing > 0:
            self._header += data[:missing]
            if len(self._header) < _LZMA_HEADER_BYTES:
                return b""
            if self._header[_PROPERTIES_BYTES] != b"\x05\0":
                raise ValueError(f"a header of LZMA with properties of {self._header[_PROPERTIES_BYTES].hex()} bytes")
            data = self._header[_PROPERTIES] + self._length + data[missing:]
        return self._inner.decompress(data, max_length)


ZIP_METHODS = {
    "deflated": ZipMethod("deflate", lambda _: inflate(), is_fast=True),
    "bzip2": ZipMethod("bzip2 in zip", lambda _: BZIP2.make_decoder(), is_fast=False, may_follow=True),
    "lzma": ZipMethod("lzma in zip", lambda _: ZipLzmaDecoder(None), is_fast=False),
    "lzma-unmarked": ZipMethod("lzma in zip", ZipLzmaDecoder, is_fast=False),
    "xz": ZipMethod("xz in zip", lambda _: XZ.make_decoder(), is_fast=False, may_follow=True),
    "zstd": ZipMethod("zstd in zip", lambda _: ZSTD.make_decoder(), is_fast=True, may_follow=True),
}
"""By the method of a member. None has the name of a codec: a member can be entered at its beginning only."""
