"""Types of SQLite: declarations are wishes, so values are looked at where these say nothing."""

from __future__ import annotations

import pyarrow as pa

from splitscan.tables.columns import TableColumn
from splitscan.tables.keys import KeyKind
from splitscan.tables.relation import quote_name

_SEEDS = {pa.int64(): "0", pa.float64(): "0.0", pa.string(): "''", pa.binary(): "x''"}
_KEYS = {pa.int64(): KeyKind.INTEGER, pa.string(): KeyKind.TEXT, pa.binary(): KeyKind.BYTES}
_NUMBERS = frozenset({"integer", "real"})


def column_of(name: str, declared: str, seen: frozenset[str], *, required: bool, text_keys: bool) -> TableColumn:
    """How a column is read.

    Args:
        name: Its name.
        declared: Its declared type; empty if there is none.
        seen: Types of its values in the first rows.
        required: Whether it is NOT NULL.
        text_keys: Whether text is stored as UTF-8, and so compares as its bytes do.
    """
    quoted = quote_name(name)
    as_text = f"CAST({quoted} AS TEXT) AS {quoted}"
    kind, is_mixed = _kind(declared.upper(), seen)
    key_kind = None if is_mixed else _KEYS.get(kind)
    if key_kind is KeyKind.TEXT and not text_keys:
        key_kind = None
    return TableColumn(
        name=name,
        type=kind,
        expression=as_text if is_mixed else quoted,
        text=as_text,
        key_kind=key_kind,
        key=f"{quoted} COLLATE BINARY" if key_kind is KeyKind.TEXT else quoted,
        nullable=not required,
        declared=declared or f"values of {', '.join(sorted(seen)) or 'no type'}",
    )


def seed_of(kind: pa.DataType) -> str:
    """A value of a type, as SQL."""
    return _SEEDS[kind]


def _kind(declared: str, seen: frozenset[str]) -> tuple[pa.DataType, bool]:
    """The type of a column, and whether its values have to be turned into text for it.

    The rules are those by which SQLite finds the affinity of a column; in the order of its documentation.
    """
    if "INT" in declared:
        return pa.int64(), False
    if any(word in declared for word in ("CHAR", "CLOB", "TEXT")):
        return pa.string(), False
    if "BLOB" in declared:
        return pa.binary(), False
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return pa.float64(), False
    return _kind_of_values(seen, is_numeric=bool(declared) and not any(word in declared for word in ("DATE", "TIME")))


def _kind_of_values(seen: frozenset[str], *, is_numeric: bool) -> tuple[pa.DataType, bool]:
    if seen and seen <= _NUMBERS:
        return (pa.float64() if is_numeric or "real" in seen else pa.int64()), False
    if seen == {"text"}:
        return pa.string(), False
    if seen == {"blob"}:
        return pa.binary(), False
    return (pa.float64(), False) if is_numeric and not seen else (pa.string(), True)
