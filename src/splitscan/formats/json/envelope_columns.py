"""Columns from around the arrays below a path, as an option names them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from splitscan.errors import bad_option
from splitscan.formats.json.record_path import STEP_IN_LIST, RecordPath, steps_of
from splitscan.options.table import ValueRefusedError, show_value

_COLUMN = re.compile(
    rf"\s*(?P<path>\$(?:{STEP_IN_LIST})*)(?:\s+as\s+(?P<named>(?:`(?:[^`]|``)+`|[^,(`]|\([^)]*\))+?))?\s*(?:,|$)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?P<name>`(?:[^`]|``)+`|[^\s`]+)(?P<type>\s+.+)?", re.DOTALL)


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
    found = None if named is None else _NAMED.fullmatch(named)
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
