"""Members of archives: names and paths, where each lies and how it is held; the ways in which zip compresses them."""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from splitscan.content.codecs.contract import Decompressor
from splitscan.content.codecs.formats import BZIP2, CODECS, XZ, ZSTD, inflate
from splitscan.content.codecs.listed_parts import MOST_XZ_MEMORY_BYTES

MARK = "!/"
"""Stands between the path of an archive and the name of a member in it."""

TAR, ZIP = "tar", "zip"

_ENDINGS = {
    ".zip": ZIP,
    ".tar": TAR,
    ".7z": "7z",
    **dict.fromkeys((".tgz", ".tbz", ".tbz2", ".txz", ".tzst", ".tlz4"), TAR),
    **{f".tar{ending}": TAR for codec in CODECS.values() for ending in codec.extensions},
}
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_DAMAGED = "damaged"
_FINGERPRINT = re.compile(
    r"(?P<archive>.*)!(?P<packing>[a-z0-9.-]+):(?P<offset>\d+):(?P<stored>\d+):(?P<content>\d+):(?P<crc>[0-9a-f]{8})",
    re.DOTALL,
)
_KEPT_FINGERPRINTS = 4096  # of the files of one plan: each is asked for several times


def archive_kind(path: str) -> str | None:
    """Kind of archive by the name of a file.

    Example:
        >>> archive_kind("/data/a.ZIP"), archive_kind("/data/a.tgz"), archive_kind("/data/a.csv")
        ('zip', 'tar', None)
    """
    name = path.lower()
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


def split_member_path(path: str) -> tuple[str, str] | None:
    """The path of an archive and the name of a member in it; ``None`` for paths of other files.

    The name is empty in the path of what is lost of a damaged archive.

    Example:
        >>> split_member_path("s3://bucket/a.zip!/b/c.csv")
        ('s3://bucket/a.zip', 'b/c.csv')
        >>> split_member_path("/data/hello!/a.csv") is None
        True
    """
    at = path.find(MARK)
    while at >= 0:
        if archive_kind(path[:at]) is not None:
            return path[:at], path[at + len(MARK) :]
        at = path.find(MARK, at + 1)
    return None


def in_directories(relative_path: str) -> str:
    """A path in which directories of an archive stand for themselves, as if its members lay beside it.

    Example:
        >>> in_directories("y=2024/a.zip!/m=1/b.csv"), in_directories("a/b.csv")
        ('y=2024/m=1/b.csv', 'a/b.csv')
    """
    found = split_member_path(relative_path)
    if found is None:
        return relative_path
    folder = found[0].rpartition("/")[0]
    return f"{folder}/{found[1]}" if folder else found[1]


def plain_name(name: str) -> str | None:
    r"""The name of a member without ``.`` and empty segments; ``None`` if it leads out of its archive, or is no path.

    Example:
        >>> plain_name("./a//b.csv")
        'a/b.csv'
        >>> [plain_name(name) for name in ("/etc/passwd", "a/../../b", r"..\b", "C:/b", "")]
        [None, None, None, None, None]
    """
    if name.startswith(("/", "\\")) or _DRIVE.match(name) or "\0" in name or ".." in re.split(r"[\\/]", name):
        return None
    return "/".join(segment for segment in name.split("/") if segment not in {"", "."}) or None


class MemberFault(NamedTuple):
    """Why a member cannot be read: a code of ``docs/errors.md``, and what was seen, to follow the member's name."""

    code: str
    text: str


class MemberEncoding(NamedTuple):
    """How an archive holds a member.

    Attributes:
        zip_method: How a zip file compresses it: ``stored``, ``deflated``, ...; empty in a tar.
        is_damaged: Whether that tar is damaged somewhere after its first byte: its members are read up to there.
    """

    zip_method: str = ""
    codec: str = ""
    is_damaged: bool = False

    @property
    def is_tar(self) -> bool:
        """True if the archive is a tar."""
        return not self.zip_method

    def spelled(self) -> str:
        """The words of a fingerprint; they never change, for ledgers hold them.

        Example:
            >>> MemberEncoding(codec="gzip", is_damaged=True).spelled(), MemberEncoding("deflated").spelled()
            ('tar.gzip.damaged', 'deflated')
        """
        if not self.is_tar:
            return self.zip_method
        return ".".join((TAR, *filter(None, (self.codec, _DAMAGED if self.is_damaged else ""))))

    @classmethod
    def read(cls, words: str) -> MemberEncoding:
        """Read a spelling of :meth:`spelled`."""
        container, *rest = words.split(".")
        if container != TAR:
            return cls(words)
        return cls(codec="".join(rest[:1]), is_damaged=_DAMAGED in rest[1:])


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """One file in an archive.

    Attributes:
        name: Its path in the archive, as the archive has it but for ``.`` and empty segments.
        offset: Where it lies in the archive (of a compressed one, in its content): its bytes, or, in a zip file, its
            header.
        stored_bytes: How many bytes of the archive are its own.
        crc: CRC-32 of that in a zip file, else 0.
        fault: Set if it cannot be read.
        head: Its first bytes, of a compressed archive.
    """

    name: str
    packing: MemberEncoding
    offset: int
    stored_bytes: int
    content_bytes: int
    crc: int = 0
    fault: MemberFault | None = None
    head: bytes = b""

    @property
    def is_cut_off(self) -> bool:
        """True if it is damaged itself: what the archive holds ends inside it."""
        return self.packing.is_damaged and self.stored_bytes < self.content_bytes

    def fingerprint_in(self, archive_fingerprint: str) -> str:
        """Identify the member by the version of its archive, and by where it lies there."""
        location = f"{self.offset}:{self.stored_bytes}:{self.content_bytes}:{self.crc:08x}"
        return f"{archive_fingerprint}!{self.packing.spelled()}:{location}"


class PlannedMember(NamedTuple):
    """Member as its fingerprint tells it, with the version of the archive that it was planned from."""

    archive_fingerprint: str
    member: ArchiveMember

    @classmethod
    @lru_cache(maxsize=_KEPT_FINGERPRINTS)
    def read(cls, name: str, fingerprint: str) -> PlannedMember | None:
        """Read a fingerprint of :meth:`ArchiveMember.fingerprint_in`; ``None`` for another file."""
        found = _FINGERPRINT.fullmatch(fingerprint)
        if found is None:
            return None
        offset, stored_bytes, content_bytes = (int(found[each]) for each in ("offset", "stored", "content"))
        packing, crc = MemberEncoding.read(found["packing"]), int(found["crc"], 16)
        return cls(found["archive"], ArchiveMember(name, packing, offset, stored_bytes, content_bytes, crc))


_LZMA_HEADER_BYTES = 9  # version, length of the properties, and these
_PROPERTIES_BYTES, _PROPERTIES = slice(2, 4), slice(4, 9)
_NO_LENGTH = (1 << 64) - 1


class ZipMethod(NamedTuple):
    """One way in which a zip file compresses a member.

    Attributes:
        make_decoder: A decoder for a member that holds so many bytes. Raises ``UsageError`` ``[no-codec]`` if its
            library is not there.
        may_follow: Whether a member may hold several frames or streams, of which a decoder takes one.
    """

    codec: str
    make_decoder: Callable[[int], Decompressor]
    is_fast: bool
    may_follow: bool = False


class ZipLzmaDecoder:
    """Decompresses LZMA after the header that zip files give it."""

    def __init__(self, content_bytes: int | None) -> None:
        self._inner = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MOST_XZ_MEMORY_BYTES)
        self._length = (_NO_LENGTH if content_bytes is None else content_bytes).to_bytes(8, "little")
        self._header = b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return self._inner.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        missing = _LZMA_HEADER_BYTES - len(self._header)
        if missing > 0:
            self._header += data[:missing]
            if len(self._header) < _LZMA_HEADER_BYTES:
                return b""
            if self._header[_PROPERTIES_BYTES] != b"\x05\0":
                raise ValueError(f"a header of LZMA with properties of {self._header[_PROPERTIES_BYTES].hex()} bytes")
            data = self._header[_PROPERTIES] + self._length + data[missing:]
        return self._inner.decompress(data, max_length)


class ZipMemberDecoder:
    """Decompresses a member of a zip file, frame after frame, and verifies that it holds what was said of it.

    Zeros may follow the last frame. Where the end is, the archive tells; where no frame may follow, the first one.
    """

    def __init__(self, method: ZipMethod, member: ArchiveMember) -> None:
        self._make_decoder = partial(method.make_decoder, member.content_bytes)
        self._inner = self._make_decoder()
        self._may_follow = method.may_follow
        self._left_stored_bytes = member.stored_bytes  # not fed yet
        self._behind = b""  # fed, and after the end of a frame
        self._left_bytes, self._wanted = member.content_bytes, member.crc
        self._crc = 0

    @property
    def eof(self) -> bool:
        return self._inner.eof and not (self._may_follow and (self._behind or self._left_stored_bytes))

    @property
    def needs_input(self) -> bool:
        return not self._behind and (self._inner.eof or self._inner.needs_input)

    @property
    def unused_data(self) -> bytes:
        return b"" if self._may_follow else self._behind

    def decompress(self, data: bytes, max_length: int) -> bytes:
        self._left_stored_bytes -= len(data)
        piece = self._decompress(data, max_length)
        self._crc = zlib.crc32(piece, self._crc)
        self._left_bytes -= len(piece)
        if self._left_bytes < 0:
            raise ValueError("it holds more than its directory says")
        if self.eof and self._left_bytes:
            raise ValueError(f"it holds {self._left_bytes} bytes less than its directory says")
        if self.eof and self._crc != self._wanted:
            raise ValueError(f"its CRC-32 is {self._crc:08x}, and its directory says {self._wanted:08x}")
        return piece

    def _decompress(self, data: bytes, max_length: int) -> bytes:
        if self._inner.eof:
            data, self._behind = (self._behind + data).lstrip(b"\0"), b""  # no frame begins with zeros: they fill up
            if not data:
                return b""
            self._inner = self._make_decoder()
        piece = self._inner.decompress(data, max_length)
        if self._inner.eof:
            self._behind = self._inner.unused_data or b""
        return piece


ZIP_METHODS = {
    "deflated": ZipMethod("deflate", lambda _: inflate(), is_fast=True),
    "bzip2": ZipMethod("bzip2 in zip", lambda _: BZIP2.make_decoder(), is_fast=False, may_follow=True),
    "lzma": ZipMethod("lzma in zip", lambda _: ZipLzmaDecoder(None), is_fast=False),
    "lzma-unmarked": ZipMethod("lzma in zip", ZipLzmaDecoder, is_fast=False),
    "xz": ZipMethod("xz in zip", lambda _: XZ.make_decoder(), is_fast=False, may_follow=True),
    "zstd": ZipMethod("zstd in zip", lambda _: ZSTD.make_decoder(), is_fast=True, may_follow=True),
}
"""By the method of a member. None has the name of a codec: a member can be entered at its beginning only."""
