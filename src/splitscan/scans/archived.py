"""Archives among listed files: their members stand in their place (``archivePathFilter``)."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter
from typing import TypeVar

from splitscan.blocks import ArchiveEntry, FileMetadata, SeekPoint
from splitscan.content.archives.compressed import ArchiveContent
from splitscan.content.archives.directory import Archive, read_directory
from splitscan.content.archives.member import MARK, TAR, ZIP, ArchiveMember, archive_kind, plain_name
from splitscan.content.archives.opening import check_member, duplicate_member
from splitscan.content.codecs.content import is_bomb
from splitscan.content.codecs.contract import Codec, MemberTable
from splitscan.content.codecs.formats import SIGNATURE_BYTES, promised_by, recognise
from splitscan.content.kept import DirectoryStore, SeekStore
from splitscan.content.storage import ByteSource, open_source
from splitscan.errors import SourceError, SourceMissingError, UsageError, Where
from splitscan.options import FileOptions
from splitscan.redaction import redact
from splitscan.scans.globs import compile_glob
from splitscan.sizes import MIB, format_size

_log = logging.getLogger(__name__)

_LOOKED_AT_ONCE = 64  # files; the listing stays lazy
_THREADS = 16  # mostly waiting for the storage
_WORTH_THREADS_BYTES = 2 * MIB  # of a bzip2 file: half a second in one thread


def with_members(
    files: Iterator[FileMetadata], options: FileOptions, is_hidden: Callable[[str], bool]
) -> Iterator[FileMetadata]:
    """Put the members of archives in the place of these, many archives at once."""
    wanted = _choice(options, is_hidden)

    def look(file: FileMetadata) -> list[FileMetadata]:
        try:
            return list_members(file, wanted, options)
        except SourceMissingError:
            if not options.ignore_missing_files:
                raise
            _log.warning("an archive vanished while it was listed: %s", redact(file.path))
            return []

    return in_batches(files, lambda _: look, lambda file: archive_kind(file.path) is not None)


def named_members(
    file: FileMetadata, name: str, options: FileOptions, is_hidden: Callable[[str], bool]
) -> list[FileMetadata] | None:
    """The member of an archive that a user has named, or all in the directory of that name.

    Returns:
        The wanted ones; ``None`` if the archive holds nothing of that name, or the file is none. Without ``base_path``
        their relative paths begin after the directory, as those of files do. Of a damaged archive, whose damage is
        ignored, what is lost is among them: see :func:`list_members`.
    """
    chosen = _choice(options, is_hidden)
    is_known = False

    def wanted(member: str) -> bool:
        nonlocal is_known
        named = member == name or member.startswith(f"{name}/")
        is_known |= named
        return named and chosen(member)

    members = list_members(file, wanted, options)
    lost = [each for each in members if each.path.endswith(MARK)]  # after damage: the name may be there
    if not is_known and not lost:
        return None
    if any(each.path == f"{file.path}{MARK}{name}" for each in members):  # no directory, and found
        members = [each for each in members if each not in lost]
    if options.base_path is not None:
        return members
    folder = len(file.path) + len(MARK) + len(name) + 1
    return [replace(each, relative_path=each.path[folder:] or name.rpartition("/")[2]) for each in members]


def _choice(options: FileOptions, is_hidden: Callable[[str], bool]) -> Callable[[str], bool]:
    matches = compile_glob(options.archive_path_filter or "*", across_segments=True)

    def wanted(name: str) -> bool:
        leads_out = plain_name(name) is None  # such a name is refused, and never hidden
        return matches(name) and (leads_out or not any(map(is_hidden, name.split("/"))))

    return wanted


def in_batches(
    files: Iterable[FileMetadata],
    look_of: Callable[[Sequence[FileMetadata]], Callable[[FileMetadata], Iterable[T]]],
    is_costly: Callable[[FileMetadata], bool],
) -> Iterator[T]:
    """Look at files in order and lazily: some at a time, in threads where a look at several of them costs something."""
    files = iter(files)
    while batch := list(islice(files, _LOOKED_AT_ONCE)):
        look = look_of(batch)
        if sum(map(is_costly, batch)) < 2:
            yield from chain.from_iterable(map(look, batch))
        else:
            with ThreadPoolExecutor(_THREADS, thread_name_prefix="splitscan-look") as pool:
                yield from chain.from_iterable(list(pool.map(look, batch)))


T = TypeVar("T")

_LOG = logging.getLogger("splitscan")
_PLACE = attrgetter("content_offset")


def list_members(file: FileMetadata, wanted: Callable[[str], bool], options: FileOptions) -> list[FileMetadata]:
    """The members of an archive, or the file itself if its name promises none, or it holds something else.

    Args:
        file: A listed file. Only one whose name is that of an archive is opened.
        wanted: Asked for the name of each member.
        options: How large the members may be, and whether damage is ignored. If it is, all of a compressed archive is
            decompressed, and verified; what is before its damage is read, instead of an error; and if that does not end
            inside a wanted member, a file ``archive!/`` without records stands for what is lost.

    Returns:
        A file for every wanted member, sorted by name; those of a compressed archive as they lie in it. They have the
        archive's modification time: a zip file's own times have no zone. The length of one that is compressed is that
        of its bytes in the archive.
    """
    kind = archive_kind(file.path)
    if kind is None or not file.size_bytes:
        return [file]
    if kind not in {TAR, ZIP}:
        raise SourceError(
            "archives of this kind are not read", Where(redact(file.path)), seen=f"a {kind} file",
            fix="pack it as tar or zip, or leave it out with pathGlobFilter", code="unsupported-archive",
        )  # fmt: skip
    with closing(open_source(file.path, options.storage_options)) as source:
        fingerprint = source.fingerprint
        codec = recognise(source.read_at(0, SIGNATURE_BYTES), promised_by(file.path))
        table = None
        if codec is None:
            archive = read_directory(source, kind)
        else:
            archive, table = _read_compressed(source, file, kind, codec, options)
    if archive is None:
        _LOG.warning("%s is no %s file, though it is named like one; it is read as what it is", redact(file.path), kind)
        return [file]
    members = _wanted_members(file.path, archive, wanted)
    _check_size(file, members, options.max_decompression_ratio, options.max_archive_bytes)
    rest = archive.rest
    if rest is not None:
        _LOG.warning("%s: %s (ignoreCorruptFiles=true)", redact(file.path), archive.damage)
        if not any(member.is_cut_off for member in members):
            members.append(rest)
    listed = [_as_file(file, member, fingerprint) for member in members]
    if codec is None:
        return listed
    return [replace(each, packed=_packed(member, archive, table)) for each, member in zip(listed, members, strict=True)]


def _read_compressed(
    source: ByteSource, file: FileMetadata, kind: str, codec: Codec, options: FileOptions
) -> tuple[Archive | None, MemberTable | None]:
    max_ratio, size_bytes, kept, table = options.max_decompression_ratio, source.size_bytes, None, None
    if not options.ignore_corrupt_files:
        kept, seeks = DirectoryStore(), SeekStore()
        is_long = size_bytes >= _WORTH_THREADS_BYTES
        table = seeks.find(source, file, codec, size_bytes, finds_blocks=is_long, max_ratio=max_ratio)
        archive = kept.load(source, file, codec)
        if archive is not None:
            return archive, table
    content = ArchiveContent(
        source,
        codec,
        () if table is None else table.points,
        max_ratio=max_ratio,
        max_bytes=options.max_archive_bytes,
        ends_at_damage=options.ignore_corrupt_files,
    )
    archive = read_directory(content, kind)
    if kept is not None and archive is not None:
        kept.save(source, file, codec, archive)
        if table is None and content.members is not None:
            table = content.members
            seeks.save(source, file, codec.name, table)
    return archive, table


def _packed(member: ArchiveMember, archive: Archive, table: MemberTable | None) -> ArchiveEntry:
    points: tuple[SeekPoint, ...] = ()
    if table is not None and len(table.points) > 1:
        first = bisect_right(table.points, member.offset, key=_PLACE) - 1
        behind = bisect_left(table.points, member.offset + member.content_bytes, key=_PLACE)
        points = table.points[max(first, 0) : behind]
    return ArchiveEntry(member.packing.codec, archive.content_bytes, member.offset, points, member.head)


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
    if any(member.packing.codec for member in members.values()):
        return list(members.values())  # read in another order, the archive would be decompressed again and again
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
        size_bytes=member.stored_bytes if member.name else member.content_bytes,
        fingerprint=member.fingerprint_in(archive_fingerprint),
        relative_path=f"{file.relative_path}{MARK}{member.name}",
    )
