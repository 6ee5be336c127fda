"""The version of a table that all tasks of a scan read: how it is named, and what must not change while it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from splitscan.errors import SourceChangedError, Where

_MOST_SHOWN = 5  # changes that a message tells of


class RelationState(NamedTuple):
    """A table or view of a server that a scan reads, as its catalogs have it, for comparing.

    Attributes:
        number: Its number, which no rename changes and no other one gets.
        name: Schema and name, for messages.
        file: The file that its rows are in; 0 where it has none.
        columns: Digest of the numbers, names and types of its columns.
        definition: Digest of what a view selects, of policies for rows, and of where a foreign table is.
    """

    number: int
    name: str
    file: int
    columns: str
    definition: str


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TableVersion:
    """Which rows all tasks read.

    Attributes:
        name: A snapshot of PostgreSQL, or a digest of a file of SQLite.
        relations: All that PostgreSQL reads for the scan, with inheriting tables, partitions, and what views read:
            snapshots keep rows, and neither names nor definitions.
    """

    name: str
    relations: tuple[RelationState, ...] = ()


def changes(planned: Sequence[RelationState], found: Sequence[RelationState]) -> Iterator[str]:
    """What a scan would read otherwise than it was planned, a sentence for each.

    Example:
        >>> before = [RelationState(1, "public.a", 7, "c", ""), RelationState(2, "public.b", 8, "c", "")]
        >>> list(changes(before, [before[0]._replace(file=9), RelationState(3, "public.b", 10, "c", "")]))
        ['public.a was truncated or rewritten', 'public.b is not read any more', 'public.b is read as well']
    """
    now = {relation.number: relation for relation in found}
    for relation in planned:
        other = now.pop(relation.number, None)
        if other is None:
            yield f"{relation.name} is not read any more"
        elif other.file != relation.file:
            yield f"{relation.name} was truncated or rewritten"
        elif other.columns != relation.columns:
            yield f"{relation.name} has other columns"
        elif other.definition != relation.definition:
            yield f"{relation.name} is defined otherwise"
    yield from (f"{relation.name} is read as well" for relation in now.values())


def check_unchanged(planned: Sequence[RelationState], found: Sequence[RelationState], where: Where) -> None:
    """See that a scan reads what was planned.

    Raises:
        SourceChangedError: ``[table-changed]``.
    """
    seen = list(changes(planned, found))
    if seen:
        raise table_changed(where, "; ".join(seen[:_MOST_SHOWN]))


def table_changed(where: Where, seen: str) -> SourceChangedError:
    """The error for a table that is not what it was when the scan was planned."""
    return SourceChangedError(
        "a table is not what it was when the scan was planned", where, seen, "make the DataFrame again", "table-changed"
    )
