"""Seek indexes: where a compressed file can be entered that does not say so itself, found by going through it once."""

from __future__ import annotations

import enum
import os
from contextlib import closing
from itertools import pairwise
from typing import NamedTuple

from splitscan.blocks import FileMetadata
from splitscan.content.archives.opening import open_planned
from splitscan.content.codecs.bzip2 import index_bzip2
from splitscan.content.codecs.content import ContentStream
from splitscan.content.codecs.contract import Codec, MemberTable
from splitscan.content.codecs.gzip import index_gzip
from splitscan.content.codecs.tables import find_members
from splitscan.content.kept import SeekStore
from splitscan.content.storage import ByteSource
from splitscan.options.files import FileOptions
from splitscan.reading.contents import codec_in
from splitscan.reading.reader_context import open_stream
from splitscan.sizes import MIB

_READ_BYTES = MIB
_DENSE_BYTES = 4 * MIB  # of the compressed file


class IndexState(enum.Enum):
    """Outcome of the seek index of a file."""

    KEPT = "kept"
    KEPT_BEFORE = "kept before"
    IN_FILE = "in the file"
    NOT_COMPRESSED = "not compressed"
    NO_PLACE = "no place inside, or none worth keeping"
    UNSETTLED = "not kept: modified a moment ago, or no modification time, or no cache directory"


class SeekIndex(NamedTuple):
    """The seek index of a file.

    Attributes:
        places: At how many places the file can be entered, its beginning included.
    """

    codec: str
    places: int
    content_bytes: int
    state: IndexState


def keep_seek_index(file: FileMetadata, format: object, options: FileOptions) -> SeekIndex:
    """Make sure that a file can be cut at places inside it, as far as its codec allows that.

    What is found is kept in the user's cache directory, and planning finds it there.
    """
    with closing(open_planned(file, options.storage_options)) as source:
        codec = codec_in(source, file.path, options, format)
        if codec is None:
            return SeekIndex("", 1, file.size_bytes, IndexState.NOT_COMPRESSED)
        table, state = _find(source, file, codec, options.max_decompression_ratio)
    return SeekIndex(codec.name, len(table.points), table.content_bytes, state)


def _find(source: ByteSource, file: FileMetadata, codec: Codec, max_ratio: int) -> tuple[MemberTable, IndexState]:
    own = find_members(source, codec, file.size_bytes)
    if own is not None and len(own.points) > 1:
        return own, IndexState.IN_FILE
    store = SeekStore()
    before = store.load(source, file, codec.name)
    if before is not None:
        return before, IndexState.KEPT_BEFORE
    table = build_seek_index(source, file, codec, max_ratio)
    if len(table.points) < 2:
        return table, IndexState.NO_PLACE
    return table, IndexState.KEPT if store.save(source, file, codec.name, table) else IndexState.UNSETTLED


def build_seek_index(source: ByteSource, file: FileMetadata, codec: Codec, max_ratio: int) -> MemberTable:
    """Find the places that decompressing can begin at: blocks of bzip2, members and frames, and inside gzip members."""
    blocks = index_bzip2(source, os.cpu_count() or 1, max_ratio=max_ratio) if codec.name == "bzip2" else None
    if blocks is not None:
        return blocks
    stream = ContentStream(source, codec, max_ratio=max_ratio)
    while stream.read():
        pass
    members = stream.members
    if codec.name != "gzip" or _is_dense(members, file.size_bytes):
        return members
    inside = index_gzip(open_stream(source, file, _READ_BYTES), file.size_bytes)
    return inside if inside is not None and inside.content_bytes == members.content_bytes else members


def _is_dense(table: MemberTable, size_bytes: int) -> bool:
    """True if a file can be entered so often that nothing is gained by more."""
    bounds = [*(point.bit_offset // 8 for point in table.points), size_bytes]
    return max(stop - start for start, stop in pairwise(bounds)) <= _DENSE_BYTES
