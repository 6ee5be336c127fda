"""What a decoder is and what it gives: names of types, faults, columns; and the decoder of records by the kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from splitscan.formats.framing.encodings import Encoding
from splitscan.formats.framing.frames import Frames, as_bytes, frames_of, native_charset, records_in_utf8
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

_SHOWN_CHARACTERS = 40

_NO_LIMIT = (1 << 62) - 1

Finish = Callable[[Sequence[pa.Array], Any], Sequence[pa.Array]]


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


class NativeFault(NamedTuple):
    """A fault as the kernel reports it.

    Attributes:
        record: Index of the record.
        code: Number of the reason.
        column: Name of the column whose value it is, or empty.
        seen: What was seen.
        kind: Spark's name of the type that was expected, or empty.
    """

    record: int
    code: int
    column: str
    seen: str
    kind: str


Describe = Callable[[NativeFault], Fault]


@dataclass(frozen=True)
class NativeDecoder:
    """Decodes the records of one file by the kernel.

    Args:
        parser: The kernel's parser of the format, for these columns.
        reference: Decodes the records that the kernel leaves undecided, to the same columns.
        encoding: Of the file.
        describe: Says what is wrong with a record.
        malformed_code: Why records are malformed that are.
        rescues: Whether the last column is what does not fit.
        reads_raw: Whether the parser finds records in the encoding of the file, and converts them itself.
        finish: What is still to be done to the columns, given the numbers of fields of odd records.

    Thread safety: immutable; calls run beside each other.
    """

    parser: Any
    reference: Decoder
    encoding: Encoding
    describe: Describe
    malformed_code: str = ""
    rescues: bool = False
    reads_raw: bool = False
    finish: Finish | None = None

    def parse(self, data: memoryview, *, stop: int, at_end: bool, max_record_bytes: int) -> Parsed | None:
        """Find and decode the records that start before *stop*, in one go.

        Returns:
            ``None`` if they must be found before they can be decoded: they have to be written in UTF-8 first.
        """
        if not (self.reads_raw or self.encoding.codec == "utf-8" or self._is_ascii(data)):
            return None
        whole, start, end = as_bytes(data)
        found = self.parser.parse(whole, start, end, start + stop, at_end, _NO_LIMIT, max_record_bytes)
        frames = frames_of(found.starts, found.stops, found.malformed, found.next_start, self.malformed_code)
        return Parsed(frames, self._decoded(found, data, frames), found.stopped == "long")

    def decode(self, data: memoryview, frames: Frames) -> Decoded:
        """Decode records that were found before."""
        found = self.parser.parse_framed(*self._in_utf8(data, frames))
        return self._decoded(found, data, frames)

    def _in_utf8(self, data: memoryview, frames: Frames) -> tuple[bytes, bytes, bytes]:
        """The records in UTF-8: bytes, where each starts, and where each stops."""
        whole, offset, _ = as_bytes(data)
        spans = (frames.starts + offset).tobytes(), (frames.stops + offset).tobytes()
        if self.encoding.codec == "utf-8":
            return whole, *spans
        charset = native_charset(self.encoding)
        if charset is not None:
            in_utf8: tuple[bytes, bytes, bytes] = charset.transcode(whole, *spans)
            return in_utf8
        records = list(records_in_utf8(data, frames, self.encoding))
        lengths = np.array([len(record) for record in records], dtype=np.int64)
        stops = np.cumsum(lengths + 1) - 1
        return b"\n".join([*records, b""]), (stops - lengths).tobytes(), stops.tobytes()

    def _is_ascii(self, data: memoryview) -> bool:
        return self.encoding.unit_bytes == 1 and bytes(data).isascii()

    def _decoded(self, found: Any, data: memoryview, frames: Frames) -> Decoded:
        batch = pa.record_batch(found.batch)
        columns: list[pa.Array] = batch.columns
        if self.finish is not None:
            columns = list(self.finish(columns, found.counts))
        rescued = columns.pop() if self.rescues else None
        decoded = Decoded(
            columns, found.rows, LateFaults(found.faults, lambda raw: self.describe(NativeFault(*raw))), rescued
        )
        return self._decide(decoded, found.undecided, data, frames) if found.undecided else decoded

    def _decide(self, decoded: Decoded, undecided: list[int], data: memoryview, frames: Frames) -> Decoded:
        """Put in the records that only the reference can read."""
        where = np.array(undecided, dtype=np.int64)
        malformed = {
            number: frames.malformed[record] for number, record in enumerate(undecided) if record in frames.malformed
        }
        some = Frames(frames.starts[where], frames.stops[where], frames.next_start, malformed)
        read = self.reference.decode(data, some)
        faults = {fault.record: fault for fault in decoded.faults}
        faults |= {undecided[fault.record]: fault._replace(record=undecided[fault.record]) for fault in read.faults}
        order = np.arange(decoded.rows)
        order[where] = decoded.rows + np.arange(len(where))
        spliced = [_splice(one, other, order) for one, other in zip(decoded.columns, read.columns, strict=True)]
        rescued = decoded.rescued
        if rescued is not None and read.rescued is not None:
            rescued = _splice(rescued, read.rescued, order)
        return replace(decoded, columns=spliced, faults=[faults[i] for i in sorted(faults)], rescued=rescued)


def _splice(column: pa.Array, others: pa.Array, order: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    return pc.take(pa.concat_arrays([column, others.cast(column.type)]), pa.array(order))
