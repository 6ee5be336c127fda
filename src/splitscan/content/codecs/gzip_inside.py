"""Decompressing a gzip member from the inside on: with the 32 KiB of content before the place, at any bit.

What libraries cannot do is begin inside a byte. So what they are fed begins with blocks of deflate that hold nothing,
of as many bits as are needed for the rest to lie as it lies in the file.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import Decoder

_TRAILER_BYTES = 8  # checksum and length of the whole member, of which only a part is seen here

_EVEN_BLOCK = (0b00_0000_0010, 10)  # fixed codes: "not the last", the kind, and the end of the block
"""A block that holds nothing, as a number whose lowest bit comes first, and its length in bits."""


def _odd_block() -> tuple[int, int]:
    """A block that holds nothing, of an odd length: with codes of its own for two symbols and two distances."""
    fields = [(0, 1), (2, 2), (0, 5), (1, 5), (15, 4)]  # not the last; codes of its own; 257 symbols, 2 distances, 19
    lengths = [0] * 19  # of the codes for lengths of codes, in the order that deflate has them
    lengths[2] = lengths[17] = 1  # "many zeros", and "one"
    fields += [(length, 3) for length in lengths]
    one, zeros = (0, 1), (1, 1)
    fields += [one, zeros, (138 - 11, 7), zeros, (117 - 11, 7), one]  # the first symbol, 255 zeros, the end
    fields += [one, one]  # the distances
    fields += [(1, 1)]  # the end of the block
    value = count = 0
    for field, bits in fields:
        value |= field << count
        count += bits
    return value, count


def _padding(bits: int) -> tuple[int, int]:
    """Blocks that hold nothing, of a length that is *bits* modulo 8."""
    value, count = _odd_block() if bits % 2 else (0, 0)
    while count % 8 != bits:
        value |= _EVEN_BLOCK[0] << count
        count += _EVEN_BLOCK[1]
    return value, count


def state_of(window: bytes) -> str:
    """The state of a point: the content before it, deflated, as ASCII text."""
    return base64.b64encode(zlib.compress(window)).decode("ascii") if window else ""


def resume_gzip(point: SeekPoint, make_inflate: Callable[[bytes], Decoder]) -> Decoder:
    """A decoder from a place inside a member to the end of the member.

    Args:
        point: The place.
        make_inflate: A decoder for deflate without a header, that knows the content before.
    """
    window = zlib.decompress(base64.b64decode(point.state)) if point.state else b""
    return InsideGzip(make_inflate(window), point.bit_offset % 8)


class InsideGzip:
    """Decompresses the rest of a gzip member, and passes its trailer, which only who began at the beginning can verify.

    Args:
        inflate: Decompresses deflate without a header.
        bit: Bits of the first byte that belong to what is before.
    """

    def __init__(self, inflate: Decoder, bit: int) -> None:
        self._inflate = inflate
        self._bit: int | None = bit
        self._behind = b""
        self._trailer_bytes = _TRAILER_BYTES

    @property
    def eof(self) -> bool:
        """Whether the end of the member was reached."""
        return self._inflate.eof and len(self._behind) >= self._trailer_bytes

    @property
    def needs_input(self) -> bool:
        """Whether it can give nothing more before it is fed."""
        return self._inflate.eof or self._inflate.needs_input

    @property
    def unused_data(self) -> bytes:
        """What was fed and lies after the end of the member."""
        return self._behind[self._trailer_bytes :]

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Feed *data*, and take at most *max_length* bytes."""
        if self._inflate.eof:
            self._behind += data
            return b""
        if data and self._bit is not None:
            value, count = _padding(self._bit)
            value |= data[0] >> self._bit << count
            data = value.to_bytes((count + 8 - self._bit) // 8, "little") + data[1:]
            self._bit = None
        piece = self._inflate.decompress(data, max_length)
        self._behind = self._inflate.unused_data or b""  # only what follows the end
        return piece
