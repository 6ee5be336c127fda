"""Records of CSV as variants: objects of their fields, and what each field says of itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from splitscan.formats.csv.decoder import CsvDecoder, malformed, too_long, wrong_count
from splitscan.formats.decoding import variant
from splitscan.formats.decoding.contract import FIELD_COUNT, VARIANT, Decoded, Fault, Faults, FaultTemplate, wrong_value
from splitscan.formats.decoding.conversions import Rules, plain_decimal, stored_value
from splitscan.formats.decoding.variant import VariantError, VariantKeys, VariantRules
from splitscan.formats.framing.frames import Frames, records_in_utf8

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class ValueTypes:
    """Types of fields that are no numbers.

    Attributes:
        rules: How dates and timestamps are written.
        prefers_dates: Whether dates are tried before timestamps.
    """

    rules: Rules
    prefers_dates: bool = True


def encode_value(text: str | None, types: ValueTypes) -> bytes:
    """A field by itself: a whole number, a decimal, a date, a timestamp, true or false, or else a text.

    The order is Spark's. Spark goes on in a column with the type of its last value, so that there a value depends on
    those before it, and on where tasks begin; this is what it makes of the first one.

    Example:
        >>> [encode_value(text, ValueTypes(Rules())).hex() for text in ("007", "1.50", "2020-01-02", "TRUE", None)]
        ['0c07', '200296000000', '2c57470000', '04', '00']
    """
    if text is None:
        return variant.NULL
    return _scalar(text, types)


@lru_cache(maxsize=4096)
def _scalar(text: str, types: ValueTypes) -> bytes:
    return _number(text) or _moment(text, types) or _BOOLEANS.get(text.lower()) or variant.text(text)


_BOOLEANS = {"true": variant.TRUE, "false": variant.FALSE}


def _number(text: str) -> bytes | None:
    if _WHOLE.fullmatch(text) and len(digits := text.lstrip("+-0") or "0") < 20:
        whole = -int(digits) if text.startswith("-") else int(digits)
        if -(1 << 63) <= whole < 1 << 63:
            return variant.whole_number(whole)
    value = None if text != text.strip(" \t") else plain_decimal(text)
    return None if value is None else variant.any_decimal(value)


def _moment(text: str, types: ValueTypes) -> bytes | None:
    if types.prefers_dates and (types.rules.date_format is not None or _DATE.fullmatch(text)):
        day = stored_value(text, pa.date32(), types.rules)
        if day is not None:
            return variant.date(day)
    micros = stored_value(text, _MOMENT, types.rules)
    return None if micros is None else variant.timestamp(micros)


@dataclass(frozen=True)
class CsvVariantDecoder:
    """Decodes CSV records whose fields are the members of one object.

    Args:
        csv: The dialect, and how fields become texts.
        name: Of the column.
        header: Names of the fields; ``None`` where they have none, and are ``_c0``, ``_c1`` ...
        most: Most fields of a record without names.
        types: What fields may be.
        variants: Which objects are variants.
        wanted: Whether the column is asked for at all.
    """

    csv: CsvDecoder
    name: str
    header: Sequence[str] | None
    most: int
    types: ValueTypes
    variants: VariantRules
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
                    fault = fault or self._no_variant(error).fault(record, f"{len(row)} fields")
            if fault is not None:
                faults[record] = fault
        faults |= {record: malformed(code).fault(record) for record, code in frames.malformed.items()}
        return Decoded([pa.array(values, VARIANT)] if self.wanted else [], len(rows), Faults(faults.values()))

    def _encoded(self, row: Sequence[str | None]) -> dict[str, bytes]:
        keys = VariantKeys(self.variants)
        names = [f"_c{index}" for index in range(min(len(row), self.most))] if self.header is None else self.header
        members = []
        for name, text in zip(names, row, strict=False):
            keys.add(name)
            members.append((name, encode_value(text, self.types)))
        return keys.finish(keys.object(members))

    def _no_variant(self, error: VariantError) -> FaultTemplate:
        return wrong_value(self.name, f"variant: {error}")

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
