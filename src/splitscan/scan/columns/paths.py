"""Column paths as people write them: ``b``, ``m.x``, ``columns[3]``, `` `a.b`.c``, ``m.*``, ``*``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from splitscan.errors import UsageError

_NAME = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^.\[\]`]+)")
_INDEX = re.compile(r"\[\s*(?P<number>[0-9]+)\s*\]")
_MOST_DIGITS = 9  # of an index: more is no index of anything


class Member(NamedTuple):
    """A column, or a member of a struct.

    Attributes:
        name: Its name, quotes resolved.
        quoted: Whether it was quoted: then it is no part of a longer name.
    """

    name: str
    quoted: bool


class Index(NamedTuple):
    """An element of an array, from 0."""

    number: int


class Every(NamedTuple):
    """All members: what ``*`` stands for after a dot."""


Step: TypeAlias = Member | Index | Every


@dataclass(frozen=True)
class ColumnPath:
    """A path from a column to what is wanted of it.

    Attributes:
        text: As it was written.
        steps: The column's name, then members and indexes; empty for ``*``, which stands for all columns.
    """

    text: str
    steps: tuple[Step, ...]

    @property
    def root(self) -> str:
        """The first name; empty for ``*``."""
        first = self.steps[0] if self.steps else None
        return first.name if isinstance(first, Member) else ""


def parse_path(text: str) -> ColumnPath:
    """Parse one path.

    Args:
        text: Names divided by dots, each in backquotes if it holds dots, brackets or backquotes (written twice);
            ``[n]`` after a name is an element of an array.

    Raises:
        UsageError: ``[bad-column-path]`` if it is no path; the message says where.

    Example:
        >>> parse_path("m.`x.y`[2]").steps
        (Member(name='m', quoted=False), Member(name='x.y', quoted=True), Index(number=2))
    """
    if text.strip() == "*":
        return ColumnPath(text, ())
    steps: list[Step] = []
    position = 0
    while True:
        step, position = _step(text, position, first=not steps)
        steps.append(step)
        while not isinstance(step, Every) and text[position : position + 1] == "[":
            index = _INDEX.match(text, position)
            if index is None:
                raise _bad_path(text, position, "an index is a whole number, as in columns[3]")
            steps.append(Index(int(index["number"][:_MOST_DIGITS])))
            position = index.end()
        if position == len(text):
            return ColumnPath(text, tuple(steps))
        if text[position] != "." or isinstance(step, Every):
            raise _bad_path(text, position, "after a name comes a dot, an index, or the end")
        position += 1


def _step(text: str, position: int, *, first: bool) -> tuple[Step, int]:
    match = _NAME.match(text, position)
    if match is None:
        raise _bad_path(text, position, "a name is missing")
    if match["quoted"] is not None:
        return Member(match["quoted"].replace("``", "`"), quoted=True), match.end()
    name = match["plain"].strip()
    if name == "*" and not first:
        return Every(), match.end()
    if not name:
        raise _bad_path(text, position, "a name is missing")
    return Member(name, quoted=False), match.end()


def _bad_path(text: str, position: int, rule: str) -> UsageError:
    return UsageError(
        "a column is written as a name, with members after dots and indexes in brackets",
        seen=f"{text!r}: at character {position}, {rule}",
        fix="write it like b, m.x, columns[3]; put a name with a dot or bracket in it in backquotes, like `a.b`",
        code="bad-column-path",
    )
