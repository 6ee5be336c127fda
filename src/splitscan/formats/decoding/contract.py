"""What people call the types of columns: the names of Spark's DDL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, overload, runtime_checkable

import pyarrow as pa

from splitscan.formats.framing.frames import Frames
from splitscan.protocols import QuickProtocol

_NAMES = {
    pa.string(): "string", pa.binary(): "binary", pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint",
    pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double", pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp", pa.timestamp("us"): "timestamp_ntz",
}  # fmt: skip


def type_name(kind: pa.DataType) -> str:
    """Spark's name of a type."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(f"{quoted_name(f.name)}: {type_name(f.type)}{not_null(f)}" for f in kind) + ">"
    if pa.types.is_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)}, {type_name(kind.item_type)}>"
    return _NAMES.get(kind, str(kind))


def not_null(field: pa.Field) -> str:
    """What DDL says of a column that has no nulls."""
    return "" if field.nullable else " NOT NULL"


def quoted_name(name: str) -> str:
    """A name as DDL has it: in back quotes, unless it is a word."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else "`" + name.replace("`", "``") + "`"


def format_ddl(schema: pa.Schema) -> str:
    """Write a schema in Spark's DDL: the inverse of ``splitscan.formats.decoding.ddl.parse_ddl``.

    Example:
        >>> format_ddl(pa.schema([pa.field("id", pa.int64(), nullable=False), ("a b", pa.list_(pa.string()))]))
        'id bigint NOT NULL, `a b` array<string>'
    """
    return ", ".join(f"{quoted_name(f.name)} {type_name(f.type)}{not_null(f)}" for f in schema)


FIELD_COUNT = "field-count"
BAD_VALUE = "bad-value"
NULL_IN_NOT_NULL = "null-in-not-null"
"""Codes of faults that more than one place finds."""

_SHOWN_CHARACTERS = 40


class Fault(NamedTuple):
    """A record that breaks a rule.

    Attributes:
        record: Its index in the frames.
        code: Stable reason, a heading of ``docs/errors.md``.
        reason: One sentence for people; names the column where there is one.
        structural: Whether the bytes are wrong, whatever columns are asked for; else only a value is.
    """

    record: int
    code: str
    reason: str
    structural: bool


class LateFaults(Sequence[Fault]):
    """Faults that are put into words when somebody looks at them; to know how many, and of which records, needs none.

    Args:
        raw: What the engine says of each: its record, and more.
        describe: Puts one of them into words.
    """

    def __init__(self, raw: Sequence[tuple[Any, ...]], describe: Callable[[tuple[Any, ...]], Fault]) -> None:
        self._raw = raw
        self._describe = describe

    @property
    def records(self) -> list[int]:
        """The records they are of."""
        return [raw[0] for raw in self._raw]

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._all)

    @overload
    def __getitem__(self, index: int) -> Fault: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Fault]: ...

    def __getitem__(self, index: int | slice) -> Fault | Sequence[Fault]:
        if isinstance(index, int):
            return self._describe(self._raw[index])
        return LateFaults(self._raw[index], self._describe)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == list(other)

    def __repr__(self) -> str:
        return repr(self._all)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    @cached_property
    def _all(self) -> list[Fault]:
        return [self._describe(raw) for raw in self._raw]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Columns of framed records.

    Attributes:
        columns: The wanted data columns in the wanted order, one row per framed record; faulty fields are null.
        rows: Number of rows (there may be no columns).
        faults: What is wrong with which record, in record order; at most one per record.
        rescued: Per record, what does not fit its columns, as JSON; ``None`` where that is not asked for.
    """

    columns: list[pa.Array]
    rows: int
    faults: Sequence[Fault] = ()
    rescued: pa.Array | None = None

    @property
    def broken(self) -> list[int]:
        """The records that have a fault, in order."""
        faults = self.faults
        return faults.records if isinstance(faults, LateFaults) else [fault.record for fault in faults]

    def head(self, rows: int) -> Decoded:
        """The first rows."""
        rescued = None if self.rescued is None else self.rescued.slice(0, rows)
        faults = [fault for fault in self.faults if fault.record < rows]
        return Decoded([column.slice(0, rows) for column in self.columns], rows, faults, rescued)


def bad_value(column: str, text: str, kind: pa.DataType) -> str:
    """What is wrong with a value that is not of its column's type.

    Example:
        >>> bad_value("n", "x" * 50, pa.int64())
        "column 'n': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is no bigint"
    """
    return f"column {column!r}: {is_no(text, type_name(kind))}"


def is_no(text: str, kind: str) -> str:
    """That a text is not a value of a type, whose name is given."""
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return f"{shown!r} is no {kind}"


class Decoder(Protocol, metaclass=QuickProtocol):
    """Turns framed records of one file into columns.

    Guarantees: one row per record, in order; a row does not depend on its neighbours.
    """

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode the records of *frames*, whose positions are relative to *data*."""


class Parsed(NamedTuple):
    """Records that were found and decoded in one go.

    Attributes:
        frames: Where they are, and where the next one starts.
        decoded: Their columns.
        stopped_long: Whether the next record is longer than allowed.
    """

    frames: Frames
    decoded: Decoded
    stopped_long: bool


@runtime_checkable
class Parser(Decoder, Protocol):
    """A decoder that also finds records."""

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode the complete records that start before *stop*.

        Args:
            data: Bytes from a record start on.
            stop: Position in *data*: a record that starts there, or later, is left.
            at_end: Whether the file ends with *data*.
            max_record_bytes: Longest content of a record: before a longer one this stops.

        Returns:
            The records; ``None`` if they have to be found by the format, and then decoded.
        """
