"""Directories of archives: tar's headers, or the directory at the end of a zip file."""

from __future__ import annotations

import stat
import struct
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Any, cast

from splitscan.blocks import Damage
from splitscan.content.archives.compressed import ArchiveContent
from splitscan.content.archives.member import TAR, ArchiveMember, MemberEncoding, MemberFault, plain_name
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.codecs.formats import SIGNATURE_BYTES, is_tar, promised_by, recognise
from splitscan.content.storage import ByteSource
from splitscan.content.storage.contract import ReadWindow, SourceStream
from splitscan.errors import SourceError, SplitscanError, Where
from splitscan.options.files import MAX_DECOMPRESSION_RATIO
from splitscan.redaction import redact
from splitscan.sizes import KIB, MIB, format_size

MOST_DIRECTORY_BYTES = 64 * MIB
"""Of one piece of a directory that is read at once: that of about a million members."""

_WINDOW_BYTES = 32 * KIB  # a read may be a request, and headers of small members lie close together
_TAR_BLOCK = 512

LOCAL_HEADER_BYTES = 30
"""Of what stands before each member of a zip file; the name of the member follows it."""

_ENCRYPTED, _PATCHED, _STRONGLY_ENCRYPTED = 0x1, 0x20, 0x40  # flags of a zip member
_ENDS_ITSELF = 0x2  # flag of a member in LZMA: a mark ends it
_METHODS = {0: "stored", 8: "deflated", 12: "bzip2", 14: "lzma", 20: "zstd", 93: "zstd", 95: "xz"}
_UNREAD_METHODS = {1: "shrink", 6: "implode", 9: "deflate64", 96: "jpeg", 97: "wavpack", 98: "ppmd"}
_ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")


class ArchiveStream(SourceStream):
    """A file to be read in small pieces, mostly forward; it reads somewhat more than was asked for."""

    def __init__(self, source: ByteSource) -> None:
        super().__init__(source.size_bytes)
        self._source = source
        self._window = ReadWindow(source, _WINDOW_BYTES)

    def read(self, length_bytes: int = -1) -> bytes:
        """Read so many bytes, or all up to the end; ``[archive-too-large]`` if that is more than a directory needs."""
        left = max(self._source.size_bytes - self._position, 0)
        wanted = left if length_bytes < 0 else min(length_bytes, left)
        if wanted > MOST_DIRECTORY_BYTES:
            raise SourceError(
                f"a directory or header of an archive takes more than {format_size(MOST_DIRECTORY_BYTES)}",
                Where(redact(self._source.path), self._position),
                seen=format_size(wanted),
                fix="repack it as several archives",
                code="archive-too-large",
            )
        piece = self._window.at(self._position, wanted)
        self._position += len(piece)
        return piece


@dataclass(frozen=True, slots=True)
class Archive:
    """Members of an archive.

    Attributes:
        members: Its files, in the order of its directory.
        skipped: Names of links, devices and the like, with what they are: they hold no records.
        content_bytes: Length of what it holds decompressed, if it is compressed as a whole.
        damage: Where that ends too early, if that is to be passed over.
    """

    kind: str
    members: tuple[ArchiveMember, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    content_bytes: int = 0
    codec: str = ""
    damage: Damage | None = None

    @property
    def rest(self) -> ArchiveMember | None:
        """Rest that is lost after the damage: a member without a name, that holds no record."""
        if self.damage is None:
            return None
        packing = MemberEncoding(codec=self.codec, is_damaged=True)
        return ArchiveMember("", packing, self.damage.content_offset, 0, max(self.damage.lost_bytes, 1))


def read_directory(source: ByteSource, kind: str) -> Archive | None:
    """Read the directory of an archive, in a tar the headers of its members; ``None`` if the file is none."""
    head = source.read_at(0, _TAR_BLOCK)
    is_cut_off = isinstance(source, ArchiveContent) and source.damage is not None and len(head) < _TAR_BLOCK
    looks_like_tar = is_tar(head) or (kind == TAR and (is_cut_off or (bool(head) and not head.strip(b"\0"))))
    if kind == TAR or isinstance(source, ArchiveContent):
        if looks_like_tar:
            return _read_tar(source)
        if not head.startswith(_ZIP_SIGNATURES) or isinstance(source, ArchiveContent):
            return None
    try:
        return _read_zip(source)
    except zipfile.BadZipFile as error:
        if not head.startswith(_ZIP_SIGNATURES):
            return _read_tar(source) if looks_like_tar else None
        raise archive_error(source.path, "the directory at the end of a zip file is missing or damaged", str(error),
                            code="truncated-container") from error  # fmt: skip


def open_directory(source: ByteSource) -> ByteSource:
    """Source of the directory of an open archive: its bytes, or what they decompress to."""
    codec = recognise(source.read_at(0, SIGNATURE_BYTES), promised_by(source.path))
    return source if codec is None else ArchiveContent(source, codec, max_ratio=MAX_DECOMPRESSION_RATIO)


def archive_error(path: str, rule: str, seen: str, offset: int | None = None, code: str | None = None) -> SourceError:
    """The error for an archive that breaks off or is damaged."""
    return ContainerError(
        rule, Where(redact(path), offset), seen=seen,
        fix="get the archive again from where it came, or repair it with its own tool", code=code,
    )  # fmt: skip


# ---------------------------------------------------------------------- zip


def _read_zip(source: ByteSource) -> Archive:
    stream = ArchiveStream(source)
    members: list[ArchiveMember] = []
    skipped: list[tuple[str, str]] = []
    try:
        with zipfile.ZipFile(cast("IO[bytes]", stream)) as opened:
            infos = opened.infolist()
    except (NotImplementedError, ValueError, EOFError, OSError, struct.error) as error:
        raise archive_error(source.path, "the directory of a zip file is damaged", f"{error}") from error
    _check_apart(source, infos)
    for info in infos:
        kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0  # 3: made on Unix
        if info.orig_filename.endswith("/") or kind == stat.S_IFDIR:
            continue
        if kind not in {0, stat.S_IFREG}:
            skipped.append(_left_out(info.orig_filename, is_link=kind == stat.S_IFLNK))
            continue
        fault = None
        if info.flag_bits & (_ENCRYPTED | _STRONGLY_ENCRYPTED):
            fault = MemberFault("unsupported-member", "is encrypted")
        elif info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
            text = f"is stored in {info.compress_size} bytes, and holds {info.file_size} by the directory"
            fault = MemberFault("corrupt-container", text)
        elif info.flag_bits & _PATCHED or info.compress_type not in _METHODS:
            name = _UNREAD_METHODS.get(info.compress_type, "unknown")
            fault = MemberFault("unsupported-member", f"is compressed by method {info.compress_type} of zip ({name})")
        members.append(_named(ArchiveMember(
            info.orig_filename, MemberEncoding(_method_of(info)), info.header_offset, info.compress_size,
            info.file_size, info.CRC, fault,
        )))  # fmt: skip
    return Archive("zip", tuple(members), tuple(skipped))


def _method_of(info: zipfile.ZipInfo) -> str:
    method = _METHODS.get(info.compress_type, "unknown")
    return "lzma-unmarked" if method == "lzma" and not info.flag_bits & _ENDS_ITSELF else method


def _check_apart(source: ByteSource, infos: list[zipfile.ZipInfo]) -> None:
    """Members that overlap are how a small zip file is made to hold very much."""
    free = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        stop = info.header_offset + LOCAL_HEADER_BYTES + info.compress_size
        if info.header_offset < free or stop > source.size_bytes:
            where = "overlap" if stop <= source.size_bytes else "reach over its end"
            seen = f"{redact(info.orig_filename)!r} lies at [{info.header_offset}, {stop})"
            raise archive_error(source.path, f"members of a zip file {where}", seen, info.header_offset)
        free = stop


# ---------------------------------------------------------------------- tar


def _read_tar(source: ByteSource) -> Archive:
    members: list[ArchiveMember] = []
    skipped: list[tuple[str, str]] = []
    if not isinstance(source, ArchiveContent):
        _pass_headers(source, MemberEncoding(), members, skipped)
        return Archive(TAR, tuple(members), tuple(skipped))
    try:
        content_bytes = _pass_headers(source, MemberEncoding(codec=source.codec), members, skipped)
    except ContainerError:
        if source.find_damage() is None:
            raise
    damage = source.damage
    if damage is not None:
        members, content_bytes = list(_before(members, damage)), damage.content_offset
    return Archive(TAR, tuple(members), tuple(skipped), content_bytes, source.codec, damage)


def _before(members: Iterable[ArchiveMember], damage: Damage) -> Iterator[ArchiveMember]:
    """Readable part of the members: the last one may be cut off."""
    for member in members:
        left = min(damage.content_offset - member.offset, member.content_bytes)
        if left > 0 or left == member.content_bytes:
            yield replace(member, packing=member.packing._replace(is_damaged=True), stored_bytes=left)


def _pass_headers(
    source: ByteSource, packing: MemberEncoding, members: list[ArchiveMember], skipped: list[tuple[str, str]]
) -> int:
    """Read all headers of a tar into *members* and *skipped*, and return where it ends."""
    stream = ArchiveStream(source)
    position = 0
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:", encoding="utf-8") as opened:
            for info in _headers(source, opened):
                if info.isreg():
                    fault = MemberFault("unsupported-member", "is sparse") if info.issparse() else None
                    head = source.read_at(info.offset_data, min(info.size, SIGNATURE_BYTES)) if packing.codec else b""
                    members.append(_named(ArchiveMember(
                        info.name, packing, info.offset_data, info.size, info.size, fault=fault, head=head
                    )))  # fmt: skip
                elif not info.isdir():
                    skipped.append(_left_out(info.name, is_link=info.issym() or info.islnk()))
            position = cast("Any", opened).offset
    except SplitscanError:
        raise
    except (tarfile.TarError, RecursionError, ValueError, EOFError, OSError) as error:
        seen = f"{type(error).__name__}: {error}"
        raise _tar_error(source, "a tar file is damaged", seen, stream.tell(), "truncated-container") from error
    return _check_end(source, position)


def _headers(source: ByteSource, opened: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The headers in order; their lengths are checked before the next one is looked for."""
    behind = 0
    while (info := opened.next()) is not None:
        cast("Any", opened).members = []  # it would keep them all
        if info.size < 0 or info.offset_data <= behind or cast("Any", opened).offset < info.offset_data:
            raise _tar_error(source, "a tar file is damaged", "a header with an impossible length", info.offset)
        behind = info.offset_data
        yield info


def _check_end(source: ByteSource, position: int) -> int:
    """End of the tar: after its last member come zeros and nothing else; the library stops at whatever it finds."""
    mark = len(source.read_at(position, _TAR_BLOCK))
    if mark < _TAR_BLOCK:
        end = min(position + mark, source.size_bytes)
        raise _tar_error(
            source, "a tar file breaks off", f"it ends at byte {end}, without the end mark", end, "truncated-container"
        )
    while data := source.read_at(position, 1024 * 1024):
        rest = data.lstrip(b"\0")
        if rest:
            raise _tar_error(
                source, "a tar file has something after its end, or a damaged header",
                "bytes that are no header of a member", position + len(data) - len(rest),
            )  # fmt: skip
        position += len(data)
    return position


def _tar_error(source: ByteSource, rule: str, seen: str, offset: int, code: str | None = None) -> SourceError:
    if not isinstance(source, ArchiveContent):
        return archive_error(source.path, rule, seen, offset, code)
    error = archive_error(source.path, rule, seen, code=code)
    error.locate(Where(redact(source.path), notes=(("codec", source.codec), ("content", f"byte {offset}"))))
    return error


def _named(member: ArchiveMember) -> ArchiveMember:
    name = plain_name(member.name)
    if name is None:
        return replace(member, fault=MemberFault("path-escapes", "leads out of the archive, or is no path"))
    return replace(member, name=name)


def _left_out(name: str, *, is_link: bool) -> tuple[str, str]:
    return plain_name(name) or name, "a link" if is_link else "no regular file"
