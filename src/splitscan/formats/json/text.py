"""The text of one JSON value as a tree: strict as RFC 8259, with the leniencies that Spark's options name.

Numbers keep their text, and every value knows where it stands, so that a string column can show it as it was written.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

from splitscan.formats.decoding import variant
from splitscan.formats.decoding.variant import VariantParts
from splitscan.formats.json.options import JsonOptions
from splitscan.formats.json.paths import unescape

# ---------------------------------------------------------------- causes of texts that are no JSON: as in the kernel


NOT_ENDED, COLON, NAME, VALUE, OBJECT, ARRAY, FOLLOWS, TEXT = "ECNVOAFT"
"""Places where a text is wrong, each with a sentence below."""

SENTENCES = {
    NOT_ENDED: "the record ends too early",
    COLON: "no colon follows the name",
    NAME: "a name is expected",
    VALUE: "no value is here",
    OBJECT: "an object does not go on or end",
    ARRAY: "an array does not go on or end",
    FOLLOWS: "something follows the value",
    TEXT: "a string has a control character",
}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NO_NAME = "".join(map(chr, range(33))) + (
    "!\"#%&'(),./:;<=>?[\\]^`{|}~\x7f\x85\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000\ufffd"
)
"""Characters that no name without quotes has."""


class Cause(NamedTuple):
    """A row of the table; the first one that fits counts.

    Attributes:
        places: Where a text is wrong.
        first: Characters of which one stands there; empty for any.
        second: Characters of which one follows; empty for any.
        before: Characters of which one stands before, white space aside; a digit touches; empty for any.
        sentence: What people read.
        option: The option that accepts it, if it is not set; empty for none.
    """

    places: str
    first: str
    second: str
    before: str
    sentence: str
    option: str


CAUSES = (
    Cause("NVOAFC", "/#", "", "", "a comment begins here", ""),
    Cause("NVOAFC", "\ufeff", "", "", "a byte order mark is here", ""),
    Cause("NVOAFC", "\u00a0", "", "", "a no-break space is here", ""),
    Cause("NV", "\u201c\u201d\u2018\u2019", "", "", "a typographic quote is here", ""),
    Cause("N", "'", "", "", "a name is in single quotes", "allowSingleQuotes"),
    Cause("V", "'", "", "", "a string is in single quotes", "allowSingleQuotes"),
    Cause("NV", "]}", "", ",", "a comma stands before the closing bracket", ""),
    Cause("NV", ",", "", "", "nothing stands before the comma", ""),
    Cause("N", _LETTERS + "0123456789_$@*+-", "", "", "a name has no quotes", "allowUnquotedFieldNames"),
    Cause("N", _NO_NAME, "", "", SENTENCES[NAME], ""),
    Cause("N", "", "", "", "a name has no quotes", "allowUnquotedFieldNames"),
    Cause("V", "N", "a", "", "NaN is no number", "allowNonNumericNumbers"),
    Cause("V", "I", "n", "", "Infinity is no number", "allowNonNumericNumbers"),
    Cause("V", "+-", "NI", "", "a number is a word", "allowNonNumericNumbers"),
    Cause("V", "+", "", "", "a number begins with a plus sign", ""),
    Cause("V", ".", "", "", "a number begins with its point", ""),
    Cause("V", _LETTERS, "", "", "a word is here that is none of true, false and null", ""),
    Cause("OAF", "0123456789", "", "0", "a number begins with zeros", "allowNumericLeadingZeros"),
    Cause("OAF", "xX", "", "0", "a number is hexadecimal", ""),
    Cause("OAF", ".", "", "0123456789", "no digit follows the point of a number", ""),
    Cause("OAF", ";", "", "", "a semicolon stands in place of a comma", ""),
    Cause("OA", '"{[', "", "", "no comma stands here", ""),
    Cause("F", "{[", "", "", "another value follows the value", "multiLine"),
    Cause("F", ",", "", "", "a comma follows the value", "multiLine"),
    Cause("C", "=", "", "", "an equals sign stands in place of a colon", ""),
    Cause("T", "\\", "u", "", "four hexadecimal digits do not follow \\u", ""),
    Cause("T", "\\", "'", "", "a single quote is escaped", "allowSingleQuotes"),
    Cause("T", "\\", "", "", "a backslash escapes what needs none", "allowBackslashEscapingAnyCharacter"),
    Cause("T", "", "", "", SENTENCES[TEXT], "allowUnquotedControlChars"),
)


def sentence_of(place: str, text: str, at: int, options: frozenset[str]) -> str:
    """Say what is wrong with a text, and which option accepts it.

    Args:
        place: Where it is wrong.
        text: All of it.
        at: The offset where it is wrong.
        options: Those that are set: they are no cure.
    """
    first, second = text[at : at + 1], text[at + 1 : at + 2]
    if not first or (place == TEXT and first == "\\" and not second):
        said = "a string does not end" if place == TEXT else SENTENCES[NOT_ENDED]
        return f"{said} (character {at})"
    touching, before = text[:at][-1:], text[:at].rstrip(" \t\r\n")[-1:]
    for cause in CAUSES:
        fits = place in cause.places and (not cause.first or first in cause.first)
        if fits and cause.second:
            fits = second != "" and second in cause.second
        if fits and cause.before:
            fits = before != "" and before in cause.before and before in (",", touching)
        if fits and cause.option not in options:
            cure = f"; {cause.option}=true accepts it" if cause.option else ""
            return f"{cause.sentence} (character {at}){cure}"
    return f"{SENTENCES[place]} (character {at})"


# ---------------------------------------------------------------- values


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
            raise self._wrong(FOLLOWS)
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
            raise self._wrong(OBJECT if kind is JsonKind.OBJECT else ARRAY)
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
            raise self._wrong(NAME)
        self._skip()
        if not self._take(":"):
            raise self._wrong(COLON)
        self._skip()
        return name

    def _scalar(self) -> JsonValue:
        start = self._at
        text = self._quoted()
        if text is not None:
            return JsonValue(JsonKind.STRING, text, start, self._at)
        found = self._tokens.scalar.match(self._text, start)
        if found is None:
            raise self._wrong(VALUE)
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
            raise self._wrong(TEXT)
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
        return NotJsonError(sentence_of(place, self._text, self._at, self._dialect.options))


# ---------------------------------------------------------------- values as variants


def view_of_json(value: JsonValue) -> bytes | VariantParts[JsonValue]:
    """The bytes of a value, or the parts of an object or an array.

    Example:
        >>> from splitscan.formats.json.text import JsonDialect, parse_json
        >>> value = parse_json('{"b": 1.5}', JsonDialect())
        >>> parts = variant.encode_variant(value, view_of_json, variant.VariantRules())
        >>> parts["value"].hex(" "), parts["metadata"].hex(" ")
        ('02 01 00 00 06 20 01 0f 00 00 00', '01 01 00 01 62')
    """
    if value.kind is JsonKind.OBJECT:
        return VariantParts(True, value.value)
    if value.kind is JsonKind.ARRAY:
        return VariantParts(False, (("", item) for item in value.value))
    if value.kind is JsonKind.NUMBER:
        return variant.number(value.value)
    if value.kind is JsonKind.STRING:
        return variant.text(value.value)
    return {None: variant.NULL, True: variant.TRUE, False: variant.FALSE}[value.value]
