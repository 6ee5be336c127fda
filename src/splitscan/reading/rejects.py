"""Rejects, as many as are found together: columns, of which Python objects are made where somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise, repeat, starmap
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import number_array
from splitscan.blocks import UNKNOWN_END, BlockMetadata, FileMetadata, Reject
from splitscan.content.storage import ByteSource
from splitscan.errors import RecordError, SourceError, Where, quote_bytes
from splitscan.formats.decoding.contract import Faults, Words
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.formats.registry import record_format
from splitscan.options import ReadOptions
from splitscan.reading.contents import open_file
from splitscan.reading.opened_file import CountedLines, CountingSource
from splitscan.redaction import redact

OnReject: TypeAlias = Callable[[Reject], None]
"""Takes the rejects of a scan, one after the other."""

OnRejects: TypeAlias = Callable[[Sequence[Reject]], None]
"""Takes the rejects of a scan, in order, as many at once as were found together."""


def one_by_one(on_reject: OnReject) -> OnRejects:
    """Callback that hands over each reject by itself."""

    def take(rejects: Sequence[Reject]) -> None:
        for reject in rejects:
            on_reject(reject)

    return take


def reason_text(code: str, reason: str) -> str:
    """The text of the column of reasons.

    Example:
        >>> reason_text("field-count", "too few fields")
        '[field-count] too few fields'
    """
    return f"[{code}] {reason}"


def reason_array(faults: Faults, rows: int) -> pa.Array:
    """The column of reasons of *rows* records: null where there is no fault."""
    if not faults:
        return pa.nulls(rows, pa.string())
    codes, reasons = (column.cast(pa.string()) for column in faults.words)
    texts = pc.binary_join_element_wise("[", codes, "] ", reasons, "")
    return beside_rows(texts, faults.records, rows)


def beside_rows(texts: pa.Array, records: npt.NDArray[np.int64], rows: int) -> pa.Array:
    """A column of *rows* rows: each text in the row of its record, null in all others.

    Example:
        >>> beside_rows(pa.array(["a", "b"]), np.array([0, 2]), 4).to_pylist()
        ['a', None, 'b', None]
    """
    order = np.full(rows, -1)
    order[records] = np.arange(len(records))
    return texts.take(number_array(order, order >= 0))


_REMEDIES = {
    "bad-value": "declare the column as string, or with a type that holds all its values (a type that was found in a "
    "sample may be too narrow), correct the record",
    "not-an-array": "write in recordPath where the array is, correct the record",
    "record-path-not-found": "correct the names of recordPath",
    "record-too-long": "raise maxRecordBytes, look whether a quote is never closed, correct the record",
    "field-too-long": "raise maxCharsPerColumn, correct the record",
    "field-count": "correct the schema, or sep and quote, correct the record",
}
"""What is rather wrong than the record, by code."""


def remedies() -> dict[str, str]:
    """Remedies where mode FAILFAST ends a scan, by the code of the record; by an empty one for all others."""
    return {code: _remedy(code) for code in ("", *_REMEDIES)}


def _remedy(code: str) -> str:
    return (
        f"{_REMEDIES.get(code, 'correct the record')}, or set mode=PERMISSIVE to keep what fits of it, "
        "mode=DROPMALFORMED to go on without it"
    )


def failed_fast(reject: Reject, where: Where) -> RecordError:
    """The error that a reject is in mode FAILFAST."""
    return RecordError(
        f"{reject.reason} (mode=FAILFAST)",
        where,
        seen=quote_bytes(reject.raw),
        fix=_remedy(reject.code),
        code=reject.code,
    )


def slices(data: memoryview, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> pa.Array:
    """Parts of a buffer as an Arrow array; only they are copied.

    Args:
        starts: Where each part starts; none starts before the part in front of it stops.

    Example:
        >>> slices(memoryview(b"ab,cd,ef"), np.array([0, 6]), np.array([2, 8])).to_pylist()
        [b'ab', b'ef']
    """
    bounds = pa.py_buffer(np.column_stack([starts, stops]).ravel())  # every other part is a gap
    parts = max(2 * len(starts) - 1, 0)
    both = pa.Array.from_buffers(pa.large_binary(), parts, [None, bounds, pa.py_buffer(data)])
    return both.take(number_array(np.arange(0, parts, 2)))


class RejectBatch(Sequence[Reject]):
    """Rejects of records of one buffer, made one by one where somebody looks at them.

    Of the bytes there is a bounded prefix; *delivered* says for which there was a row all the same.
    """

    def __init__(
        self,
        path: str,
        offsets: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        words: Words,
        raw: pa.Array,
        delivered: npt.NDArray[np.bool_],
    ) -> None:
        self.path = path
        self.offsets, self.lengths = offsets, lengths
        self.raw, self.delivered = raw, delivered
        self.words = words

    def at(self, offsets: npt.NDArray[np.int64]) -> RejectBatch:
        """These rejects, at other offsets."""
        return RejectBatch(self.path, offsets, self.lengths, self.words, self.raw, self.delivered)

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[Reject]:
        """Make one after the other: thousands that live at once keep the garbage collector busy."""
        codes, reasons = (column.to_pylist() for column in self.words)
        offsets, lengths, delivered = self.offsets.tolist(), self.lengths.tolist(), self.delivered.tolist()
        columns = (repeat(self.path, len(self)), offsets, lengths, codes, reasons, self.raw.to_pylist(), delivered)
        return starmap(Reject, zip(*columns, strict=True))

    @overload
    def __getitem__(self, index: int) -> Reject: ...

    @overload
    def __getitem__(self, index: slice) -> RejectBatch: ...

    def __getitem__(self, index: int | slice) -> Reject | RejectBatch:
        if not isinstance(index, slice):
            place = range(len(self))[index]
            return next(iter(self[place : place + 1]))
        some = self.words[0][index], self.words[1][index]
        return RejectBatch(
            self.path, self.offsets[index], self.lengths[index], some, self.raw[index], self.delivered[index]
        )


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
    """The file of a block, whose line ends are counted as far as the block goes; see :class:`CountingSource`."""
    is_file = hasattr(source, "codec") and block.file.compression is None
    stop = None if is_file or block.stop == UNKNOWN_END else block.stop
    return CountingSource(source, block.start, stop, is_whole=is_whole)


class LineNumbers:
    """Makes rows of rejects, and finds their lines in the bytes that are read anyway: see :meth:`watch`.

    Bytes in front of a reject that nobody reads, because of conditions on blocks, are read for it.
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
            return CountingSource(source, start, stop).before(stop)


def has_lines(options: ReadOptions) -> bool:
    """True if a byte that looks like a line end is one."""
    encoding = options.format.text_encoding
    return encoding is not None and "\n".encode(resolve_encoding(encoding).codec) == b"\n"
