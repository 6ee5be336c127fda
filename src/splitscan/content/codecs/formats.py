"""The codecs there are, and which of them a file is in: its first bytes say so, and its name should agree."""

from __future__ import annotations

import bz2
import lzma
import sys
import tarfile
import zlib
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from splitscan.content.codecs.bzip2 import bzip2_block_by_block, resume_bzip2
from splitscan.content.codecs.chunks import (
    SNAPPY_SIGNATURE,
    HadoopDecoder,
    SnappyDecoder,
    begins_hadoop_lz4,
    begins_hadoop_snappy,
    hadoop_lz4,
    hadoop_snappy,
)
from splitscan.content.codecs.contract import Codec, Decompressor
from splitscan.content.codecs.gzip import ZLIB_SIGNATURES, ZlibDecoder, begins_deflate, begins_zlib, resume_gzip
from splitscan.content.codecs.listed_parts import MOST_XZ_MEMORY_BYTES, XZ_MAGIC, resume_seekable, resume_xz
from splitscan.errors import UsageError

_LIBRARIES = {"backports.zstd": "backports.zstd", "lz4.frame": "lz4", "lz4.block": "lz4", "cramjam": "cramjam"}


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


def _deflate(flag: str, window_bits: int, history: bytes | None = None) -> Decompressor:
    isal = _isal()
    if isal is None:
        return ZlibDecoder(history, window_bits)
    decoder: Decompressor = isal.IgzipDecompressor(flag=getattr(isal, flag), zdict=history or b"")
    return decoder


def inflate(history: bytes = b"") -> Decompressor:
    """A decoder of deflate without a header, after this content."""
    return _deflate("DECOMP_DEFLATE", -zlib.MAX_WBITS, history)


def _zstd() -> Decompressor:
    zstd: Any = import_module("compression.zstd") if sys.version_info >= (3, 14) else _library("backports.zstd", "zstd")
    decoder: Decompressor = zstd.ZstdDecompressor()
    return decoder


def _lz4() -> Decompressor:
    decoder: Decompressor = _library("lz4.frame", "lz4").LZ4FrameDecompressor()
    return decoder


def _snappy() -> SnappyDecoder:
    return SnappyDecoder(_library("cramjam", "snappy"))


def _hadoop_lz4() -> HadoopDecoder:
    return hadoop_lz4(_library("lz4.block", "lz4"))


def _hadoop_snappy() -> HadoopDecoder:
    return hadoop_snappy(_library("cramjam", "snappy"))


SKIPPABLE = tuple(bytes((0x50 + n,)) + b"\x2a\x4d\x18" for n in range(16))
"""What frames of zstd and lz4 without content begin with."""

# What a container begins with, as much of it as plain text does not begin with by accident.
GZIP = Codec(
    "gzip",
    (".gz", ".gzip", ".bgz", ".bgzf"),
    (b"\x1f\x8b\x08",),
    partial(_deflate, "DECOMP_GZIP", 16 + zlib.MAX_WBITS),
    is_fast=True,
    resume=lambda _, point: resume_gzip(point, inflate),
)
ZSTD = Codec(
    "zstd",
    (".zst", ".zstd"),
    (b"\x28\xb5\x2f\xfd", *SKIPPABLE),
    _zstd,
    is_fast=True,
    resume=lambda file, point: resume_seekable(file, point, _zstd),
)
BZIP2 = Codec(
    "bzip2",
    (".bz2",),
    tuple(
        b"BZh%d" % level + magic for level in range(1, 10) for magic in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
    ),
    bz2.BZ2Decompressor,
    is_fast=False,
    resume=resume_bzip2,
    make_block_decoder=bzip2_block_by_block,
)  # fmt: skip
XZ = Codec(
    "xz",
    (".xz",),
    (XZ_MAGIC,),
    partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=MOST_XZ_MEMORY_BYTES),
    is_fast=False,
    resume=resume_xz,
    pad_bytes=4,
)
LZ4 = Codec("lz4", (".lz4",), (b"\x04\x22\x4d\x18", *SKIPPABLE), _lz4, is_fast=True)
SNAPPY = Codec(
    "snappy",
    (".sz", ".snappy"),
    (SNAPPY_SIGNATURE,),
    _snappy,
    is_fast=True,
    resume=lambda *_: _snappy(),  # the chunk itself tells whether it is one
    make_block_decoder=_snappy,
)

# What has no signature, or one that text may begin with: the name of a file has to promise it.
ZLIB = Codec(
    "zlib",
    (".deflate", ".zlib", ".zz"),
    ZLIB_SIGNATURES,
    partial(_deflate, "DECOMP_ZLIB", zlib.MAX_WBITS),
    is_fast=True,
    proves=begins_zlib,
    option="deflate",
)
RAW_DEFLATE = Codec("raw-deflate", (".deflate",), (), inflate, is_fast=True, proves=begins_deflate, option="deflate")
HADOOP_LZ4 = Codec(
    "hadoop-lz4",
    (".lz4",),
    (),
    _hadoop_lz4,
    is_fast=True,
    make_block_decoder=_hadoop_lz4,
    proves=begins_hadoop_lz4,
    option="lz4",
)
HADOOP_SNAPPY = Codec(
    "hadoop-snappy",
    (".snappy", ".sz"),
    (),
    _hadoop_snappy,
    is_fast=True,
    resume=lambda *_: _hadoop_snappy(),  # the block itself tells whether it is one
    make_block_decoder=_hadoop_snappy,
    proves=begins_hadoop_snappy,
    option="snappy",
)

_KNOWN_BY_SIGNATURE = (GZIP, ZSTD, BZIP2, XZ, LZ4, SNAPPY)
CODECS = {codec.name: codec for codec in (*_KNOWN_BY_SIGNATURE, ZLIB, RAW_DEFLATE, HADOOP_LZ4, HADOOP_SNAPPY)}
"""All codecs, by name."""

_SIGNATURES = tuple(signature for codec in _KNOWN_BY_SIGNATURE for signature in codec.signatures)
_EXTENSIONS = tuple(extension for codec in CODECS.values() for extension in codec.extensions)

_ARCHIVES = (
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x1f\x9d", "compress (.Z)"),
    (b"\x1f\x1e", "pack (.z)"),
    (b"\x1f\xa0", "LZH"),
    (b"\x89LZO\0\r\n\x1a\n", "lzop"),
    (b"LZIP\x01", "lzip"),
    (b"\x5d\0\0", "lzma without xz"),
    (b"\x02\x21\x4c\x18", "lz4 of the old format"),
    (b"LZ4Block", "lz4-java"),
    (b"\x82SNAPPY\0", "snappy-java"),
)

ARCHIVE_HEAD_BYTES = tarfile.BLOCKSIZE
"""How many bytes of a file's head tell whether it is an archive: the first header of a tar."""

SIGNATURE_BYTES = 64
"""How many bytes of a file's head tell whether it is compressed: the longest signature, after a skippable frame."""


def recognise(head: bytes, promised: Iterable[Codec] = ()) -> Codec | None:
    r"""The codec of a file that begins with *head*; ``None`` for any other file.

    A file that begins with a skippable frame, as both zstd and lz4 have it, is told by the frame after it.

    Args:
        head: The file's bytes from offset 0; ``SIGNATURE_BYTES`` of them are enough, but for
            a file that begins with a long skippable frame, which is taken for zstd.
        promised: What its name, or somebody, says that it is in: some codecs are recognised only then.

    Example:
        >>> recognise(b"\x1f\x8b\x08\x00 and so on").name
        'gzip'
        >>> recognise(b"BZh9,is,the,name,of,a,column\n") is None
        True
        >>> recognise(b"\x78\x9c\x03\x00\x00\x00\x00\x01", promised_by("empty.deflate")).name
        'zlib'
    """
    if head.startswith(SKIPPABLE):
        following = head[8 + int.from_bytes(head[4:8], "little") :]
        return LZ4 if following.startswith(LZ4.signatures[0]) else ZSTD
    if head.startswith(_SIGNATURES):
        return next(codec for codec in _KNOWN_BY_SIGNATURE if codec.begins(head))
    for codec in promised:
        if head and codec.proves is not None and codec.proves(head):
            return codec
    return None


def container_of(head: bytes) -> str | None:
    r"""The compression or archive that bytes begin like, which are the content of a file; ``None`` for any others.

    Example:
        >>> container_of(b"PK\x03\x04..."), container_of(b"id,name")
        ('zip', None)
    """
    codec = recognise(head)
    if codec is not None:
        return codec.name
    for signature, name in _ARCHIVES:
        if head.startswith(signature):
            return name
    return "tar" if is_tar(head) else None


def is_tar(head: bytes) -> bool:
    """True if a file begins with the header of a tar: its checksum says so, and no text has its zeros."""
    header = head[:ARCHIVE_HEAD_BYTES]
    if len(header) < ARCHIVE_HEAD_BYTES or b"\0" not in header:
        return False
    try:
        tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def named_after(path: str) -> Codec | None:
    """The codec that the name of a file promises; the usual one, if there are several.

    Example:
        >>> named_after("/data/a.csv.GZ").name
        'gzip'
    """
    return next(iter(promised_by(path)), None)


def promised_by(path: str) -> tuple[Codec, ...]:
    """The codecs that the name of a file may mean.

    Example:
        >>> [codec.name for codec in promised_by("part-0.csv.snappy")]
        ['snappy', 'hadoop-snappy']
    """
    name = path.lower()
    if not name.endswith(_EXTENSIONS):
        return ()
    return tuple(codec for codec in CODECS.values() if name.endswith(codec.extensions))


def said_by(option: str) -> tuple[Codec, ...]:
    """The codecs that a value of the option ``sourceCompression`` may mean."""
    return tuple(codec for codec in CODECS.values() if codec.said_as == option)
