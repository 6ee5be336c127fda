"""The codecs there are, and which of them a file is in: its first bytes say so, and its name should agree."""

from __future__ import annotations

import bz2
import lzma
import sys
import tarfile
from importlib import import_module
from types import ModuleType
from typing import Any

from splitscan.blocks import SeekPoint
from splitscan.content.codecs.bzip2 import bzip2_block_by_block, resume_bzip2
from splitscan.content.codecs.contract import Codec, Decoder, FileBytes
from splitscan.content.codecs.gzip import ZlibDecoder, resume_gzip
from splitscan.content.codecs.listed_parts import MOST_XZ_MEMORY_BYTES, XZ_MAGIC, resume_seekable, resume_xz
from splitscan.content.codecs.snappy import SNAPPY_SIGNATURE, SnappyDecoder
from splitscan.errors import UsageError

_LIBRARIES = {"backports.zstd": "backports.zstd", "lz4.frame": "lz4", "cramjam": "cramjam"}


def _library(module: str, codec: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"reading {codec} files needs a library that is not installed",
            seen=str(error),
            fix=f"install splitscan[codecs], or {_LIBRARIES[module]}, on the driver and on every worker",
            code="no-codec",
        ) from error


def _isal() -> Any | None:
    try:
        return import_module("isal.igzip_lib")
    except ImportError:
        return None


def _gzip() -> Decoder:
    isal = _isal()
    if isal is None:
        return ZlibDecoder()
    decoder: Decoder = isal.IgzipDecompressor(flag=isal.DECOMP_GZIP)
    return decoder


def inflate(history: bytes = b"") -> Decoder:
    """A decoder of deflate without a header, after this content."""
    isal = _isal()
    if isal is None:
        return ZlibDecoder(history)
    decoder: Decoder = isal.IgzipDecompressor(flag=isal.DECOMP_DEFLATE, zdict=history)
    return decoder


def _resume_gzip(file: FileBytes, point: SeekPoint) -> Decoder:
    del file  # the point holds all it takes
    return resume_gzip(point, inflate)


def _zstd() -> Decoder:
    zstd: Any = import_module("compression.zstd") if sys.version_info >= (3, 14) else _library("backports.zstd", "zstd")
    decoder: Decoder = zstd.ZstdDecompressor()
    return decoder


def _resume_zstd(file: FileBytes, point: SeekPoint) -> Decoder:
    return resume_seekable(file, point, _zstd)


def _bzip2() -> Decoder:
    return bz2.BZ2Decompressor()


def _xz() -> Decoder:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_XZ_MEMORY_BYTES)


def _lz4() -> Decoder:
    lz4: Any = _library("lz4.frame", "lz4")
    decoder: Decoder = lz4.LZ4FrameDecompressor()
    return decoder


def _snappy() -> SnappyDecoder:
    return SnappyDecoder(_library("cramjam", "snappy"))


def _resume_snappy(file: FileBytes, point: SeekPoint) -> Decoder:
    del file, point  # the chunk itself tells whether it is one
    return _snappy()


SKIPPABLE = tuple(bytes((0x50 + n,)) + b"\x2a\x4d\x18" for n in range(16))
"""What frames of zstd and lz4 without content begin with."""

# What a container begins with, as much of it as plain text does not begin with by accident.
GZIP = Codec("gzip", (".gz", ".gzip", ".bgz", ".bgzf"), (b"\x1f\x8b\x08",), _gzip, is_fast=True, resume=_resume_gzip)
ZSTD = Codec("zstd", (".zst", ".zstd"), (b"\x28\xb5\x2f\xfd", *SKIPPABLE), _zstd, is_fast=True, resume=_resume_zstd)
BZIP2 = Codec(
    "bzip2",
    (".bz2",),
    tuple(
        b"BZh%d" % level + magic for level in range(1, 10) for magic in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
    ),
    _bzip2,
    is_fast=False,
    resume=resume_bzip2,
    make_block_decoder=bzip2_block_by_block,
)  # fmt: skip
XZ = Codec("xz", (".xz",), (XZ_MAGIC,), _xz, is_fast=False, resume=resume_xz, pad_bytes=4)
LZ4 = Codec("lz4", (".lz4",), (b"\x04\x22\x4d\x18", *SKIPPABLE), _lz4, is_fast=True)
SNAPPY = Codec(
    "snappy",
    (".sz", ".snappy"),
    (SNAPPY_SIGNATURE,),
    _snappy,
    is_fast=True,
    resume=_resume_snappy,
    make_block_decoder=_snappy,
)

CODECS = {codec.name: codec for codec in (GZIP, ZSTD, BZIP2, XZ, LZ4, SNAPPY)}
"""All codecs, by name."""

_SIGNATURES = tuple(signature for codec in CODECS.values() for signature in codec.signatures)
_EXTENSIONS = tuple(extension for codec in CODECS.values() for extension in codec.extensions)

_ARCHIVES = ((b"PK\x03\x04", "zip"), (b"7z\xbc\xaf\x27\x1c", "7z"))

ARCHIVE_HEAD_BYTES = tarfile.BLOCKSIZE
"""How many bytes of a file's head tell whether it is an archive: the first header of a tar."""

SIGNATURE_BYTES = 64
"""How many bytes of a file's head tell whether it is compressed: the longest signature, after a skippable frame."""


def recognise(head: bytes) -> Codec | None:
    r"""The codec of a file that begins with *head*; ``None`` for any other file.

    A file that begins with a skippable frame, as both zstd and lz4 have it, is told by the frame after it.

    Args:
        head: The file's bytes from offset 0; ``SIGNATURE_BYTES`` of them are enough, but for
            a file that begins with a long skippable frame, which is taken for zstd.

    Example:
        >>> recognise(b"\x1f\x8b\x08\x00 and so on").name
        'gzip'
        >>> recognise(b"BZh9,is,the,name,of,a,column\n") is None
        True
    """
    if head.startswith(SKIPPABLE):
        following = head[8 + int.from_bytes(head[4:8], "little") :]
        return LZ4 if following.startswith(LZ4.signatures[0]) else ZSTD
    if not head.startswith(_SIGNATURES):
        return None
    return next(codec for codec in CODECS.values() if codec.begins(head))


def archive_of(head: bytes) -> str | None:
    r"""The name of the kind of archive that begins with *head*, of those that are not read.

    Example:
        >>> archive_of(b"PK\x03\x04...")
        'zip'
    """
    named = (name for signature, name in _ARCHIVES if head.startswith(signature))
    return next(named, "tar" if is_tar(head) else None)


def is_tar(head: bytes) -> bool:
    """Whether a file begins with the header of a tar: its checksum says so, and no text has its zeros."""
    header = head[:ARCHIVE_HEAD_BYTES]
    if len(header) < ARCHIVE_HEAD_BYTES or b"\0" not in header:
        return False
    try:
        tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def named_after(path: str) -> Codec | None:
    """The codec that the name of a file promises.

    Example:
        >>> named_after("/data/a.csv.GZ").name
        'gzip'
    """
    name = path.lower()
    if not name.endswith(_EXTENSIONS):
        return None
    return next(codec for codec in CODECS.values() if name.endswith(codec.extensions))
