"""Symbols of JSON, paths to the arrays whose elements are records, and columns from around these arrays."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from splitscan.errors import bad_option
from splitscan.options.table import ValueRefusedError, show_value

QUOTE, BACKSLASH, BRACE, BRACKET, END_OF_ARRAY = (ord(symbol) for symbol in '"\\{[]')
OPENERS = frozenset(b"{[")
CLOSERS = frozenset(b"}]")
SPACE = frozenset(b" \t\r\n")
BLANKS = b" \t"
BEFORE_BRACE = frozenset(b"[,:")
"""What may stand before an opening brace inside a value."""

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SURROGATE = re.compile(r"[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_ESCAPED_AS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def unescape(text: str) -> str:
    """The text that is meant by what is between the quotes of a string."""
    plain = _ESCAPE.sub(_replacement, text)
    return _SURROGATE.sub(_join, plain)


def _replacement(found: re.Match[str]) -> str:
    escaped = found.group(1)
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _ESCAPED_AS.get(escaped, escaped)


def _join(found: re.Match[str]) -> str:
    """A pair of surrogates as one character; a lone one as U+FFFD."""
    pair = found.group()
    return pair.encode("utf-16", "surrogatepass").decode("utf-16") if len(pair) == 2 else "\ufffd"


# ---------------------------------------------------------------- paths to arrays of records


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


# ---------------------------------------------------------------- columns from around the arrays


_COLUMN = re.compile(
    rf"\s*(?P<path>\$(?:{STEP_IN_LIST})*)(?:\s+as\s+(?P<named>(?:`(?:[^`]|``)+`|[^,(`]|\([^)]*\))+?))?\s*(?:,|$)",
    re.IGNORECASE,
)
_NAME_AND_TYPE = re.compile(r"(?P<name>`(?:[^`]|``)+`|[^\s`]+)(?P<type>\s+.+)?", re.DOTALL)


class EnvelopeColumn(NamedTuple):
    """A column whose value stands outside of the arrays.

    Attributes:
        steps: From the document to the member.
        type: In DDL.
    """

    steps: tuple[str | None, ...]
    name: str
    type: str

    @property
    def ddl(self) -> str:
        """Name and type."""
        escaped = self.name.replace("`", "``")
        return f"`{escaped}` {self.type}"

    def __str__(self) -> str:
        return f"{RecordPath(self.steps)} as {self.ddl}"


@lru_cache(maxsize=64)
def parse_envelope_columns(value: Any) -> tuple[EnvelopeColumn, ...]:
    """Read columns as users write them.

    Raises:
        ValueRefusedError: If they are none.

    Example:
        >>> [str(column) for column in parse_envelope_columns("$.meta.n as n int, $.z")]
        ['$.meta.n as `n` int', '$.z as `z` string']
    """
    if not isinstance(value, str) or not value:
        raise ValueRefusedError
    columns, at = [], 0
    while at < len(value):
        found = _COLUMN.match(value, at)
        if found is None:
            raise ValueRefusedError(f"correct what begins with {value[at : at + 40].strip()!r}")
        columns.append(_column_of(found["path"], found["named"]))
        at = found.end()
    return tuple(columns)


def _column_of(path: str, named: str | None) -> EnvelopeColumn:
    steps = steps_of(path)
    if not steps or steps[-1] is None:
        raise ValueRefusedError(f"end {path} with the name of a member")
    found = None if named is None else _NAME_AND_TYPE.fullmatch(named)
    if named is not None and found is None:
        raise ValueRefusedError(f"after 'as' write a name and perhaps a type, not {named!r}")
    name, kind = (steps[-1], None) if found is None else (found["name"], found["type"])
    name = name[1:-1].replace("``", "`") if name.startswith("`") and found is not None else name
    return EnvelopeColumn(steps, name, (kind or "string").strip())


def check_envelope_columns(columns: tuple[EnvelopeColumn, ...], path: RecordPath | None) -> None:
    """Refuse columns of no document, in the arrays, and of one name.

    Raises:
        UsageError: ``[bad-option]``
    """
    if path is None:
        raise bad_option(
            "option recordPathColumns names columns around the arrays of recordPath, which is not given",
            f"recordPathColumns={show_value(', '.join(map(str, columns)))}",
            "set recordPath too; without it members of the records are columns anyway",
        )
    taken: set[str] = set()
    for column in columns:
        name = column.name
        if level_of(column.steps, path) is None:
            raise bad_option(
                "columns of recordPathColumns stand beside the arrays of recordPath or beside what is around them",
                f"{RecordPath(column.steps)} and recordPath={path}",
                "take the names up to one that recordPath does not have from recordPath, and after it only names, "
                "as in $.pages[*].number beside $.pages[*].data[*]",
            )
        if name.lower() in taken:
            raise bad_option(
                "columns of recordPathColumns have one name",
                repr(name),
                f"give one of them another, as in {RecordPath(column.steps)} as other_{name}",
            )
        taken.add(name.lower())


def level_of(steps: tuple[str | None, ...], path: RecordPath) -> int | None:
    """Number of the container of the path that a column is a member of; ``None`` if it is none of such a one."""
    pairs = enumerate(zip(steps, path.steps, strict=False))
    first = next((at for at, (own, other) in pairs if own != other), None)
    if first is None or path.steps[first] is None or None in steps[first:]:
        return None
    return first + 1
