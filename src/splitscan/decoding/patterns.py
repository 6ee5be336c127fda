"""Date and time patterns in Spark's letters."""

from __future__ import annotations

import re

from splitscan.errors import UsageError

_LETTERS = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y",
    "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m",
    "dd": "%d", "d": "%d", "DDD": "%j",
    "HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "a": "%p",
    "mm": "%M", "m": "%M", "ss": "%S", "s": "%S",
    "S": "%f", "SS": "%f", "SSS": "%f", "SSSSSS": "%f",
    "EEE": "%a", "E": "%a", "EEEE": "%A",
    "XXX": "%z", "XX": "%z", "X": "%z", "xxx": "%z", "xx": "%z", "Z": "%z",
}  # fmt: skip
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z']+)")


def strptime_format(pattern: str) -> str:
    """Translate a pattern of Java's ``DateTimeFormatter`` into one of ``datetime.strptime``.

    Raises:
        UsageError: If it uses a letter that has no counterpart.

    Example:
        >>> strptime_format("dd/MM/yyyy'T'HH:mm")
        '%d/%m/%YT%H:%M'
    """
    parts = []
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        piece = None if match is None else _translate(match)
        if match is None or piece is None:
            raise UsageError(
                "a date or time pattern uses letters that are not supported",
                seen=f"{pattern!r} at {pattern[position:]!r}",
                fix=f"use {', '.join(_LETTERS)} and quoted text",
                code="bad-option",
            )
        parts.append(piece)
        position = match.end()
    return "".join(parts)


def _translate(match: re.Match[str]) -> str | None:
    quoted, letter, other = match.groups()
    if letter:
        return _LETTERS.get(match.group())
    if other:
        return str(other).replace("%", "%%")
    return (quoted.replace("''", "'") or "'").replace("%", "%%")
