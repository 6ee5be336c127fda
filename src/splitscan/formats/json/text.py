"""The text of one JSON value as a tree: strict as RFC 8259, with the leniencies that Spark's options name.

Numbers keep their text, and every value knows where it stands, so that a string column can show it as it was written.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

from splitscan.formats.json import causes
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.symbols import unescape

_SPACES = frozenset(" \t\r\n")
_WHITE = re.compile(r"[ \t\r\n]*+")
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NOT_A_NUMBER = r"-?(?:NaN|Inf(?:inity)?)|[+-]INF|\+Infinity"
_LITERALS = {"true": True, "false": False, "null": None}


class JsonKind(enum.Enum):
    """Kind of a value."""

    NULL = "null"
    BOOLEAN = "a boolean"
    NUMBER = "a number"
    STRING = "a string"
    ARRAY = "an array"
    OBJECT = "an object"


class JsonValue(NamedTuple):
    """A value and where it stands in its text.

    Attributes:
        kind: What it is.
        value: ``None``, a bool, the text of a number, a string, a list of values, or pairs of name and value.
        start: Where it begins.
        stop: After where it ends.
    """

    kind: JsonKind
    value: Any
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class JsonDialect:
    """Leniencies; names as in ``JsonOptions``."""

    allow_single_quotes: bool = True
    allow_unquoted_field_names: bool = False
    allow_numeric_leading_zeros: bool = False
    allow_non_numeric_numbers: bool = True
    allow_backslash_escaping_any_character: bool = False
    allow_unquoted_control_chars: bool = False

    @classmethod
    def of(cls, own: JsonOptions) -> JsonDialect:
        """The leniencies that options name."""
        return cls(**{each.name: getattr(own, each.name) for each in fields(cls)})

    @property
    def options(self) -> frozenset[str]:
        """Names of the options that are set."""
        return frozenset(
            re.sub("_(.)", lambda letter: letter[1].upper(), each.name)
            for each in fields(self)
            if getattr(self, each.name)
        )


class NotJsonError(Exception):
    """The text is no JSON value; the message says what is wrong and where."""


def parse_json(text: str, dialect: JsonDialect) -> JsonValue:
    """Parse the text of one value; white space around it is allowed.

    Nesting of any depth is read: nothing recurses.

    Raises:
        NotJsonError: If it is not one value of the dialect.

    Example:
        >>> parse_json('{"a": 1.50}', JsonDialect()).value[0][1].value
        '1.50'
    """
    return _JsonTextParser(text, dialect).document()


@dataclass(frozen=True, slots=True)
class _Tokens:
    double_quoted: re.Pattern[str]
    single_quoted: re.Pattern[str] | None
    name: re.Pattern[str] | None
    scalar: re.Pattern[str]


@lru_cache(maxsize=64)
def _tokens(dialect: JsonDialect) -> _Tokens:
    controls = "" if dialect.allow_unquoted_control_chars else r"\x00-\x1f"
    plain = r'["\\/bfnrt' + ("'" if dialect.allow_single_quotes else "") + "]"
    escaped = "(?s:.)" if dialect.allow_backslash_escaping_any_character else plain

    def quoted(quote: str) -> re.Pattern[str]:
        return re.compile(rf"{quote}((?:[^{quote}\\{controls}]++|\\u[0-9a-fA-F]{{4}}|\\(?!u){escaped})*+){quote}")

    number = _NUMBER.replace("(?:0|[1-9][0-9]*)", "[0-9]+") if dialect.allow_numeric_leading_zeros else _NUMBER
    odd = f"|(?P<odd>{_NOT_A_NUMBER})" if dialect.allow_non_numeric_numbers else ""
    return _Tokens(
        quoted('"'),
        quoted("'") if dialect.allow_single_quotes else None,
        re.compile(r"(?:[0-9A-Za-z_$@#*+\-]|[^\x00-\x7f\s\ufffd])++") if dialect.allow_unquoted_field_names else None,
        re.compile(rf"(?P<literal>true|false|null)(?![\w$]|[^\x00-\x7f])|(?P<number>{number}){odd}"),
    )


class _JsonTextParser:
    """Goes through the text once, with a stack of the containers that are open."""

    def __init__(self, text: str, dialect: JsonDialect) -> None:
        self._text = text
        self._dialect = dialect
        self._tokens = _tokens(dialect)
        self._double_quoted, self._single_quoted = self._tokens.double_quoted, self._tokens.single_quoted
        self._at = 0

    def document(self) -> JsonValue:
        self._skip()
        value = self._value()
        self._skip()
        if self._at < len(self._text):
            raise self._wrong(causes.FOLLOWS)
        return value

    def _value(self) -> JsonValue:
        """One value, however deep; ``open_`` holds start, kind, items and the name that waits for its value."""
        open_: list[tuple[int, JsonKind, list[Any]]] = []
        names: list[str] = []
        while True:
            found = self._begin(open_, names)
            while found is not None:
                if not open_:
                    return found
                start, kind, items = open_[-1]
                items.append((names.pop(), found) if kind is JsonKind.OBJECT else found)
                found = self._go_on(open_, names, start)

    def _begin(self, open_: list[tuple[int, JsonKind, list[Any]]], names: list[str]) -> JsonValue | None:
        """A scalar, an empty container, or ``None`` after the opening of a container."""
        start = self._at
        symbol = self._text[start : start + 1]
        if symbol not in ("{", "["):
            return self._scalar()
        self._at += 1
        self._skip()
        kind = JsonKind.OBJECT if symbol == "{" else JsonKind.ARRAY
        if self._take("}" if symbol == "{" else "]"):
            return JsonValue(kind, [], start, self._at)
        open_.append((start, kind, []))
        if kind is JsonKind.OBJECT:
            names.append(self._name())
        return None

    def _go_on(self, open_: list[tuple[int, JsonKind, list[Any]]], names: list[str], start: int) -> JsonValue | None:
        """After an item: the container if it ends here, ``None`` if another item follows."""
        kind, items = open_[-1][1:]
        self._skip()
        if self._take(","):
            self._skip()
            if kind is JsonKind.OBJECT:
                names.append(self._name())
            return None
        if not self._take("}" if kind is JsonKind.OBJECT else "]"):
            raise self._wrong(causes.OBJECT if kind is JsonKind.OBJECT else causes.ARRAY)
        open_.pop()
        return JsonValue(kind, items, start, self._at)

    def _name(self) -> str:
        name = self._quoted()
        if name is None and self._tokens.name is not None:
            found = self._tokens.name.match(self._text, self._at)
            if found is not None:
                self._at = found.end()
                name = found.group()
        if name is None:
            raise self._wrong(causes.NAME)
        self._skip()
        if not self._take(":"):
            raise self._wrong(causes.COLON)
        self._skip()
        return name

    def _scalar(self) -> JsonValue:
        start = self._at
        text = self._quoted()
        if text is not None:
            return JsonValue(JsonKind.STRING, text, start, self._at)
        found = self._tokens.scalar.match(self._text, start)
        if found is None:
            raise self._wrong(causes.VALUE)
        self._at = found.end()
        word = found.group()
        if found.group("literal"):
            kind = JsonKind.NULL if word == "null" else JsonKind.BOOLEAN
            return JsonValue(kind, _LITERALS[word], start, self._at)
        return JsonValue(JsonKind.NUMBER, word, start, self._at)

    def _quoted(self) -> str | None:
        symbol = self._text[self._at : self._at + 1]
        pattern = self._double_quoted if symbol == '"' else self._single_quoted if symbol == "'" else None
        if pattern is None:
            return None
        found = pattern.match(self._text, self._at)
        if found is None:
            inside = re.compile(pattern.pattern[:-1]).match(self._text, self._at)
            self._at = inside.end() if inside else self._at
            raise self._wrong(causes.TEXT)
        self._at = found.end()
        inner = found.group(1)
        return unescape(inner) if "\\" in inner else inner

    def _skip(self) -> None:
        if self._text[self._at : self._at + 1] in _SPACES:
            found = _WHITE.match(self._text, self._at)
            self._at = found.end() if found else self._at

    def _take(self, symbol: str) -> bool:
        if self._text[self._at : self._at + 1] != symbol:
            return False
        self._at += 1
        return True

    def _wrong(self, place: str) -> NotJsonError:
        return NotJsonError(causes.sentence_of(place, self._text, self._at, self._dialect.options))
