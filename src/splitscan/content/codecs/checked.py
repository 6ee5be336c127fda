"""A decoder whose content is compared with a length and a checksum that stand elsewhere: in an archive's directory."""

from __future__ import annotations

import zlib

from splitscan.content.codecs.around import DecoderAround
from splitscan.content.codecs.contract import Decoder


class CheckedDecoder(DecoderAround):
    """Decompresses one member, and verifies that it holds what was said of it.

    Args:
        inner: Decompresses it.
        content_bytes: Length of the content.
        crc: CRC-32 of the content.
    """

    def __init__(self, inner: Decoder, content_bytes: int, crc: int) -> None:
        super().__init__(inner)
        self._left_bytes = content_bytes
        self._wanted = crc
        self._crc = 0

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes.

        Raises:
            ValueError: If the content is longer or shorter than was said, or has another checksum.
        """
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
