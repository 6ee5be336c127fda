"""How single columns are read: their defaults, patterns and blanks."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from splitscan.options.kinds import Kind, ValueRefusedError


class BlankAs(enum.Enum):
    """What a blank field becomes: one of no characters, or of spaces and tabs only."""

    NULL = "null"
    ZERO = "0"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """How one column is read.

    Attributes:
        default: Text of the value where a record does not have the column; ``None`` for null.
        format: Pattern of its dates or timestamps, in Spark's letters.
        blank_as: What a blank field becomes.
    """

    default: str | None = None
    format: str | None = None
    blank_as: BlankAs | None = None

    def to_json(self) -> dict[str, str]:
        """What was given, under the names in which it is given."""
        named = {"default": self.default, "format": self.format, "blankAs": self.blank_as and self.blank_as.value}
        return {name: value for name, value in named.items() if value is not None}


_NAMES = {"default": "default", "format": "format", "blankas": "blank_as", "blank_as": "blank_as"}


def column_options_of(given: Mapping[str, Any]) -> ColumnOptions:
    """Read the options of one column.

    Raises:
        ValueRefusedError: If one has no meaning.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        attribute = _NAMES.get(str(name).lower())
        if attribute is None:
            raise ValueRefusedError(f"a column has default, format and blankAs, not {name}")
        if attribute == "blank_as":
            values[attribute] = _blank_as(value)
        elif value is not None:
            values[attribute] = _as_text(value)
    if values.get("format") == "":
        raise ValueRefusedError("give a pattern such as dd/MM/yyyy, or leave format out")
    return ColumnOptions(**values)


def _blank_as(value: Any) -> BlankAs | None:
    found = {member.value: member for member in BlankAs}.get(str(value).lower()) if value is not None else BlankAs.NULL
    if found is None:
        raise ValueRefusedError("blankAs is null, 0 or empty")
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueRefusedError("write defaults and formats as texts or numbers")


def _parse_columns(value: Any) -> tuple[tuple[str, ColumnOptions], ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_float=str, parse_int=str)  # as written: digits must survive
        except ValueError:
            raise ValueRefusedError('write it like {"price": {"default": "0"}}') from None
    if isinstance(value, tuple) and all(isinstance(each, tuple) for each in value):
        return value
    if not isinstance(value, Mapping) or not all(isinstance(each, Mapping) for each in value.values()):
        raise ValueRefusedError('write it like {"price": {"default": "0"}}')
    names = [str(name).lower() for name in value]
    if len(set(names)) != len(names):
        raise ValueRefusedError("give every column once")
    return tuple((str(name), column_options_of(each)) for name, each in value.items())


def _show_columns(value: tuple[tuple[str, ColumnOptions], ...]) -> str:
    return json.dumps({name: each.to_json() for name, each in value}, ensure_ascii=False)


COLUMNS = Kind("mapping", "a JSON object of columns and their options", _parse_columns, _show_columns)
