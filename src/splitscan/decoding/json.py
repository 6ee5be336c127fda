"""JSON records to typed columns: Arrow's parser for all that it reads as Spark does, record by record for the rest.

Both roads give the same rows. Records that Arrow refuses are found by halving; where many are refused because of a few
columns, only those columns are read record by record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from splitscan.decoding.contract import Decoded, Fault
from splitscan.decoding.conversions import Rules
from splitscan.decoding.json_arrow import ArrowReader, RefusedError, is_for_arrow
from splitscan.decoding.json_records import RecordReader
from splitscan.decoding.json_text import JsonDialect
from splitscan.decoding.rescue import Rescue
from splitscan.decoding.utf8 import is_utf8
from splitscan.framing.encodings import Encoding
from splitscan.framing.frames import CountedFrames, Frames, Offsets

_LEAF_RECORDS = 16  # a refused part of so few records is not halved: calling Arrow costs more than reading them
_SMALLEST_WINDOW = 256  # records
_ENOUGH_REFUSED = 32  # so many records read one by one tell which columns are the odd ones,
_RARE = 32  # where they are more than one in so many


@dataclass(frozen=True)
class JsonDecoder:
    """Decodes records that are JSON objects.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        dialect: Leniencies.
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        rescue: Where given, values and members that do not fit are kept, and are no faults.
        is_array: Whether the records are elements of an array, with commas between them.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    dialect: JsonDialect = field(default_factory=JsonDialect)
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None
    is_array: bool = False

    @property
    def records(self) -> RecordReader:
        """What reads records one by one."""
        return RecordReader(self.dialect, self.rules, self.own_rules, self.rescue)

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported, a record that is no object too."""
        if self.encoding.codec not in {"utf-8", "ascii"} or not is_utf8(data):
            data, frames = self._transcode(data, frames)
        if not len(frames):
            return self._decoded([pa.array([], kind) for kind in self._kinds], 0, [])
        work = _Work(self, data, frames)
        if not (isinstance(frames, CountedFrames) and work.take_counted()):
            work.run()
        columns = [
            pa.concat_arrays([part[i] for part in work.parts]) if len(work.parts) > 1 else work.parts[0][i]
            for i in range(len(self._kinds))
        ]
        return self._decoded(columns, len(frames), work.faults)

    @property
    def _kinds(self) -> list[pa.DataType]:
        """Types of the columns, and of what is rescued behind them."""
        return [*(f.type for f in self.fields), *([pa.string()] if self.records.rescues else [])]

    def _decoded(self, columns: list[pa.Array], rows: int, faults: list[Fault]) -> Decoded:
        count = len(self.fields)
        return Decoded(columns[:count], rows, faults, columns[count] if len(columns) > count else None)

    def decode_exactly(self, data: memoryview, frames: Frames) -> Decoded:
        """The same by the exact parser, one record after the other: slow, and the definition."""
        texts = [self.encoding.text(bytes(data[a:b])) for a, b in zip(frames.starts, frames.stops, strict=True)]
        reader = self.records
        read = [reader.read_exactly(index, text, self.fields) for index, text in enumerate(texts)]
        columns = [pa.array([row[i] for row, _ in read], kind) for i, kind in enumerate(self._kinds)]
        return self._decoded(columns, len(texts), [fault for _, fault in read if fault is not None])

    def _transcode(self, data: memoryview, frames: Frames) -> tuple[memoryview, Frames]:
        """The same records in valid UTF-8."""
        texts = [
            self.encoding.text(bytes(data[a:b])).encode("utf-8")
            for a, b in zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
        ]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        stops = np.cumsum(lengths + 1) - 1
        utf8 = b"\n".join([*texts, b""])
        return memoryview(utf8), Frames(stops - lengths, stops, len(utf8), regular=frames.regular)


class _Work:
    """Decodes one buffer; afterwards *parts* holds the columns of one stretch of records after the other."""

    def __init__(self, decoder: JsonDecoder, data: memoryview, frames: Frames) -> None:
        self._data, self._frames = data, frames
        self._is_array = decoder.is_array
        self._fields = decoder.fields
        self._records = decoder.records
        self._arrow = ArrowReader(decoder.rules, decoder.own_rules, refuses_others=self._records.rescues)
        self._is_odd = [not is_for_arrow(f.type) for f in decoder.fields]
        self._uses_arrow = frames.regular and decoder.dialect.allow_non_numeric_numbers  # Arrow takes NaN for a number
        self._window = len(frames)  # most records that Arrow is asked for at once
        self._refused: list[int] = []  # records that were read one by one although Arrow was asked for them
        self._seen = 0
        self.parts: list[list[pa.Array]] = []
        self.faults: list[Fault] = []

    def take_counted(self) -> bool:
        """Decode all records without a look at where they are, if Arrow reads them all; and whether it does."""
        if any(self._is_odd) or not self._asks_arrow:
            return False
        count = len(self._frames)
        try:
            columns = self._arrow.read_counted(self._data, count, self._fields, is_array=self._is_array)
        except RefusedError:
            return False
        self._add(columns, count)
        return True

    def run(self) -> None:
        """Decode all records."""
        left = [(0, len(self._frames))]
        while left:
            low, high = left.pop()
            middle = min(high, low + self._window)
            if middle < high:
                left.append((middle, high))
            if not self._asks_arrow:
                self._take_one_by_one(low, middle)
                continue
            try:
                self._take(low, middle)
                self._window *= 2
            except RefusedError as refusal:
                left += reversed(self._around(low, middle, refusal.record))

    @property
    def _asks_arrow(self) -> bool:
        """Whether Arrow is asked for records. It says which have members without a column only if asked for all."""
        some_are_odd = any(self._is_odd) if self._records.rescues else self._is_odd and all(self._is_odd)
        return self._uses_arrow and not some_are_odd

    def _take(self, low: int, high: int) -> None:
        """Decode records in one go, except for odd columns.

        Raises:
            RefusedError: If Arrow refuses them.
        """
        plain = iter(self._read_by_arrow(slice(low, high), self._chosen(odd=False)))
        slow = iter(self._read_one_by_one(low, high, self._chosen(odd=True)) if any(self._is_odd) else ())
        self._add([next(slow) if is_odd else next(plain) for is_odd in self._is_odd], high - low)

    def _add(self, columns: list[pa.Array], count: int) -> None:
        """Add columns of records of which nothing is rescued."""
        self.parts.append([*columns, pa.nulls(count, pa.string())] if self._records.rescues else columns)
        self._seen += count

    def _around(self, low: int, high: int, hint: int | None) -> list[tuple[int, int]]:
        """Deal with some of the records that were refused; the others are left."""
        record = None if hint is None or hint >= high - low else low + hint
        if record is None and high - low > _LEAF_RECORDS:
            middle = (low + high) // 2
            return [(low, middle), (middle, high)]
        if record is not None and record > low:
            self._window = max(_SMALLEST_WINDOW, 2 * (record - low))
            return [(low, record), (record, high)]  # the second is refused at once, if the hint is right
        last = high if record is None else low + 1
        self._take_one_by_one(low, last)
        self._refused += range(low, last)
        self._learn()
        return [(last, high)] if last < high else []

    def _take_one_by_one(self, low: int, high: int) -> None:
        self.parts.append(self._read_one_by_one(low, high, self._fields))
        self._seen += high - low

    def _read_by_arrow(self, which: slice | Offsets, fields: Sequence[pa.Field]) -> list[pa.Array]:
        return self._arrow.read(self._data, self._frames.starts[which], self._frames.stops[which], fields)

    def _read_one_by_one(self, low: int, high: int, fields: Sequence[pa.Field]) -> list[pa.Array]:
        starts, stops = self._frames.starts[low:high], self._frames.stops[low:high]
        bounds = zip(starts.tolist(), stops.tolist(), strict=True)
        texts = ((index, str(self._data[start:stop], "utf-8")) for index, (start, stop) in enumerate(bounds, low))
        columns, faults = self._records.read(texts, fields)
        self.faults += faults
        return columns

    def _chosen(self, *, odd: bool) -> list[pa.Field]:
        return [f for f, is_odd in zip(self._fields, self._is_odd, strict=True) if is_odd is odd]

    # ---------------------------------------------------------- odd columns

    def _learn(self) -> None:
        """Where many records are refused, ask Arrow for the columns that are not the reason, or for nothing."""
        if len(self._refused) < max(_ENOUGH_REFUSED, self._seen // _RARE):
            return
        broken = {fault.record for fault in self.faults if fault.structural}
        whole = np.array([record for record in self._refused if record not in broken], dtype=np.int64)
        if 2 * len(whole) < len(self._refused) or not self._fields or self._records.rescues:
            self._uses_arrow = False
        else:
            asked = zip(self._is_odd, self._fields, strict=True)
            self._is_odd = [is_odd or self._is_refused(whole, one) for is_odd, one in asked]
        self._window = len(self._frames)
        self._refused, self._seen = [], 0

    def _is_refused(self, which: Offsets, wanted: pa.Field) -> bool:
        try:
            self._read_by_arrow(which, [wanted])
        except RefusedError:
            return True
        return False
