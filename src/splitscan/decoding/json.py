"""JSON records to typed columns: Arrow's parser over record-aligned buffers, and an exact slow road beside it.

The slow road reads one record at a time. It is taken for records that Arrow refuses, which are found by cutting the
buffer into small parts. Both roads give the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from splitscan.decoding.contract import Decoded, Fault
from splitscan.decoding.conversions import Rules, convert
from splitscan.decoding.csv import one_chunk
from splitscan.decoding.json_text import JsonDialect, JsonKind, NotJsonError, parse_json
from splitscan.decoding.json_values import ValueReader
from splitscan.decoding.utf8 import is_utf8
from splitscan.framing.contract import Frames, Offsets
from splitscan.framing.encodings import Encoding

BAD_JSON = "bad-json"
NOT_AN_OBJECT = "not-an-object"
BAD_VALUE = "bad-value"

_PART_RECORDS = 256  # into parts of that many records a refused buffer is cut, so that few of them go the slow road
_NOTHING = pa.field("\0", pa.string())  # asked for where no column is, so that rows are counted
_SPACE = 0x20
_BRACES = (ord("{"), ord("}"))
_IS_ZULU = r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$"


class _RefusedError(Exception):
    """Arrow does not read these records, or may read them differently."""


_REFUSED = (pa.ArrowInvalid, _RefusedError)


@dataclass(frozen=True)
class JsonDecoder:
    """Decodes records that are JSON objects.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        dialect: Leniencies.
        rules: How times are written.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    dialect: JsonDialect = field(default_factory=JsonDialect)
    rules: Rules = field(default_factory=Rules)

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported, a record that is no object too."""
        if self.encoding.codec not in {"utf-8", "ascii"} or not is_utf8(data):
            data, frames = self._transcode(data, frames)
        if not len(frames):
            return Decoded([pa.array([], f.type) for f in self.fields], 0)
        is_fast = frames.regular and self._is_for_arrow
        parts = self._decode(data, frames) if is_fast else [self._decode_slowly(data, frames, 0, len(frames))]
        columns = [
            pa.concat_arrays([part.columns[i] for part in parts]) if len(parts) > 1 else parts[0].columns[i]
            for i in range(len(self.fields))
        ]
        return Decoded(columns, len(frames), [fault for part in parts for fault in part.faults])

    def _transcode(self, data: memoryview, frames: Frames) -> tuple[memoryview, Frames]:
        """The same records in valid UTF-8."""
        texts = [
            bytes(data[a:b]).decode(self.encoding.codec, "replace").encode("utf-8")
            for a, b in zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
        ]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        stops = np.cumsum(lengths + 1) - 1
        utf8 = b"\n".join([*texts, b""])
        return memoryview(utf8), Frames(stops - lengths, stops, len(utf8), regular=frames.regular)

    @property
    def _is_for_arrow(self) -> bool:
        """Whether Arrow's parser can read the columns at all, and accepts no more than the dialect does."""
        return self.dialect.allow_non_numeric_numbers and not any(_is_beyond_arrow(f.type) for f in self.fields)

    def _decode(self, data: memoryview, frames: Frames) -> list[Decoded]:
        """Decode records in one go, or in parts if Arrow refuses them."""
        count = len(frames)
        try:
            return [self._decode_fast(data, frames, 0, count)]
        except _REFUSED:
            pass
        parts = []
        for low in range(0, count, _PART_RECORDS):
            high = min(low + _PART_RECORDS, count)
            try:
                if high - low == count:
                    raise _RefusedError
                parts.append(self._decode_fast(data, frames, low, high))
            except _REFUSED:
                parts.append(self._decode_slowly(data, frames, low, high))
        return parts

    # -------------------------------------------------------------- fast road

    def _decode_fast(self, data: memoryview, frames: Frames, low: int, high: int) -> Decoded:
        buffer = _side_by_side(data, frames.starts[low:high], frames.stops[low:high])
        asked = [pa.field(f.name, _asked(f.type)) for f in self.fields] or [_NOTHING]
        table = json.read_json(
            pa.BufferReader(pa.py_buffer(buffer)),
            read_options=json.ReadOptions(use_threads=False, block_size=len(buffer) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=pa.schema(asked), newlines_in_values=False, unexpected_field_behavior="ignore"
            ),
        )
        if table.num_rows != high - low:
            raise _RefusedError
        columns = [self._finish(one_chunk(table.column(i)), f.type) for i, f in enumerate(self.fields)]
        return Decoded(columns, high - low)

    def _finish(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """From what Arrow was asked for to the declared type."""
        if pa.types.is_struct(kind):
            children = [self._finish(column.field(i), kind.field(i).type) for i in range(kind.num_fields)]
            fields = [kind.field(i) for i in range(kind.num_fields)]
            return pa.StructArray.from_arrays(children, fields=fields, mask=column.is_null())
        if pa.types.is_list(kind):
            values = self._finish(column.values, kind.value_type)
            return pa.ListArray.from_arrays(column.offsets, values, type=kind, mask=column.is_null())
        if pa.types.is_decimal(kind):
            column.validate(full=True)
            return column
        if column.type == kind:
            return column
        finished, bad = self._convert(column, kind)
        if bad:
            raise _RefusedError
        return finished

    def _convert(self, column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, bool]:
        """Texts as values, and whether one of them is none."""
        is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None and self.rules.timestamp_format is None
        if is_zoned and pc.all(pc.match_substring_regex(column, _IS_ZULU), min_count=0).as_py():
            try:
                return column.cast(kind), False
            except pa.ArrowInvalid:
                pass
        finished, bad = convert(column, kind, self.rules)
        return finished, bad is not None

    # -------------------------------------------------------------- slow road

    def _decode_slowly(self, data: memoryview, frames: Frames, low: int, high: int) -> Decoded:
        rows: list[list[object]] = []
        faults: list[Fault] = []
        bounds = zip(frames.starts[low:high].tolist(), frames.stops[low:high].tolist(), strict=True)
        for index, (start, stop) in enumerate(bounds, start=low):
            row, fault = self._read(bytes(data[start:stop]).decode("utf-8"), index)
            rows.append(row)
            if fault is not None:
                faults.append(fault)
        columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(self.fields)]
        return Decoded(columns, len(rows), faults)

    def _read(self, text: str, index: int) -> tuple[list[object], Fault | None]:
        nothing: list[object] = [None] * len(self.fields)
        try:
            record = parse_json(text, self.dialect)
        except NotJsonError as error:
            return nothing, Fault(index, BAD_JSON, f"the record is no JSON value: {error}", True)
        if record.kind is not JsonKind.OBJECT:
            return nothing, Fault(index, NOT_AN_OBJECT, f"the record is {record.kind.value}, not an object", True)
        reader = ValueReader(text, self.rules, self.dialect.allow_non_numeric_numbers)
        row = reader.struct_fields(record.value, list(self.fields))
        return row, Fault(index, BAD_VALUE, reader.problems[0], False) if reader.problems else None


def _side_by_side(data: memoryview, starts: Offsets, stops: Offsets) -> npt.NDArray[np.uint8]:
    """The records with nothing but white space between them.

    Raises:
        _RefusedError: If a record does not begin and end with a brace: then Arrow might take parts of two for one.
    """
    low, high = int(starts[0]), int(stops[-1])
    region = np.frombuffer(data, dtype=np.uint8)[low:high]
    first, last = starts - low, stops - low - 1
    for at, step, brace in ((first.copy(), 1, _BRACES[0]), (last.copy(), -1, _BRACES[1])):
        left = np.arange(len(at))
        while len(left):  # white space around the value
            left = left[
                (region[at[left]] <= _SPACE) & (first[left] <= at[left] + step) & (at[left] + step <= last[left])
            ]
            at[left] += step
        if (region[at] != brace).any():
            raise _RefusedError
    text = np.empty(len(region) + 1, dtype=np.uint8)
    text[:-1] = region
    text[-1] = ord("\n")
    lengths = first[1:] - last[:-1] - 1
    total = int(lengths.sum())
    if total:
        gaps = np.arange(total) + np.repeat(last[:-1] + 1 - np.cumsum(lengths) + lengths, lengths)
        text[gaps] = ord(" ")
    return text


def _asked(kind: pa.DataType) -> pa.DataType:
    """The type that Arrow's parser is asked for: text where Spark's rules say what a value is."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind.field(i).name, _asked(kind.field(i).type)) for i in range(kind.num_fields)])
    if pa.types.is_list(kind):
        return pa.list_(_asked(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _is_beyond_arrow(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind) or pa.types.is_binary(kind):
        return True
    return any(_is_beyond_arrow(kind.field(i).type) for i in range(kind.num_fields))
