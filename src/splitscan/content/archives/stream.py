"""An open archive as a stream, for the libraries that read its directory."""

from __future__ import annotations

import errno
import io

from splitscan.content.storage import ByteSource
from splitscan.errors import SourceError, Where
from splitscan.redaction import redact
from splitscan.sizes import KIB, MIB, format_size

MOST_DIRECTORY_BYTES = 64 * MIB
"""Of one piece of a directory that is read at once: that of about a million members."""

_WINDOW_BYTES = 32 * KIB  # a read may be a request, and headers of small members lie close together


class ArchiveStream:
    """A file to be read in small pieces, mostly forward; it reads somewhat more than was asked for.

    Args:
        source: The archive; it is not closed with this stream.

    Thread safety: none.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._position = 0
        self._start = 0
        self._data = b""

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Offset of what is read next."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset.

        Raises:
            OSError: If it lies before the beginning, as of any file.
        """
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._source.size_bytes}[whence]
        if base + offset < 0:
            raise OSError(errno.EINVAL, f"offset {base + offset} lies before the beginning of the file")
        self._position = base + offset
        return self._position

    def read(self, length_bytes: int = -1) -> bytes:
        """Read so many bytes, or all up to the end.

        Raises:
            SourceError: ``[archive-too-large]`` if that is more than any directory needs; or if the storage fails.
        """
        left = max(self._source.size_bytes - self._position, 0)
        wanted = left if length_bytes < 0 else min(length_bytes, left)
        if wanted > MOST_DIRECTORY_BYTES:
            raise SourceError(
                f"a directory or header of an archive takes more than {format_size(MOST_DIRECTORY_BYTES)}",
                Where(redact(self._source.path), self._position),
                seen=format_size(wanted),
                fix="repack it as several archives",
                code="archive-too-large",
            )
        first = self._position - self._start
        if not 0 <= first <= first + wanted <= len(self._data):
            self._start, first = self._position, 0
            self._data = self._source.read_at(self._position, max(wanted, _WINDOW_BYTES))
        piece = self._data[first : first + wanted]
        self._position += len(piece)
        return piece

    def close(self) -> None:
        """Leave the file open: somebody else closes it."""
