r"""Options of the record format ``log``, and the patterns that they take.

Patterns are in the syntax that both engines give one meaning: Rust's ``regex`` and RE2, linear in the text. ``\d``,
``\w`` and ``\s`` are ASCII. What is not regular (look-around, back references) or differs between the engines is
refused with its reason.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.errors import bad_option
from splitscan.formats.first_bytes import PRESETS, Preset
from splitscan.formats.framing.encodings import resolve_encoding
from splitscan.options.read import TypedOptions
from splitscan.options.table import ANY_TEXT, OptionKind, ValueRefusedError, option

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


# ---------------------------------------------------------------- options


def _preset_name(value: object) -> str:
    if isinstance(value, str) and value.lower() in _KINDS:
        return value.lower()
    raise ValueRefusedError


W3C = "w3c"
_KINDS = (*PRESETS, W3C)
_PRESET = OptionKind("name", f"one of {', '.join(_KINDS)}", _preset_name, choices=_KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions(TypedOptions):
    """How lines become records, and records columns."""

    log_format: str | None = option(_PRESET, "Kind of log: says how records begin and which columns they have.", None)
    record_start: str | None = option(
        LINE_PATTERN, "Pattern that begins a record; lines without it belong to the one before.", None
    )
    record_continues: str | None = option(
        LINE_PATTERN, "Pattern that begins the other lines of a record, instead.", None
    )
    record_pattern: str | None = option(RECORD_PATTERN, "Pattern of whole records; named groups are columns.", None)
    null_value: str = option(ANY_TEXT, "Text of a null, beside blank ones.", "-")

    @property
    def is_w3c(self) -> bool:
        """True if a line of the file names the columns."""
        return self.log_format == W3C

    @property
    def says_columns(self) -> bool:
        return not self.is_w3c

    @property
    def types_if_asked(self) -> bool:
        return self.record_pattern is not None  # a kind of log says the types of its columns

    @property
    def values_are_texts(self) -> bool:
        return self.types_if_asked

    @property
    def is_flat(self) -> bool:
        return self.is_w3c

    @property
    def preset(self) -> Preset | None:
        """The kind of log that was named, if it has patterns."""
        return None if self.log_format is None else PRESETS.get(self.log_format)

    @property
    def line_pattern(self) -> str | None:
        """Pattern that tells lines apart, as both engines read it."""
        said = self.record_continues or self.record_start or (self.preset.start if self.preset else None)
        return None if said is None else parse_pattern(said)[0]

    @property
    def whole_pattern(self) -> str | None:
        """Pattern of whole records, as both engines read it; ``None`` where a record is one text."""
        said = self.preset.pattern if self.preset else self.record_pattern
        return None if said is None else parse_pattern(said)[0]

    @property
    def groups(self) -> tuple[str, ...]:
        """The named groups of that."""
        said = self.preset.pattern if self.preset else self.record_pattern
        return () if said is None else parse_pattern(said)[1]

    def __post_init__(self) -> None:
        lines = [("recordStart", self.record_start), ("recordContinues", self.record_continues)]
        kind = ("logFormat", self.log_format)
        pairs = [lines, [kind, ("recordPattern", self.record_pattern)]]
        for rivals in [*pairs, *([kind, each] for each in lines if self.is_w3c)]:
            if any(value is None for _, value in rivals):
                continue
            rule = f"options contradict each other: {rivals[0][0]} and {rivals[1][0]} say the same"
            seen = ", ".join(f"{name}={value!r}" for name, value in rivals)
            raise bad_option(rule, seen, "leave out one of them")
        if resolve_encoding(self.encoding).unit_bytes > 1:
            rule = "records of logs are found in encodings that write ASCII in single bytes"
            raise bad_option(rule, self.encoding, "convert the file to UTF-8")
