"""CSV records to typed columns: the definition, one record at a time."""

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
from splitscan.formats.csv.validation import RecordValidator, Texts
from splitscan.formats.decoding.contract import Decoded
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.rescue import Rescue
from splitscan.formats.decoding.utf8 import records_in_utf8
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
