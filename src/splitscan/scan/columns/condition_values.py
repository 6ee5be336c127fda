"""Values in conditions: their kinds, what can be compared with what, and texts against patterns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.errors import UsageError
from splitscan.formats.decoding.conversions import Rules, convert

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
        shown: For messages.
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
        """A column.

        Raises:
            UsageError: If values of its type cannot be compared.
        """
        kind = _kind_of(column.kind)
        if kind is None:
            raise _bad(f"{name} is {column.kind}", "choose a column of text, numbers, dates, times or truth values")
        get = column.value
        if kind == "timestamp":
            return cls(name, kind, lambda block: _placed(get(block)))
        return cls(name, kind, get)

    @classmethod
    def of_literal(cls, value: Any, kind: str = "") -> Term:
        """A value that somebody wrote.

        Raises:
            UsageError: If a date or timestamp cannot be read.
        """
        if kind:
            return _read(cls(repr(value), "text", lambda _: value, is_text_literal=True), kind)
        kinds = {str: "text", Decimal: "number", bool: "boolean", type(None): "null"}
        shown = str(value) if isinstance(value, Decimal) else repr(value)
        return cls(shown, kinds[type(value)], lambda _: value, isinstance(value, str))


def comparable(left: Term, right: Term) -> tuple[Value, Value]:
    """The ways to two values that can be compared: a text is read as what it is compared with.

    Raises:
        UsageError: If they cannot.
    """
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
    """Refuse a value of another kind.

    Raises:
        UsageError: If it has one.
    """
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
