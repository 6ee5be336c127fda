"""Kinds of single values: numbers, dates, words, or heaps of characters."""

from __future__ import annotations

import enum
import re
from collections.abc import Collection
from functools import lru_cache

Record = list[tuple[bytes, bool]]
"""The fields of a record: value, and whether it was quoted."""

BLANKS = b" \t"

MOST_WORDS = 4
"""Of a name, or a value: with more it is a sentence."""

_TYPED_SHARE = 0.9
_TYPED, _WORD, _EMPTY, _OTHER = 1.0, 0.75, 0.6, 0.35

_MONTH = rb"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = rb"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_NUMBER = (
    rb"[+-]?(?:[$\xc2\xa3\xe2\x82\xac]{0,3} ?)?"
    rb"(?:(?:\d+|\d{1,3}(?:[,.' ]\d{3}){1,4})(?:[.,]\d+|\.)?|[.,]\d+)(?:[eE][+-]?\d+)? ?%?"
    rb"|[+-]?(?:\d+\.\d*|\.\d+)[dD][+-]?\d+"  # of Fortran
)
_DATE = (
    rb"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[-/ ][A-Za-z]{3}[-/ ]\d{2,4}|"
    + _DAY + rb"(?:" + _MONTH + rb" \d{1,2}|\d{1,2} " + _MONTH + rb"),? \d{4}"
)  # fmt: skip
_TIME = rb"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?:Z| ?[+-]\d{2}:?\d{2})?"
_SPECIAL = (
    rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[\w.+-]+@[\w-]+\.[\w.-]+|https?://\S+"
    rb"|\d{1,3}(?:\.\d{1,3}){3}"
)


class ValueKind(enum.Enum):
    """Kind of a value."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    TRUTH = "truth"
    NOTHING = "nothing"
    SPECIAL = "special"
    """An address, or an identifier that machines make."""

    __hash__ = object.__hash__  # in C: kinds are counted value by value


_WRITTEN = {
    ValueKind.NUMBER: _NUMBER,
    ValueKind.DATE: rb"(?:" + _DATE + rb")(?:,?[T ]+" + _TIME + rb")?",
    ValueKind.TIME: _TIME,
    ValueKind.TRUTH: rb"(?i:true|false|yes|no)",
    ValueKind.NOTHING: rb"(?i:[+-]?nan|[+-]?inf(?:inity)?|null|none|n/a|na)|\\N|:(?: ?[a-z]{1,3})?",
    ValueKind.SPECIAL: _SPECIAL,
}
_KINDS = re.compile(
    rb"\s*(?:"
    + b"|".join(rb"(?P<" + kind.name.encode() + rb">" + how + rb")" for kind, how in _WRITTEN.items())
    + rb")\s*"
)
_PLACEHOLDER = re.compile(
    rb"\s*(?:(?:[-?.*_/~=]|\xe2\x80[\x93\x94])+|[<>]=?\s*\d+(?:[.,]\d+)?|"
    rb"(?i:<na>|<null>|<none>|\(null\)|#n/a|na|n/a|n\.a\.|nan|nil|null|none|[+-]?inf|missing|unknown|undefined|tbd))\s*"
)
_CLEAN = re.compile(rb"[\w\x80-\xff][\w\x80-\xff .\-/'()&+:#]*")


@lru_cache(maxsize=4096)
def kind_of(value: bytes) -> ValueKind | None:
    """Kind of a value; ``None`` for text."""
    found = _KINDS.fullmatch(value)
    return None if found is None else ValueKind[str(found.lastgroup)]


def is_typed(value: bytes) -> bool:
    """True if a value is a number, a date, a time, or another one that few headers have."""
    return kind_of(value) is not None


def are_typed(values: Collection[bytes]) -> bool:
    """True if nearly all values are typed, as those of a column."""
    return sum(map(is_typed, values)) >= _TYPED_SHARE * len(values)


def is_placeholder(value: bytes) -> bool:
    """True if a value stands where another is missing, or beyond what was measured: it names nothing.

    Example:
        >>> is_placeholder(b"--"), is_placeholder(b"<NA>"), is_placeholder(b">100"), is_placeholder(b"#")
        (True, True, True, False)
    """
    return _PLACEHOLDER.fullmatch(value) is not None


def looks(value: bytes) -> float:
    """How much a value looks like a value: a number or date, a word, nothing, or a heap of characters."""
    if not value:
        return _EMPTY
    if is_typed(value):
        return _TYPED
    return _WORD if _CLEAN.fullmatch(value) else _OTHER
