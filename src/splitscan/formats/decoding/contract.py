"""Contract of decoders: names of types, faults, columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.arrays import flag_array, number_array, text_array, text_scalar
from splitscan.formats.framing.frames import Frames
from splitscan.protocols import QuickProtocol

_NAMES = {
    pa.string(): "string", pa.binary(): "binary", pa.bool_(): "boolean", pa.int8(): "tinyint", pa.int16(): "smallint",
    pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double", pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp", pa.timestamp("us"): "timestamp_ntz",
}  # fmt: skip
FIELD_COUNT = "field-count"

BAD_VALUE = "bad-value"

NULL_IN_NOT_NULL = "null-in-not-null"
"""Codes of faults that more than one place finds."""

SHOWN_CHARACTERS = 40
"""Of a value, in a reason."""

Words: TypeAlias = tuple[pa.Array, pa.Array]
"""Codes and reasons of faults, as large strings: together they may be longer than 2 GiB."""

_SIMPLE = rf"^[ -&(-\[\]-~]{{0,{SHOWN_CHARACTERS}}}$"  # needs no escape in quotes, and is not cut


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
        after: And after it.
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
    """Faults as columns, in record order, at most one of each record; put into words where somebody looks at them.

    Args:
        records: The records they are of.
        kinds: For each, the number of its wording.
        seen: For each, what was seen, as a large string.
        wordings: What is said of those of one kind.

    Thread safety: immutable.
    """

    def __init__(
        self,
        records: npt.NDArray[np.int64],
        kinds: npt.NDArray[np.int64],
        seen: pa.Array,
        wordings: Sequence[FaultTemplate],
    ) -> None:
        self.records = records
        self.kinds, self.seen, self.wordings = kinds, seen, wordings

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> Faults:
        """Faults that are in words already, in any order; reasons are made valid UTF-8.

        Example:
            >>> Faults.of([Fault(7, "b", "x", True), Fault(2, "a", "y", False)]).records.tolist()
            [2, 7]
        """
        rows = sorted(faults)
        numbers: dict[FaultTemplate, int] = {}
        kinds = [
            numbers.setdefault(FaultTemplate(code, "", structural=structural), len(numbers))
            for _, code, _, structural in rows
        ]
        seen = pa.array([fault.reason.encode("utf-8", "backslashreplace") for fault in rows], pa.large_binary())
        records = np.array([fault.record for fault in rows], dtype=np.int64)
        return cls(records, np.array(kinds, dtype=np.int64), seen.cast(pa.large_string()), tuple(numbers))

    @classmethod
    def alike(cls, records: npt.NDArray[np.int64], wording: FaultTemplate) -> Faults:
        """Faults of one kind, of which nothing else was seen."""
        nothing = pa.repeat(_NOTHING, len(records))
        return cls(records, np.zeros(len(records), dtype=np.int64), nothing, (wording,))

    @classmethod
    def first_of(cls, *parts: Faults) -> Faults:
        """Faults of some parts together; of a record that has some in several parts, that of the first part."""
        if not parts:
            return NO_FAULTS
        starts = np.cumsum([0, *(len(part.wordings) for part in parts)]).tolist()
        records, first = np.unique(np.concatenate([part.records for part in parts]), return_index=True)
        kinds = np.concatenate([part.kinds + start for part, start in zip(parts, starts, strict=False)])
        seen = pa.concat_arrays([part.seen for part in parts]).take(number_array(first))
        return cls(records, kinds[first], seen, [wording for part in parts for wording in part.wordings])

    @cached_property
    def structural(self) -> npt.NDArray[np.bool_]:
        """Which of them are structural."""
        return np.array([wording.structural for wording in self.wordings], dtype=np.bool_)[self.kinds]

    @cached_property
    def words(self) -> Words:
        """The codes and reasons of all of them."""
        return _put_together(self.wordings, self.kinds, self.seen)

    def moved(self, places: npt.NDArray[np.int64]) -> Faults:
        """Move faults to other records: each number becomes the place in *places* that it is the index of."""
        return Faults(places[self.records], self.kinds, self.seen, self.wordings)

    def made_structural(self, records: npt.NDArray[np.int64]) -> Faults:
        """Faults, of which those of some records are structural now."""
        both = [*self.wordings, *(wording._replace(structural=True) for wording in self.wordings)]
        kinds = self.kinds + len(self.wordings) * np.isin(self.records, records)
        return Faults(self.records, kinds, self.seen, both)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Fault]:
        codes, reasons = self.words
        columns = (self.records.tolist(), codes.to_pylist(), reasons.to_pylist(), self.structural.tolist())
        return map(Fault, *columns)

    @overload
    def __getitem__(self, index: int) -> Fault: ...

    @overload
    def __getitem__(self, index: slice) -> Faults: ...

    def __getitem__(self, index: int | slice) -> Fault | Faults:
        if isinstance(index, slice):
            return Faults(self.records[index], self.kinds[index], self.seen[index], self.wordings)
        place = range(len(self))[index]
        return next(iter(self[place : place + 1]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))

    __hash__ = None  # type: ignore[assignment]  # as of a list


_NONE = np.empty(0, dtype=np.int64)
_NOTHING = text_scalar("")
NO_FAULTS = Faults(_NONE, _NONE, pa.nulls(0, pa.large_string()), ())


@dataclass(frozen=True, slots=True)
class Decoded:
    """Columns of framed records.

    Attributes:
        columns: The wanted data columns in the wanted order, one row per framed record; faulty fields are null.
        rows: Number of rows (there may be no columns).
        faults: What is wrong with which record.
        rescued: Per record, what does not fit its columns, as JSON; ``None`` where that is not asked for.
    """

    columns: list[pa.Array]
    rows: int
    faults: Faults = field(default_factory=lambda: NO_FAULTS)
    rescued: pa.Array | None = None


def wrong_value(column: str, kind: str, written: str = "") -> FaultTemplate:
    """Text about values that are not of their column's type."""
    return FaultTemplate(
        BAD_VALUE, f"column {quoted(column)}: ", f"{_is_no(kind)}{written}", quotes=True, structural=False
    )


def bad_value(column: str, text: str, kind: pa.DataType) -> str:
    """Fault of a value that is not of its column's type.

    Example:
        >>> bad_value("n", "x" * 50, pa.int64())
        "column 'n': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is no bigint"
    """
    return wrong_value(column, type_name(kind)).fault(0, text).reason


def is_no(text: str, kind: str) -> str:
    """That a text is not a value of a type, whose name is given."""
    return quoted(text) + _is_no(kind)


def _is_no(kind: str) -> str:
    return f" is no {kind}"


def quoted(text: str) -> str:
    """A value in quotes, as far as it is shown."""
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")


class Decoder(Protocol, metaclass=QuickProtocol):
    """Turns framed records of one file into columns.

    Guarantees: one row per record, in order; a row does not depend on its neighbours.
    """

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode the records of *frames*, whose positions are relative to *data*."""


def _put_together(wordings: Sequence[FaultTemplate], kind_of: npt.NDArray[np.int64], seen: pa.Array) -> Words:
    """Codes and reasons: each wording around what was seen."""
    if not wordings:
        return seen, seen
    in_quotes = np.array([wording.quotes for wording in wordings], dtype=np.bool_)[kind_of]
    if in_quotes.all():
        seen = _quoted(seen)
    elif in_quotes.any():
        seen = pc.if_else(flag_array(in_quotes), _quoted(seen), seen)
    codes, before, after = zip(*((wording.code, wording.before, wording.after) for wording in wordings), strict=True)
    reasons = pc.binary_join_element_wise(_each(before, kind_of), seen, _each(after, kind_of), _NOTHING)
    return _as_array(_each(codes, kind_of), len(seen)), reasons


def _each(texts: Sequence[str], kind_of: npt.NDArray[np.int64]) -> pa.Array | pa.Scalar:
    """The text of each kind; where all kinds have the same, that one."""
    if len(set(texts)) == 1:
        return text_scalar(texts[0])
    return text_array(texts).take(number_array(kind_of))


def _as_array(texts: pa.Array | pa.Scalar, rows: int) -> pa.Array:
    return pa.repeat(texts, rows) if isinstance(texts, pa.Scalar) else texts


_QUOTE = text_scalar("'")


def _quoted(texts: pa.Array) -> pa.Array:
    """Apply :func:`quoted` to each."""
    all_quoted = pc.binary_join_element_wise(_QUOTE, texts, _QUOTE, _NOTHING)
    odd = pc.invert(pc.match_substring_regex(texts, _SIMPLE))
    if not pc.any(odd).as_py():
        return all_quoted
    exact = [quoted(text) for text in texts.filter(odd).to_pylist()]
    return pc.replace_with_mask(all_quoted, odd, text_array(exact))
