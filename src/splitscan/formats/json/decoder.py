"""JSON records to typed columns: the definition, one record at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from splitscan.formats.decoding.contract import BAD_VALUE, Decoded, Fault
from splitscan.formats.decoding.conversions import Rules
from splitscan.formats.decoding.rescue import Rescue, with_path
from splitscan.formats.decoding.values import records_of
from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames
from splitscan.formats.json.text import JsonDialect, JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.formats.json.unfit import unfit_members
from splitscan.formats.json.values import ValueReader

BAD_JSON = "bad-json"
NOT_AN_OBJECT = "not-an-object"


@dataclass(frozen=True)
class JsonDecoder:
    """Decodes records that are JSON objects.

    Args:
        encoding: Of the file.
        fields: Columns to deliver, in order.
        dialect: Leniencies.
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        rescue: Where given, values and members that do not fit are kept, and are no faults.
    """

    encoding: Encoding
    fields: tuple[pa.Field, ...]
    dialect: JsonDialect = field(default_factory=JsonDialect)
    rules: Rules = field(default_factory=Rules)
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None

    @property
    def rescues(self) -> bool:
        """Whether there is a column of what does not fit."""
        return self.rescue is not None and self.rescue.wanted

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records; a value that does not convert is null and reported, a record that is no object too."""
        texts = (self.encoding.text(record) for record in records_of(data, frames))
        read = [self.read(index, text, self.fields) for index, text in enumerate(texts)]
        kinds = [*(f.type for f in self.fields), *([pa.string()] if self.rescues else [])]
        columns = [pa.array([row[i] for row, _ in read], kind) for i, kind in enumerate(kinds)]
        faults = [fault for _, fault in read if fault is not None]
        count = len(self.fields)
        return Decoded(columns[:count], len(read), faults, columns[count] if self.rescues else None)

    def read(self, index: int, text: str, fields: Sequence[pa.Field]) -> tuple[list[Any], Fault | None]:
        """The values of one record, after them what is rescued if that is wanted; and what is wrong with it."""
        nothing: list[Any] = [None] * (len(fields) + self.rescues)
        try:
            record = parse_json(text, self.dialect)
        except NotJsonError as error:
            return nothing, Fault(index, BAD_JSON, f"the record is no JSON value: {error}", True)
        if record.kind is not JsonKind.OBJECT:
            return nothing, Fault(index, NOT_AN_OBJECT, f"the record is {record.kind.value}, not an object", True)
        row: list[Any] = []
        problems: list[str] = []
        for rules, some in self._by_rules(fields):
            reader = self._reader(text, rules)
            row += reader.struct_fields(record.value, some)
            problems += reader.problems
        if self.rescue is None:
            return row, Fault(index, BAD_VALUE, problems[0], False) if problems else None
        return [*row, self._unfit(text, record, fields, self.rescue)] if self.rescues else row, None

    def _by_rules(self, fields: Sequence[pa.Field]) -> list[tuple[Rules, list[pa.Field]]]:
        """Columns side by side that are read by the same rules."""
        if not self.own_rules:
            return [(self.rules, list(fields))]
        return [(self.own_rules.get(column.name, self.rules), [column]) for column in fields]

    def _reader(self, text: str, rules: Rules) -> ValueReader:
        return ValueReader(text, rules, self.dialect.allow_non_numeric_numbers)

    def _unfit(self, text: str, record: JsonValue, fields: Sequence[pa.Field], rescue: Rescue) -> str | None:
        readers = {column.name: self._reader(text, self.own_rules.get(column.name, self.rules)) for column in fields}
        members = unfit_members(record.value, {column.name: column.type for column in fields}, readers)
        return with_path(members, rescue.path)
