"""gzip by Python's own library, for places without isal: a third as fast, and as thorough."""

from __future__ import annotations

import zlib

_GZIP = 16 + zlib.MAX_WBITS


_RAW = -zlib.MAX_WBITS


class ZlibDecoder:
    """Decompresses one gzip member, and verifies its checksum and length.

    Args:
        history: Instead of a member, what follows is deflate without a header, after this content.
    """

    def __init__(self, history: bytes | None = None) -> None:
        self._inflate = zlib.decompressobj(_GZIP) if history is None else zlib.decompressobj(_RAW, zdict=history)
        self._may_have_more = False

    @property
    def eof(self) -> bool:
        """Whether the end of the member was reached."""
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        """Whether it can give nothing more before it is fed."""
        return not self._may_have_more

    @property
    def unused_data(self) -> bytes:
        """What was fed and lies after the end of the member."""
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""
        piece = self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)
        self._may_have_more = len(piece) == max_length or bool(self._inflate.unconsumed_tail)
        return piece
