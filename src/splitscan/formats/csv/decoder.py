"""CSV records by the reference: as columns, as arrays of their fields, or as nothing where no column is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.csv.grammar import CsvGrammar, split_fields
from splitscan.formats.csv.reference import UNCLOSED_QUOTE
from splitscan.formats.decoding import variant
from splitscan.formats.decoding.contract import (
    FIELD_COUNT,
    VARIANT,
    Decoded,
    Fault,
    Faults,
    FaultTemplate,
    is_variant,
    type_name,
    wrong_value,
)
from splitscan.formats.decoding.conversions import Bad, Rules, convert
from splitscan.formats.decoding.values import SPACE, Rescue, extra_members, json_texts, rescued_column
from splitscan.formats.decoding.variant import ValueTypes, VariantError, VariantKeys, VariantRules
from splitscan.formats.framing.frames import Frames, records_in_utf8
from splitscan.options import BlankAs

_BLANK = r"^[ \t]*$"


@dataclass(frozen=True)
class CsvLayout:
    """Layout of the columns of a file, for the decoder.

    Attributes:
        names: Names of the file's fields, in file order; their number is what every record must have.
        kinds: Type of each field.
        wanted: Indices of the fields to deliver, in the order wanted.
        least: Least number of fields that a record may have; all of them when ``None``.
        unmatched: Indices of the fields that the schema does not have.
        rules: How the values of fields are written that have a pattern of their own.
        blanks: What blanks of fields become where that is said.
        defaults: What stands for fields that a short record does not have; null where there is none.
    """

    names: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    wanted: tuple[int, ...]
    least: int | None = None
    unmatched: tuple[int, ...] = ()
    rules: Mapping[int, Rules] = field(default_factory=dict)
    blanks: Mapping[int, BlankAs] = field(default_factory=dict)
    defaults: Mapping[int, pa.Scalar] = field(default_factory=dict)

    def is_text(self, index: int) -> bool:
        """True if a field is delivered as it is written."""
        kind = self.kinds[index]
        return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))

    def is_short(self, count: int) -> bool:
        """True if a record with so many fields lacks some."""
        return count < (len(self.names) if self.least is None else self.least)

    def fill_blanks(self, texts: pa.Array, values: pa.Array, index: int) -> pa.Array:
        """The values of a field, with what its blanks become.

        Args:
            texts: What is written; null where nothing is.
            values: The same, with null for texts that mean null.
            index: The field.
        """
        blank = self.blanks.get(index)
        if blank is None:
            return values
        is_blank = pc.fill_null(pc.match_substring_regex(texts, _BLANK), True)
        return pc.if_else(is_blank, pa.scalar(text_of_blank(blank, self.kinds[index]), pa.string()), values)

    def fill_missing(self, column: pa.Array, counts: npt.NDArray[np.int64], index: int) -> pa.Array:
        """The values of a field, with its default where a record is too short to have it.

        Args:
            column: The values; null where a record has none.
            counts: Number of fields of each record.
            index: The field.
        """
        default = self.defaults.get(index)
        missing = counts <= index
        return column if default is None or not missing.any() else pc.if_else(pa.array(missing), default, column)


def text_of_blank(blank: BlankAs, kind: pa.DataType) -> str | None:
    """Value of a blank field of a type; ``None`` for null."""
    if blank is BlankAs.ZERO and (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return "0"
    if blank is BlankAs.EMPTY and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return ""
    return None


FIELD_TOO_LONG = "field-too-long"


@dataclass(slots=True)
class Texts:
    """Fields as texts, before they are values.

    Attributes:
        columns: By index of the field; null where a record has no value.
        counts: Number of fields of each record.
        extras: What comes after the last expected field, by record.
    """

    columns: dict[int, pa.Array]
    counts: npt.NDArray[np.int64]
    extras: dict[int, list[str | None]]


@dataclass(frozen=True)
class RecordValidator:
    """Makes values of texts, and says what is wrong with which record.

    Args:
        layout: The columns.
        rules: How values are written.
        max_field_chars: Longest field in characters; ``None`` for no bound.
        rescue: Where given, values and fields that do not fit are kept, and are no faults.
        types: What fields that are variants may be.
        variants: Which values are variants.
    """

    layout: CsvLayout
    rules: Rules
    max_field_chars: int | None
    rescue: Rescue | None
    types: ValueTypes
    variants: VariantRules

    def validate(self, frames: Frames, texts: Texts) -> Decoded:
        """Values from texts, and what is wrong with which record."""
        faults = self._structural_faults(frames, texts)
        columns: list[pa.Array] = []
        expected, unmatched = len(self.layout.names), frozenset(self.layout.unmatched)
        unfit = {i: column for i, column in texts.columns.items() if i in unmatched}
        for index in self.layout.wanted:
            text, kind = texts.columns[index], self.layout.kinds[index]
            if is_variant(kind):
                column, bad = self._variants(text, texts.counts > index)
            else:
                column, bad = convert(text, kind, self.rules_of(index))
            columns.append(self.layout.fill_missing(column, texts.counts, index))
            if bad is not None and self.rescue is None:
                self._report_bad(text, bad, index, faults)
            elif bad is not None:
                unfit[index] = pc.if_else(pa.array(bad), text, None)
        rescued = self._rescued(unfit, texts.extras, expected, len(frames))
        return Decoded(columns, len(frames), Faults(faults.values()), rescued)

    def _variants(self, texts: pa.Array, are_there: npt.NDArray[np.bool_]) -> tuple[pa.Array, Bad | None]:
        """Fields as variants, each by itself; a null is one, and a field that a record does not have is none."""
        values: list[dict[str, bytes] | None] = []
        bad = np.zeros(len(texts), dtype=np.bool_)
        for row, text in enumerate(texts.to_pylist()):
            keys = VariantKeys(VariantRules() if text is None else self.variants)
            try:
                values.append(keys.finish(variant.value_of_text(text, self.types)) if are_there[row] else None)
            except VariantError:
                bad[row] = True
                values.append(None)
        return pa.array(values, VARIANT), bad if bad.any() else None

    def _rescued(
        self, unfit: Mapping[int, pa.Array], extras: Mapping[int, Sequence[str | None]], expected: int, rows: int
    ) -> pa.Array | None:
        """The column of what does not fit: texts of fields by index; by record, the fields after the expected ones."""
        if self.rescue is None or not self.rescue.wanted:
            return None
        members = {self.layout.names[i]: json_texts(unfit[i]) for i in sorted(unfit)}
        named = {
            row: extra_members([f"_c{expected + i}" for i in range(len(values))], values)
            for row, values in extras.items()
        }
        return rescued_column(members, {row: text for row, text in named.items() if text}, rows, self.rescue.path)

    def rules_of(self, index: int) -> Rules:
        """How values of a field are written."""
        return self.layout.rules.get(index, self.rules)

    def _structural_faults(self, frames: Frames, texts: Texts) -> dict[int, Fault]:
        expected = len(self.layout.names)
        most = expected if self.rescue is None else self.rescue.max_fields
        faults = {}
        for row in np.flatnonzero(texts.counts != expected).tolist():
            count = int(texts.counts[row])
            if self.layout.is_short(count) or count > most:
                faults[row] = wrong_count(expected).fault(row, count)
        if self.max_field_chars is not None:
            for text in (texts.columns[index] for index in sorted(texts.columns)):
                long = pc.fill_null(pc.greater(pc.utf8_length(text), self.max_field_chars), False)
                for row in np.flatnonzero(long.to_numpy(zero_copy_only=False)).tolist():
                    faults.setdefault(row, too_long(self.max_field_chars).fault(row))
        for row, code in frames.malformed.items():
            faults[row] = malformed(code).fault(row)
        return faults

    def _report_bad(self, text: pa.Array, bad: Any, index: int, faults: dict[int, Fault]) -> None:
        name, kind = self.layout.names[index], self.layout.kinds[index]
        written = self.rules_of(index).written(kind, own=index in self.layout.rules)
        written = f": {variant.too_long(self.variants)}" if is_variant(kind) else written
        template = wrong_value(name, f"{type_name(kind)}{written}")
        for row in np.flatnonzero(bad).tolist():
            if row not in faults:
                faults[row] = template.fault(row, text[row].as_py())


def wrong_count(expected: int) -> FaultTemplate:
    """Fault of records with another number of fields than expected."""
    return FaultTemplate(FIELD_COUNT, "the record has ", f" fields where {expected} are expected")


def too_long(most: int) -> FaultTemplate:
    """Fault of records with a field of more characters than allowed."""
    return FaultTemplate(FIELD_TOO_LONG, f"a field is longer than maxCharsPerColumn={most}")


def malformed(code: str) -> FaultTemplate:
    """Fault of records whose bytes have no structure."""
    reason = "the line ends inside quotes; with multiLine=true a quoted field may span lines"
    return FaultTemplate(code, reason if code == UNCLOSED_QUOTE else code)


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
        types: What fields that are variants, or parts of one, may be.
        variants: Which values are variants.
    """

    dialect: CsvGrammar
    layout: CsvLayout
    rules: Rules = field(default_factory=Rules)
    null_value: str = ""
    empty_value: str = ""
    trim_leading: bool = False
    trim_trailing: bool = False
    max_field_chars: int | None = None
    rescue: Rescue | None = None
    types: ValueTypes = field(default_factory=ValueTypes)
    variants: VariantRules = field(default_factory=VariantRules)

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported."""
        return self._validator.validate(frames, self._texts(list(self._split(data, frames))))

    def _split(self, data: memoryview, frames: Frames) -> Iterator[list[tuple[bytes, bool]]]:
        for record in records_in_utf8(data, frames, self.dialect.encoding):
            yield split_fields(record, self.dialect.in_utf8)

    @cached_property
    def _validator(self) -> RecordValidator:
        return RecordValidator(self.layout, self.rules, self.max_field_chars, self.rescue, self.types, self.variants)

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
        faults |= {record: malformed(code).fault(record) for record, code in frames.malformed.items()}
        columns = [pa.array(map(self._kept, rows), self.kind)] if self.wanted else []
        return Decoded(columns, len(rows), Faults(faults.values()))

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
        broken = (malformed(code).fault(record) for record, code in frames.malformed.items())
        return Decoded([], len(frames), Faults(broken))
