"""What is read of a database, a table or a SELECT, as SQL in which every name is quoted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from splitscan.errors import UsageError

_PART = re.compile(r'"((?:[^"]|"")+)"|([^\W\d][\w$]*)')
_MOST_PARTS = 2


def quote_name(name: str) -> str:
    """A name as SQL has it, whatever is in it.

    Example:
        >>> quote_name("odd name")
        '"odd name"'
    """
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or a SELECT.

    Attributes:
        parts: Schema, if there is one, and table; empty for a SELECT.
        query: The SELECT; ``None`` for a table.
    """

    parts: tuple[str, ...]
    query: str | None = None

    @property
    def sql(self) -> str:
        """What stands after FROM."""
        if self.query is not None:
            return f"({self.query}\n) AS splitscan_query"
        return self.name

    @property
    def name(self) -> str:
        """The quoted name of a table."""
        return ".".join(map(quote_name, self.parts))

    def __str__(self) -> str:
        return "the query" if self.query is not None else f"table {self.name}"


def parse_relation(dbtable: str | None, query: str | None, *, lower: bool) -> Relation:
    """Understand what is to be read.

    Args:
        dbtable: Name of a table: one part or two, a part in double quotes is taken as it is.
        query: A SELECT, in place of it.
        lower: Whether the database turns names without quotes into lower case.

    Raises:
        UsageError: ``[bad-table]`` if the name is none.

    Example:
        >>> parse_relation('Sales."Odd.Name"', None, lower=True).parts
        ('sales', 'Odd.Name')
    """
    if query is not None:
        return Relation((), query.strip().rstrip(";"))
    assert dbtable is not None
    parts, position = [], 0
    while match := _PART.match(dbtable, position):
        quoted, plain = match.groups()
        parts.append(quoted.replace('""', '"') if quoted else plain.lower() if lower else plain)
        position = match.end()
        if position == len(dbtable) and len(parts) <= _MOST_PARTS:
            return Relation(tuple(parts))
        if dbtable[position : position + 1] != ".":
            break
        position += 1
    raise UsageError(
        "option dbtable is the name of a table, with its schema in front or without",
        seen=repr(dbtable[:80]),
        fix='put a name that has other characters than letters, digits and _ in double quotes: sales."odd name"; '
        "give a SELECT as option query",
        code="bad-table",
    )
