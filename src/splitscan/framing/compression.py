"""Recognise compressed files by their first bytes."""

from __future__ import annotations

from splitscan.framing.contract import Buffer

# What a container begins with, as much of it as plain text does not begin with by accident.
_SIGNATURES = (
    (b"\x1f\x8b\x08", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    *(
        (b"BZh%d" % level + magic, "bzip2")
        for level in range(1, 10)
        for magic in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
    ),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"PK\x03\x04", "zip"),
    (b"\xff\x06\x00\x00sNaPpY", "snappy"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
)

SIGNATURE_BYTES = max(len(signature) for signature, _ in _SIGNATURES)
"""How many bytes of a file's head tell whether it is compressed."""


def compression_of(head: Buffer) -> str | None:
    r"""The name of the compression of a file that begins with *head*; ``None`` for any other file.

    Args:
        head: The file's bytes from offset 0, ``SIGNATURE_BYTES`` of them or the whole file.

    Example:
        >>> compression_of(b"\x1f\x8b\x08\x00 and so on")
        'gzip'
        >>> compression_of(b"BZh9,is,the,name,of,a,column\n") is None
        True
    """
    first = bytes(head[:SIGNATURE_BYTES])
    return next((name for signature, name in _SIGNATURES if first.startswith(signature)), None)
