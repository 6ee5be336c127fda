r"""Patterns in the syntax that both engines give one meaning: Rust's ``regex`` and RE2, linear in the text.

``\d``, ``\w`` and ``\s`` are ASCII. What is not regular (look-around, back references) or differs between the engines
is refused with its reason.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.options.table import OptionKind, ValueRefusedError

_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\v\f\r "}
_CONTROLS = frozenset("tnrfva")
_NOT_REGULAR = "leave it out: patterns are matched in linear time, so nothing may look around or back"
_REPEAT = re.compile(r"\{([0-9]{1,9})(?:(,)([0-9]{0,9}))?\}")
_GROUP = re.compile(r"\(\?P?<([^>]*)>")
_FLAGS = re.compile(r"\(\?([is]*(?:-[is]+)?)([:)])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CODE_POINT = re.compile(r"x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]{1,6}\})")
_PROPERTY = re.compile(r"[pP](?:[A-Z]|\{[A-Z][a-z]?\})")
_POSIX = re.compile(r"\[:\^?[a-z]+:\]")
_MOST_REPEATS = 1000
_MOST_NESTED = 200  # both engines take more


class _Reading:
    """Reads a pattern, and writes it as both engines read it."""

    def __init__(self, pattern: str) -> None:
        self.names: list[str] = []
        self._left = pattern
        self._open_groups = 0

    def written(self) -> str:
        """The pattern; unnamed groups capture nothing.

        Raises:
            ValueRefusedError: If something in it is refused.
        """
        parts = []
        while self._left:
            parts.append(self._next())
        return "".join(parts)

    def _next(self) -> str:
        first = self._left[0]
        if first == "\\":
            return self._escape(in_class=False)
        if first == "[":
            return self._class()
        self._open_groups += (first == "(") - (first == ")")
        if self._open_groups > _MOST_NESTED:
            raise ValueRefusedError(f"put at most {_MOST_NESTED} brackets into each other")
        if first == "(":
            return self._group()
        if first in "*+?{":
            return self._repeat()
        self._left = self._left[1:]
        return r"\}" if first == "}" else first

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._left)
        if found is not None:
            self._left = self._left[found.end() :]
        return found

    def _escape(self, *, in_class: bool) -> str:
        self._left = self._left[1:]
        if (found := self._take(_CODE_POINT) or self._take(_PROPERTY)) is not None:
            return "\\" + found[0]
        letter, self._left = self._left[:1], self._left[1:]
        if letter in _CLASSES and letter:
            return _CLASSES[letter] if in_class else f"[{_CLASSES[letter]}]"
        if letter.lower() in _CLASSES and letter and not in_class:
            return f"[^{_CLASSES[letter.lower()]}]"
        if letter in _CONTROLS and letter:
            return "\\" + letter
        if letter.isascii() and not letter.isalnum() and letter.isprintable() and letter:
            return "\\" + letter if letter not in ' "' else letter
        if letter.isdigit():
            raise ValueRefusedError(f"\\{letter} refers back: {_NOT_REGULAR}")
        raise ValueRefusedError(f"\\{letter} has no meaning here: write the characters that are meant")

    def _class(self) -> str:
        self._left = self._left[1:]
        parts = ["["]
        if self._left[:1] == "^":
            parts.append("^")
            self._left = self._left[1:]
        is_first = True
        while self._left[:1] != "]" or is_first:
            if not self._left:
                raise ValueRefusedError("close the bracket of the class")
            parts.append(self._member())
            is_first = False
        self._left = self._left[1:]
        return "".join((*parts, "]"))

    def _member(self) -> str:
        if (found := self._take(_POSIX)) is not None:
            return found[0]
        first = self._left[0]
        if first == "\\":
            return self._escape(in_class=True)
        if self._left.startswith("--"):
            raise ValueRefusedError(r"write a hyphen in a class as \-")
        self._left = self._left[1:]
        return "\\" + first if first in "[]&~" else first

    def _group(self) -> str:
        if (named := self._take(_GROUP)) is not None:
            if _NAME.fullmatch(named[1]) is None:
                raise ValueRefusedError(f"name group {named[1]!r} with letters, digits and _ of ASCII")
            if named[1].lower() in map(str.lower, self.names):
                raise ValueRefusedError(f"give the name {named[1]!r} to one group only")
            self.names.append(named[1])
            return f"(?P<{named[1]}>"
        if (flags := self._take(_FLAGS)) is not None:
            return flags[0]
        if self._left.startswith("(?"):
            look = self._left.startswith(("(?=", "(?!", "(?<", "(?>"))
            raise ValueRefusedError(
                f"{self._left[:3]} is no group here: {_NOT_REGULAR}"
                if look
                else f"{self._left[:3]} is no group here: write (...), (?P<name>...), (?i) or (?s)"
            )
        self._left = self._left[1:]
        return "(?:"

    def _repeat(self) -> str:
        counted = self._take(_REPEAT)
        if counted is not None:
            if any(int(number) > _MOST_REPEATS for number in (counted[1], counted[3] or "0")):
                raise ValueRefusedError(f"repeat at most {_MOST_REPEATS} times")
            written = counted[0]
        else:
            written, self._left = self._left[0], self._left[1:]
            if written == "{":
                return r"\{"
        if self._left[:1] == "?":
            written, self._left = written + "?", self._left[1:]
        if (self._left[:1] and self._left[0] in "*+?") or _REPEAT.match(self._left):
            raise ValueRefusedError("put (?:...) around what is repeated twice")
        return written


@functools.cache
def parse_pattern(pattern: str) -> tuple[str, tuple[str, ...]]:
    r"""A pattern as both engines read it, and the names of its groups in order.

    Raises:
        ValueRefusedError: If something in it is refused.

    Example:
        >>> parse_pattern(r"(\d+) (?<name>\S*)")
        ('(?:[0-9]+) (?P<name>[^\\t\\n\\v\\f\\r ]*)', ('name',))
    """
    reading = _Reading(pattern)
    return reading.written(), tuple(reading.names)


def begins(pattern: str, texts: Iterable[str]) -> list[bool]:
    """Flags of the texts that begin with what a pattern matches, by RE2, which PyArrow has: in time linear in the text.

    Raises:
        ValueError: If the pattern has no meaning; it says why.

    Example:
        >>> begins("[0-9]", ["1a", "a1"])
        [True, False]
    """
    try:
        found = pc.match_substring_regex(pa.array(texts, pa.string()), rf"\A(?:{pattern})")
    except pa.ArrowInvalid as error:
        raise ValueError(str(error).partition(": ")[2] or str(error)) from None
    flags: list[bool] = found.to_pylist()
    return flags


def _pattern_of_lines(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueRefusedError
    parse_pattern(value)
    return value


def _pattern_of_record(value: object) -> str:
    pattern = _pattern_of_lines(value)
    if not parse_pattern(pattern)[1]:
        raise ValueRefusedError("name at least one group: (?P<name>...) is a column")
    return pattern


RECORD_PATTERN = OptionKind(
    "regex", r"a pattern with named groups, such as (?P<level>\S+) (?P<text>.*)", _pattern_of_record
)
LINE_PATTERN = OptionKind("regex", r"a pattern, such as \d{4}-\d{2}-\d{2}", _pattern_of_lines)
