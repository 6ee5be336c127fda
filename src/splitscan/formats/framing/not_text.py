r"""True if bytes are text at all: one rule for every format whose records are.

Compressed, encrypted and binary data are full of control characters of all kinds; text has a few, and always the same:
separators of columns and records (NUL, U+0001 to U+0003, U+001C to U+001F), the bell of a terminal, a form feed.
Characters that an encoding does not have are no proof alone: files are often read in another encoding than their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

from splitscan.formats.framing.encodings import Encoding, detect_bom, resolve_encoding

LOOKED_AT_BYTES = 4096
"""How much of the beginning of a file is looked at."""

_CONTROLS = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # without white space and escape; others are read of UTF-8
_SEPARATORS = frozenset("\0\1\2\3\x1c\x1d\x1e\x1f")
_NO_CHARACTER = "\ufffd"
_NO_CHARACTER_CATEGORIES = frozenset({"Cn", "Co", "Cs"})  # unassigned, for private use, half of a character
_MARKS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

_LEAST_CHARACTERS = 8  # of which anything can be said
_LEAST_KINDS = 3  # of control characters that separate nothing
_ODD_SHARE, _SEPARATING_SHARE, _INVALID_SHARE, _NUL_SHARE = 24, 4, 8, 4  # one in so many characters


def is_no_text(head: bytes, encoding: Encoding) -> bool:
    r"""True if the beginning of a file is certainly no text.

    Example:
        >>> import zlib
        >>> utf_8 = resolve_encoding("UTF-8")
        >>> is_no_text(zlib.compress(b"id,name\n1,Ann\n"), utf_8), is_no_text("id,naïve\n".encode("latin-1"), utf_8)
        (True, False)
    """
    head = head[:LOOKED_AT_BYTES]
    if head.isascii() and not _CONTROLS.search(head.decode("ascii")):
        return False
    mark = next((mark for mark in _MARKS if head.startswith(mark)), None)
    told, start = detect_bom(head, encoding if mark is None else resolve_encoding(_MARKS[mark]))
    text = told.text(head[start : len(head) - (len(head) - start) % told.unit_bytes])
    if len(text) < _LEAST_CHARACTERS:
        return False
    controls = Counter(_CONTROLS.findall(text))
    if told.unit_bytes > 1:
        strange = Counter(filter(_is_no_character, text))
        return strange[_NO_CHARACTER] * _INVALID_SHARE >= len(text) or _is_odd(text, controls + strange)
    return _is_odd(text, controls) or _is_binary(text, controls)


def _is_odd(text: str, found: Mapping[str, int]) -> bool:
    """True if there are too many characters of several kinds that separate nothing."""
    odd = {character: count for character, count in found.items() if character not in _SEPARATORS}
    return len(odd) >= _LEAST_KINDS and sum(odd.values()) * _ODD_SHARE >= len(text)


def _is_binary(text: str, controls: Mapping[str, int]) -> bool:
    """True if several kinds of control characters stand among zeros, or among bytes that are no characters."""
    if len(controls) < 2:
        return False
    invalid = text.count(_NO_CHARACTER)
    is_packed = invalid * _INVALID_SHARE >= len(text) <= (invalid + sum(controls.values())) * _SEPARATING_SHARE
    return is_packed or controls.get("\0", 0) * _NUL_SHARE >= len(text)


def _is_no_character(character: str) -> bool:
    return character == _NO_CHARACTER or unicodedata.category(character) in _NO_CHARACTER_CATEGORIES
