"""A byte source as a file object, and a file object as a byte source."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO

from splitscan.blocks import FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.read.contents import truncated

if TYPE_CHECKING:
    from typing_extensions import Buffer


class _SourceBytes(io.RawIOBase):
    """The unbuffered half of a stream: reads where it stands, never beyond the planned size of the file."""

    def __init__(self, source: ByteSource, file: FileMetadata) -> None:
        super().__init__()
        self._source = source
        self._file = file
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size_bytes}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), self._file.size_bytes - self._position)
        if wanted <= 0:
            return 0
        data = self._source.read_at(self._position, wanted)
        if not data:
            raise truncated(self._file, self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def open_stream(source: ByteSource, file: FileMetadata, buffer_bytes: int) -> io.BufferedReader:
    """Read a byte source as a file: buffered, seekable, read-only.

    The stream ends where the file ended when it was planned: bytes that were appended since are not seen. A read that
    returns less than was asked for is not taken for the end; a file that really became shorter is an error.

    Args:
        source: The open file; closed by whoever opened it.
        file: The file as it was planned.
        buffer_bytes: Bytes asked of the source at a time.

    Raises:
        SourceChangedError: From a read, if the source ends before the planned size.
    """
    return io.BufferedReader(_SourceBytes(source, file), max(buffer_bytes, 1))


class StreamSource:
    """A seekable binary file as a byte source, for code that reads at offsets.

    Closing it leaves the stream open: it belongs to somebody else.

    Thread safety: none; it moves the stream.

    Example:
        >>> StreamSource(io.BytesIO(b"abcdef"), FileMetadata("f", 6, 0, "v1", "f")).read_at(2, 3)
        b'cde'
    """

    def __init__(self, stream: BinaryIO, file: FileMetadata) -> None:
        self._stream = stream
        self.path, self.size_bytes, self.fingerprint = file.path, file.size_bytes, file.fingerprint  # as planned

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        self._stream.seek(offset)
        return self._stream.read(length_bytes)

    def close(self) -> None:
        """Leave the stream as it is."""
