"""Digests of what was read: they tell at any later time whether a source still holds the same bytes."""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from blake3 import blake3

from splitscan.sizes import MIB
from splitscan.storage.contract import ByteSource

_BLAKE3 = "blake3:"
_CHUNK_BYTES = 4 * MIB
_PATTERN = re.compile(rf"(?:{_BLAKE3})?[0-9a-f]{{64}}")


class _Hash(Protocol):
    def update(self, data: memoryview | bytes, /) -> object: ...
    def hexdigest(self) -> str: ...


class ContentDigest:
    """Hashes bytes as they come.

    With BLAKE3: as hard to forge as SHA-256, and takes a quarter of its time, which is a tenth of an ingest.

    Args:
        like: A digest to compare with later: the same algorithm is taken. Those without a name are SHA-256.

    Example:
        >>> digest = ContentDigest()
        >>> digest.update(b"abc")
        >>> digest.text
        'blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85'
        >>> older = ContentDigest(like="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        >>> older.update(b"abc")
        >>> older.text
        'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    """

    def __init__(self, like: str = _BLAKE3) -> None:
        named = like.startswith(_BLAKE3)
        self._hash: _Hash = blake3() if named else hashlib.sha256()
        self._name = _BLAKE3 if named else ""

    def update(self, data: memoryview | bytes) -> None:
        """Take the next bytes."""
        self._hash.update(data)

    @property
    def text(self) -> str:
        """The digest of all bytes so far: the algorithm's name, a colon, hexadecimal digits."""
        return self._name + self._hash.hexdigest()


def digest_of(source: ByteSource, start: int, stop: int, like: str = _BLAKE3) -> str:
    """The digest of the bytes from *start* to *stop*, or to the end of the source where that comes first.

    Args:
        source: An open file.
        start: Offset of the first byte.
        stop: Offset behind the last one.
        like: A digest to compare with: the same algorithm is taken.

    Raises:
        SourceError: If the storage fails.
    """
    digest = ContentDigest(like)
    while start < stop and (data := source.read_at(start, min(_CHUNK_BYTES, stop - start))):
        digest.update(data)
        start += len(data)
    return digest.text


def is_content_digest(text: str) -> bool:
    """Whether a text can be a digest.

    Example:
        >>> is_content_digest("blake3:" + "0" * 64), is_content_digest("0" * 64), is_content_digest("md5:0")
        (True, True, False)
    """
    return _PATTERN.fullmatch(text) is not None
