"""Rejects as rows, with the numbers of their lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from splitscan.blocks import FileMetadata, Reject
from splitscan.content.storage import ByteSource
from splitscan.errors import SourceError
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.registry import record_format
from splitscan.options import ReadOptions
from splitscan.read.contents import open_file
from splitscan.redaction import redact
from splitscan.sizes import MIB

REJECTED = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("line", pa.int64()),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("raw", pa.binary(), nullable=False),
        pa.field("delivered", pa.bool_(), nullable=False),
    ]
)
"""Columns of rejects; those of a reject table of an ingest, and ``line``."""


class LineNumbers:
    """Makes rows of rejects, and finds their lines: by one more look at the bytes in front of them.

    A file without rejects is not opened.

    Args:
        options: Of the scan.
        files: Of the scan.

    Thread safety: none.
    """

    def __init__(self, options: ReadOptions, files: Iterable[FileMetadata]) -> None:
        self._options = options
        self._files = {file.path: file for file in files}
        self._has_lines = _has_lines(options)
        self._path: str | None = None
        self._source: ByteSource | None = None
        self._offset, self._line, self._after_return = 0, 1, False

    def number(self, found: Sequence[Sequence[Reject]]) -> Iterator[pa.RecordBatch]:
        """The rows of rejects, a batch for each sequence; those of a file in the order of their offsets."""
        for rejects in found:
            rows = [
                (
                    redact(reject.path),
                    self._line_of(reject),
                    reject.offset,
                    reject.length_bytes,
                    reject.code,
                    redact(reject.reason),
                    bytes(reject.raw),
                    reject.delivered,
                )
                for reject in rejects
            ]
            columns = zip(*rows, strict=True) if rows else [()] * len(REJECTED)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, REJECTED, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=REJECTED)

    def close(self) -> None:
        """Close the file that is open."""
        source, self._source = self._source, None
        if source is not None:
            source.close()

    def _line_of(self, reject: Reject) -> int | None:
        """The line in which a reject begins; ``None`` where there are none, or the file is gone by now."""
        if not self._has_lines or reject.path not in self._files:
            return None
        try:
            if reject.path != self._path or reject.offset < self._offset:
                self._open(reject.path)
            self._go_to(reject.offset)
        except SourceError:
            return None
        return self._line

    def _open(self, path: str) -> None:
        self.close()
        self._path, self._offset, self._line, self._after_return = path, 0, 1, False
        self._source = open_file(self._files[path], self._options.files, record_format(self._options))

    def _go_to(self, offset: int) -> None:
        while self._source is not None and self._offset < offset:
            data = bytes(self._source.read_at(self._offset, min(MIB, offset - self._offset)))
            if not data:
                return
            ends = data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
            self._line += ends - (self._after_return and data.startswith(b"\n"))
            self._after_return = data.endswith(b"\r")
            self._offset += len(data)


def _has_lines(options: ReadOptions) -> bool:
    """True if a byte that looks like a line end is one."""
    encoding = options.format.text_encoding
    return encoding is not None and "\n".encode(resolve_encoding(encoding).codec) == b"\n"
