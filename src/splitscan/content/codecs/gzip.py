"""gzip members entered from the inside: with the 32 KiB of content before the place, at any bit.

One pass of indexed_gzip over the file finds the places. What libraries cannot do is begin inside a byte. So what they
are fed begins with blocks of deflate that hold nothing, of as many bits as are needed for the rest to lie as it lies
in the file.
"""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import Decompressor, MemberTable
from splitscan.errors import UsageError
from splitscan.sizes import KIB, MIB

_TRAILER_BYTES = 8  # checksum and length of the whole member, of which only a part is seen here
_EVEN_BLOCK = (0b00_0000_0010, 10)  # fixed codes: "not the last", the kind, and the end of the block
"""A block that holds nothing, as a number whose lowest bit comes first, and its length in bits."""

_SPACING_BYTES = 4 * MIB  # of content; every point takes about 10 KiB of the index
_MOST_POINTS = 2048
_USUAL_RATIO = 8  # of text that is kept; a better one makes more points
_WINDOW_BYTES = 32 * KIB  # how far back deflate refers
_HEAD = struct.Struct("<5sBBQQIII")  # magic, version, flags, lengths of file and content, spacing, window, points
_POINT = struct.Struct("<QQBB")  # first whole byte, offset in the content, bits of the byte before, has a window
_MAGIC, _VERSION = b"GZIDX", 1
_GZIP = 16 + zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_ASCII_TEXT, _TELLING_BYTES = re.compile(rb"[\t\n\r -~]*"), 16  # so many such bytes are no deflate


ZLIB_SIGNATURES = tuple(
    header.to_bytes(2, "big")
    for method in range(0x08, 0x80, 0x10)
    for header in range(method << 8, method + 1 << 8)
    if header % 31 == 0 and not header & 0x20
)
"""What zlib's streams begin with: method and window, and flags that make it a multiple of 31; no dictionary."""


def begins_zlib(head: bytes) -> bool:
    """True if a file that begins with *head* may be zlib's; asked of files that are named so."""
    is_header = any(each.startswith(head[:2]) for each in ZLIB_SIGNATURES)
    return is_header and not _is_text(head) and _inflate(head, zlib.MAX_WBITS) is not None


def begins_deflate(head: bytes) -> bool:
    """True if a file that begins with *head* may be deflate without a header; asked of files that are named so."""
    return not _is_text(head) and _inflate(head, _RAW) == b""


def _is_text(head: bytes) -> bool:
    return len(head) >= _TELLING_BYTES and _ASCII_TEXT.fullmatch(head) is not None


def _inflate(head: bytes, window_bits: int) -> bytes | None:
    """Bytes after the end of a stream that begins with *head*; ``None`` if none does."""
    inflate = zlib.decompressobj(window_bits)
    try:
        inflate.decompress(head)
    except zlib.error:
        return None
    return inflate.unused_data


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


def _state_of(window: bytes) -> str:
    """The state of a point: the content before it, deflated, as ASCII text."""
    return base64.b64encode(zlib.compress(window)).decode("ascii") if window else ""


def resume_gzip(point: SeekPoint, make_inflate: Callable[[bytes], Decompressor]) -> Decompressor:
    """A decoder from a place inside a member to the end of the member."""
    window = zlib.decompress(base64.b64decode(point.state)) if point.state else b""
    return InsideGzip(make_inflate(window), point.bit_offset % 8)


class InsideGzip:
    """Decompresses the rest of a gzip member; passes its trailer, which only who began at the beginning can verify."""

    def __init__(self, inflate: Decompressor, bit: int) -> None:
        self._inflate = inflate
        self._bit: int | None = bit
        self._behind = b""

    @property
    def eof(self) -> bool:
        return self._inflate.eof and len(self._behind) >= _TRAILER_BYTES

    @property
    def needs_input(self) -> bool:
        return self._inflate.eof or self._inflate.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._behind[_TRAILER_BYTES:]

    def decompress(self, data: bytes, max_length: int) -> bytes:
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


def index_gzip(stream: BinaryIO, size_bytes: int, spacing_bytes: int | None = None) -> MemberTable | None:
    """Find places that a gzip file can be entered at: checksums are left to whoever reads it.

    Args:
        stream: The compressed file; all of it is read.
        spacing_bytes: Content between two places; by default 4 MiB, more in files of many gigabytes.

    Returns:
        The places; ``None`` if the file breaks off or is damaged.
    """
    try:
        library: Any = import_module("indexed_gzip")
    except ImportError as error:
        raise UsageError(
            "a seek index of gzip files is made by a library that is not installed",
            seen=str(error),
            fix="install splitscan[codecs], or indexed_gzip",
            code="no-codec",
        ) from error
    spacing = spacing_bytes or max(_SPACING_BYTES, size_bytes * _USUAL_RATIO // _MOST_POINTS)
    exported = io.BytesIO()
    try:
        with library.IndexedGzipFile(fileobj=stream, spacing=spacing, window_size=_WINDOW_BYTES) as file:
            file.build_full_index()
            file.export_index(fileobj=exported)
    except (library.ZranError, library.CrcError, OSError, EOFError):
        return None
    return _read_index(exported.getvalue())


def _read_index(exported: bytes) -> MemberTable | None:
    """The places in an index as indexed_gzip writes it."""
    magic, version, _, _, content_bytes, _, window_bytes, count = _HEAD.unpack_from(exported)
    if (magic, version) != (_MAGIC, _VERSION):
        return None
    windows_start = _HEAD.size + count * _POINT.size
    points = [SeekPoint(0, 0)]
    for byte, content_offset, bits, has_window in _POINT.iter_unpack(exported[_HEAD.size : windows_start]):
        window = exported[windows_start : windows_start + window_bytes] if has_window else b""
        windows_start += len(window)
        if 0 < content_offset < content_bytes:
            points.append(SeekPoint(byte * 8 - bits, content_offset, _state_of(window)))
    return MemberTable(tuple(points), content_bytes)


class ZlibDecoder:
    """Decompresses one gzip member by Python's own library, for places without isal: a third as fast, and as thorough.

    With *history*, what follows is deflate without a header, after this content.
    """

    def __init__(self, history: bytes | None = None, window_bits: int = _GZIP) -> None:
        self._inflate = zlib.decompressobj(window_bits) if history is None else zlib.decompressobj(_RAW, zdict=history)
        self._may_have_more = False

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def needs_input(self) -> bool:
        return not self._may_have_more

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)
        self._may_have_more = len(piece) == max_length or bool(self._inflate.unconsumed_tail)
        return piece
