"""A file that stays open for the ranges that are read of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.codecs.contract import ContainerError
from splitscan.content.storage import ByteSource
from splitscan.errors import Where
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.reading.contents import preamble_for
from splitscan.reading.cursor import RecordCursor, Records, first_boundary

_FRESH_SECONDS = 5.0  # how long an open file is believed to be the one that was planned; opening may be a request
_OF_CONTENT = frozenset({"codec", "content_bytes", "damage"})  # of sources of content


class OpenedFile:
    """A file that stays open from one range to the next, and whose head is read once.

    It is opened when it is first needed, and again where that was long ago, so that a file which is replaced while
    its ranges are read is noticed.

    Args:
        open_source: Opens it, and raises if it is not the one that was planned.
        fresh_seconds: When to open it again.
    """

    def __init__(
        self,
        file: FileMetadata,
        open_source: Callable[[], ByteSource],
        *,
        max_record_bytes: int,
        read_bytes: int,
        fresh_seconds: float = _FRESH_SECONDS,
    ) -> None:
        self._file = file
        self._open_source = open_source
        self._max_record_bytes = max_record_bytes
        self._read_bytes = read_bytes
        self._fresh_seconds = fresh_seconds
        self._source: ByteSource | None = None
        self._opened_seconds = 0.0
        self._preambles: dict[tuple[RecordFormat, bool], Preamble] = {}

    @property
    def file(self) -> FileMetadata:
        """The file."""
        return self._file

    def lend(self) -> ByteSource:
        """The open file, for a reader that closes it: that leaves it open."""
        if self._source is not None and time.monotonic() - self._opened_seconds > self._fresh_seconds:
            self.close()
        return Lent(self._current())

    def preamble(self, format: RecordFormat, start: int) -> Preamble:
        """Preamble for a reader of a range from *start* on; looked at once."""
        key = (format, start == 0 or (format, True) in self._preambles)  # whoever began the file knows all of it
        if key not in self._preambles:
            try:
                self._preambles[key] = preamble_for(self._current(), self._file, format, start)
            except ContainerError as error:
                error.locate(Where(self._file.path, row=0))
                raise
        return self._preambles[key]

    def first_record_start(self, format: RecordFormat, boundary: int, position: int) -> int:
        """The first record boundary at or after *position*, found by framing from *boundary* on: nothing is decoded.

        No record starts between *position* and it; it is the file's size where none follows.
        """
        preamble = self.preamble(format, boundary)
        boundary = max(boundary, preamble.data_start)
        if boundary >= position:
            return boundary
        records = Records(self._current(), self._file, preamble.format, self._max_record_bytes, self._read_bytes)
        return first_boundary(RecordCursor(records, boundary), position)

    def close(self) -> None:
        """Close the file. Calling it again does nothing; reading on opens it again."""
        source, self._source = self._source, None
        if source is not None:
            source.close()

    def _current(self) -> ByteSource:
        if self._source is None:
            self._source = self._open_source()
            self._opened_seconds = time.monotonic()
        return self._source


class Lent:
    """A source that whoever borrowed it cannot close; it says of its content what that one says."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.path = source.path
        self.size_bytes = source.size_bytes
        self.fingerprint = source.fingerprint

    def __getattr__(self, name: str) -> Any:
        if name in _OF_CONTENT:
            return getattr(self._source, name)
        raise AttributeError(name)

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        return self._source.read_at(offset, length_bytes)

    def close(self) -> None:
        """Leave the file open: somebody else closes it."""
