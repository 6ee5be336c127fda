"""Many blocks, one context: a stream stays open from a block to the one that follows it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Self

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.storage import ByteSource
from splitscan.read.block_stream import open_stream
from splitscan.read.reader_context import ContextReader, ReaderContext, buffer_bytes


class ContextSession:
    r"""Reads block after block with one context, and keeps the stream open from a block to the one that follows it.

    A block is *consecutive* when it begins where the last one stopped, in the same version of the same file, and that
    one was read to its end. Otherwise the stream is closed and a new one opened.

    Args:
        context: Reads the records of every block.
        open_file: Opens a file; closed by the session.
        max_record_bytes: A record that is longer becomes one reject.
        read_bytes: Most bytes asked of a source at a time.

    Thread safety: none.

    Example:
        >>> from splitscan.read.framed_contexts import ReadAheadLineReaderContext
        >>> from splitscan.testing.byte_sources import MemorySource
        >>> file = FileMetadata("f", 9, 0, "v1", "f")
        >>> blocks = [BlockMetadata(file, 0, 4, 0), BlockMetadata(file, 4, 9, 1)]
        >>> with ContextSession(ReadAheadLineReaderContext(), lambda file: MemorySource(b"ab\ncd\nef\n"),
        ...                     max_record_bytes=10, read_bytes=10) as session:
        ...     [[value for step in session.read(block) for value in step.values] for block in blocks]
        [[b'ab', b'cd'], [b'ef']]
    """

    def __init__(
        self,
        context: ReaderContext,
        open_file: Callable[[FileMetadata], ByteSource],
        *,
        max_record_bytes: int,
        read_bytes: int,
    ) -> None:
        self._context = context
        self._open_file = open_file
        self._max_record_bytes = max_record_bytes
        self._read_bytes = read_bytes
        self._source: ByteSource | None = None
        self._stream: io.BufferedReader | None = None
        self._last: ContextReader | None = None

    def read(self, block: BlockMetadata) -> ContextReader:
        """A reader of *block*; iterate it before asking for the next one.

        Raises:
            SourceError: If the file cannot be opened.
        """
        consecutive = self._follows_last(block)
        if not consecutive:
            self.close()
        if self._source is None or self._stream is None:
            self._source = self._open_file(block.file)
            size = buffer_bytes(block, self._read_bytes)
            self._stream = open_stream(self._source, block.file, size, owns_source=True)
        self._last = ContextReader(
            self._source,
            block,
            self._context,
            max_record_bytes=self._max_record_bytes,
            read_bytes=self._read_bytes,
            stream=self._stream,
            consecutive=consecutive,
        )
        return self._last

    def _follows_last(self, block: BlockMetadata) -> bool:
        last = self._last
        return last is not None and last.is_done and last.block.file == block.file and last.block.stop == block.start

    def close(self) -> None:
        """Close the stream and the file. Calling it again does nothing; reading on opens again."""
        stream, self._stream, self._source, self._last = self._stream, None, None, None
        if stream is not None:
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
