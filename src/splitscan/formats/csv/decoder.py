"""CSV records by the reference: as columns, arrays of their fields, variants, or nothing where no column is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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


CsvFields: TypeAlias = list[tuple[bytes, bool]]
"""The fields of a record: value, and whether it was quoted."""


def _wrong_count(expected: int) -> FaultTemplate:
    return FaultTemplate(FIELD_COUNT, "the record has ", f" fields where {expected} are expected")


def _too_long(most: int | None) -> FaultTemplate:
    return FaultTemplate(FIELD_TOO_LONG, f"a field is longer than maxCharsPerColumn={most}")


def _malformed(frames: Frames) -> dict[int, Fault]:
    """Faults of records whose bytes have no structure."""
    reason = "the line ends inside quotes; with multiLine=true a quoted field may span lines"
    return {
        record: Fault(record, code, reason if code == UNCLOSED_QUOTE else code, True)
        for record, code in frames.malformed.items()
    }


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
        records = records_in_utf8(data, frames, self.dialect.encoding)
        rows = [split_fields(record, self.dialect.in_utf8) for record in records]
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        texts = {index: self._column_of_texts(rows, counts, index) for index in self._read}
        faults = self._structural_faults(frames, counts, texts)
        columns: list[pa.Array] = []
        unfit = {index: texts[index] for index in self.layout.unmatched if index in texts}
        for index in self.layout.wanted:
            text, kind = texts[index], self.layout.kinds[index]
            if is_variant(kind):
                column, bad = self._as_variants(text, counts > index)
            else:
                column, bad = convert(text, kind, self._rules_of(index))
            columns.append(self.layout.fill_missing(column, counts, index))
            if bad is not None and self.rescue is None:
                self._report_bad(text, bad, index, faults)
            elif bad is not None:
                unfit[index] = pc.if_else(pa.array(bad), text, None)
        return Decoded(columns, len(frames), Faults(faults.values()), self._rescued(unfit, rows))

    @property
    def _rescues(self) -> bool:
        return self.rescue is not None and self.rescue.wanted

    @property
    def _read(self) -> tuple[int, ...]:
        """Fields that are read."""
        if self.max_field_chars is not None:
            return tuple(range(len(self.layout.names)))
        return (*self.layout.wanted, *(self.layout.unmatched if self._rescues else ()))

    def _column_of_texts(self, rows: Sequence[CsvFields], counts: npt.NDArray[np.int64], index: int) -> pa.Array:
        """A field of each record before it is a value; null where there is none."""
        raw = pa.array([self._raw(*row[index]) if index < len(row) else None for row in rows], pa.string())
        column = self._meant(raw, index)
        return pc.if_else(pa.array(counts <= index), None, column) if index in self.layout.blanks else column

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

    def _structural_faults(
        self, frames: Frames, counts: npt.NDArray[np.int64], texts: Mapping[int, pa.Array]
    ) -> dict[int, Fault]:
        expected = len(self.layout.names)
        most = expected if self.rescue is None else self.rescue.max_fields
        faults = {}
        for row in np.flatnonzero(counts != expected).tolist():
            count = int(counts[row])
            if self.layout.is_short(count) or count > most:
                faults[row] = _wrong_count(expected).fault(row, count)
        if self.max_field_chars is not None:
            for text in (texts[index] for index in sorted(texts)):
                long = pc.fill_null(pc.greater(pc.utf8_length(text), self.max_field_chars), False)
                for row in np.flatnonzero(long.to_numpy(zero_copy_only=False)).tolist():
                    faults.setdefault(row, _too_long(self.max_field_chars).fault(row))
        return faults | _malformed(frames)

    def _as_variants(self, texts: pa.Array, are_there: npt.NDArray[np.bool_]) -> tuple[pa.Array, Bad | None]:
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

    def _rules_of(self, index: int) -> Rules:
        return self.layout.rules.get(index, self.rules)

    def _report_bad(self, text: pa.Array, bad: Any, index: int, faults: dict[int, Fault]) -> None:
        name, kind = self.layout.names[index], self.layout.kinds[index]
        written = self._rules_of(index).written(kind, own=index in self.layout.rules)
        written = f": {variant.too_long(self.variants)}" if is_variant(kind) else written
        template = wrong_value(name, f"{type_name(kind)}{written}")
        for row in np.flatnonzero(bad).tolist():
            if row not in faults:
                faults[row] = template.fault(row, text[row].as_py())

    def _rescued(self, unfit: Mapping[int, pa.Array], rows: Sequence[CsvFields]) -> pa.Array | None:
        """The column of what does not fit: texts of fields by index, and of each record the fields after the last."""
        if self.rescue is None or not self.rescue.wanted:
            return None
        expected = len(self.layout.names)
        members = {self.layout.names[i]: json_texts(unfit[i]) for i in sorted(unfit)}
        extras = {}
        for number, row in enumerate(rows):
            names = [f"_c{i}" for i in range(expected, len(row))]
            if text := extra_members(names, [self._text(*each) for each in row[expected:]]):
                extras[number] = text
        return rescued_column(members, extras, len(rows), self.rescue.path)

    def texts_of(self, data: memoryview, frames: Frames) -> list[list[str | None]]:
        """The fields of each record, as an array of texts has them."""
        records = records_in_utf8(data, frames, self.dialect.encoding)
        return [[self._text(*each) for each in split_fields(record, self.dialect.in_utf8)] for record in records]

    def _text(self, value: bytes, quoted: bool) -> str | None:
        text = value.decode("utf-8", "replace")
        text = (text or self.empty_value) if quoted else (self._trimmed(text) or self.null_value)
        return None if text == self.null_value else text

    def fault_of(self, record: int, row: Sequence[str | None], most: int) -> Fault | None:
        """Fault of a record that may have any number of fields up to *most*."""
        if len(row) > most:
            reason = f"the record has {len(row)} fields where maxColumns={most} are allowed"
            return Fault(record, FIELD_COUNT, reason, True)
        limit = self.max_field_chars
        is_long = limit is not None and any(len(text or "") > limit for text in row)
        return _too_long(limit).fault(record) if is_long else None


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
        rows = self.csv.texts_of(data, frames)
        found = (self.csv.fault_of(record, row, self.max_fields) for record, row in enumerate(rows))
        faults = {fault.record: fault for fault in found if fault is not None} | _malformed(frames)
        columns = [pa.array(map(self._kept, rows), self.kind)] if self.wanted else []
        return Decoded(columns, len(rows), Faults(faults.values()))

    def _kept(self, row: list[str | None]) -> list[str | None]:
        if self.elements is None:
            return row[: self.max_fields]
        most = min(self.max_fields, max(self.elements, default=-1) + 1)
        return [text if index in self.elements else "" for index, text in enumerate(row[:most])]


@dataclass(frozen=True)
class CsvVariantDecoder:
    """Decodes CSV records whose fields are the members of one object.

    Args:
        csv: The dialect, and how fields become texts and values.
        name: Of the column.
        header: Names of the fields; ``None`` where they have none, and are ``_c0``, ``_c1`` ...
        most: Most fields of a record without names.
        wanted: Whether the column is asked for at all.
    """

    csv: CsvDecoder
    name: str
    header: Sequence[str] | None
    most: int
    wanted: bool = True

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a broken one keeps the fields that have a name."""
        rows = self.csv.texts_of(data, frames)
        faults: dict[int, Fault] = {}
        values: list[dict[str, bytes] | None] = []
        for record, row in enumerate(rows):
            fault = self._fault(record, row)
            if self.wanted:
                try:
                    values.append(self._encoded(row))
                except VariantError as error:
                    values.append(None)
                    fault = fault or wrong_value(self.name, f"variant: {error}").fault(record, f"{len(row)} fields")
            if fault is not None:
                faults[record] = fault
        faults |= _malformed(frames)
        return Decoded([pa.array(values, VARIANT)] if self.wanted else [], len(rows), Faults(faults.values()))

    def _encoded(self, row: Sequence[str | None]) -> dict[str, bytes]:
        keys = VariantKeys(self.csv.variants)
        names = [f"_c{index}" for index in range(min(len(row), self.most))] if self.header is None else self.header
        members = []
        for name, text in zip(names, row, strict=False):
            keys.add(name)
            members.append((name, variant.value_of_text(text, self.csv.types)))
        return keys.finish(keys.object(members))

    def _fault(self, record: int, row: Sequence[str | None]) -> Fault | None:
        if self.header is not None and len(row) != len(self.header):
            return _wrong_count(len(self.header)).fault(record, len(row))
        return self.csv.fault_of(record, row, self.most)


@dataclass(frozen=True)
class CsvFrameDecoder:
    """CSV records of which nothing is wanted, where no schema says how many fields they have."""

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Report the records whose bytes have no structure."""
        return Decoded([], len(frames), Faults(_malformed(frames).values()))
