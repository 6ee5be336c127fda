"""Paths to the arrays whose elements are records."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from splitscan.formats.json.symbols import BRACE, BRACKET, unescape
from splitscan.options.table import ValueRefusedError


@dataclass(frozen=True, slots=True)
class RecordPath:
    """The way from the documents of a file to the arrays whose elements are the records.

    Attributes:
        steps: Names of members; ``None`` for the elements of an array. The last two are a name and elements.

    Example:
        >>> str(RecordPath(("a b", None, "c", None)))
        '$["a b"][*].c[*]'
    """

    steps: tuple[str | None, ...]

    def __str__(self) -> str:
        shown = ("[*]" if step is None else _shown_name(step) for step in self.steps)
        return "$" + "".join(shown)

    @property
    def deepest(self) -> int:
        """The last container around the arrays."""
        return len(self.steps) - 1

    def name_in(self, level: int) -> str | None:
        """Name of the members that count of the container number *level*; ``None`` for one without names."""
        return self.steps[level - 1] if level else None

    def opener_of(self, level: int) -> int | None:
        """The bracket that the container number *level* opens with, if it is on the path."""
        if not 0 < level <= len(self.steps):
            return None
        return BRACKET if self.steps[level - 1] is None else BRACE


_PLAIN_NAME = re.compile(r"[^\s.\[\]\"'*$?@()]+")
_STEP = re.compile(
    rf"\.(?P<plain>{_PLAIN_NAME.pattern})|\[(?P<quoted>\"(?:[^\"\\]|\\.)*\"|'[^'\\]*')\]|(?P<each>\[\*\])"
)
STEP_IN_LIST = re.sub(r"\?P<\w+>", "?:", _STEP.pattern).replace(r"[^\s", r"[^\s,", 1)
"""Pattern of one step of a path among others: a comma ends it, unless it is in quotes."""


def _shown_name(name: str) -> str:
    return (
        f".{name}" if _PLAIN_NAME.fullmatch(name) and "," not in name else f"[{json.dumps(name, ensure_ascii=False)}]"
    )


def parse_record_path(value: Any) -> RecordPath:
    """Read a path as users write it.

    Raises:
        ValueRefusedError: If it is none, with what to write.

    Example:
        >>> parse_record_path('$.a["b.c"][*]').steps
        ('a', 'b.c', None)
    """
    if not isinstance(value, str) or not value:
        raise ValueRefusedError
    written = value if value.startswith("$") else _rooted(value)
    steps = steps_of(written)
    if steps is None:
        raise ValueRefusedError(
            'name members as in $.name or $["a name"], and the elements of an array as [*]; nothing else is a step'
        )
    mended = _mended(steps)
    if not mended:
        raise ValueRefusedError("leave it out: multiLine=true reads arrays")
    if value != written or mended != steps:
        raise ValueRefusedError(f"write {RecordPath(mended)}")
    return RecordPath(steps)


def _rooted(value: str) -> str:
    return f"${value}" if value.startswith((".", "[")) else f"$.{value}"


def steps_of(written: str) -> tuple[str | None, ...] | None:
    """The steps of a path that begins with ``$``; ``None`` if it has others than names and elements."""
    steps: list[str | None] = []
    at = 1
    while at < len(written):
        found = _STEP.match(written, at)
        if found is None:
            return None
        at = found.end()
        steps.append(_name_of(found))
    return tuple(steps)


def _name_of(found: re.Match[str]) -> str | None:
    quoted = found["quoted"]
    if quoted is None:
        return found["plain"]
    return unescape(quoted[1:-1]) if quoted[0] == '"' else quoted[1:-1]


def _mended(steps: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """The nearest path that ends with a name and elements, and has no arrays right in arrays; empty without a name."""
    kept = [step for at, step in enumerate(steps) if step is not None or not at or steps[at - 1] is not None]
    if all(step is None for step in kept):
        return ()
    return tuple(kept if kept[-1] is None else [*kept, None])
