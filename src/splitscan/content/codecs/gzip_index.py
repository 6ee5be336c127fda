"""Places inside gzip members at which decompressing can begin, found by one pass of indexed_gzip over the file."""

from __future__ import annotations

import io
import struct
from importlib import import_module
from typing import Any, BinaryIO

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.contract import MemberTable
from splitscan.content.codecs.gzip_inside import state_of
from splitscan.errors import UsageError
from splitscan.sizes import KIB, MIB

_SPACING_BYTES = 4 * MIB  # of content; every point takes about 10 KiB of the index
_MOST_POINTS = 2048
_USUAL_RATIO = 8  # of text that is kept; a better one makes more points
_WINDOW_BYTES = 32 * KIB  # how far back deflate refers
_HEAD = struct.Struct("<5sBBQQIII")  # magic, version, flags, lengths of file and content, spacing, window, points
_POINT = struct.Struct("<QQBB")  # first whole byte, offset in the content, bits of the byte before, has a window
_MAGIC, _VERSION = b"GZIDX", 1


def index_gzip(stream: BinaryIO, size_bytes: int, spacing_bytes: int | None = None) -> MemberTable | None:
    """Find places that a gzip file can be entered at: checksums are left to whoever reads it.

    Args:
        stream: The compressed file; all of it is read.
        size_bytes: Its length.
        spacing_bytes: Content between two places; by default 4 MiB, more in files of many gigabytes.

    Returns:
        The places; ``None`` if the file breaks off or is damaged.

    Raises:
        UsageError: ``[no-codec]`` if indexed_gzip is not installed.
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
            points.append(SeekPoint(byte * 8 - bits, content_offset, state_of(window)))
    return MemberTable(tuple(points), content_bytes)
