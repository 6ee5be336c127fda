"""Specification of a scan of a table for its tasks, and the pieces that it is divided in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from splitscan.ranges import ByteKeyRange
from splitscan.tables.address import Address, Relation
from splitscan.tables.columns import ChosenColumn, TableColumn
from splitscan.tables.keys import KeyKind, to_integer

_SHOWN_CHARACTERS = 40


class KeyPiece(NamedTuple):
    """A part of a table.

    Attributes:
        keys: The rows whose keys lie in this range, ``b""`` at either end being unbounded.
        with_nulls: The rows without a key as well.
        only_nulls: Those rows alone, whatever the range.
    """

    keys: ByteKeyRange
    with_nulls: bool = False
    only_nulls: bool = False


EVERYTHING = KeyPiece(ByteKeyRange(b"", b""), with_nulls=True)
"""All rows, with and without keys."""

NULLS = KeyPiece(ByteKeyRange(b"", b""), only_nulls=True)
"""The rows without a key."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A scan of a table, resolved.

    Attributes:
        address: The database.
        relation: What is read of it.
        columns: What is delivered.
        key: The column by which it is divided; ``None`` if it is not.
        batch_rows: Most rows of a batch.
        batch_bytes: About how many bytes to ask for at a time.

    Pickling: with the password, so only inside Spark's own tasks; ``repr`` does not show it.
    """

    address: Address
    relation: Relation
    columns: tuple[ChosenColumn, ...]
    key: TableColumn | None
    batch_rows: int
    batch_bytes: int

    @property
    def schema(self) -> pa.Schema:
        """The columns of every batch."""
        return pa.schema([column.field for column in self.columns])

    @property
    def locking(self) -> str:
        """A statement that has no row: to plan it, a server locks all that any query of the scan reads."""
        selected = [column.expression for column in self.columns] + ([self.key.key] if self.key else [])
        return f"SELECT {', '.join(selected)} FROM {self.relation.sql} LIMIT 0"


def show_key(kind: KeyKind, key: bytes) -> str:
    r"""A key for people: a number, a text, or hexadecimal digits.

    Example:
        >>> show_key(KeyKind.TEXT, b"abc"), show_key(KeyKind.BYTES, b"\xff"), show_key(KeyKind.TEXT, b"")
        ("'abc'", "x'ff'", '...')
        >>> [len(show_key(KeyKind.TEXT, b"a" * length)) for length in (_SHOWN_CHARACTERS - 2, _SHOWN_CHARACTERS)]
        [40, 43]
    """
    if not key:
        return "..."
    if kind in (KeyKind.INTEGER, KeyKind.DATE, KeyKind.TIMESTAMP):
        return str(to_integer(key))
    text = repr(key.decode()) if kind is KeyKind.TEXT else f"x'{key.hex()}'"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
