"""Conditions over columns of files, directories and blocks: they decide which of them are read at all.

Logic has three values, as in SQL: a comparison with null is unknown (``None``), and only what is true is read.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

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


def refuse_other_than_text(term: Term, what: str) -> None:
    """Refuse a value of another kind."""
    if term.kind not in {"text", "null"}:
        raise _bad(f"{term.shown} is {_article(term.kind)}", f"use {what} with text")


def matcher(pattern: str, *, any_case: bool) -> Callable[[str], bool]:
    r"""Make the test of SQL's LIKE: ``%`` is any text, ``_`` any character, ``\`` takes the next one as it is.

    Takes time in proportion to text times pattern at most, whatever they are.

    Example:
        >>> [matcher("a\\_%", any_case=False)(text) for text in ("a_", "a_b", "axb")]
        [True, True, False]
    """
    characters, pieces = iter(pattern.lower() if any_case else pattern), [""]
    for each in characters:
        if each == "%":
            pieces.append("")
        else:
            taken = next(characters, each) if each == "\\" else each
            pieces[-1] += "." if each == "_" else re.escape(taken)
    first, *rest = pieces
    middle = [f"(?>.*?{each})" for each in rest[:-1]]  # no later place of one leaves more room for those that follow
    fits = re.compile("".join([first, *middle, *(f".*{each}" for each in rest[-1:])]), re.DOTALL).fullmatch
    return lambda text: fits(text.lower() if any_case else text) is not None


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
    written = pa.array([text.encode("utf-8", "replace").decode()])  # bytes of argv that are no UTF-8 are in no value
    column, bad = convert(written, _READ_AS[kind], Rules()) if kind in _READ_AS else (None, True)
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


class Operand(NamedTuple):
    """A column by its name, or a value: text, ``Decimal``, truth value or ``None``; text with a *kind* is of that."""

    column: str | None
    value: Any = None
    kind: str = ""

    def term(self, scope: Scope) -> Term:
        """One side of a comparison."""
        if self.column is None:
            return Term.of_literal(self.value, self.kind)
        return Term.of_column(self.column, scope(self.column))


class Condition(NamedTuple):
    """A condition, not yet tied to columns. Pickling: never; its text is parsed again.

    Attributes:
        operands: Columns and values in it, from left to right.
        bind: Makes the test of a block; ``[bad-where]`` if there is no such column, or kinds of values differ.
        parts: Conditions that must all be true for this one to be, if it is made of some.
    """

    operands: tuple[Operand, ...]
    bind: Callable[[Scope], Test]
    parts: tuple[Condition, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in it, as written, each once."""
        return tuple(dict.fromkeys(each.column for each in self.operands if each.column is not None))

    @property
    def conjuncts(self) -> tuple[Condition, ...]:
        """Conditions that must all be true for this one to be."""
        return tuple(each for part in self.parts for each in part.conjuncts) if self.parts else (self,)


def all_of(parts: Sequence[Condition]) -> Condition:
    """All are true."""
    return _several(parts, decides=False)._replace(parts=tuple(parts))


def any_of(parts: Sequence[Condition]) -> Condition:
    """One is true."""
    return _several(parts, decides=True)


def _several(parts: Sequence[Condition], *, decides: bool) -> Condition:
    """Conditions of which one decides, if it is found to be what decides."""

    def bind(scope: Scope) -> Test:
        tests = [part.bind(scope) for part in parts]

        def test(block: BlockMetadata) -> Truth:
            found = [each(block) for each in tests]
            return decides if decides in found else None if None in found else not decides

        return test

    return Condition(tuple(each for part in parts for each in part.operands), bind)


def negation(part: Condition) -> Condition:
    """The opposite; of unknown, unknown."""

    def bind(scope: Scope) -> Test:
        inner = part.bind(scope)
        return lambda block: None if (found := inner(block)) is None else not found

    return Condition(part.operands, bind)


def is_null(operand: Operand) -> Condition:
    """A value is null; always known."""

    def bind(scope: Scope) -> Test:
        term = operand.term(scope)
        return lambda block: term.value(block) is None

    return Condition((operand,), bind)


def comparison(sign: str, left: Operand, right: Operand) -> Condition:
    """Two values in an order; ``<=>`` takes nulls for equal."""

    def bind(scope: Scope) -> Test:
        value, other_value = comparable(left.term(scope), right.term(scope))
        compare, is_null_safe = _SIGNS[sign], sign == "<=>"

        def test(block: BlockMetadata) -> Truth:
            one, other = value(block), other_value(block)
            if one is None or other is None:
                return one is other if is_null_safe else None
            return bool(compare(one, other))

        return test

    return Condition((left, right), bind)


def matching(pattern: str, operand: Operand, text: str) -> Condition:
    """A text matches a pattern of ``like``, ``ilike`` or ``glob``."""

    def bind(scope: Scope) -> Test:
        term = operand.term(scope)
        refuse_other_than_text(term, pattern)
        matches = _compiled_glob(text) if pattern == "glob" else matcher(text, any_case=pattern == "ilike")
        return lambda block: None if (value := term.value(block)) is None else matches(value)

    return Condition((operand,), bind)


def _compiled_glob(pattern: str) -> Callable[[str], bool]:
    try:
        return compile_glob(pattern)
    except UsageError as error:
        raise UsageError(error.rule, error.where, error.seen, error.fix, code="bad-where") from error


_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<=>": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
