"""Lines or values: how the beginning of a file of JSON says that its records are written."""

from __future__ import annotations

import re
from typing import NamedTuple

SHOWN_CHARACTERS = 40
MARK_OR_BLANK = "\ufeff\u00ef\u00bb\u00bf \t\r\n"  # the mark of UTF-8, decoded or byte by byte
SEQUENCE = "\x1e"  # begins a value of a text sequence (RFC 7464)
_BRACKETS_ALONE = frozenset({"{", "}", "},", "[", "]", "],"})
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[\[\]{}\n]')


class _Value(NamedTuple):
    """The first value of a text that begins with a bracket.

    Attributes:
        stop: After its closing bracket; ``None`` where the text ends before.
        line_feeds: How many lie outside of its strings.
    """

    stop: int | None
    line_feeds: int


def first_values(text: str) -> str | None:
    r"""First values of a text, if its records are values wherever their lines end; ``None`` for lines.

    The first characters that are not blank decide. An array is one, unless its line holds it whole and other lines
    follow. An object is one if it goes on in the next line, or others follow in its own; a first line that is only
    broken does not count against lines that are whole.

    Args:
        text: The beginning of a file.

    Example:
        >>> first_values('[{"id": 1}, {"id'), first_values('{"id": 1}\n{"id": 2}\n')
        ('[{"id": 1}, {"id', None)
        >>> first_values('{\n  "id": 1\n}\n'), first_values('{"id": 1}{"id": 2}\n')
        ('{', '{"id": 1}{"id": 2}')
    """
    text = text.lstrip(MARK_OR_BLANK)
    line, _, others = text.partition("\n")
    shown = line.strip()[:SHOWN_CHARACTERS]
    if text[:1] == SEQUENCE:
        return shown
    if text[:1] not in {"[", "{"}:
        return None
    value = _first_value(text)
    if value.stop is None:
        unclosed = text[0] == "[" or (value.line_feeds > 0 and not _are_lines(others))
        return shown if unclosed else None
    after, _, below = text[value.stop :].partition("\n")
    if value.line_feeds or after.strip()[:1] in {"{", "[", ",", SEQUENCE}:
        return shown
    return shown if text[0] == "[" and not below.strip() else None


def _first_value(text: str) -> _Value:
    depth = line_feeds = 0
    for found in _TOKEN.finditer(text):
        symbol = found.group()
        if symbol == "\n":
            line_feeds += 1
        elif symbol in {"[", "{"}:
            depth += 1
        elif symbol in {"]", "}"}:
            depth -= 1
            if depth == 0:
                return _Value(found.end(), line_feeds)
    return _Value(None, line_feeds)


def _are_lines(text: str) -> bool:
    """True if most whole lines of a text are objects of their own."""
    lines = [line.strip() for line in text.split("\n")[:-1] if line.strip()]
    whole = sum(line.startswith("{") and _first_value(line).stop == len(line) for line in lines)
    return bool(lines) and whole * 2 > len(lines)


def later_values(text: str) -> str | None:
    """A line of a later part of a text that no line of records is: a bracket alone; ``None`` where there is none.

    Args:
        text: From anywhere on: what stands before the first line feed may be the rest of a line.
    """
    lines = [line.strip() for line in text.split("\n")[1:-1]]
    alone = next((line for line in lines if line in _BRACKETS_ALONE), None)
    return None if alone is None or _are_lines(text.partition("\n")[2]) else alone
