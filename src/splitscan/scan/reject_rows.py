"""Rejects as rows, with the numbers of their lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import pairwise

import pyarrow as pa

from splitscan.blocks import UNKNOWN_END, BlockMetadata, FileMetadata, Reject
from splitscan.content.codecs.source import ContentSource
from splitscan.content.storage import ByteSource
from splitscan.errors import SourceError
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.registry import record_format
from splitscan.options import ReadOptions
from splitscan.read.contents import open_file
from splitscan.read.line_ends import CountedLines, CountingSource, counting
from splitscan.redaction import redact

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

_NOTHING = CountedLines(0, 0, 0)


def reject_rows(rejects: Iterable[tuple[Reject, int | None]]) -> pa.RecordBatch:
    """The rows of rejects, each with its line."""
    rows = [
        (
            redact(reject.path),
            line,
            reject.offset,
            reject.length_bytes,
            reject.code,
            redact(reject.reason),
            bytes(reject.raw),
            reject.delivered,
        )
        for reject, line in rejects
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(REJECTED)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, REJECTED, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECTED)


def counted_source(block: BlockMetadata, source: ByteSource, *, is_whole: bool = False) -> CountingSource:
    """The file of a block, whose line ends are counted as far as the block goes; see :func:`counting`."""
    is_file = isinstance(source, ContentSource) and block.file.compression is None
    stop = None if is_file or block.stop == UNKNOWN_END else block.stop
    return counting(source, block.start, stop, is_whole=is_whole)


class LineNumbers:
    """Makes rows of rejects, and finds their lines in the bytes that are read anyway: see :meth:`watch`.

    Bytes in front of a reject that nobody reads, because of conditions on blocks, are read for it.

    Args:
        options: Of the scan.
        files: Of the scan.

    Thread safety: none.
    """

    def __init__(self, options: ReadOptions, files: Iterable[FileMetadata]) -> None:
        self._options = options
        self._files = {file.path: file for file in files}
        self._has_lines = has_lines(options)
        self._path: str | None = None
        self._parts: list[CountedLines] = []  # of that file, in order
        self._current: CountingSource | None = None  # which follows them
        self._asked: tuple[int, int] | None = None  # a byte of the file, and the line ends in front of it

    def watch(self, block: BlockMetadata, source: ByteSource) -> ByteSource:
        """The file of a block, of which the line ends are counted when it is read; blocks come in order."""
        if not self._has_lines:
            return source
        self.add(block.file.path, self.counted)
        self._current = counted_source(block, source)
        return self._current

    @property
    def counted(self) -> CountedLines | None:
        """Line ends counted in the block that was opened last; ``None`` before that."""
        return None if self._current is None else self._current.counted

    def add(self, path: str, part: CountedLines | None) -> None:
        """Take what was counted in a part of a file, behind all parts of it that are known."""
        if path != self._path:
            self._path, self._parts, self._current, self._asked = path, [], None, None
        elif part is not None and (not self._parts or part.start >= self._parts[-1].reached):
            self._parts.append(part)

    def rows(self, rejects: Sequence[Reject]) -> pa.RecordBatch:
        """The rows of rejects; those of a file in the order of their offsets."""
        return reject_rows([(reject, self._line_of(reject)) for reject in rejects])

    def ends_in_block(self, offset: int) -> int | None:
        """Line ends in front of a byte, in the block that was opened last; ``None`` where they are not counted."""
        current = self._current
        return None if current is None or offset < current.start else current.before(offset)

    def line_at(self, path: str, start: int, ends: int | None) -> int | None:
        """The line of what follows *ends* line ends that follow a byte of a file.

        ``None`` where there are no lines, or the file is gone by now.
        """
        if not self._has_lines or ends is None or path not in self._files:
            return None
        self.add(path, None)
        try:
            return 1 + self._ends_before(start) + ends
        except SourceError:
            return None

    def _line_of(self, reject: Reject) -> int | None:
        current = self._current if reject.path == self._path else None
        if current is None or reject.offset < current.start:
            return self.line_at(reject.path, reject.offset, 0)
        try:
            ends = current.before(reject.offset)
        except SourceError:
            return None
        return self.line_at(reject.path, current.start, ends)

    def _ends_before(self, offset: int) -> int:
        """Line ends of the file in front of a byte: what was counted in parts, and what is between them."""
        if self._asked is not None and self._asked[0] == offset:
            return self._asked[1]
        before = [part for part in self._parts if part.reached <= offset]
        gaps = [
            CountedLines(left.reached, right.start, self._ends_between(left.reached, right.start))
            for left, right in pairwise([_NOTHING, *before, CountedLines(offset, offset, 0)])
            if left.reached < right.start
        ]
        if gaps:
            self._parts = sorted([*self._parts, *gaps])
        self._asked = offset, sum(part.ends for part in (*before, *gaps))
        return self._asked[1]

    def _ends_between(self, start: int, stop: int) -> int:
        """Line ends in bytes that nobody has read."""
        if self._path is None or stop <= start:
            return 0
        with closing(open_file(self._files[self._path], self._options.files, record_format(self._options))) as source:
            return counting(source, start, stop).before(stop)


def has_lines(options: ReadOptions) -> bool:
    """True if a byte that looks like a line end is one."""
    encoding = options.format.text_encoding
    return encoding is not None and "\n".encode(resolve_encoding(encoding).codec) == b"\n"
