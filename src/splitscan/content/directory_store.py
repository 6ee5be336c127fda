"""What compressed archives hold, kept from one scan to the next: to find it takes decompressing all of an archive."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.archives import Archive, ArchiveMember, Fault, Packing, plain_name
from splitscan.content.codecs.bzip2 import index_bzip2
from splitscan.content.codecs.contract import Codec, MemberTable
from splitscan.content.codecs.formats import BZIP2
from splitscan.content.codecs.tables import find_members
from splitscan.content.kept_files import KeptFiles, is_settled
from splitscan.content.seek_store import SeekStore
from splitscan.content.storage import ByteSource
from splitscan.sizes import MIB

_VERSION = 1
_WITNESS_BYTES = 64
_MOST_KEPT_MEMBERS = 100_000  # a list of some 10 MB
_WORTH_THREADS_BYTES = 2 * MIB  # of a bzip2 file: half a second in one thread


class DirectoryStore:
    """The directories of compressed archives in the user's cache directory.

    One is found by path, fingerprint and codec of its archive, and believed if that is as long as it was, and has the
    same bytes at both ends.

    Args:
        kept: Another place.
        seeks: Another place of seek indexes.

    Thread safety: processes and threads may share a directory.
    """

    def __init__(self, kept: KeptFiles | None = None, seeks: SeekStore | None = None) -> None:
        self._kept = kept or KeptFiles("archives")
        self._seeks = seeks or SeekStore()

    def table(self, source: ByteSource, file: FileMetadata, codec: Codec, max_ratio: int) -> MemberTable | None:
        """Where an archive can be entered: it says so itself, that was found before, or (bzip2) is found now."""
        table = find_members(source, codec, source.size_bytes) or self._seeks.load(source, file, codec.name)
        if table is None and codec is BZIP2 and source.size_bytes >= _WORTH_THREADS_BYTES:
            table = index_bzip2(source, os.cpu_count() or 1, max_ratio=max_ratio)
            if table is not None:
                self.save_table(source, file, codec, table)
        return table

    def save_table(self, source: ByteSource, file: FileMetadata, codec: Codec, table: MemberTable) -> None:
        """Keep where an archive can be entered."""
        self._seeks.save(source, file, codec.name, table)

    def load(self, source: ByteSource, file: FileMetadata, codec: Codec) -> Archive | None:
        """What an archive holds, or ``None`` when nothing was kept that can be believed."""
        kept = self._kept.read(_key(file, codec))
        if kept is None or kept.get("witness") != _witness(source):
            return None
        return _archive_of(kept, codec)

    def save(self, source: ByteSource, file: FileMetadata, codec: Codec, archive: Archive) -> None:
        """Keep what an archive holds; not of one that was just modified, nor a very long list."""
        if not is_settled(file) or len(archive.members) > _MOST_KEPT_MEMBERS:
            return
        members = [
            (
                each.name,
                each.offset,
                each.content_bytes,
                None if each.fault is None else list(each.fault),
                each.head.hex(),
            )
            for each in archive.members
        ]
        kept = {
            "members": members,
            "skipped": archive.skipped,
            "content_bytes": archive.content_bytes,
            "witness": _witness(source),
        }
        self._kept.write(_key(file, codec), kept)


def _key(file: FileMetadata, codec: Codec) -> str:
    return f"{_VERSION}\0{file.path}\0{file.fingerprint}\0{codec.name}"


def _witness(source: ByteSource) -> str:
    """A digest of the bytes at both ends of an archive, and of its length."""
    digest = hashlib.sha256(b"%d" % source.size_bytes)
    for offset in (0, max(source.size_bytes - _WITNESS_BYTES, 0)):
        digest.update(source.read_at(offset, _WITNESS_BYTES))
    return digest.hexdigest()


def _archive_of(kept: dict[str, Any], codec: Codec) -> Archive | None:
    """What was kept, if it can be the directory of an archive at all."""
    try:
        members = tuple(_member_of(codec, *plain) for plain in kept["members"])
        skipped = tuple((str(name), str(what)) for name, what in kept["skipped"])
        content_bytes = int(kept["content_bytes"])
    except (KeyError, TypeError, ValueError):
        return None
    behind = 0
    for member in members:
        if not behind <= member.offset <= member.offset + member.content_bytes <= content_bytes:
            return None
        behind = member.offset + member.content_bytes
    return Archive("tar", members, skipped, content_bytes)


def _member_of(
    codec: Codec, name: str, offset: int, content_bytes: int, fault: list[str] | None, head: str
) -> ArchiveMember:
    if not isinstance(name, str) or type(offset) is not int or type(content_bytes) is not int or content_bytes < 0:
        raise ValueError("no member")
    known = None if fault is None else Fault(*map(str, fault))
    if known is None and plain_name(name) != name:
        raise ValueError("no name of a member")
    packing, first_bytes = Packing(codec=codec.name), bytes.fromhex(head)
    return ArchiveMember(name, packing, offset, content_bytes, content_bytes, fault=known, head=first_bytes)
