"""Recognise a file that has grown: by bytes of the part that was known."""

from __future__ import annotations

import hashlib

from splitscan.blocks import FileMetadata
from splitscan.content.storage.contract import ByteSource
from splitscan.errors import SourceChangedError, Where
from splitscan.redaction import redact

HEAD_BYTES = 1024
"""How many bytes of the head are compared. Files that begin alike are told apart by the end of what was known."""

_TAIL_BYTES = 64
_MARK = "prefix"


def prefix_fingerprint(source: ByteSource, size_bytes: int) -> str:
    """Identity of the first *size_bytes* bytes of a file, whatever follows them: their length, head and end.

    Raises:
        SourceError: If the file cannot be read.
    """
    head = source.read_at(0, min(HEAD_BYTES, size_bytes))
    tail_bytes = min(_TAIL_BYTES, size_bytes)
    tail = source.read_at(size_bytes - tail_bytes, tail_bytes)
    return f"{_MARK}-{size_bytes}-{_hash(head)}-{_hash(tail)}"


def head_of(fingerprint: str) -> str:
    """What a prefix fingerprint says of the head of the file."""
    return fingerprint.split("-")[2]


def is_prefix_fingerprint(fingerprint: str) -> bool:
    """Whether a fingerprint is of a part of a file."""
    return fingerprint.startswith(f"{_MARK}-")


def has_prefix(source: ByteSource, fingerprint: str) -> bool:
    """Whether a file still begins with the part that a prefix fingerprint is of."""
    size_bytes = int(fingerprint.split("-")[1])
    return source.size_bytes >= size_bytes and prefix_fingerprint(source, size_bytes) == fingerprint


def check_prefix(file: FileMetadata, source: ByteSource) -> None:
    """Make sure that a file that may have grown still begins with what was planned.

    Raises:
        SourceChangedError: If it does not.
    """
    if has_prefix(source, file.fingerprint):
        return
    raise SourceChangedError(
        "the file is no longer the one that was planned: it was replaced, not appended to",
        Where(path=redact(file.path)),
        f"{source.size_bytes} bytes; the first {file.size_bytes} were planned, and are others now",
        "put the file back as it was, or start with another checkpoint",
        "source-changed",
    )


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
