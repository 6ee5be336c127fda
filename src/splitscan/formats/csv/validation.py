"""What is wrong with the records of CSV, and what becomes of it: a fault, a default, or a rescued text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.csv.layout import CsvLayout
from splitscan.formats.csv.reference import UNCLOSED_QUOTE
from splitscan.formats.decoding.contract import BAD_VALUE, FIELD_COUNT, Decoded, Fault, bad_value
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.formats.decoding.rescue import Rescue, extra_members, json_texts, rescued_column
from splitscan.formats.framing.frames import Frames

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
    """

    layout: CsvLayout
    rules: Rules
    max_field_chars: int | None
    rescue: Rescue | None

    def validate(self, frames: Frames, texts: Texts) -> Decoded:
        """Values from texts, and what is wrong with which record."""
        faults = self._structural_faults(frames, texts)
        columns: list[pa.Array] = []
        expected, unmatched = len(self.layout.names), frozenset(self.layout.unmatched)
        unfit = {i: column for i, column in texts.columns.items() if i in unmatched}
        for index in self.layout.wanted:
            text = texts.columns[index]
            column, bad = convert(text, self.layout.kinds[index], self.rules_of(index))
            columns.append(self.layout.fill_missing(column, texts.counts, index))
            if bad is not None and self.rescue is None:
                self._report_bad(text, bad, index, faults)
            elif bad is not None:
                unfit[index] = pc.if_else(pa.array(bad), text, None)
        rescued = self._rescued(unfit, texts.extras, expected, len(frames))
        return Decoded(columns, len(frames), [faults[i] for i in sorted(faults)], rescued)

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
                faults[row] = wrong_count(row, count, expected)
        if self.max_field_chars is not None:
            for text in (texts.columns[index] for index in sorted(texts.columns)):
                long = pc.fill_null(pc.greater(pc.utf8_length(text), self.max_field_chars), False)
                for row in np.flatnonzero(long.to_numpy(zero_copy_only=False)).tolist():
                    faults.setdefault(row, too_long(row, self.max_field_chars))
        for row, code in frames.malformed.items():
            faults[row] = describe_malformed(row, code)
        return faults

    def _report_bad(self, text: pa.Array, bad: Any, index: int, faults: dict[int, Fault]) -> None:
        name, kind = self.layout.names[index], self.layout.kinds[index]
        written = self.rules_of(index).written(kind, own=index in self.layout.rules)
        for row in np.flatnonzero(bad).tolist():
            if row not in faults:
                faults[row] = Fault(row, BAD_VALUE, bad_value(name, text[row].as_py(), kind) + written, False)


def wrong_count(record: int, count: int, expected: int) -> Fault:
    """The fault of a record with another number of fields than expected."""
    return Fault(record, FIELD_COUNT, f"the record has {count} fields where {expected} are expected", True)


def too_long(record: int, most: int) -> Fault:
    """The fault of a record with a field of more characters than allowed."""
    return Fault(record, FIELD_TOO_LONG, f"a field is longer than maxCharsPerColumn={most}", True)


def describe_malformed(record: int, code: str) -> Fault:
    """The fault of a record whose bytes have no structure."""
    reason = "the line ends inside quotes; with multiLine=true a quoted field may span lines"
    return Fault(record, code, reason if code == UNCLOSED_QUOTE else code, True)
