"""Open a member of an archive, or any other file: for everybody who reads what was listed."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from splitscan.blocks import Damage, FileMetadata, SeekPoint
from splitscan.content import storage
from splitscan.content.archives.compressed import SharedArchive
from splitscan.content.archives.directory import (
    LOCAL_HEADER_BYTES,
    Archive,
    archive_error,
    open_directory,
    read_directory,
)
from splitscan.content.archives.member import (
    MARK,
    TAR,
    ZIP_METHODS,
    ArchiveMember,
    PlannedMember,
    ZipMemberDecoder,
    archive_kind,
    plain_name,
    split_member_path,
)
from splitscan.content.codecs.contract import Codec
from splitscan.content.codecs.formats import CODECS
from splitscan.content.storage import ByteSource
from splitscan.content.storage.contract import refused_read
from splitscan.errors import SourceError, SourceMissingError, Where
from splitscan.redaction import redact
from splitscan.sizes import count_of

_LOCAL_SIGNATURE = b"PK\x03\x04"
_UTF8_NAME = 0x800
_KEPT_DIRECTORIES = 4


class MemberSource:
    """The bytes of an archive that are one member's; ``ContainerError`` if something else lies there.

    Thread safety: as that of the archive's source.
    Pickling: never; open it again where it is needed.
    """

    def __init__(self, archive: ByteSource, path: str, member: ArchiveMember) -> None:
        self._archive = archive
        self._path = path
        self._member = member
        self._start = member.offset if member.packing.is_tar else _find_data(archive, path, member)
        if self._start + member.stored_bytes > archive.size_bytes:
            raise archive_error(path, "a member reaches over the end of its archive",
                                f"it ends at {self._start + member.stored_bytes} of {archive.size_bytes} bytes",
                                self._start, "truncated-container")  # fmt: skip

    @property
    def path(self) -> str:
        return self._path

    @property
    def size_bytes(self) -> int:
        """How many bytes of the archive are its own."""
        return self._member.stored_bytes

    @property
    def fingerprint(self) -> str:
        """Which version of the archive is open, and where the member lies in it."""
        return self._member.fingerprint_in(self._archive.fingerprint)

    @property
    def container(self) -> ByteSource | None:
        """The archive, if it is compressed as a whole: no byte of the member is a byte of it."""
        return self._archive.container if isinstance(self._archive, SharedArchive) else None

    @property
    def packing(self) -> Codec | None:
        """Codec of its bytes; ``None`` if they are its content."""
        method = ZIP_METHODS.get(self._member.packing.zip_method)
        if method is None:
            return None
        return Codec(method.codec, (), (), partial(ZipMemberDecoder, method, self._member), is_fast=method.is_fast)

    @property
    def unpacked_bytes(self) -> int:
        """Length of what it holds, by the directory of its archive."""
        return self._member.content_bytes

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        if offset < 0 or length_bytes < 0:
            raise refused_read(redact(self._path), offset, length_bytes)
        left = max(self._member.stored_bytes - offset, 0)
        return self._archive.read_at(min(self._start + offset, self._archive.size_bytes), min(length_bytes, left))

    def close(self) -> None:
        self._archive.close()


class CutOffMember(MemberSource):
    """Part of a member before the damage of its compressed archive; empty without a member.

    To readers it is like a :class:`~splitscan.content.codecs.source.CompressedSource` whose file is damaged at its end.
    """

    _damage: Damage | None = None

    @property
    def size_bytes(self) -> int:
        return self._member.stored_bytes if self._member.name else self._member.content_bytes

    @property
    def codec(self) -> str:
        """Name of what the archive is packed in."""
        return f"{TAR}.{self._member.packing.codec}"

    @property
    def content_bytes(self) -> int:
        """Length of the part that is there."""
        return self._member.stored_bytes

    @property
    def damage(self) -> Damage | None:
        """Damage of the archive that ends the member."""
        if self._damage is None and isinstance(self._archive, SharedArchive):
            damage = self._archive.find_damage(self._start + self.content_bytes)
            self._damage = damage and damage._replace(content_offset=self.content_bytes)
        return self._damage


def member_codec(source: object) -> Codec | None:
    """Codec of the bytes of a member of an archive; ``None`` if they are content, or it is another file."""
    return source.packing if isinstance(source, MemberSource) else None


def is_member(file: FileMetadata) -> bool:
    """True if a listed file is a member of an archive."""
    return _planned(file.path, file.fingerprint) is not None


def is_compressed_member(file: FileMetadata) -> bool:
    """True if a listed file is a member that its archive has compressed."""
    planned = _planned(file.path, file.fingerprint)
    return planned is not None and planned.member.packing.zip_method in ZIP_METHODS


def is_cut_off(file: FileMetadata) -> bool:
    """True if a listed file is a member that damage of its archive cuts off, or stands for what is lost of that."""
    planned = _planned(file.path, file.fingerprint)
    return planned is not None and planned.member.is_cut_off


def _planned(path: str, fingerprint: str) -> PlannedMember | None:
    named = split_member_path(path)
    return None if named is None else PlannedMember.read(named[1], fingerprint)


def open_source(path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> ByteSource:
    """Open a file, or, if there is none of that name, the member of an archive that ``archive!/member`` names."""
    try:
        return storage.open_source(path, storage_options)
    except SourceMissingError:
        found = _open_member(storage.locate(path).path, "", storage_options)
        if found is None:
            raise
        return found


def open_listed(file: FileMetadata, storage_options: Mapping[str, Any] | None = None) -> ByteSource:
    """Open what has the name of a listed file now; no directory is read for a member while its archive is the same."""
    return open_member(file, storage_options) or storage.open_source(file.path, storage_options)


def open_planned(file: FileMetadata, storage_options: Mapping[str, Any] | None = None) -> ByteSource:
    """Open a file that was planned: a member of an archive, or one that may have grown and been renamed since."""
    return open_member(file, storage_options) or storage.open_source(file.path, storage_options, file)


def open_member(
    file: FileMetadata, storage_options: Mapping[str, Any] | None = None, seek: SeekPoint | None = None
) -> ByteSource | None:
    """Open a member of an archive that was planned; ``None`` for any other file."""
    known = () if file.packed is None else file.packed.points
    points = known if seek is None else (*known, seek)
    return _open_member(file.path, file.fingerprint, storage_options, points)


def _open_member(
    path: str, fingerprint: str, storage_options: Mapping[str, Any] | None, points: Sequence[SeekPoint] = ()
) -> ByteSource | None:
    """The member that *path* names; ``None`` if the path only looks like one: no archive lies there.

    The points are believed of the version of the archive that the fingerprint is of.
    """
    named = split_member_path(path)
    if named is None:
        return None
    planned = PlannedMember.read(named[1], fingerprint)
    if fingerprint and planned is None:  # a real file was listed
        return None
    try:
        archive = storage.open_source(named[0], storage_options)
    except SourceError as error:
        if isinstance(error, SourceMissingError) or error.reason_code == "not-a-file":
            return None
        raise
    try:
        is_unchanged = planned is not None and planned.archive_fingerprint == archive.fingerprint
        member = planned.member if planned and is_unchanged else _find_member(named[1], archive)
        if member.packing.codec:
            codec, places = CODECS[member.packing.codec], points if is_unchanged else ()
            archive = SharedArchive(archive, codec, path, places, ends_at_damage=member.packing.is_damaged)
        return (CutOffMember if member.is_cut_off else MemberSource)(archive, path, member)
    except BaseException:
        archive.close()
        raise


def _find_member(name: str, archive: ByteSource) -> ArchiveMember:
    directory = _directory(archive)
    found = [member for member in directory.members if member.name == name] if directory is not None else []
    if not found:
        raise SourceMissingError(
            "an archive has no member of this name",
            Where(redact(f"{archive.path}{MARK}{name}")),
            seen="the file is no archive" if directory is None else count_of(len(directory.members), "other member"),
            fix="check the spelling, and whether the archive was rewritten",
            code="file-missing",
        )
    check_member(archive.path, found[0])
    if len(found) > 1:
        raise duplicate_member(archive.path, name)
    return found[0]


def check_member(archive_path: str, member: ArchiveMember) -> None:
    """Refuse a member that cannot be read."""
    if member.fault is not None:
        raise SourceError(
            "a member of an archive cannot be read", Where(redact(archive_path)),
            seen=f"{redact(member.name)!r} {member.fault.text}",
            fix="leave it out with archivePathFilter, or unpack the archive (7z x) and pack it again (zip -r)",
            code=member.fault.code,
        )  # fmt: skip


def duplicate_member(archive_path: str, name: str) -> SourceError:
    """The error for two members of one name: nobody knows which of them is meant."""
    return SourceError(
        "an archive holds two members of one name", Where(redact(archive_path)), seen=repr(redact(name)),
        fix="leave them out with archivePathFilter, or unpack the archive and pack it again", code="duplicate-member",
    )  # fmt: skip


_DIRECTORIES: dict[tuple[str, str], Archive | None] = {}  # by path and version, those used last
_LOCK = threading.Lock()


def _directory(archive: ByteSource) -> Archive | None:
    key = archive.path, archive.fingerprint
    with _LOCK:
        if key in _DIRECTORIES:
            _DIRECTORIES[key] = _DIRECTORIES.pop(key)
            return _DIRECTORIES[key]
    directory = read_directory(open_directory(archive), archive_kind(archive.path) or "")
    with _LOCK:
        _DIRECTORIES[key] = directory
        for unused in list(_DIRECTORIES)[:-_KEPT_DIRECTORIES]:
            del _DIRECTORIES[unused]
    return directory


def _find_data(archive: ByteSource, path: str, member: ArchiveMember) -> int:
    """Offset of the data of a member of a zip file: after a header of its own, which has to be that member's."""
    header = archive.read_at(member.offset, LOCAL_HEADER_BYTES)
    flags, name_bytes = int.from_bytes(header[6:8], "little"), int.from_bytes(header[26:28], "little")
    name = archive.read_at(member.offset + len(header), name_bytes)
    if not header.startswith(_LOCAL_SIGNATURE) or plain_name(_decoded(name, flags)) != member.name:
        raise archive_error(
            path, "no member begins where the directory of a zip file says", f"{header[:4]!r}, then {name[:40]!r}",
            member.offset,
        )  # fmt: skip
    return member.offset + len(header) + name_bytes + int.from_bytes(header[28:30], "little")


def _decoded(name: bytes, flags: int) -> str:
    return name.decode("utf-8" if flags & _UTF8_NAME else "cp437", "replace")
