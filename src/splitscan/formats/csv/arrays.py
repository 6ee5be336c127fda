"""CSV records as arrays of their fields, and records of which nothing is wanted."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from splitscan.formats.csv.decoder import CsvDecoder
from splitscan.formats.csv.validation import FIELD_TOO_LONG, describe_malformed
from splitscan.formats.decoding.contract import FIELD_COUNT, Decoded, Fault
from splitscan.formats.decoding.utf8 import records_in_utf8
from splitscan.formats.framing.frames import Frames


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
