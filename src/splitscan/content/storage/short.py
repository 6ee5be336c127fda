"""A short file, read in one go."""

from __future__ import annotations

from splitscan.content.storage.contract import ByteSource
from splitscan.sizes import KIB

SHORT_BYTES = 256 * KIB
"""Up to this length a file is read at once: that costs about as much as asking for a few of its bytes."""


class ShortSource:
    """A file of at most ``SHORT_BYTES`` bytes, for whoever reads all of it: the first read gets everything.

    What a reader looks at before its records, such as the first bytes and the header, is no read of its own.

    Args:
        source: The open file; closing this closes it.

    Thread safety: as that of *source*; two threads may both read it for the first time.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._content: bytes | None = None
        self.path = source.path
        self.size_bytes = source.size_bytes
        self.fingerprint = source.fingerprint

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        """Read up to *length_bytes* bytes from *offset*; fewer only at the end of the file.

        Raises:
            UsageError: If an argument is negative, or the source is closed.
            SourceError: If the storage fails.
        """
        if offset < 0 or length_bytes < 0:
            return self._source.read_at(offset, length_bytes)  # which refuses it
        content = self._content
        if content is None:
            content = self._content = self._source.read_at(0, self.size_bytes)
        return content[offset : offset + length_bytes]

    def close(self) -> None:
        """Close the file, and forget its bytes."""
        self._content = None
        self._source.close()


def read_at_once(source: ByteSource) -> ByteSource:
    """The same file; read in one go if it is short."""
    return ShortSource(source) if 0 < source.size_bytes <= SHORT_BYTES else source
