"""Digests of what was read: they tell at any later time whether a source still holds the same bytes.

With the kernel it is BLAKE3, as hard to forge as SHA-256 at a quarter of its time; without it, SHA-256. A digest names
its algorithm; one without a name is SHA-256.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from splitscan.content.storage.contract import ByteSource
from splitscan.engine import kernel
from splitscan.errors import UsageError
from splitscan.sizes import MIB

NEEDS_KERNEL = "needs-kernel"

_BLAKE3, _SHA256 = "blake3:", "sha256:"
_CHUNK_BYTES = 4 * MIB
_PATTERN = re.compile(rf"(?:{_BLAKE3}|{_SHA256})?[0-9a-f]{{64}}")


class ContentDigest:
    """Hashes bytes as they come.

    Args:
        like: A digest to compare with later: the same algorithm is taken. ``None`` takes the fastest at hand.

    Raises:
        UsageError: ``[needs-kernel]`` if that is BLAKE3 and there is no kernel.

    Example:
        >>> digest = ContentDigest(like="sha256:")
        >>> digest.update(b"abc")
        >>> digest.text
        'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    """

    def __init__(self, like: str | None = None) -> None:
        native = kernel() if like is None or like.startswith(_BLAKE3) else None
        if native is None and like is not None and like.startswith(_BLAKE3):
            raise UsageError(
                "digests by BLAKE3 can be compared only with the native kernel", seen=f"{like[:20]}... and no kernel",
                fix="pip install ./kernel, and do not set SPLITSCAN_ENGINE=reference", code=NEEDS_KERNEL,
            )  # fmt: skip
        self._hash: Any = native.Blake3() if native else hashlib.sha256()
        self._is_native = native is not None
        self._name = _BLAKE3 if native else "" if like is not None and ":" not in like else _SHA256

    def update(self, data: memoryview | bytes, start: int = 0, stop: int | None = None) -> None:
        """Take the bytes from *start* to *stop*, or to the end, as the next ones; only ``bytes`` are not copied."""
        if not self._is_native:
            self._hash.update(memoryview(data)[start:stop])
            return
        whole = data if isinstance(data, bytes) else bytes(data)
        self._hash.update(whole, start, len(whole) if stop is None else stop)

    @property
    def text(self) -> str:
        """The digest of all bytes so far: the algorithm's name, a colon, hexadecimal digits."""
        return f"{self._name}{self._hash.hexdigest()}"


def digest_of(source: ByteSource, start: int, stop: int, like: str | None = None) -> str:
    """The digest of the bytes from *start* to *stop*, or to the end of the source where that comes first."""
    digest = ContentDigest(like)
    while start < stop and (data := source.read_at(start, min(_CHUNK_BYTES, stop - start))):
        digest.update(data)
        start += len(data)
    return digest.text


def is_content_digest(text: str) -> bool:
    """True if a text can be a digest.

    Example:
        >>> is_content_digest("blake3:" + "0" * 64), is_content_digest("0" * 64), is_content_digest("md5:0")
        (True, True, False)
    """
    return _PATTERN.fullmatch(text) is not None
