"""What is wrong with the records of CSV, and what becomes of it: a fault, a default, or a rescued text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.decoding.contract import BAD_VALUE, FIELD_COUNT, Decoded, Fault
from splitscan.decoding.conversions import Rules, convert
from splitscan.decoding.csv_layout import CsvLayout
from splitscan.decoding.csv_texts import Texts
from splitscan.decoding.rescue import Rescue, extra_members, json_texts, rescued_column
from splitscan.framing.frames import Frames
from splitscan.framing.quoted import UNCLOSED_QUOTE

FIELD_TOO_LONG = "field-too-long"


@dataclass(frozen=True)
class RecordJudge:
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

    def judge(self, frames: Frames, texts: Texts) -> Decoded:
        """Values from texts, and what is wrong with which record."""
        rows = len(frames)
        faults = self._structural_faults(frames, texts)
        counts = np.full(rows, texts.width)
        counts[list(texts.counts)] = list(texts.counts.values())
        columns: dict[int, pa.Array] = {}
        unfit: dict[int, pa.Array] = {}
        for index in self.layout.wanted:
            text = texts.columns[index]
            column, bad = convert(text, self.layout.kinds[index], self.rules_of(index))
            default = self.layout.defaults.get(index)
            if default is not None and (texts.counts or texts.width <= index):
                column = pc.if_else(pa.array(counts <= index), default, column)
            columns[index] = column
            if bad is not None and self.rescue is None:
                self._report_bad(text, bad, index, faults)
            elif bad is not None:
                unfit[index] = pc.if_else(pa.array(bad), text, None)
        unfit |= self.others(texts.columns)
        behind = texts.behind(len(self.layout.names))
        rescued = self.rescued(unfit, {row: (behind, values) for row, values in texts.extras.items()}, rows)
        wanted = [columns[i] for i in self.layout.wanted]
        return Decoded(wanted, rows, [faults[i] for i in sorted(faults)], rescued)

    def others(self, columns: Mapping[int, pa.Array]) -> dict[int, pa.Array]:
        """Columns that the schema does not have."""
        expected, unmatched = len(self.layout.names), frozenset(self.layout.unmatched)
        return {i: column for i, column in columns.items() if i >= expected or i in unmatched}

    def rescued(
        self, unfit: Mapping[int, pa.Array], extras: Mapping[int, tuple[int, Sequence[str | None]]], rows: int
    ) -> pa.Array | None:
        """The column of what does not fit: texts of fields by index; by record, the fields from an index on."""
        if self.rescue is None or not self.rescue.wanted:
            return None
        names = self.layout.names
        members = {names[i] if i < len(names) else f"_c{i}": json_texts(unfit[i]) for i in sorted(unfit)}
        named = {
            row: extra_members([f"_c{behind + i}" for i in range(len(values))], values)
            for row, (behind, values) in extras.items()
        }
        return rescued_column(members, {row: text for row, text in named.items() if text}, rows, self.rescue.path)

    def rules_of(self, index: int) -> Rules:
        """How values of a field are written."""
        return self.layout.rules.get(index, self.rules)

    def _structural_faults(self, frames: Frames, texts: Texts) -> dict[int, Fault]:
        expected = len(self.layout.names)
        most = expected if self.rescue is None else self.rescue.max_fields
        faults = {
            row: Fault(row, FIELD_COUNT, f"the record has {count} fields where {expected} are expected", True)
            for row, count in texts.counts.items()
            if self.layout.is_short(count) or count > most
        }
        if self.max_field_chars is not None:
            for text in (texts.columns[index] for index in sorted(texts.columns) if index < expected):
                long = pc.fill_null(pc.greater(pc.utf8_length(text), self.max_field_chars), False)
                for row in np.flatnonzero(long.to_numpy(zero_copy_only=False)).tolist():
                    reason = f"a field is longer than maxCharsPerColumn={self.max_field_chars}"
                    faults.setdefault(row, Fault(row, FIELD_TOO_LONG, reason, True))
        for row, code in frames.malformed.items():
            faults[row] = describe_malformed(row, code)
        return faults

    def _report_bad(self, text: pa.Array, bad: Any, index: int, faults: dict[int, Fault]) -> None:
        name, kind = self.layout.names[index], self.layout.kinds[index]
        written = self.rules_of(index).written(kind, own=index in self.layout.rules)
        for row in np.flatnonzero(bad).tolist():
            value = text[row].as_py()
            shown = value if len(value) <= 40 else value[:40] + "..."
            faults.setdefault(row, Fault(row, BAD_VALUE, f"column {name!r}: {shown!r} is not a {kind}{written}", False))


def describe_malformed(record: int, code: str) -> Fault:
    """The fault of a record whose bytes have no structure."""
    reason = "the line ends inside quotes; with multiLine=true a quoted field may span lines"
    return Fault(record, code, reason if code == UNCLOSED_QUOTE else code, True)
