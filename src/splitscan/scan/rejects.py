"""Rejects, as many as are found together: columns, of which Python objects are made where somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat, starmap
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import number_array
from splitscan.blocks import Reject
from splitscan.errors import RecordError, Where, quote_bytes
from splitscan.formats.decoding.contract import Faults, Words

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


def failed_fast(reject: Reject, where: Where) -> RecordError:
    """The error that a reject is in mode FAILFAST."""
    return RecordError(
        f"{reject.reason} (mode=FAILFAST)",
        where,
        seen=quote_bytes(reject.raw),
        fix=f"{_REMEDIES.get(reject.code, 'correct the record')}, or set mode=PERMISSIVE or DROPMALFORMED to go on "
        "without it",
        code=reject.code,
    )


def slices(data: memoryview, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> pa.Array:
    """Parts of a buffer as an Arrow array; only they are copied.

    Args:
        data: The buffer.
        starts: Where each part starts; none starts before the part in front of it stops.
        stops: Where each stops.

    Example:
        >>> slices(memoryview(b"ab,cd,ef"), np.array([0, 6]), np.array([2, 8])).to_pylist()
        [b'ab', b'ef']
    """
    bounds = pa.py_buffer(np.column_stack([starts, stops]).ravel())  # every other part is a gap
    parts = max(2 * len(starts) - 1, 0)
    both = pa.Array.from_buffers(pa.large_binary(), parts, [None, bounds, pa.py_buffer(data)])
    return both.take(number_array(np.arange(0, parts, 2)))


class RejectBatch(Sequence[Reject]):
    """Rejects of records of one buffer.

    Args:
        path: Of the file.
        offsets: Of the first byte of each record.
        lengths: Bytes of each record's content.
        words: Code and reason of each; faults are put into words where somebody looks at them.
        raw: The bytes of each, cut to a bounded prefix.
        delivered: Whether a row was delivered for each all the same.
    """

    def __init__(
        self,
        path: str,
        offsets: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        words: Faults | Words,
        raw: pa.Array,
        delivered: npt.NDArray[np.bool_],
    ) -> None:
        self.path = path
        self.offsets, self.lengths = offsets, lengths
        self.raw, self.delivered = raw, delivered
        self._words = words

    @property
    def words(self) -> Words:
        """Code and reason of each."""
        return self._words.words if isinstance(self._words, Faults) else self._words

    def at(self, offsets: npt.NDArray[np.int64]) -> RejectBatch:
        """These rejects, at other offsets."""
        return RejectBatch(self.path, offsets, self.lengths, self._words, self.raw, self.delivered)

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
        words = self._words
        some = words[index] if isinstance(words, Faults) else (words[0][index], words[1][index])
        return RejectBatch(
            self.path, self.offsets[index], self.lengths[index], some, self.raw[index], self.delivered[index]
        )
