"""CSV records to typed columns: Arrow's parser over record-aligned buffers, and an exact slow road beside it.

The slow road (:func:`split_fields` record by record) is taken for bytes whose quotes are not structural, and for
single records whose number of fields is wrong. Both roads give the same rows.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.decoding.canonical import canonical, has_blank_edges
from splitscan.decoding.contract import Decoded
from splitscan.decoding.conversions import Rules, convert
from splitscan.decoding.csv_judging import RecordJudge
from splitscan.decoding.csv_layout import CsvLayout
from splitscan.decoding.csv_parsing import (
    Grammar,
    RaggedRows,
    arrow_kind,
    check_range,
    has_hexadecimal,
    interleave,
    parse_fields,
)
from splitscan.decoding.csv_texts import Texts
from splitscan.decoding.local_times import to_moments
from splitscan.decoding.rescue import Rescue
from splitscan.decoding.tiny_numbers import has_tiny_number
from splitscan.decoding.utf8 import is_utf8, transcode
from splitscan.errors import InvariantError
from splitscan.framing.contract import RecordFormat, frame_all
from splitscan.framing.frames import Frames
from splitscan.framing.quoted import Dialect, split_fields

SPACE = bytes(range(0x21)).decode("ascii")


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
        rescue: Where given, values and fields that do not fit are kept, and are no faults.
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
    rescue: Rescue | None = None

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported."""
        if self.dialect.in_utf8 is not self.dialect or not is_utf8(data):
            data, frames = self.in_utf8(data, frames)
        return self._decode(data, frames)

    def in_utf8(self, data: memoryview, frames: Frames) -> tuple[memoryview, Frames]:
        """The same records in valid UTF-8, framed again in pieces that are as regular as they can be."""
        utf8 = transcode(data, frames, self.dialect.encoding)
        found = frame_all(self.twin, utf8)
        if len(found) != len(frames):
            raise InvariantError(
                "transcoding must not change the number of records",
                seen=f"{len(frames)} records in {self.dialect.encoding.name}, {len(found)} in UTF-8",
            )
        return utf8, found

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
        width = self._width(data, frames)
        grammar = self._grammar(sep, width)
        read = self._read(width)
        asked = [i for i in read if i < width] or [0]  # so that rows are counted
        if self.max_field_chars is None and not self._has_odd_rules(data) and not self._has_quoted_null(text):
            ragged = RaggedRows()
            try:
                parsed = parse_fields(text, grammar, self._arrow_kinds(asked, text), ragged)
                columns = {i: self._finish(column, i) for i, column in parsed.items()}
                return self._merge(data, frames, columns, ragged)
            except pa.ArrowInvalid:
                pass  # values are judged one by one
        ragged = RaggedRows()
        try:
            parsed = parse_fields(text, grammar, dict.fromkeys(asked, pa.string()), ragged)
        except pa.ArrowInvalid:
            return None
        texts = Texts({i: self._finish_text(column, i) for i, column in parsed.items()}, width)
        texts.columns |= {i: pa.nulls(texts.rows, pa.string()) for i in read if i >= width}
        if texts.rows + len(ragged.rows) != len(frames):
            return None
        if ragged.rows:
            odd, where = self._odd_frames(frames, ragged)
            texts = texts.with_odd(self._read_slowly(data, odd, width), where)
        return self._judge.judge(frames, texts)

    @property
    def _parsed(self) -> tuple[int, ...]:
        """Fields that are read: the wanted ones, those to rescue; or the first, so that rows are counted."""
        if self.max_field_chars is not None:
            return tuple(range(len(self.layout.names)))
        rescued = self.layout.unmatched if self._rescues else ()
        return (*self.layout.wanted, *rescued) or (0,)

    def _read(self, width: int) -> tuple[int, ...]:
        """Fields that are read of records of that many: what is behind the expected ones too, if it is rescued."""
        expected = len(self.layout.names)
        return (*self._parsed, *(range(expected, width) if self._rescues else ()))

    def _width(self, data: memoryview, frames: Frames) -> int:
        """Number of fields that Arrow is told of: that of some records, where it is another one than expected.

        Only a number that is no fault counts; if one of the records has the expected number, it is that.
        """
        expected = len(self.layout.names)
        least = expected if self.layout.least is None else self.layout.least
        most = expected if self.rescue is None else max(expected, self.rescue.max_fields)
        if least == most:
            return expected
        some = {0, len(frames) // 2, len(frames) - 1}
        records = [bytes(data[int(frames.starts[i]) : int(frames.stops[i])]) for i in some]
        counts = {len(split_fields(record, self.dialect.in_utf8)) for record in records}
        return counts.pop() if len(counts) == 1 and least <= min(counts) <= most else expected

    @property
    def _rescues(self) -> bool:
        return self.rescue is not None and self.rescue.wanted

    @property
    def _quotes_are_null(self) -> bool:
        return self.null_value == self.empty_value == ""

    def _grammar(self, sep: str, width: int) -> Grammar:
        alone = self.null_value == "" or bool(self.layout.blanks)  # what is blank must not look like a null
        return Grammar(
            fields=width,
            sep=sep,
            quote=self.dialect.quote,
            null_values=("",) if alone else ("", self.null_value),
            quoted_nulls=self._quotes_are_null,
        )

    def _arrow_kinds(self, asked: Iterable[int], text: memoryview) -> dict[int, pa.DataType]:
        """The types Arrow's parser is asked for: text where it would read a value wrongly."""
        kinds = {i: self._arrow_kind(i) for i in asked}
        if self.null_value and self.layout.blanks:  # then it is not told which texts are null
            return dict.fromkeys(kinds, pa.string())
        if any(map(pa.types.is_decimal, kinds.values())) and has_tiny_number(text):
            return {i: pa.string() if pa.types.is_decimal(kind) else kind for i, kind in kinds.items()}
        return kinds

    def _arrow_kind(self, index: int) -> pa.DataType:
        is_extra = index >= len(self.layout.names)
        return pa.string() if is_extra or self.layout.has_own(index) else arrow_kind(self.layout.kinds[index])

    def _finish(self, column: pa.Array, index: int) -> pa.Array:
        """From Arrow's parse of a column to its declared type.

        Raises:
            pa.ArrowInvalid: If a value is to be judged on its own.
        """
        if index >= len(self.layout.names):
            return self._finish_text(column, index)
        kind = self.layout.kinds[index]
        if self.layout.has_own(index) or (pa.types.is_string(column.type) and not self.layout.is_text(index)):
            converted, bad = convert(self._finish_text(column, index), kind, self._judge.rules_of(index))
            if bad is not None:
                raise pa.ArrowInvalid("a value is not of its type")
            return converted
        if self.layout.is_text(index):
            return self._finish_text(column, index).cast(kind)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            column = to_moments(column, self.rules.time_zone).cast(kind)
        check_range(column, kind)
        return column

    def _finish_text(self, column: pa.Array, index: int) -> pa.Array:
        """Texts that mean null, empty or blank, where Arrow could not tell."""
        values = column
        if not self._quotes_are_null:
            if self.empty_value:
                values = column = pc.if_else(pc.equal(column, ""), self.empty_value, column)
            if self.null_value:
                values = pc.if_else(pc.equal(column, self.null_value), None, column)
        return self.layout.fill_blanks(column, values, index)

    def _has_odd_rules(self, data: memoryview) -> bool:
        """Whether values may be written in a way that Arrow would read differently, or not at all."""
        kinds = [self.layout.kinds[i] for i in self.layout.wanted if not self.layout.has_own(i)]
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
        return any(pa.types.is_integer(k) for k in kinds) and has_hexadecimal(data)

    def _has_quoted_null(self, data: memoryview) -> bool:
        """Whether a null may be written in quotes; in columns that are no text Arrow would take it for a value."""
        quote = self.dialect.quote
        if not self.null_value or not quote or all(self.layout.is_text(i) for i in self.layout.wanted):
            return False
        written = quote + self.null_value.replace(quote, quote * 2) + quote
        return written.encode("utf-8") in bytes(data)

    def _needs_trimming(self, data: memoryview) -> bool:
        return (self.trim_leading or self.trim_trailing) and has_blank_edges(data, self.dialect.in_utf8)

    # -------------------------------------------------------------- slow road

    def _decode_slowly(self, data: memoryview, frames: Frames) -> Decoded:
        return self._judge.judge(frames, self._read_slowly(data, frames))

    def _read_slowly(self, data: memoryview, frames: Frames, width: int | None = None) -> Texts:
        """The fields of every record on its own: the definition of what they are.

        Args:
            data: Records.
            frames: Where they are.
            width: Number of fields that are columns; as many as expected if not given.
        """
        bounds = zip(frames.starts.tolist(), frames.stops.tolist(), strict=True)
        rows = [split_fields(bytes(data[a:b]), self.dialect.in_utf8) for a, b in bounds]
        expected = len(self.layout.names)
        width = expected if width is None else width
        texts = Texts({}, width, {row: len(fields) for row, fields in enumerate(rows) if len(fields) != width})
        short = np.array([len(fields) for fields in rows])
        for i in self._read(width):
            raw = pa.array([self._raw(*f[i]) if i < len(f) else None for f in rows], pa.string())
            column = self._finish_text(raw, i)
            texts.columns[i] = pc.if_else(pa.array(short <= i), None, column) if i in self.layout.blanks else column
        if self._rescues:
            texts.extras |= {
                row: [self._text(*each) for each in rows[row][texts.behind(expected) :]]
                for row, count in texts.counts.items()
                if count > texts.behind(expected)
            }
        return texts

    def _raw(self, value: bytes, quoted: bool) -> str | None:
        """A field as Arrow's parser gives it: null where nothing is."""
        text = value.decode("utf-8", "replace")
        if not quoted:
            text = self._trimmed(text)
        return text if text or (quoted and not self._quotes_are_null) else None

    def _trimmed(self, text: str) -> str:
        text = text.lstrip(SPACE) if self.trim_leading else text
        return text.rstrip(SPACE) if self.trim_trailing else text

    def fields_of(self, row: bytes) -> list[str | None]:
        """The fields of one record: the definition of what they are."""
        return [self._text(value, quoted) for value, quoted in split_fields(row, self.dialect.in_utf8)]

    def _text(self, value: bytes, quoted: bool) -> str | None:
        text = value.decode("utf-8", "replace")
        text = (text or self.empty_value) if quoted else (self._trimmed(text) or self.null_value)
        return None if text == self.null_value else text

    # ---------------------------------------------------------- both roads

    @cached_property
    def _judge(self) -> RecordJudge:
        return RecordJudge(self.layout, self.rules, self.max_field_chars, self.rescue)

    def _merge(
        self, data: memoryview, frames: Frames, columns: dict[int, pa.Array], ragged: RaggedRows
    ) -> Decoded | None:
        """Typed columns of regular records, with the irregular ones between them."""
        rows = len(next(iter(columns.values())))
        if rows + len(ragged.rows) != len(frames):
            return None
        wanted = [columns[i] if i in columns else self._absent(i, rows) for i in self.layout.wanted]
        fast = Decoded(wanted, rows, [], self._judge.rescued(self._judge.others(columns), {}, rows))
        if not ragged.rows:
            return fast
        odd, where = self._odd_frames(frames, ragged)
        slow = self._decode_slowly(data, odd)
        merged = [interleave(one, where, other) for one, other in zip(fast.columns, slow.columns, strict=True)]
        faults = [fault._replace(record=where[fault.record]) for fault in slow.faults]
        rescued = None
        if fast.rescued is not None and slow.rescued is not None:
            rescued = interleave(fast.rescued, where, slow.rescued)
        return Decoded(merged, len(frames), faults, rescued)

    def _absent(self, index: int, rows: int) -> pa.Array:
        """A column that none of the records has."""
        default = self.layout.defaults.get(index)
        return pa.nulls(rows, self.layout.kinds[index]) if default is None else pa.repeat(default, rows)

    def _odd_frames(self, frames: Frames, ragged: RaggedRows) -> tuple[Frames, list[int]]:
        where = sorted(ragged.rows)
        index = np.array(where, dtype=np.int64)
        return Frames(frames.starts[index], frames.stops[index], frames.next_start, {}, regular=False), where
