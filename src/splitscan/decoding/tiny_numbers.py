"""Numbers with more decimals than a decimal type has: Arrow's parsers of decimals must never see one.

They divide by a power of ten from a table, and read behind its end for a value like ``1e-60``: that is another value,
or the end of the process.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from splitscan.framing.frames import Offsets
from splitscan.framing.words import contains

_CACHED_BYTES = 1 << 18  # looked at while it is in the processor's cache
_LONGEST_MANTISSA = 19  # characters; an exponent below 20 on top of them makes 38 decimals at most
_LONGEST_EXPONENT = 20  # digits that are followed to the end of a number
_E, _MINUS, _DOT, _ZERO, _TWO, _NINE, _LINE, _BACKSLASH = (ord(symbol) for symbol in "e-.029_\\")
_ESCAPED = re.compile(rb"\\u00(?:2[dDeE]|3[0-9]|[46]5)")  # what numbers are made of, in a string of JSON

_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]


def has_tiny_number(data: memoryview, *, is_json: bool = False) -> bool:
    """Whether a number may have more than 38 decimals by its exponent. Never overlooks one.

    Args:
        data: The text.
        is_json: Whether numbers end where words do, so that such digits in the middle of a word are none; but strings
            may be numbers, and have escapes in them.

    Example:
        >>> [has_tiny_number(memoryview(text)) for text in (b"1,1e-60", b"1.25e-07", b"pre-2020", b"a1e-60f")]
        [True, False, False, True]
        >>> has_tiny_number(memoryview(b"a1e-60f"), is_json=True)
        False
    """
    units = np.frombuffer(data, dtype=np.uint8)
    if is_json and contains(units, _BACKSLASH) and _ESCAPED.search(data):
        return True
    if not contains(units, _MINUS) or not (contains(units, _E) or contains(units, _E & ~0x20)):
        return False
    for start in range(0, len(units), _CACHED_BYTES):
        piece = units[start : start + _CACHED_BYTES + 1]
        hits = np.flatnonzero(piece[1:] == _MINUS)
        hits = hits[(piece[hits] | 0x20) == _E] + start
        hits = hits[_is_tiny(units, hits)]
        if is_json:
            hits = hits[_is_alone(units, hits)]
        if len(hits):
            return True
    return False


def _is_tiny(units: _Bytes, hits: Offsets) -> _Flags:
    """At which ``e`` a number has a long mantissa, or an exponent of 20 or more."""
    first, second, third = (_at(units, hits + step) for step in (2, 3, 4))
    is_small = _is_digit(first) & _is_digit(second) & ((first >= _TWO) | _is_digit(third))
    is_long = _is_digit(first)
    for step in range(1, _LONGEST_MANTISSA + 2):
        if not is_long.any():
            break
        is_long &= _is_mantissa(_at(units, hits - step))
    return _is_mantissa(_at(units, hits - 1)) & (is_small | is_long)


def _is_alone(units: _Bytes, hits: Offsets) -> _Flags:
    """At which ``e`` what stands around the digits is no part of the same word."""
    before, behind = hits - 1, hits + 2
    for _ in range(_LONGEST_EXPONENT):
        before = before - _is_mantissa(_at(units, before))
        behind = behind + _is_digit(_at(units, behind))
    before = before - (_at(units, before) == _MINUS)
    goes_on = _is_in_word(_at(units, before)) | _is_in_word(_at(units, behind)) | (_at(units, behind) == _MINUS)
    alone: _Flags = ~goes_on
    return alone


def _at(units: _Bytes, where: Offsets) -> _Bytes:
    """What stands there; 0 outside."""
    inside = (where >= 0) & (where < len(units))
    return np.where(inside, units[np.where(inside, where, 0)], 0).astype(np.uint8)


def _is_digit(units: _Bytes) -> _Flags:
    digits: _Flags = (units >= _ZERO) & (units <= _NINE)
    return digits


def _is_mantissa(units: _Bytes) -> _Flags:
    parts: _Flags = _is_digit(units) | (units == _DOT)
    return parts


def _is_in_word(units: _Bytes) -> _Flags:
    letters = units | 0x20
    parts: _Flags = (letters >= ord("a")) & (letters <= ord("z")) | (units == _LINE)
    return parts
