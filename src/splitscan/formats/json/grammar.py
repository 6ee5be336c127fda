"""What divides one JSON value from the next: the grammar that all JSON framers of this package share.

Only strings and brackets matter. At depth 0 lies what separates values: white space, commas, in an array its closing
bracket. A value in brackets is one record. Anything else at depth 0 is *loose*: a scalar or garbage; up to the next
separator that is no blank, or the next opening bracket, it is one record too, which a decoder will refuse.

So that one broken value does not swallow the ones after it:

* a string ends at a line feed, which no JSON string may hold;
* ``{`` inside a value is a new record, unless ``[``, ``,`` or ``:`` stands before it: nowhere else may it be in JSON.
  The broken record ends with the last byte before it that is no white space.
"""

from __future__ import annotations

import enum

import numpy as np
import numpy.typing as npt

UNFINISHED_RECORD = "unfinished-record"

QUOTE, BACKSLASH, BRACE = (ord(symbol) for symbol in '"\\{')
OPENERS = frozenset(b"{[")
CLOSERS = frozenset(b"}]")
SPACE = frozenset(b" \t\r\n")
BLANKS = b" \t"
BEFORE_BRACE = frozenset(b"[,:")
"""What may stand before an opening brace inside a value."""

_SEPARATORS = frozenset(b" \t\r\n,\x1e")  # 0x1e begins a record in JSON text sequences (RFC 7464)


class Shape(enum.Enum):
    """What the head of a file says about the rest of it."""

    UNKNOWN = "not read yet"
    VALUES = "values one after the other, divided by nothing, white space or commas"
    ARRAY = "one array, whose elements are the records"


def separators(shape: Shape) -> frozenset[int]:
    """Bytes between records that belong to none."""
    return _SEPARATORS | frozenset(b"]") if shape is Shape.ARRAY else _SEPARATORS


def ends_loose(shape: Shape) -> frozenset[int]:
    """Bytes outside of strings that end a loose record."""
    return (separators(shape) - frozenset(BLANKS)) | OPENERS


def table(members: frozenset[int]) -> npt.NDArray[np.bool_]:
    """Membership of every byte, as an array to index with bytes."""
    found = np.zeros(256, dtype=bool)
    found[sorted(members)] = True
    return found


def state_of(depth: int, *, in_string: bool) -> int:
    """The number by which summaries know a state; 0 is "between records"."""
    return 2 * depth + int(in_string)


LOOSE_STATE = -1
"""The state inside a loose record, for which no summary has an answer."""
