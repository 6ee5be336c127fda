"""Seek indexes kept from one scan to the next: where a compressed file can be entered, so that it is looked for once.

An index is found by path, fingerprint and codec, and it is believed only if the bytes at some of its points, and
at both ends of the file, are still those that were there. Whoever cannot write it simply pays again.
"""

from __future__ import annotations

import hashlib

from splitscan.blocks import FileMetadata, SeekPoint
from splitscan.content.codecs.contract import FileBytes, MemberTable
from splitscan.content.kept_files import KeptFiles, is_settled

_VERSION = 1
_WITNESS_BYTES = 64
_WITNESSES = 6  # points; every look may be a request


class SeekStore:
    """The seek indexes in the user's cache directory.

    Args:
        kept: Another place.

    Thread safety: processes and threads may share a directory.
    """

    def __init__(self, kept: KeptFiles | None = None) -> None:
        self._kept = kept or KeptFiles("seek")

    def load(self, source: FileBytes, file: FileMetadata, codec: str) -> MemberTable | None:
        """The points of a file, or ``None`` when there is no index to believe.

        Args:
            source: The compressed file, open.
            file: The file as it was listed.
            codec: Name of its codec.
        """
        kept = self._kept.read(_key(file, codec))
        table = None if kept is None else _table_of(kept.get("points"), kept.get("content_bytes"), source.size_bytes)
        if kept is None or table is None or kept.get("witness") != _witness(source, table):
            return None
        return table

    def save(self, source: FileBytes, file: FileMetadata, codec: str, table: MemberTable) -> bool:
        """Keep the points of a file.

        Returns:
            Whether they are kept: not those of a file that was just modified, or whose modification time its storage
            does not tell, nor without a place.
        """
        if not is_settled(file):
            return False
        kept = {
            "file": file.name,
            "points": [list(point) for point in table.points],
            "content_bytes": table.content_bytes,
            "witness": _witness(source, table),
        }
        return self._kept.write(_key(file, codec), kept)


def _key(file: FileMetadata, codec: str) -> str:
    return f"{_VERSION}\0{file.path}\0{file.fingerprint}\0{codec}"


def _table_of(points: object, content_bytes: object, size_bytes: int) -> MemberTable | None:
    """What was kept, if it can be the points of a file at all."""
    if not isinstance(points, list) or not points or type(content_bytes) is not int:
        return None
    found = []
    before = SeekPoint(-1, -1)
    for plain in points:
        if not _is_point(plain):
            return None
        point = SeekPoint(*plain)
        if point.bit_offset <= before.bit_offset or point.content_offset <= before.content_offset:
            return None
        found.append(point)
        before = point
    if found[0] != SeekPoint(0, 0) or before.bit_offset >= size_bytes * 8 or before.content_offset > content_bytes:
        return None
    return MemberTable(tuple(found), content_bytes)


def _is_point(plain: object) -> bool:
    if not isinstance(plain, list) or len(plain) != len(SeekPoint._fields):
        return False
    bit_offset, content_offset, state = plain
    return type(bit_offset) is type(content_offset) is int and (state is None or isinstance(state, str))


def _witness(source: FileBytes, table: MemberTable) -> str:
    """A digest of the bytes at both ends of the file and at some points, and of all points."""
    digest = hashlib.sha256(repr(table).encode("ascii"))
    step = -(-len(table.points) // _WITNESSES)
    offsets = [point.bit_offset // 8 for point in table.points[::step]]
    for offset in (0, *offsets, max(source.size_bytes - _WITNESS_BYTES, 0)):
        digest.update(source.read_at(offset, _WITNESS_BYTES))
    return digest.hexdigest()
