"""What a decoder is: framed bytes in, Arrow columns out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from splitscan.formats.decoding.type_names import type_name
from splitscan.formats.framing.frames import Frames
from splitscan.protocols import QuickProtocol

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
    faults: list[Fault] = field(default_factory=list)
    rescued: pa.Array | None = None

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
