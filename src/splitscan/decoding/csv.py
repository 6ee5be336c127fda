"""CSV records to typed columns: Arrow's parser over record-aligned buffers, and an exact slow road beside it.

The slow road (:func:`split_fields` record by record) is taken for bytes whose quotes are not structural, and for
single records whose number of fields is wrong. Both roads give the same rows.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from splitscan.decoding.canonical import canonical, has_blank_edges
from splitscan.decoding.contract import Decoded, Fault
from splitscan.decoding.conversions import FIRST_US, LAST_US, Rules, convert
from splitscan.decoding.local_times import to_moments
from splitscan.decoding.utf8 import is_utf8, transcode
from splitscan.errors import InvariantError
from splitscan.framing.contract import Frames, RecordFormat
from splitscan.framing.quoted import UNCLOSED_QUOTE, Dialect, split_fields
from splitscan.framing.words import contains

FIELD_COUNT = "field-count"
FIELD_TOO_LONG = "field-too-long"
BAD_VALUE = "bad-value"
_MOST_RAGGED = 4096  # with more irregular records than this in one buffer, all of it takes the slow road
_CACHED_BYTES = 1 << 18  # looked at while it is in the processor's cache
_TRUE = ["".join(c) for c in product("tT", "rR", "uU", "eE")]
_FALSE = ["".join(c) for c in product("fF", "aA", "lL", "sS", "eE")]
SPACE = bytes(range(0x21)).decode("ascii")


@dataclass(frozen=True)
class CsvLayout:
    """What the decoder must know about the columns of a file.

    Attributes:
        names: Names of the file's fields, in file order; their number is what every record must have.
        kinds: Type of each field.
        wanted: Indices of the fields to deliver, in the order wanted.
    """

    names: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    wanted: tuple[int, ...]


@dataclass(frozen=True)
class CsvDecoder:
    """Decodes CSV records.

    Args:
        dialect: The file's grammar.
        twin: The same format for the same text in UTF-8.
        layout: The columns.
        rules: How values are written.
        null_value: Text of a null.
        empty_value: What a quoted empty field becomes.
        trim_leading: Whether white space before unquoted values is dropped.
        trim_trailing: Whether white space behind unquoted values is dropped.
        max_field_chars: Longest field in characters; ``None`` for no bound.
    """

    dialect: Dialect
    twin: RecordFormat
    layout: CsvLayout
    rules: Rules = field(default_factory=Rules)
    null_value: str = ""
    empty_value: str = ""
    trim_leading: bool = False
    trim_trailing: bool = False
    max_field_chars: int | None = None

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported."""
        if self.dialect.in_utf8 is not self.dialect or not is_utf8(data):
            data, frames = self.in_utf8(data, frames)
        return self._decode(data, frames)

    def in_utf8(self, data: memoryview, frames: Frames) -> tuple[memoryview, Frames]:
        """The same records in valid UTF-8, framed again in pieces that are as regular as they can be."""
        utf8 = transcode(data, frames, self.dialect.encoding)
        parts: list[Frames] = []
        malformed: dict[int, str] = {}
        count = position = 0
        while position < len(utf8):
            part = self.twin.frame(utf8[position:], at_end=True)
            malformed |= {count + i: code for i, code in part.malformed.items()}
            parts.append(Frames(part.starts + position, part.stops + position, 0, {}, part.regular))
            count += len(part)
            position += part.next_start
        if count != len(frames):
            raise InvariantError(
                "transcoding must not change the number of records",
                seen=f"{len(frames)} records in {self.dialect.encoding.name}, {count} in UTF-8",
            )
        starts, stops = (np.concatenate([getattr(part, name) for part in parts]) for name in ("starts", "stops"))
        return utf8, Frames(starts, stops, len(utf8), malformed, all(part.regular for part in parts))

    # -------------------------------------------------------------- fast road

    def _decode(self, data: memoryview, frames: Frames) -> Decoded:
        prepared = self._prepare(data, frames)
        decoded = None if prepared is None else self._decode_fast(data, frames, *prepared)
        return self._decode_slowly(data, frames) if decoded is None else decoded

    def _prepare(self, data: memoryview, frames: Frames) -> tuple[memoryview, str] | None:
        """The records as Arrow reads them and their separator; None when only the slow road is exact."""
        if not frames.regular or frames.malformed or not self.layout.names or self._needs_trimming(data):
            return None
        prepared = canonical(data, frames, self.dialect.in_utf8)
        if prepared is not None and bytes(prepared[0][: len(codecs.BOM_UTF8)]) == codecs.BOM_UTF8:
            return None  # Arrow would take a mark in front of a chunk away
        return prepared

    def _decode_fast(self, data: memoryview, frames: Frames, text: memoryview, sep: str) -> Decoded | None:
        """Let Arrow read typed columns; if it refuses a value, texts; None when it cannot read the records at all."""
        ragged = _RaggedRows()
        if self.max_field_chars is None and not self._has_odd_rules(data) and not self._has_quoted_null(text):
            kinds = [_arrow_kind(self.layout.kinds[i]) for i in self._parsed]
            try:
                table = self._parse(text, sep, kinds, ragged)
                columns = [self._finish(table.column(i), i) for i in range(len(self._parsed))]
                return self._merge(data, frames, columns, ragged)
            except pa.ArrowInvalid:
                ragged = _RaggedRows()  # values are judged one by one
        try:
            table = self._parse(text, sep, [pa.string()] * len(self._parsed), ragged)
        except pa.ArrowInvalid:
            return None
        if table.num_rows + len(ragged.rows) != len(frames):
            return None
        texts = [self._finish_text(one_chunk(table.column(i))) for i in range(len(self._parsed))]
        return self._convert(data, frames, texts, ragged)

    @property
    def _parsed(self) -> tuple[int, ...]:
        """Fields that Arrow must convert: the wanted ones, or the first so that rows are counted."""
        if self.max_field_chars is not None:
            return tuple(range(len(self.layout.names)))
        return self.layout.wanted or (0,)

    def _parse(self, data: memoryview, sep: str, kinds: Sequence[pa.DataType], ragged: _RaggedRows) -> pa.Table:
        names = [str(i) for i in range(len(self.layout.names))]
        parsed = [names[i] for i in self._parsed]
        quotes_are_null = self.null_value == self.empty_value == ""
        return csv.read_csv(
            pa.BufferReader(pa.py_buffer(data)),
            read_options=csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=sep,
                quote_char=self.dialect.quote or False,
                double_quote=True,
                escape_char=False,
                newlines_in_values=False,
                ignore_empty_lines=True,
                invalid_row_handler=ragged.take,
            ),
            convert_options=csv.ConvertOptions(
                check_utf8=False,  # all bytes were checked at once, and faster
                column_types=dict(zip(parsed, kinds, strict=True)),
                include_columns=parsed,
                null_values=[""] if self.null_value == "" else ["", self.null_value],
                strings_can_be_null=True,
                quoted_strings_can_be_null=quotes_are_null,
                true_values=_TRUE,
                false_values=_FALSE,
            ),
        )

    def _finish(self, chunked: pa.ChunkedArray, parsed_index: int) -> pa.Array:
        """From Arrow's parse of a column to its declared type."""
        kind = self.layout.kinds[self._parsed[parsed_index]]
        column = one_chunk(chunked)
        if self._is_text(self._parsed[parsed_index]):
            return self._finish_text(column).cast(kind)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            column = to_moments(column, self.rules.time_zone).cast(kind)
        _check_range(column, kind)
        return column

    def _finish_text(self, column: pa.Array) -> pa.Array:
        """Quoted texts that mean null or empty, where Arrow could not tell."""
        if self.null_value == self.empty_value == "":
            return column
        if self.empty_value:
            column = pc.if_else(pc.equal(column, ""), self.empty_value, column)
        if self.null_value:
            column = pc.if_else(pc.equal(column, self.null_value), None, column)
        return column

    def _has_odd_rules(self, data: memoryview) -> bool:
        """Whether values may be written in a way that Arrow would read differently, or not at all."""
        kinds = [self.layout.kinds[i] for i in self.layout.wanted]
        rules = self.rules
        if rules.date_format and any(pa.types.is_date(k) for k in kinds):
            return True
        if any(
            pa.types.is_timestamp(k) and (rules.timestamp_ntz_format if k.tz is None else rules.timestamp_format)
            for k in kinds
        ):
            return True
        if any(pa.types.is_floating(k) for k in kinds) and (
            (rules.nan_value, rules.positive_inf, rules.negative_inf) != ("NaN", "Inf", "-Inf")
        ):
            return True
        return any(pa.types.is_integer(k) for k in kinds) and _has_hexadecimal(data)

    def _has_quoted_null(self, data: memoryview) -> bool:
        """Whether a null may be written in quotes; in columns that are no text Arrow would take it for a value."""
        quote = self.dialect.quote
        if not self.null_value or not quote or all(self._is_text(i) for i in self.layout.wanted):
            return False
        written = quote + self.null_value.replace(quote, quote * 2) + quote
        return written.encode("utf-8") in bytes(data)

    def _is_text(self, index: int) -> bool:
        kind = self.layout.kinds[index]
        return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))

    def _needs_trimming(self, data: memoryview) -> bool:
        return (self.trim_leading or self.trim_trailing) and has_blank_edges(data, self.dialect.in_utf8)

    # -------------------------------------------------------------- slow road

    def _decode_slowly(self, data: memoryview, frames: Frames) -> Decoded:
        ragged = _RaggedRows(limit=len(frames))
        rows = [bytes(data[a:b]) for a, b in zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)]
        fields = [self.fields_of(row) for row in rows]
        counts = [len(f) for f in fields]
        columns = [pa.array([f[i] if i < len(f) else None for f in fields], pa.string()) for i in self._parsed]
        ragged.rows = {i: count for i, count in enumerate(counts) if count != len(self.layout.names)}
        ragged.in_place = True
        return self._convert(data, frames, columns, ragged)

    def fields_of(self, row: bytes) -> list[str | None]:
        """The fields of one record: the definition of what they are."""
        return [self._text(value, quoted) for value, quoted in split_fields(row, self.dialect.in_utf8)]

    def _text(self, value: bytes, quoted: bool) -> str | None:
        text = value.decode("utf-8", "replace")
        if quoted:
            text = text or self.empty_value
        else:
            text = text.lstrip(SPACE) if self.trim_leading else text
            text = text.rstrip(SPACE) if self.trim_trailing else text
            text = text or self.null_value
        return None if text == self.null_value else text

    # ---------------------------------------------------------- both roads

    def _convert(self, data: memoryview, frames: Frames, texts: list[pa.Array], ragged: _RaggedRows) -> Decoded:
        texts = self._merge_texts(data, frames, texts, ragged)
        faults = self._structural_faults(frames, ragged, texts)
        columns = []
        for parsed_index, text in zip(self._parsed, texts, strict=True):
            if parsed_index not in self.layout.wanted:
                continue
            kind = self.layout.kinds[parsed_index]
            column, bad = convert(text, kind, self.rules)
            columns.append(column)
            if bad is not None:
                self._report_bad(text, bad, parsed_index, faults)
        order = [i for i in self._parsed if i in self.layout.wanted]
        columns = [columns[order.index(i)] for i in self.layout.wanted]
        return Decoded(columns, len(frames), [faults[i] for i in sorted(faults)])

    def _merge(self, data: memoryview, frames: Frames, columns: list[pa.Array], ragged: _RaggedRows) -> Decoded:
        if len(columns[0]) + len(ragged.rows) != len(frames):
            return self._decode_slowly(data, frames)
        if not ragged.rows:
            return Decoded(columns if self.layout.wanted else [], len(frames))
        odd = self._odd_frames(frames, ragged)
        slow = self._decode_slowly(data, odd)
        where = sorted(ragged.rows)
        wanted = columns if self.layout.wanted else []
        merged = [interleave(fast, where, column) for fast, column in zip(wanted, slow.columns, strict=True)]
        faults = [fault._replace(record=where[fault.record]) for fault in slow.faults]
        return Decoded(merged, len(frames), faults)

    def _merge_texts(
        self, data: memoryview, frames: Frames, texts: list[pa.Array], ragged: _RaggedRows
    ) -> list[pa.Array]:
        if ragged.in_place or not ragged.rows:
            return texts
        odd = self._odd_frames(frames, ragged)
        fields = [
            self.fields_of(bytes(data[a:b])) for a, b in zip(odd.starts.tolist(), odd.stops.tolist(), strict=True)
        ]
        where = sorted(ragged.rows)
        return [
            interleave(text, where, pa.array([f[i] if i < len(f) else None for f in fields], pa.string()))
            for i, text in zip(self._parsed, texts, strict=True)
        ]

    def _odd_frames(self, frames: Frames, ragged: _RaggedRows) -> Frames:
        where = np.array(sorted(ragged.rows), dtype=np.int64)
        return Frames(frames.starts[where], frames.stops[where], frames.next_start, {}, regular=False)

    def _structural_faults(self, frames: Frames, ragged: _RaggedRows, texts: list[pa.Array]) -> dict[int, Fault]:
        expected = len(self.layout.names)
        faults = {
            row: Fault(row, FIELD_COUNT, f"the record has {count} fields where {expected} are expected", True)
            for row, count in ragged.rows.items()
        }
        if self.max_field_chars is not None:
            for text in texts:
                long = pc.fill_null(pc.greater(pc.utf8_length(text), self.max_field_chars), False)
                for row in np.flatnonzero(long.to_numpy(zero_copy_only=False)).tolist():
                    reason = f"a field is longer than maxCharsPerColumn={self.max_field_chars}"
                    faults.setdefault(row, Fault(row, FIELD_TOO_LONG, reason, True))
        for row, code in frames.malformed.items():
            faults[row] = describe_malformed(row, code)
        return faults

    def _report_bad(self, text: pa.Array, bad: Any, index: int, faults: dict[int, Fault]) -> None:
        name, kind = self.layout.names[index], self.layout.kinds[index]
        for row in np.flatnonzero(bad).tolist():
            value = text[row].as_py()
            shown = value if len(value) <= 40 else value[:40] + "..."
            faults.setdefault(row, Fault(row, BAD_VALUE, f"column {name!r}: {shown!r} is not a {kind}", False))


def describe_malformed(record: int, code: str) -> Fault:
    """The fault of a record whose bytes have no structure."""
    reason = "the line ends inside quotes; with multiLine=true a quoted field may span lines"
    return Fault(record, code, reason if code == UNCLOSED_QUOTE else code, True)


class _RaggedRows:
    """Records whose number of fields is wrong: index and number."""

    def __init__(self, limit: int = _MOST_RAGGED) -> None:
        self.rows: dict[int, int] = {}
        self.in_place = False  # whether the columns already hold these rows
        self._limit = limit

    def take(self, row: csv.InvalidRow) -> str:
        """Arrow's handler of invalid rows; what it raises would be lost, what it returns is not."""
        if len(self.rows) >= self._limit:
            return "error"
        self.rows[row.number - 1] = row.actual_columns
        return "skip"


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def interleave(regular: pa.Array, where: list[int], odd: pa.Array) -> pa.Array:
    """Put the values of *odd* at the rows *where*, and *regular* around them."""
    total = len(regular) + len(odd)
    is_odd = np.zeros(total, dtype=bool)
    is_odd[where] = True
    index = np.empty(total, dtype=np.int64)
    index[~is_odd] = np.arange(len(regular))
    index[is_odd] = len(regular) + np.arange(len(odd))
    return pa.concat_arrays([regular, odd]).take(pa.array(index))


def _arrow_kind(kind: pa.DataType) -> pa.DataType:
    """The type Arrow's parser is asked for: local time where the zone comes later, text where bytes are text."""
    if pa.types.is_binary(kind):
        return pa.string()
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def _check_range(column: pa.Array, kind: pa.DataType) -> None:
    """Refuse what Arrow's parser lets pass: decimals with too many digits, times outside of the years 1 to 9999.

    Raises:
        pa.ArrowInvalid: So that the values are judged one by one.
    """
    if pa.types.is_decimal(kind):
        column.validate(full=True)
    elif pa.types.is_temporal(kind):
        units = pc.min_max(column.cast(pa.timestamp("us")).cast(pa.int64())).as_py()
        if units["min"] is not None and not FIRST_US <= units["min"] <= units["max"] <= LAST_US:
            raise pa.ArrowInvalid("outside of the years 1 to 9999")


def _has_hexadecimal(data: memoryview) -> bool:
    """Whether ``0x`` stands anywhere: Arrow reads hexadecimal integers, Spark does not."""
    units = np.frombuffer(data, dtype=np.uint8)
    if not contains(units, ord("x")) and not contains(units, ord("X")):
        return False
    for start in range(0, len(units), _CACHED_BYTES):
        piece = units[max(start - 1, 0) : start + _CACHED_BYTES]
        hits = np.flatnonzero((piece | 0x20) == ord("x"))
        if bool((piece[np.maximum(hits - 1, 0)] == ord("0")).any()):
            return True
    return False
