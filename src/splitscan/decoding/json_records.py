"""JSON records one at a time: exact for every text, and the judge of what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from splitscan.decoding.contract import BAD_VALUE, Fault
from splitscan.decoding.conversions import Rules
from splitscan.decoding.json_plain import DoubtfulError, PlainReader
from splitscan.decoding.json_text import JsonDialect, JsonKind, JsonValue, NotJsonError, parse_json
from splitscan.decoding.json_unfit import unfit_members
from splitscan.decoding.json_values import ValueReader
from splitscan.decoding.rescue import Rescue, with_path

BAD_JSON = "bad-json"
NOT_AN_OBJECT = "not-an-object"


@dataclass(frozen=True)
class RecordReader:
    """Reads records one by one.

    Args:
        dialect: Leniencies.
        rules: How times are written.
        own_rules: The same for columns that have a pattern of their own, by name.
        rescue: Where given, values and members that do not fit are kept, and are no faults.
    """

    dialect: JsonDialect
    rules: Rules
    own_rules: Mapping[str, Rules] = field(default_factory=dict)
    rescue: Rescue | None = None

    @property
    def rescues(self) -> bool:
        """Whether there is a column of what does not fit."""
        return self.rescue is not None and self.rescue.wanted

    def read(self, texts: Iterable[tuple[int, str]], fields: Sequence[pa.Field]) -> tuple[list[pa.Array], list[Fault]]:
        """The columns of numbered records, behind them what is rescued if it is wanted; and what is wrong with them."""
        plain = PlainReader(fields, self.rules, allow_non_numeric_numbers=self.dialect.allow_non_numeric_numbers)
        is_flat = not any(pa.types.is_nested(field.type) for field in fields)
        known = frozenset(field.name for field in fields) if is_flat else None
        rows: list[list[Any]] = []
        faults: list[Fault] = []
        for index, text in texts:
            try:
                row, fault = self._read_plainly(plain, known, index, text)
            except DoubtfulError:
                row, fault = self.read_exactly(index, text, fields)
            if fault is not None:
                faults.append(fault)
            rows.append(row)
        kinds = [*(f.type for f in fields), *([pa.string()] if self.rescues else [])]
        return [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)], faults

    def _read_plainly(
        self, plain: PlainReader, known: Set[str] | None, index: int, text: str
    ) -> tuple[list[Any], Fault | None]:
        """One record by Python's own scanner.

        Args:
            plain: Reads it.
            known: Names of the columns, if none of them can hold a part of a value; else ``None``.
            index: Number of the record.
            text: The record.

        Raises:
            DoubtfulError: If only the exact parser can tell.
        """
        if self.own_rules or (self.rescues and known is None):
            raise DoubtfulError  # patterns of columns, and parts that do not fit, are for the exact parser
        if self.rescue is not None and self.rescue.wanted and known is not None:
            row, others = plain.read_with_others(text, known)
            return [*row, with_path(others, self.rescue.path)], None
        row, problems = plain.read(text)
        is_fault = problems and self.rescue is None
        return row, Fault(index, BAD_VALUE, problems[0], False) if is_fault else None

    def read_exactly(self, index: int, text: str, fields: Sequence[pa.Field]) -> tuple[list[Any], Fault | None]:
        """One record by the exact parser, as :meth:`read` has it: the definition of all other ways to read it."""
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
