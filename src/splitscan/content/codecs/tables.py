"""Tables of the members of a container and their lengths: found in its index, or by hopping from header to header.

Nothing is decompressed for it. What the headers say is believed for planning only: whoever decompresses a
member compares its length with what it says, and fails if it lies.
"""

from __future__ import annotations

from dataclasses import dataclass

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.chunks import SNAPPY_LOOK_BYTES, look_at_block, look_at_chunk
from splitscan.content.codecs.content import BEGINNING
from splitscan.content.codecs.contract import Codec, MemberTable
from splitscan.content.codecs.formats import LZ4, SKIPPABLE, ZSTD
from splitscan.content.codecs.listed_parts import find_seekable_frames, find_xz_blocks
from splitscan.content.storage.contract import ByteSource, ReadWindow
from splitscan.sizes import MIB

_WINDOW_BYTES = 4 * MIB  # one read for many headers: a request costs as much
_BITS = 8

_GZIP_HEADER_BYTES = 12  # up to the length of the extra field
_GZIP_TRAILER_BYTES = 8
_BGZF_SUBFIELD = b"BC\x02\x00"

_RLE_BLOCK = 1
_STORED_BLOCK = 0x8000_0000  # set in the length of a block of lz4 that is not compressed


def find_members(file: ByteSource, codec: Codec, most_member_bytes: int) -> MemberTable | None:
    """The members of a file, if an index of its own or their headers say how long they are.

    xz has an index, of blocks even, and so has zstd in its seekable format. The headers of BGZF say it, those of
    zstd and lz4 whose frames carry the length of their content, and those of the chunks of snappy, Hadoop's too.

    Args:
        file: The compressed file; without an index it is read from beginning to end.
        most_member_bytes: A longer member is not worth the walk: then the file cannot be cut well.

    Returns:
        The table; ``None`` if a header does not say it, or the file is not what it should be: that is for whoever
        decompresses it to find out.
    """
    indexed = {"xz": find_xz_blocks, "zstd": find_seekable_frames}.get(codec.name)
    table = None if indexed is None else indexed(file)
    return _find_by_headers(file, codec, most_member_bytes) if table is None else table


def _find_by_headers(file: ByteSource, codec: Codec, most_member_bytes: int) -> MemberTable | None:
    hop = {"gzip": _hop_bgzf, "zstd": _hop_zstd, "lz4": _hop_lz4, "snappy": _hop_snappy,
           "hadoop-snappy": _hop_hadoop_snappy}.get(codec.name)  # fmt: skip
    if hop is None:
        return None
    window = ReadWindow(file, _WINDOW_BYTES)
    points: list[SeekPoint] = []
    offset = content_offset = 0
    while offset < file.size_bytes:
        member = hop(window, offset, most_member_bytes)
        if member is None or offset + member.length_bytes > file.size_bytes:
            return None
        if member.content_bytes:
            points.append(SeekPoint(offset * _BITS, content_offset, member.state) if points else BEGINNING)
        offset += member.length_bytes
        content_offset += member.content_bytes
    return MemberTable(tuple(points), content_offset)


@dataclass(frozen=True, slots=True)
class _Member:
    """A member, or a part of one that can be entered: then with a state, as :class:`SeekPoint` has it."""

    length_bytes: int
    content_bytes: int
    state: str | None = None


def _hop_bgzf(window: ReadWindow, offset: int, most_bytes: int) -> _Member | None:
    """A gzip member whose extra field holds its length, as BGZF has it."""
    header = window.at(offset, _GZIP_HEADER_BYTES)
    if header[:4] != b"\x1f\x8b\x08\x04" or len(header) < _GZIP_HEADER_BYTES:
        return None
    extra = window.at(offset + _GZIP_HEADER_BYTES, int.from_bytes(header[10:12], "little"))
    found = 0
    while found + 4 <= len(extra) and extra[found : found + 4] != _BGZF_SUBFIELD:
        found += 4 + int.from_bytes(extra[found + 2 : found + 4], "little")
    length = int.from_bytes(extra[found + 4 : found + 6], "little") + 1
    if found + 6 > len(extra) or not _GZIP_HEADER_BYTES + len(extra) + _GZIP_TRAILER_BYTES < length <= most_bytes:
        return None
    trailer = window.at(offset + length - 4, 4)
    return _Member(length, int.from_bytes(trailer, "little")) if len(trailer) == 4 else None


def _hop_zstd(window: ReadWindow, offset: int, most_bytes: int) -> _Member | None:
    """A frame that says how much it holds, or a skippable one."""
    magic = window.at(offset, 4)
    if magic in SKIPPABLE:
        return _skippable(window, offset)
    if magic != ZSTD.signatures[0]:
        return None
    descriptor = window.at(offset + 4, 14)
    if not descriptor:
        return None
    flags = descriptor[0]
    size_flag, single_segment, has_checksum, dictionary_flag = flags >> 6, flags >> 5 & 1, flags >> 2 & 1, flags & 3
    size_bytes = (single_segment, 2, 4, 8)[size_flag]
    if not size_bytes:
        return None
    behind = 1 + (1 - single_segment) + (0, 1, 2, 4)[dictionary_flag]
    content = int.from_bytes(descriptor[behind : behind + size_bytes], "little") + (256 if size_flag == 1 else 0)
    position = offset + 4 + behind + size_bytes
    is_last = 0
    while not is_last:
        header = window.at(position, 3)
        if len(header) < 3 or position - offset > most_bytes:
            return None
        value = int.from_bytes(header, "little")
        is_last, kind = value & 1, value >> 1 & 3
        position += 3 + (1 if kind == _RLE_BLOCK else value >> 3)
    return _Member(position + 4 * has_checksum - offset, content)


def _hop_lz4(window: ReadWindow, offset: int, most_bytes: int) -> _Member | None:
    """A frame that says how much it holds, or none of whose blocks is compressed; or a skippable one."""
    magic = window.at(offset, 4)
    if magic in SKIPPABLE:
        return _skippable(window, offset)
    descriptor = window.at(offset + 4, 10)
    if magic != LZ4.signatures[0] or not descriptor:
        return None
    flags = descriptor[0]
    has_block_checksums, has_size, has_checksum, has_dictionary = (flags >> bit & 1 for bit in (4, 3, 2, 0))
    position = offset + 4 + 2 + 8 * has_size + 4 * has_dictionary + 1
    stored_bytes = 0
    while True:
        header = window.at(position, 4)
        if len(header) < 4 or position - offset > most_bytes:
            return None
        length = int.from_bytes(header, "little")
        position += 4
        if not length:
            break
        if not has_size and length < _STORED_BLOCK:
            return None  # a block does not say how much it holds
        length &= ~_STORED_BLOCK
        stored_bytes += length
        position += length + 4 * has_block_checksums
    content_bytes = int.from_bytes(descriptor[2:10], "little") if has_size else stored_bytes
    return _Member(position + 4 * has_checksum - offset, content_bytes)


def _hop_snappy(window: ReadWindow, offset: int, most_bytes: int) -> _Member | None:
    """A chunk, of whatever kind: all are short."""
    del most_bytes
    chunk = look_at_chunk(window.at(offset, SNAPPY_LOOK_BYTES))
    return None if chunk is None else _Member(*chunk, "")


def _hop_hadoop_snappy(window: ReadWindow, offset: int, most_bytes: int) -> _Member | None:
    """A block of Hadoop's snappy, whose chunks say how much they hold; those of its lz4 do not."""
    block = look_at_block(window.at, offset, most_bytes)
    return None if block is None else _Member(*block, "")


def _skippable(window: ReadWindow, offset: int) -> _Member:
    return _Member(8 + int.from_bytes(window.at(offset + 4, 4), "little"), 0)
