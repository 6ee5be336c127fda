"""Contract of decoders: types that records can be read as and their names, faults, columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from splitscan.errors import SchemaError, Where
from splitscan.formats.framing.frames import Frames

_NAMES = {
    pa.string(): "string", pa.binary(): "binary", pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint",
    pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double", pa.date32(): "date",
    pa.time64("us"): "time(6)", pa.timestamp("us", "UTC"): "timestamp", pa.timestamp("us"): "timestamp_ntz",
}  # fmt: skip
MOMENT = pa.timestamp("us", "UTC")
"""The type of moments."""

MOST_DIGITS = 38
"""Of a decimal of 128 bits, and of Spark."""

VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
"""The type of variants, as Spark has it. Arrow takes any struct of the same members to be equal: :func:`is_variant`."""

FIELD_COUNT = "field-count"

BAD_VALUE = "bad-value"

NULL_IN_NOT_NULL = "null-in-not-null"
"""Codes of faults that more than one place finds."""

SHOWN_CHARACTERS = 40
"""Of a value, in a reason."""

Words: TypeAlias = tuple[pa.Array, pa.Array]
"""Codes and reasons of faults, as large strings: together they may be longer than 2 GiB."""


def is_variant(kind: pa.DataType) -> bool:
    """True if a type is that of variants, and not only a struct of the same members."""
    return bool(kind == VARIANT and kind.field(1).metadata)


def has_part(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """True if a type, or a part of it, passes a test."""
    parts = range(kind.num_fields) if pa.types.is_nested(kind) else ()
    return bool(test(kind)) or any(has_part(kind.field(index).type, test) for index in parts)


def is_made_of(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """True if a type passes a test, or all that its structs, maps and lists are made of."""
    types = pa.types
    return not has_part(
        kind, lambda part: not (types.is_struct(part) or types.is_map(part) or types.is_list(part) or test(part))
    )


def holds_variant(kind: pa.DataType) -> bool:
    """True if a type is that of variants, or has a part that is."""
    return has_part(kind, is_variant)


def holds_time(kind: pa.DataType) -> bool:
    """True if a type is that of times of day, or has a part that is."""
    return has_part(kind, pa.types.is_time)


def type_name(kind: pa.DataType) -> str:
    """Spark's name of a type."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if is_variant(kind):
        return "variant"
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(f"{quoted_name(f.name)}: {type_name(f.type)}{not_null(f)}" for f in kind) + ">"
    if pa.types.is_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)}, {type_name(kind.item_type)}>"
    return _NAMES.get(kind, str(kind))


def not_null(field: pa.Field) -> str:
    """DDL of a column that has no nulls."""
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


class FaultTemplate(NamedTuple):
    """Text of all faults of one kind; only the value that was seen differs.

    Attributes:
        code: As of a :class:`Fault`.
        before: What the reason says before that which was seen.
        quotes: Whether that which was seen is a value, which is shown in quotes and cut.
        structural: As of a :class:`Fault`.
    """

    code: str
    before: str
    after: str = ""
    quotes: bool = False
    structural: bool = True

    def fault(self, record: int, seen: str | int = "") -> Fault:
        """The fault of a record.

        Example:
            >>> FaultTemplate("field-count", "the record has ", " fields").fault(7, 3).reason
            'the record has 3 fields'
        """
        shown = quoted(str(seen)) if self.quotes else seen
        return Fault(record, self.code, f"{self.before}{shown}{self.after}", self.structural)


class Faults(Sequence[Fault]):
    """Faults in record order, at most one of each record; reasons are made valid UTF-8.

    Example:
        >>> Faults([Fault(7, "b", "x", True), Fault(2, "a", "y", False)]).records.tolist()
        [2, 7]
    """

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._faults = sorted(
            fault._replace(reason=fault.reason.encode("utf-8", "backslashreplace").decode()) for fault in faults
        )

    @classmethod
    def first_of(cls, *parts: Iterable[Fault]) -> Faults:
        """Faults of some parts together; of a record that has some in several parts, that of the first part."""
        return cls({fault.record: fault for part in reversed(parts) for fault in part}.values())

    @property
    def records(self) -> npt.NDArray[np.int64]:
        """The records that they are of."""
        return np.array([fault.record for fault in self._faults], dtype=np.int64)

    @property
    def structural(self) -> npt.NDArray[np.bool_]:
        """Flags of those that are structural."""
        return np.array([fault.structural for fault in self._faults], dtype=np.bool_)

    @property
    def words(self) -> Words:
        """The codes and reasons of all of them."""
        columns = [fault.code for fault in self._faults], [fault.reason for fault in self._faults]
        codes, reasons = (pa.array(column, pa.large_string()) for column in columns)
        return codes, reasons

    def moved(self, places: npt.NDArray[np.int64]) -> Faults:
        """Move faults to other records: each number becomes the place in *places* that it is the index of."""
        return Faults(fault._replace(record=int(places[fault.record])) for fault in self)

    def __len__(self) -> int:
        return len(self._faults)

    @overload
    def __getitem__(self, index: int) -> Fault: ...

    @overload
    def __getitem__(self, index: slice) -> Faults: ...

    def __getitem__(self, index: int | slice) -> Fault | Faults:
        return Faults(self._faults[index]) if isinstance(index, slice) else self._faults[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._faults == list(other)

    def __repr__(self) -> str:
        return repr(self._faults)

    __hash__ = None  # type: ignore[assignment]  # as of a list


@dataclass(frozen=True, slots=True)
class Decoded:
    """Columns of framed records.

    Attributes:
        columns: The wanted data columns in the wanted order, one row per framed record; faulty fields are null.
        faults: What is wrong with which record.
        rescued: Per record, what does not fit its columns, as JSON; ``None`` where that is not asked for.
    """

    columns: list[pa.Array]
    rows: int
    faults: Faults = field(default_factory=Faults)
    rescued: pa.Array | None = None


def wrong_value(column: str, kind: str) -> FaultTemplate:
    """Text about values that are not of their column's type."""
    return FaultTemplate(BAD_VALUE, f"column {quoted(column)}: ", f" is no {kind}", quotes=True, structural=False)


def bad_value(column: str, text: str, kind: pa.DataType) -> str:
    """Fault of a value that is not of its column's type.

    Example:
        >>> bad_value("n", "x" * 50, pa.int64())
        "column 'n': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is no bigint"
    """
    return wrong_value(column, type_name(kind)).fault(0, text).reason


def is_no(text: str, kind: str) -> str:
    """That a text is not a value of a type, whose name is given."""
    return f"{quoted(text)} is no {kind}"


def quoted(text: str) -> str:
    """A value in quotes, as far as it is shown."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


class Decoder(Protocol):
    """Turns framed records of one file into columns.

    Guarantees: one row per record, in order; a row does not depend on its neighbours.
    """

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode the records of *frames*, whose positions are relative to *data*."""


# ---------------------------------------------------------------- types that records can be read as


_are = pa.types
_WIDER = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(), pa.date64(): pa.date32(),
}  # fmt: skip
_SCALARS = frozenset(
    {
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(),
        pa.time64("us"), pa.string(), pa.binary(),
    }
)  # fmt: skip


MOST_LEVELS = 50
"""Structs, arrays and maps inside each other in the type of a column: Arrow hands over no more than 64."""


def bounded(kind: pa.DataType, levels: int = MOST_LEVELS) -> pa.DataType:
    """A type as it is down to so many levels; what is nested deeper is text.

    Example:
        >>> str(bounded(pa.list_(pa.list_(pa.int64())), 1)), str(bounded(pa.list_(pa.int64()), 1))
        ('list<item: string>', 'list<item: int64>')
    """
    if not _are.is_nested(kind) or is_variant(kind):
        return kind
    if not levels:
        return pa.string()
    if _are.is_struct(kind):
        return pa.struct([inner.with_type(bounded(inner.type, levels - 1)) for inner in kind])
    return pa.list_(bounded(kind.value_type, levels - 1)) if _are.is_list(kind) else kind


def _levels(kind: pa.DataType) -> int:
    """How many structs, arrays and maps are inside each other."""
    if not _are.is_nested(kind) or is_variant(kind):
        return 0
    if _are.is_map(kind):
        return 1 + max(_levels(kind.key_type), _levels(kind.item_type))
    return 1 + max((_levels(kind.field(index).type) for index in range(kind.num_fields)), default=0)


def deliverable(schema: pa.Schema) -> pa.Schema:
    """Columns in types that Spark has too: nullable, without views, dictionaries and 64-bit offsets.

    Example:
        >>> str(deliverable(pa.schema([pa.field("t", pa.large_string(), nullable=False)])).field(0))
        'pyarrow.Field<t: string>'
    """
    return pa.schema([pa.field(field.name, _deliverable(field.type)) for field in schema])


def too_deep(seen: str, column: str | None = None) -> SchemaError:
    """The error for a type that is nested too deep."""
    return SchemaError(
        f"the type of a column has at most {MOST_LEVELS} structs, arrays and maps inside each other",
        Where(column=column),
        seen=seen,
        fix="declare what is deeper as string: it is the text of the values",
        code="unsupported-type",
    )


def check_types(fields: pa.Schema, *, variants: bool = False) -> None:
    """Values can be read as the types of all columns.

    Args:
        fields: The columns.
        variants: Whether values may be variants.

    Raises:
        SchemaError: ``[unsupported-type]`` for the first that no value can be read as, or that is nested too deep; the
            message says which type to declare.

    Example:
        >>> check_types(pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "Europe/Berlin"))]))
    """
    for column in fields:
        if _levels(column.type) > MOST_LEVELS:
            raise too_deep(f"{_levels(column.type)} of them", column.name)
        if holds_variant(column.type) and not variants:
            fix = "declare it as string, and make a variant of it with parse_json in Spark"
            raise _unreadable(column, type_name(column.type), fix)
        if not is_made_of(column.type, _is_readable):
            closest = _deliverable(column.type)
            readable = closest if is_made_of(closest, _is_readable) else pa.string()
            fix = f"declare it as {type_name(readable)}, and convert the column after it was read"
            raise _unreadable(column, str(column.type), fix)


def _unreadable(field: pa.Field, seen: str, fix: str) -> SchemaError:
    return SchemaError(
        "records cannot be read as the type of a column", Where(column=field.name),
        seen=seen, fix=fix, code="unsupported-type",
    )  # fmt: skip


def _is_readable(kind: pa.DataType) -> bool:
    return kind in _SCALARS or _are.is_decimal128(kind) or (_are.is_timestamp(kind) and kind.unit == "us")


def _deliverable(kind: pa.DataType) -> pa.DataType:
    if is_variant(kind):
        return kind
    if _are.is_dictionary(kind):
        return _deliverable(kind.value_type)
    if _are.is_struct(kind):
        return pa.struct([pa.field(inner.name, _deliverable(inner.type)) for inner in kind])
    if _are.is_map(kind):
        return pa.map_(_deliverable(kind.key_type), _deliverable(kind.item_type))
    if _are.is_nested(kind) and hasattr(kind, "value_type"):
        return pa.list_(_deliverable(kind.value_type))
    return _flat(kind)


def _flat(kind: pa.DataType) -> pa.DataType:
    if _are.is_large_string(kind) or _are.is_string_view(kind):
        return pa.string()
    if _are.is_large_binary(kind) or _are.is_binary_view(kind) or _are.is_fixed_size_binary(kind):
        return pa.binary()
    if _are.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if _are.is_decimal(kind) and kind.precision <= MOST_DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    return pa.time64("us") if _are.is_time(kind) else _WIDER.get(kind, kind)
