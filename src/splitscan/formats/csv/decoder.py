"""CSV records by the reference: as columns, as arrays of their fields, or as nothing where no column is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.csv.dialect import Dialect
from splitscan.formats.csv.fields import split_fields
from splitscan.formats.csv.layout import CsvLayout
from splitscan.formats.csv.validation import FIELD_TOO_LONG, RecordValidator, Texts, describe_malformed
from splitscan.formats.decoding.contract import FIELD_COUNT, Decoded, Fault
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.rescue import Rescue
from splitscan.formats.decoding.values import records_in_utf8
from splitscan.formats.framing.frames import Frames

SPACE = bytes(range(0x21)).decode("ascii")


@dataclass(frozen=True)
class CsvDecoder:
    """Decodes CSV records.

    Args:
        dialect: The file's grammar.
        layout: The columns.
        rules: How values are written.
        null_value: Text of a null.
        empty_value: What a quoted empty field becomes.
        trim_leading: Whether white space before unquoted values is dropped.
        trim_trailing: Whether white space after unquoted values is dropped.
        max_field_chars: Longest field in characters; ``None`` for no bound.
        rescue: Where given, values and fields that do not fit are kept, and are no faults.
    """

    dialect: Dialect
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
        return self._validator.validate(frames, self._texts(list(self._split(data, frames))))

    def _split(self, data: memoryview, frames: Frames) -> Iterator[list[tuple[bytes, bool]]]:
        for record in records_in_utf8(data, frames, self.dialect.encoding):
            yield split_fields(record, self.dialect.in_utf8)

    @cached_property
    def _validator(self) -> RecordValidator:
        return RecordValidator(self.layout, self.rules, self.max_field_chars, self.rescue)

    @property
    def _rescues(self) -> bool:
        return self.rescue is not None and self.rescue.wanted

    @property
    def _read(self) -> tuple[int, ...]:
        """Fields that are read."""
        if self.max_field_chars is not None:
            return tuple(range(len(self.layout.names)))
        return (*self.layout.wanted, *(self.layout.unmatched if self._rescues else ()))

    def _texts(self, rows: list[list[tuple[bytes, bool]]]) -> Texts:
        expected = len(self.layout.names)
        counts = np.array([len(fields) for fields in rows], dtype=np.int64)
        columns = {}
        for i in self._read:
            raw = pa.array([self._raw(*f[i]) if i < len(f) else None for f in rows], pa.string())
            column = self._meant(raw, i)
            columns[i] = pc.if_else(pa.array(counts <= i), None, column) if i in self.layout.blanks else column
        extras = {}
        if self._rescues:
            extras = {
                row: [self._text(*each) for each in rows[row][expected:]]
                for row in np.flatnonzero(counts > expected).tolist()
            }
        return Texts(columns, counts, extras)

    def _raw(self, value: bytes, quoted: bool) -> str | None:
        """A field before it is known what its text means: null where nothing is."""
        text = value.decode("utf-8", "replace")
        if not quoted:
            text = self._trimmed(text)
        return text if text or (quoted and not self.null_value == self.empty_value == "") else None

    def _meant(self, column: pa.Array, index: int) -> pa.Array:
        """Texts that mean null, empty or blank."""
        values = column
        if self.empty_value:
            values = column = pc.if_else(pc.equal(column, ""), self.empty_value, column)
        if self.null_value:
            values = pc.if_else(pc.equal(column, self.null_value), None, column)
        return self.layout.fill_blanks(column, values, index)

    def _trimmed(self, text: str) -> str:
        text = text.lstrip(SPACE) if self.trim_leading else text
        return text.rstrip(SPACE) if self.trim_trailing else text

    def fields_of(self, row: bytes) -> list[str | None]:
        """The fields of one record in UTF-8, as an array of texts has them."""
        return [self._text(value, quoted) for value, quoted in split_fields(row, self.dialect.in_utf8)]

    def _text(self, value: bytes, quoted: bool) -> str | None:
        text = value.decode("utf-8", "replace")
        text = (text or self.empty_value) if quoted else (self._trimmed(text) or self.null_value)
        return None if text == self.null_value else text


@dataclass(frozen=True)
class CsvArrayDecoder:
    """Decodes CSV records whose fields have no names.

    A short record gives a short array. An element is what a text column would hold. Where only some elements are
    wanted, the array ends after the last of them, and those between are empty texts.

    Args:
        csv: The dialect, and how fields become texts.
        kind: Type of the column, a list of strings.
        max_fields: Most fields in a record; one with more is broken, and its array is cut.
        elements: Indexes of the wanted elements; ``None`` for all.
        wanted: Whether the column is asked for at all.
    """

    csv: CsvDecoder
    kind: pa.DataType
    max_fields: int
    elements: tuple[int, ...] | None = None
    wanted: bool = True

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a broken one keeps the fields that it has."""
        records = records_in_utf8(data, frames, self.csv.dialect.encoding)
        rows = [self.csv.fields_of(record) for record in records]
        faults: dict[int, Fault] = {}
        for record, row in enumerate(rows):
            if (fault := self._fault(record, row)) is not None:
                faults[record] = fault
        faults |= {record: describe_malformed(record, code) for record, code in frames.malformed.items()}
        found = [faults[record] for record in sorted(faults)]
        return Decoded([pa.array(map(self._kept, rows), self.kind)] if self.wanted else [], len(rows), found)

    def _fault(self, record: int, row: list[str | None]) -> Fault | None:
        if len(row) > self.max_fields:
            reason = f"the record has {len(row)} fields where maxColumns={self.max_fields} are allowed"
            return Fault(record, FIELD_COUNT, reason, True)
        limit = self.csv.max_field_chars
        if limit is not None and any(len(text or "") > limit for text in row):
            return Fault(record, FIELD_TOO_LONG, f"a field is longer than maxCharsPerColumn={limit}", True)
        return None

    def _kept(self, row: list[str | None]) -> list[str | None]:
        if self.elements is None:
            return row[: self.max_fields]
        most = min(self.max_fields, max(self.elements, default=-1) + 1)
        return [text if index in self.elements else "" for index, text in enumerate(row[:most])]


@dataclass(frozen=True)
class CsvFrameDecoder:
    """CSV records of which nothing is wanted, where no schema says how many fields they have."""

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Report the records whose bytes have no structure."""
        malformed = [describe_malformed(record, code) for record, code in sorted(frames.malformed.items())]
        return Decoded([], len(frames), malformed)
