"""Conditions over columns of files, directories and blocks: they decide which of them are read at all.

Logic has three values, as in SQL: a comparison with null is unknown (``None``), and only what is true is read.
"""

from __future__ import annotations

import enum
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.errors import UsageError
from splitscan.formats.decoding.conversions import Rules, convert
from splitscan.scans.globs import compile_glob

Value: TypeAlias = Callable[[BlockMetadata], Any]

_MOMENT = pa.timestamp("us", "UTC")
_NUMBER = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)")
_READ_AS = {"date": pa.date32(), "timestamp": _MOMENT, "boolean": pa.bool_()}


class Typed(NamedTuple):
    """A column: its type, and the way from a block to its value."""

    kind: pa.DataType
    value: Value


@dataclass(frozen=True)
class Term:
    """One side of a comparison.

    Attributes:
        kind: ``text``, ``number``, ``date``, ``timestamp``, ``boolean``; ``null`` has no value.
        value: From a block to the value, which is ``None`` or of that kind.
        is_text_literal: Whether it is a text that somebody wrote: it may stand for values of other kinds.
    """

    shown: str
    kind: str
    value: Value
    is_text_literal: bool = False

    @classmethod
    def of_column(cls, name: str, column: Typed) -> Term:
        """A column."""
        kind = _kind_of(column.kind)
        if kind is None:
            raise _bad(f"{name} is {column.kind}", "choose a column of text, numbers, dates, times or truth values")
        get = column.value
        if kind == "timestamp":
            return cls(name, kind, lambda block: _placed(get(block)))
        return cls(name, kind, get)

    @classmethod
    def of_literal(cls, value: Any, kind: str = "") -> Term:
        """A value that somebody wrote."""
        if kind:
            return _read(cls(repr(value), "text", lambda _: value, is_text_literal=True), kind)
        kinds = {str: "text", Decimal: "number", bool: "boolean", type(None): "null"}
        shown = str(value) if isinstance(value, Decimal) else repr(value)
        return cls(shown, kinds[type(value)], lambda _: value, isinstance(value, str))


def comparable(left: Term, right: Term) -> tuple[Value, Value]:
    """The ways to two values that can be compared: a text is read as what it is compared with."""
    if left.is_text_literal and right.kind not in {"text", "null"}:
        left = _read(left, right.kind)
    if right.is_text_literal and left.kind not in {"text", "null"}:
        right = _read(right, left.kind)
    if "null" in {left.kind, right.kind} or left.kind == right.kind:
        if left.kind == "number":
            return _ranked(left.value), _ranked(right.value)
        return left.value, right.value
    if {left.kind, right.kind} == {"date", "timestamp"}:
        return _midnight(left.value), _midnight(right.value)
    raise _bad(
        f"{left.shown} is {_article(left.kind)}, {right.shown} is {_article(right.kind)}",
        "compare values of one kind; text is written in quotes",
    )


def refuse_kind(term: Term, kind: str, what: str) -> None:
    """Refuse a value of another kind."""
    if term.kind not in {kind, "null"}:
        raise _bad(f"{term.shown} is {_article(term.kind)}", f"use {what} with {_article(kind)}")


def matcher(pattern: str, *, any_case: bool) -> Callable[[str], bool]:
    r"""Make the test of SQL's LIKE: ``%`` is any text, ``_`` any character, ``\`` takes the next one as it is.

    Takes time in proportion to text times pattern at most, whatever they are.

    Example:
        >>> [matcher("a\\_%", any_case=False)(text) for text in ("a_", "a_b", "axb")]
        [True, True, False]
    """
    wanted = _like_steps(pattern.lower() if any_case else pattern)
    return lambda text: _is_like(text.lower() if any_case else text, wanted)


def _like_steps(pattern: str) -> list[str | None]:
    """Characters; ``None`` for any one, and empty text for any number of them."""
    steps: list[str | None] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            steps.append(next(characters, "\\"))
        else:
            steps.append({"%": "", "_": None}.get(character, character))
    return steps


def _is_like(text: str, steps: list[str | None]) -> bool:
    position = number = 0
    star, resume = -1, 0
    while position < len(text):
        step = steps[number] if number < len(steps) else -1
        if step == "":
            star, resume = number, position
            number += 1
        elif step is None or step == text[position]:
            position += 1
            number += 1
        elif star >= 0:
            resume += 1
            position, number = resume, star + 1
        else:
            return False
    return all(step == "" for step in steps[number:])


def _kind_of(kind: pa.DataType) -> str | None:
    are = pa.types
    if are.is_integer(kind) or are.is_floating(kind) or are.is_decimal(kind):
        return "number"
    tests = {"text": are.is_string, "date": are.is_date, "timestamp": are.is_timestamp, "boolean": are.is_boolean}
    return next((name for name, test in tests.items() if test(kind)), None)


def _read(term: Term, kind: str) -> Term:
    """A written text as the value of another kind that it stands for."""
    text = term.value(_NO_BLOCK)
    if kind == "number" and _NUMBER.fullmatch(text.strip()):
        number = Decimal(text.strip())
        return Term(term.shown, kind, lambda _: number)
    column, bad = convert(pa.array([text]), _READ_AS[kind], Rules()) if kind in _READ_AS else (None, True)
    if column is None or bad is not None:
        raise _bad(f"{term.shown} is no {kind}", f"write {_article(kind)}")
    value = column[0].as_py()
    return Term(term.shown, kind, lambda _: value)


def _placed(value: datetime | None) -> datetime | None:
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def _midnight(get: Value) -> Value:
    def moment(block: BlockMetadata) -> Any:
        value = get(block)
        is_date = isinstance(value, date) and not isinstance(value, datetime)
        return datetime.combine(value, time(), UTC) if is_date else value

    return moment


def _ranked(get: Value) -> Value:
    """Numbers in Spark's order: NaN equals itself and is larger than all others."""

    def rank(block: BlockMetadata) -> Any:
        value = get(block)
        return None if value is None else (1, 0) if math.isnan(value) else (0, value)

    return rank


def _article(kind: str) -> str:
    return {"text": "text", "null": "null"}.get(kind, f"a {kind}")


def _bad(seen: str, fix: str) -> UsageError:
    return UsageError("a condition compares values of one kind", seen=seen, fix=fix, code="bad-where")


_NO_BLOCK: Any = None  # written values need none


Truth: TypeAlias = bool | None
Test: TypeAlias = Callable[[BlockMetadata], Truth]
Scope: TypeAlias = Callable[[str], Typed]
"""From a column's name to its kind and the way to its value."""


class TextPattern(enum.Enum):
    """Pattern that a text may be matched with."""

    LIKE = "like"
    ILIKE = "ilike"
    GLOB = "glob"


@dataclass(frozen=True)
class ColumnOperand:
    """A column."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A value: text, ``Decimal``, truth value or ``None``; text with a *kind* is a date or a timestamp."""

    value: Any
    kind: str = ""


Operand: TypeAlias = ColumnOperand | Literal


class Condition(ABC):
    """A condition, not yet tied to columns. Pickling: plain values only."""

    @abstractmethod
    def operands(self) -> Iterator[Operand]:
        """Columns and values in it, from left to right."""

    @abstractmethod
    def bind(self, scope: Scope) -> Test:
        """The test of a block; ``[bad-where]`` if there is no such column, or kinds of values differ."""

    def columns(self) -> tuple[str, ...]:
        """Names of the columns in it, as written, each once."""
        return tuple(dict.fromkeys(o.name for o in self.operands() if isinstance(o, ColumnOperand)))

    def conjuncts(self) -> tuple[Condition, ...]:
        """Conditions that must all be true for this one to be."""
        return (self,)


@dataclass(frozen=True)
class _Several(Condition):
    """Conditions of which one decides, if it is found to be what decides."""

    parts: tuple[Condition, ...]
    decides: ClassVar[bool]

    def operands(self) -> Iterator[Operand]:
        for part in self.parts:
            yield from part.operands()

    def bind(self, scope: Scope) -> Test:
        tests = [part.bind(scope) for part in self.parts]

        def test(block: BlockMetadata) -> Truth:
            found = [each(block) for each in tests]
            return self.decides if self.decides in found else None if None in found else not self.decides

        return test


class And(_Several):
    """All are true."""

    decides = False

    def conjuncts(self) -> tuple[Condition, ...]:
        return tuple(each for part in self.parts for each in part.conjuncts())


class Or(_Several):
    """One is true."""

    decides = True


@dataclass(frozen=True)
class Not(Condition):
    """The opposite; of unknown, unknown."""

    part: Condition

    def operands(self) -> Iterator[Operand]:
        return self.part.operands()

    def bind(self, scope: Scope) -> Test:
        inner = self.part.bind(scope)

        def test(block: BlockMetadata) -> Truth:
            found = inner(block)
            return None if found is None else not found

        return test


@dataclass(frozen=True)
class IsNull(Condition):
    """A value is null; always known."""

    operand: Operand

    def operands(self) -> Iterator[Operand]:
        yield self.operand

    def bind(self, scope: Scope) -> Test:
        term = _term(self.operand, scope)
        return lambda block: term.value(block) is None


@dataclass(frozen=True)
class Comparison(Condition):
    """Two values in an order; ``<=>`` takes nulls for equal."""

    sign: str
    left: Operand
    right: Operand

    def operands(self) -> Iterator[Operand]:
        yield from (self.left, self.right)

    def bind(self, scope: Scope) -> Test:
        left, right = comparable(_term(self.left, scope), _term(self.right, scope))
        compare = _SIGNS[self.sign]
        is_null_safe = self.sign == "<=>"

        def test(block: BlockMetadata) -> Truth:
            one, other = left(block), right(block)
            if one is None or other is None:
                return one is other if is_null_safe else None
            return compare(one, other)

        return test


@dataclass(frozen=True)
class Matches(Condition):
    """A text matches a pattern."""

    pattern: TextPattern
    operand: Operand
    text: str

    def operands(self) -> Iterator[Operand]:
        yield self.operand

    def bind(self, scope: Scope) -> Test:
        term = _term(self.operand, scope)
        refuse_kind(term, "text", self.pattern.value)
        if self.pattern is TextPattern.GLOB:
            matches = _compiled_glob(self.text)
        else:
            matches = matcher(self.text, any_case=self.pattern is TextPattern.ILIKE)

        def test(block: BlockMetadata) -> Truth:
            value = term.value(block)
            return None if value is None else matches(value)

        return test


def _compiled_glob(pattern: str) -> Callable[[str], bool]:
    try:
        return compile_glob(pattern)
    except UsageError as error:
        raise UsageError(error.rule, error.where, error.seen, error.fix, code="bad-where") from error


def _term(operand: Operand, scope: Scope) -> Term:
    if isinstance(operand, Literal):
        return Term.of_literal(operand.value, operand.kind)
    return Term.of_column(operand.name, scope(operand.name))


_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: bool(one == other),
    "<=>": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    "<=": lambda one, other: bool(one <= other),
    ">": lambda one, other: bool(one > other),
    ">=": lambda one, other: bool(one >= other),
}
