"""Options of the record format ``fixed_width``: where each column is, and how its texts become values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from splitscan.errors import UsageError
from splitscan.options.read import TypedOptions, line_separator
from splitscan.options.table import ANY_TEXT, FLAG, OptionKind, ValueRefusedError, option, show_text, whole

_FIX = "write name start length [type], ... such as 'id 1 5 int, name 6 20'; the first place of a record is 1"
_ENTRY = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<name>[^\s`,]+))\s+(?P<start>[0-9]{1,18})\s+(?P<length>[0-9]{1,18})"
    r"(?:\s+(?P<type>[A-Za-z_]\w*(?:\s*\([\s0-9,]*\))?))?\s*(?:,|\Z)"
)


class Field(NamedTuple):
    """Places of a column.

    Attributes:
        start: Its first place; the first of a record is 1.
        type: Its type, as in DDL.
    """

    name: str
    start: int
    length: int
    type: str = "string"

    @property
    def stop(self) -> int:
        """The last place."""
        return self.start + self.length - 1


def _parse_layout(value: Any) -> tuple[Field, ...]:
    fields = tuple(_written(value) if isinstance(value, str) else _listed(value))
    names = [field.name.lower() for field in fields]
    if not fields or len(set(names)) < len(names) or any(field.start < 1 or field.length < 1 for field in fields):
        raise ValueRefusedError(_FIX)
    return fields


def _written(value: str) -> Iterator[Field]:
    position = 0
    while position < len(value.rstrip()):
        entry = _ENTRY.match(value, position)
        if entry is None:
            raise ValueRefusedError(_FIX)
        name = entry["name"] or entry["quoted"].replace("``", "`")
        yield Field(name, int(entry["start"]), int(entry["length"]), entry["type"] or "string")
        position = entry.end()


def _listed(value: Any) -> Iterator[Field]:
    if not isinstance(value, Sequence):
        raise ValueRefusedError(_FIX)
    for each in value:
        parts = tuple(each) if isinstance(each, Sequence) and not isinstance(each, str) else ()
        if not 3 <= len(parts) <= 4 or [type(part) for part in parts] != [str, int, int, str][: len(parts)]:
            raise ValueRefusedError(_FIX)
        yield Field(*parts)


def _show_layout(fields: tuple[Field, ...]) -> str:
    quoted = (f"`{each.name.replace('`', '``')}` {each.start} {each.length} {each.type}" for each in fields)
    return show_text(", ".join(quoted))


_LAYOUT = OptionKind("layout", "name, start, length and type of each column", _parse_layout, _show_layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWidthOptions(TypedOptions):
    """Options of the places of columns and their notation."""

    ignores_case: ClassVar[bool] = True
    says_columns: ClassVar[bool] = True

    layout: tuple[Field, ...] = option(
        _LAYOUT, "Columns as `name start length type, ...`; places count from 1, types are DDL's."
    )
    record_length: int | None = option(
        whole(1), "Bytes in each record, where records are no lines; places are bytes then.", None
    )
    line_sep: str | None = line_separator()
    null_value: str = option(ANY_TEXT, "Text of a null, beside blank ones.", "")
    ignore_leading_white_space: bool = option(FLAG, "Removes white space before values.", True)
    ignore_trailing_white_space: bool = option(FLAG, "Removes white space after values.", True)

    @property
    def last(self) -> Field:
        """The column that begins last, the first such: a record that ends before it is broken."""
        return max(self.layout, key=lambda each: each.start)

    @property
    def fixed_length(self) -> tuple[str, int] | None:
        return None if self.record_length is None else ("recordLength", self.record_length)

    def __post_init__(self) -> None:
        if self.record_length is None:
            return
        outside = next((each for each in self.layout if each.stop > self.record_length), None)
        if outside is not None or self.line_sep is not None:
            broken = "lineSep is for records that are lines" if outside is None else "a column ends after the record"
            seen = f"lineSep={self.line_sep!r}" if outside is None else f"{outside.name} ends at byte {outside.stop}"
            raise UsageError(
                f"options contradict each other: {broken}", seen=f"{seen}, recordLength={self.record_length}",
                fix="correct layout or recordLength; leave out recordLength where records are lines", code="bad-option",
            )  # fmt: skip
