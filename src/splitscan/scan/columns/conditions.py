"""Conditions over columns of files, directories and blocks: they decide which of them are read at all.

Logic has three values, as in SQL: a comparison with null is unknown (``None``), and only what is true is read.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from splitscan.blocks import BlockMetadata
from splitscan.errors import UsageError
from splitscan.plan.globs import compile_glob
from splitscan.scan.columns.condition_values import Term, Typed, comparable, matcher, refuse_kind

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
        """The test of a block, its kinds checked.

        Raises:
            UsageError: ``[bad-where]`` if there is no such column, or values of different kinds are compared.
        """

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
class Between(Condition):
    """A value from one to another, both included."""

    operand: Operand
    low: Operand
    high: Operand

    def operands(self) -> Iterator[Operand]:
        yield from (self.operand, self.low, self.high)

    def bind(self, scope: Scope) -> Test:
        """Two comparisons, of which both must be true."""
        return And((Comparison(">=", self.operand, self.low), Comparison("<=", self.operand, self.high))).bind(scope)


@dataclass(frozen=True)
class In(Condition):
    """A value is one of several; unknown where it is none of them, and one of them is null."""

    operand: Operand
    values: tuple[Literal, ...]

    def operands(self) -> Iterator[Operand]:
        """The value and those it may be."""
        yield self.operand
        yield from self.values

    def bind(self, scope: Scope) -> Test:
        return Or(tuple(Comparison("=", self.operand, value) for value in self.values)).bind(scope)


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
