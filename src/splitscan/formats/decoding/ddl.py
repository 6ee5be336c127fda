"""Schemas as text: Spark's DDL, its words, and its types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from splitscan.errors import SchemaError, UsageError
from splitscan.formats.decoding.contract import MOST_LEVELS, VARIANT, too_deep


class Token(NamedTuple):
    """A piece of a text.

    Attributes:
        kind: The group of the pattern that matched it; ``"end"`` after the last one.
        offset: Where it begins, in characters.
    """

    kind: str
    text: str
    offset: int


class Tokens:
    r"""The tokens of a text, and which of them is next.

    Args:
        text: What is read; white space at its end does not matter.
        pattern: Matches one token, and what may stand before it, in one of its named groups.
        end: Offset of the token ``end``.
        refuse: Makes the error for an offset at which no token begins.

    Raises:
        Exception: What *refuse* makes.

    Example:
        >>> tokens = Tokens("a , b", re.compile(r"\s*(?:(?P<name>[a-z])|(?P<mark>,))"), 5, ValueError)
        >>> tokens.take().text, tokens.take_if("mark", ","), tokens.take().text, tokens.next.kind
        ('a', True, 'b', 'end')
    """

    def __init__(self, text: str, pattern: re.Pattern[str], end: int, refuse: Callable[[int], Exception]) -> None:
        self._tokens: list[Token] = []
        self._position = 0
        offset, stop = 0, len(text.rstrip())
        while offset < stop:
            match = pattern.match(text, offset)
            if match is None or match.lastgroup is None:
                raise refuse(offset)
            self._tokens.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            offset = match.end()
        self._tokens.append(Token("end", "", end))

    @property
    def next(self) -> Token:
        """The next token; at the end, the token ``end``."""
        return self._tokens[self._position]

    @property
    def second(self) -> Token:
        """The token after the next one."""
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        """The next token, which is passed by."""
        token = self.next
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def take_if(self, kind: str, text: str) -> bool:
        """Pass by the next token if it is of that kind and, without regard to case, has that text."""
        if self.next.kind == kind and self.next.text.lower() == text:
            self.take()
            return True
        return False


_SIMPLE = {
    "string": pa.string(), "binary": pa.binary(), "boolean": pa.bool_(),
    "byte": pa.int8(), "tinyint": pa.int8(), "short": pa.int16(), "smallint": pa.int16(),
    "int": pa.int32(), "integer": pa.int32(), "long": pa.int64(), "bigint": pa.int64(),
    "float": pa.float32(), "real": pa.float32(), "double": pa.float64(),
    "decimal": pa.decimal128(10, 0), "dec": pa.decimal128(10, 0), "numeric": pa.decimal128(10, 0),
    "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ltz": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"), "timestamp_ntz": pa.timestamp("us"), "variant": VARIANT,
}  # fmt: skip
_MOST_PLACES = 6  # of a second: times are microseconds, in Arrow and in Parquet files of Spark
_UNREADABLE = {
    "interval": "declare it as string, and cast the column to INTERVAL in Spark",
    "void": "declare it as string, or leave the column out",
}
"""Types of Spark that no value is read as, each with what to do instead."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<name>[^\W\d]\w*|`(?:[^`]|``)*`) | (?P<number>\d+) | (?P<mark>[<>(),:.])
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    )""",
    re.VERBOSE,
)


def _is(token: Token, kind: str) -> bool:
    """True if this is a token of a kind, or that mark."""
    return token.kind == kind or (token.kind == "mark" and token.text == kind)


def parse_ddl(text: str) -> pa.Schema:
    """Parse a schema in Spark's DDL.

    Args:
        text: For example ``"id long, name string NOT NULL, at timestamp"``. Nested ``struct<a: int>``, ``array<int>``
            and ``map<string, int>`` are understood, and ``COMMENT`` is read over.

    Returns:
        The schema in the Arrow types that Spark uses (``timestamp`` is microseconds in UTC).

    Raises:
        UsageError: If it is not a schema; the message says where.
        SchemaError: ``[unsupported-type]`` for a type of Spark that no value is read as.

    Example:
        >>> parse_ddl("id long NOT NULL, tags array<string>").names
        ['id', 'tags']
    """
    parser = _DdlParser(text)
    fields = parser.fields(":", last="end")
    times = Counter(field.name.lower() for field in fields)
    repeated = {field.name for field in fields if times[field.name.lower()] > 1}
    if repeated:
        raise parser.refuse(f"column {sorted(repeated)[0]!r} is named twice")
    return pa.schema(fields)


def as_schema(schema: str | pa.Schema | None) -> pa.Schema | None:
    """A schema that a user wrote as DDL, or gave as it is, or did not give.

    Raises:
        UsageError: If a text is not a schema.
    """
    return parse_ddl(schema) if isinstance(schema, str) else schema


_SHOWN_CHARACTERS = 60  # of a schema that is nested too deep


class Hint(NamedTuple):
    """The type of a column, or of a part of one.

    Attributes:
        path: The column; then members of structs, and ``element`` for what is in an array.
        field: Its last name, its type, and whether it may be null.
    """

    path: tuple[str, ...]
    field: pa.Field


def parse_hints(text: str) -> list[Hint]:
    """Parse types of some columns: DDL whose names may lead into structs.

    Raises:
        UsageError: If it is not written so; the message says where.

    Example:
        >>> [(hint.path, str(hint.field.type)) for hint in parse_hints("id long, m.x double, `a.b` date")]
        [(('id',), 'int64'), (('m', 'x'), 'double'), (('a.b',), 'date32[day]')]
    """
    parser = _DdlParser(text)
    hints = [Hint(tuple(names), field) for names, field in parser.hints()]
    repeated = [hint.path for index, hint in enumerate(hints) if hint.path in [other.path for other in hints[:index]]]
    if repeated:
        raise parser.refuse(f"column {'.'.join(repeated[0])!r} is named twice")
    return hints


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


class _DdlParser:
    """Recursive descent over the tokens of one schema."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = Tokens(text, _TOKEN, len(text), self._without_meaning)
        self._levels = 0

    def _without_meaning(self, offset: int) -> UsageError:
        return self.refuse(f"{self._text[offset:].strip()[:20]!r} at character {offset} has no meaning")

    def refuse(self, seen: str) -> UsageError:
        return UsageError(
            "a schema must be written as columns with types",
            seen=f"{seen} in {self._text!r}",
            fix="for example: id long, name string, price decimal(10,2), at timestamp",
            code="bad-schema",
        )

    def fields(self, separator: str, last: str) -> list[pa.Field]:
        found = [self._field(separator)]
        while self._tokens.next.text == ",":
            self._tokens.take()
            found.append(self._field(separator))
        token = self._tokens.take()
        if not _is(token, last):
            raise self.refuse(f"{token.text or 'the end'!r} at character {token.offset}")
        return found

    def hints(self) -> list[tuple[list[str], pa.Field]]:
        found = []
        while True:
            names = [_unquoted(self._expect("name").text)]
            while _is(self._tokens.next, "."):
                self._tokens.take()
                names.append(_unquoted(self._expect("name").text))
            found.append((names, self._rest_of_field(names[-1], ":")))
            token = self._tokens.take()
            if _is(token, "end"):
                return found
            if not _is(token, ","):
                raise self.refuse(f"{token.text!r} at character {token.offset}")

    def _field(self, separator: str) -> pa.Field:
        return self._rest_of_field(_unquoted(self._expect("name").text), separator)

    def _rest_of_field(self, name: str, separator: str) -> pa.Field:
        if self._tokens.next.text == separator:
            self._tokens.take()
        kind = self._type()
        nullable = True
        if self._word("not"):
            if not self._word("null"):
                raise self.refuse(f"NOT without NULL after column {name!r}")
            nullable = False
        if self._word("comment"):
            self._expect("text")
        return pa.field(name, kind, nullable)

    def _type(self) -> pa.DataType:
        token = self._expect("name")
        word = token.text.lower()
        if word in {"decimal", "dec", "numeric"} and self._tokens.next.text == "(":
            return self._decimal()
        if word in {"struct", "array", "map"} and self._tokens.next.text == "<":
            self._tokens.take()
            return self._nested(word)
        if word in {"char", "varchar"} and self._tokens.next.text == "(":
            for mark in ("(", "number", ")"):
                self._expect(mark)
            return pa.string()
        if word == "time" and self._tokens.next.text == "(":
            self._check_time(token)
        if word in _UNREADABLE:
            raise SchemaError(
                "records cannot be read as a type of Spark", seen=f"{token.text!r} in {self._text!r}",
                fix=_UNREADABLE[word], code="unsupported-type",
            )  # fmt: skip
        if word not in _SIMPLE:
            raise self.refuse(f"{token.text!r} is no type")
        return _SIMPLE[word]

    def _check_time(self, word: Token) -> None:
        """Read over the precision of times: their digits are kept whatever it is, as Spark's readers do."""
        self._expect("(")
        precision = self._number()
        self._expect(")")
        if precision > _MOST_PLACES:
            raise SchemaError(
                "times of day have at most six digits after the second",
                seen=f"{word.text}({precision}) in {self._text!r}",
                fix=f"declare it as time({_MOST_PLACES}), or as string to keep every digit", code="unsupported-type",
            )  # fmt: skip

    def _decimal(self) -> pa.DataType:
        self._tokens.take()
        precision, scale = self._number(), 0
        if self._tokens.next.text == ",":
            self._tokens.take()
            scale = self._number()
        self._expect(")")
        if not 1 <= precision <= 38 or scale > precision:
            raise self.refuse(f"decimal({precision},{scale}) has more than 38 digits, or more decimals than digits")
        return pa.decimal128(precision, scale)

    def _number(self) -> int:
        return int(self._expect("number").text[:9])

    def _nested(self, word: str) -> pa.DataType:
        if self._levels >= MOST_LEVELS:
            raise too_deep(f"more of them in {self._text[:_SHOWN_CHARACTERS]!r}")
        self._levels += 1
        kind = self._inside(word)
        self._levels -= 1
        return kind

    def _inside(self, word: str) -> pa.DataType:
        if word == "struct":
            return pa.struct(self.fields(":", last=">"))
        first = self._type()
        if word == "array":
            self._expect(">")
            return pa.list_(first)
        self._expect(",")
        second = self._type()
        self._expect(">")
        return pa.map_(first, second)

    def _word(self, word: str) -> bool:
        return self._tokens.take_if("name", word)

    def _expect(self, kind: str) -> Token:
        token = self._tokens.take()
        if not _is(token, kind):
            raise self.refuse(f"{token.text or 'the end'!r} at character {token.offset} where a {kind} belongs")
        return token
