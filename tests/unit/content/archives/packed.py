"""Archives of all makes, for tests."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import cramjam
import lz4.frame
from backports import zstd


class _Unseekable(io.RawIOBase):
    """What a zip file is written to that goes through a pipe: its members end with data descriptors."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


def tar_of(members, format=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_of_entries(*infos):
    """A tar of headers that have nothing after them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info in infos:
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    return out.getvalue()


def zip_of(members, method=zipfile.ZIP_STORED, *, streamed=False, zip64=False):
    out = _Unseekable() if streamed else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with archive.open(info, "w", force_zip64=zip64) as member:
                member.write(data)
    return bytes(out.data) if streamed else out.getvalue()


PACK = {
    "tar": ("a.tar", tar_of),
    "tar of GNU": ("a.tar", lambda members: tar_of(members, tarfile.GNU_FORMAT)),
    "tar of pax": ("a.TAR", lambda members: tar_of(members, tarfile.PAX_FORMAT)),
    "zip": ("a.zip", zip_of),
    "zip in a pipe": ("a.zip", lambda members: zip_of(members, streamed=True)),
    "zip64": ("a.zip", lambda members: zip_of(members, zip64=True)),
    "zip after something": ("a.zip", lambda members: b"#!/bin/sh\n" * 9 + zip_of(members)),
    "deflated": ("a.zip", lambda members: zip_of(members, zipfile.ZIP_DEFLATED)),
    "deflated in a pipe": ("a.zip", lambda members: zip_of(members, zipfile.ZIP_DEFLATED, streamed=True)),
    "deflated zip64": ("a.Zip", lambda members: zip_of(members, zipfile.ZIP_DEFLATED, zip64=True)),
}
"""What makes an archive of members, and what it may be called."""

COMPRESS = {
    "tar in gzip": ("a.tar.gz", gzip.compress),
    "tar in gzip members": ("a.tgz", lambda data: in_parts(gzip.compress, data)),
    "tar in bzip2": ("a.tar.bz2", bz2.compress),
    "tar in xz": ("a.txz", lzma.compress),
    "tar in zstd": ("a.tar.zst", zstd.compress),
    "tar in zstd frames": ("a.TAR.ZST", lambda data: in_parts(zstd.compress, data)),
    "tar in lz4": ("a.tar.lz4", lz4.frame.compress),
    "tar in snappy": ("a.tar.sz", lambda data: in_parts(lambda part: bytes(cramjam.snappy.compress(part)), data)),
}
"""What compresses a tar, and what it may be called then."""


def in_parts(compress, data, length=700):
    """Many small members of a container: most begin inside a member of the tar."""
    return b"".join(compress(data[at : at + length]) for at in range(0, len(data), length))


DEFLATED = {"deflated", "deflated in a pipe", "deflated zip64"}
