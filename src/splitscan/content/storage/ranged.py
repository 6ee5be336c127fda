"""What files have in common that are read by ranges, wherever they lie; short ones are read in one go."""

from __future__ import annotations

from abc import ABC, abstractmethod

from splitscan.content.storage.contract import ByteSource
from splitscan.errors import SourceChangedError, SourceError, UsageError, Where
from splitscan.sizes import KIB


class RangedSource(ABC):
    """A file whose length was fixed when it was opened, read at any offset.

    Bytes appended later are not seen, and a file that became shorter is an error instead of a silent end.

    Args:
        path: Its path or URI.
        size_bytes: Its length.
        fingerprint: Identity of its version.
    """

    def __init__(self, path: str, size_bytes: int, fingerprint: str) -> None:
        self.path = path
        self.size_bytes = size_bytes
        self.fingerprint = fingerprint

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        """Read up to *length_bytes* bytes from *offset*; fewer only at the end of the file.

        Raises:
            UsageError: If an argument is negative, or the source is closed.
            SourceChangedError: If the file became shorter since it was opened.
            SourceError: If the storage fails.
        """
        if offset < 0 or length_bytes < 0 or self._is_closed():
            raise self._refused(offset, length_bytes)
        wanted = min(length_bytes, max(0, self.size_bytes - offset))
        pieces: list[bytes] = []
        while wanted > 0:
            piece = self._read_some(offset, wanted)
            if not piece:
                raise self._became_shorter(offset)
            pieces.append(piece)
            offset += len(piece)
            wanted -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @abstractmethod
    def close(self) -> None:
        """Refuse further reads. Calling it again does nothing."""

    @abstractmethod
    def _is_closed(self) -> bool: ...

    @abstractmethod
    def _read_some(self, offset: int, length_bytes: int) -> bytes:
        """Read at least one byte and at most *length_bytes*; none where the file ends."""

    @property
    def _shown_path(self) -> str:
        """The path as messages show it."""
        return self.path

    def _refused(self, offset: int, length_bytes: int) -> UsageError:
        where = Where(path=self._shown_path)
        if offset >= 0 and length_bytes >= 0:
            return UsageError("this source is closed", where, fix="open it again", code="closed-source")
        return UsageError(
            "read_at needs a non-negative offset and length", where, f"offset {offset}, length {length_bytes}",
            code="bad-read",
        )  # fmt: skip

    def _became_shorter(self, offset: int) -> SourceChangedError:
        return SourceChangedError(
            "the file became shorter while it was read", Where(path=self._shown_path, offset=offset),
            f"no byte at {offset}, but the file had {self.size_bytes} bytes when it was opened",
            "read files that nobody writes to any more, and run the job again", "source-truncated",
        )  # fmt: skip


def not_a_file(path: str) -> SourceError:
    """Build the error for pipes, devices, sockets and directories in the place of a file."""
    return SourceError(
        "only regular files can be read at an offset", Where(path=path),
        "a directory, pipe, socket or device", "copy its content to a file first", "not-a-file",
    )  # fmt: skip


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
