"""Records of CSV as variants: objects of their fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from splitscan.formats.csv.decoder import CsvDecoder, malformed, too_long, wrong_count
from splitscan.formats.decoding.contract import FIELD_COUNT, VARIANT, Decoded, Fault, Faults, wrong_value
from splitscan.formats.decoding.variant import VariantError, VariantKeys, value_of_text
from splitscan.formats.framing.frames import Frames, records_in_utf8


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
        rows = [self.csv.fields_of(each) for each in records_in_utf8(data, frames, self.csv.dialect.encoding)]
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
        faults |= {record: malformed(code).fault(record) for record, code in frames.malformed.items()}
        return Decoded([pa.array(values, VARIANT)] if self.wanted else [], len(rows), Faults(faults.values()))

    def _encoded(self, row: Sequence[str | None]) -> dict[str, bytes]:
        keys = VariantKeys(self.csv.variants)
        names = [f"_c{index}" for index in range(min(len(row), self.most))] if self.header is None else self.header
        members = []
        for name, text in zip(names, row, strict=False):
            keys.add(name)
            members.append((name, value_of_text(text, self.csv.types)))
        return keys.finish(keys.object(members))

    def _fault(self, record: int, row: Sequence[str | None]) -> Fault | None:
        if self.header is not None and len(row) != len(self.header):
            return wrong_count(len(self.header)).fault(record, len(row))
        if self.header is None and len(row) > self.most:
            reason = f"the record has {len(row)} fields where maxColumns={self.most} are allowed"
            return Fault(record, FIELD_COUNT, reason, True)
        limit = self.csv.max_field_chars
        named = row if self.header is None else row[: len(self.header)]
        if limit is not None and any(len(text or "") > limit for text in named):
            return too_long(limit).fault(record)
        return None
