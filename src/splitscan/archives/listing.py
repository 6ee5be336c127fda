"""The members of an archive as files of a listing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from splitscan import storage
from splitscan.archives.directory import Archive, ArchiveMember, read_directory
from splitscan.archives.names import MARK, archive_kind
from splitscan.archives.opening import check_member, duplicate_member, member_fingerprint
from splitscan.blocks import FileMetadata
from splitscan.codecs.content import is_bomb
from splitscan.errors import SourceError, UsageError, Where
from splitscan.redaction import redact
from splitscan.sizes import format_size

_LOG = logging.getLogger("splitscan")


def list_members(
    file: FileMetadata,
    wanted: Callable[[str], bool],
    *,
    max_ratio: int,
    max_bytes: int,
    storage_options: Mapping[str, Any] | None = None,
) -> list[FileMetadata]:
    """The members of an archive, or the file itself if its name promises none, or it holds something else.

    Args:
        file: A listed file. Only one whose name is that of an archive is opened.
        wanted: Asked for the name of each member.
        max_ratio: Members that hold so many times the length of the archive make it a bomb.
        max_bytes: Most bytes that all wanted members may hold.
        storage_options: Settings of the remote file system.

    Returns:
        A file for every wanted member, sorted by name. They have the archive's modification time: a zip file's own
        times have no zone. The length of one that is compressed is that of its bytes in the archive.

    Raises:
        SourceError: If the archive cannot be read, is damaged or of a kind that is not read; if a wanted member cannot
            be read, or its name leads out of the archive, or is another's too; ``[archive-too-large]``.
        UsageError: ``[decompression-bomb]``.
    """
    kind = archive_kind(file.path)
    if kind is None or not file.size_bytes:
        return [file]
    if kind not in {"tar", "zip"}:
        raise SourceError(
            "archives of this kind are not read", Where(redact(file.path)), seen=f"a {kind} file",
            fix="pack it as tar or zip, or leave it out with pathGlobFilter", code="unsupported-archive",
        )  # fmt: skip
    with closing(storage.open_source(file.path, storage_options)) as source:
        archive = read_directory(source, kind)
        fingerprint = source.fingerprint
    if archive is None:
        _LOG.warning("%s is no %s file, though it is named like one; it is read as what it is", redact(file.path), kind)
        return [file]
    members = _wanted_members(file.path, archive, wanted)
    _check_size(file, members, max_ratio, max_bytes)
    return [_as_file(file, member, fingerprint) for member in members]


def _wanted_members(path: str, archive: Archive, wanted: Callable[[str], bool]) -> list[ArchiveMember]:
    for name, what in archive.skipped:
        if wanted(name):
            _LOG.warning("%s%s%s is %s; it is left out", redact(path), MARK, redact(name), what)
    members: dict[str, ArchiveMember] = {}
    for member in archive.members:
        if wanted(member.name):
            check_member(path, member)
            if member.name in members:
                raise duplicate_member(path, member.name)
            members[member.name] = member
    return [members[name] for name in sorted(members)]


def _check_size(file: FileMetadata, members: list[ArchiveMember], max_ratio: int, max_bytes: int) -> None:
    content_bytes = sum(member.content_bytes for member in members)
    if is_bomb(content_bytes, file.size_bytes, max_ratio):
        raise UsageError(
            f"the members of an archive hold more than maxDecompressionRatio={max_ratio} times its length",
            Where(redact(file.path)),
            seen=f"{format_size(content_bytes)} of content in {format_size(file.size_bytes)}",
            fix="if the file is no decompression bomb, raise maxDecompressionRatio",
            code="decompression-bomb",
        )
    if content_bytes > max_bytes:
        raise SourceError(
            f"the members of an archive hold more than maxArchiveSize={max_bytes}",
            Where(redact(file.path)),
            seen=format_size(content_bytes),
            fix="if that is meant, raise maxArchiveSize; or choose members with archivePathFilter",
            code="archive-too-large",
        )


def _as_file(file: FileMetadata, member: ArchiveMember, archive_fingerprint: str) -> FileMetadata:
    return replace(
        file,
        path=f"{file.path}{MARK}{member.name}",
        size_bytes=member.stored_bytes,
        fingerprint=member_fingerprint(archive_fingerprint, member),
        relative_path=f"{file.relative_path}{MARK}{member.name}",
    )
