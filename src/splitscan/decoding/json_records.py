"""JSON records one at a time: exact for every text, and the judge of what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from splitscan.decoding.contract import Fault
from splitscan.decoding.conversions import Rules
from splitscan.decoding.json_plain import DoubtfulError, PlainReader
from splitscan.decoding.json_text import JsonDialect, JsonKind, NotJsonError, parse_json
from splitscan.decoding.json_values import ValueReader

BAD_JSON = "bad-json"
NOT_AN_OBJECT = "not-an-object"
BAD_VALUE = "bad-value"


@dataclass(frozen=True)
class RecordReader:
    """Reads records one by one.

    Args:
        dialect: Leniencies.
        rules: How times are written.
    """

    dialect: JsonDialect
    rules: Rules

    def read(self, texts: Iterable[tuple[int, str]], fields: Sequence[pa.Field]) -> tuple[list[pa.Array], list[Fault]]:
        """The columns of numbered records, and what is wrong with them."""
        plain = PlainReader(fields, self.rules, allow_non_numeric_numbers=self.dialect.allow_non_numeric_numbers)
        rows: list[list[Any]] = []
        faults: list[Fault] = []
        for index, text in texts:
            try:
                row, problems = plain.read(text)
                fault = Fault(index, BAD_VALUE, problems[0], False) if problems else None
            except DoubtfulError:
                row, fault = self.read_exactly(index, text, fields)
            if fault is not None:
                faults.append(fault)
            rows.append(row)
        columns = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(fields)]
        return columns, faults

    def read_exactly(self, index: int, text: str, fields: Sequence[pa.Field]) -> tuple[list[Any], Fault | None]:
        """The values of one record by the exact parser: the definition of all other ways to read it."""
        nothing: list[Any] = [None] * len(fields)
        try:
            record = parse_json(text, self.dialect)
        except NotJsonError as error:
            return nothing, Fault(index, BAD_JSON, f"the record is no JSON value: {error}", True)
        if record.kind is not JsonKind.OBJECT:
            return nothing, Fault(index, NOT_AN_OBJECT, f"the record is {record.kind.value}, not an object", True)
        reader = ValueReader(text, self.rules, self.dialect.allow_non_numeric_numbers)
        row = reader.struct_fields(record.value, list(fields))
        return row, Fault(index, BAD_VALUE, reader.problems[0], False) if reader.problems else None
