"""The version of a table that all tasks of a scan read: how it is named, and what must not change while it is read.

Of PostgreSQL that is a snapshot, and the state in the catalogs of the relations that a session has locked.

Names are resolved when a statement is planned, from the catalogs as they are then, whatever snapshot a transaction
has; SELECTs from the catalogs see the snapshot. So a transaction with a snapshot cannot look for itself whether what
it reads was changed: it locks all of that, and another session looks.

While a relation is locked by a reader nobody can truncate, rewrite, rename or drop it, replace it as a view, change
its columns or policies, or take it from its parent. What others can do without that lock makes the reader read
*another* relation: attach a partition, let a table inherit, rename a schema, put a table before it in the search path.
That one is locked then as well, which is seen in the list of locks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from splitscan.errors import SourceChangedError, Where

_MOST_SHOWN = 5  # changes that a message tells of
_NAME = re.compile(r"[0-9A-Fa-f-]{1,64}")  # of snapshots of PostgreSQL, and of digests


class RelationState(NamedTuple):
    """A table or view of a server that a scan reads, as its catalogs have it, for comparing.

    Attributes:
        number: Its number, which no rename changes and no other one gets.
        name: Schema and name, for messages.
        file: The file that its rows are in; 0 where it has none.
        columns: Digest of the numbers, names and types of its columns.
        definition: Digest of a view's SELECT, of policies for rows, and of the place of a foreign table.
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
        server: When the server of PostgreSQL was started: after that it may give the name to another snapshot.
    """

    name: str
    relations: tuple[RelationState, ...] = ()
    server: str = ""


def checked_name(name: str) -> str:
    """The name of a version, which is going to be part of a statement: nothing in it ends a text of SQL.

    Raises:
        ValueError: If no version has such a name.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError("no name of a version of a table")
    return name


def changes(planned: Sequence[RelationState], found: Sequence[RelationState]) -> Iterator[str]:
    """Differences between a scan and its plan, a sentence for each.

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
    """See that a scan reads what was planned: otherwise ``SourceChangedError`` ``[table-changed]``."""
    seen = list(changes(planned, found))
    if seen:
        raise table_changed(where, "; ".join(seen[:_MOST_SHOWN]))


def table_changed(where: Where, seen: str) -> SourceChangedError:
    """The error for a table that is not what it was when the scan was planned."""
    return SourceChangedError(
        "a table is not what it was when the scan was planned", where, seen, "make the DataFrame again", "table-changed"
    )


_FIRST_OF_USERS = 16_384  # among the numbers of relations; those before are catalogs
_READ = "'r', 'p', 'v', 'm', 'f', 'S'"  # tables, partitioned ones, views, materialized ones, foreign ones, sequences
_NOT_READ = "'index', 'toast table', 'composite type'"  # which a reader locks as well, and others may replace

_COLUMNS = """SELECT left(md5(string_agg(concat_ws(' ', a.attnum, quote_ident(a.attname), a.atttypid, a.atttypmod,
        a.attcollation, a.attgenerated, CASE WHEN a.attgenerated <> '' THEN d.adbin::text END), ','
        ORDER BY a.attnum)), 16)
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"""
# Stored texts and not their deparsed forms, for which the server would lock what they name.
_RULES = "SELECT string_agg(r.ev_action::text, ' ' ORDER BY r.oid) FROM pg_rewrite r WHERE r.ev_class = c.oid"
_POLICIES = """SELECT string_agg(concat_ws(' ', p.polcmd, p.polpermissive, p.polroles, p.polqual::text), ','
        ORDER BY p.oid)
    FROM pg_policy p WHERE p.polrelid = c.oid"""
_FOREIGN = """SELECT concat_ws(' ', f.ftoptions, s.oid, s.srvoptions)
    FROM pg_foreign_table f JOIN pg_foreign_server s ON s.oid = f.ftserver WHERE f.ftrelid = c.oid"""


def _locked(process: str) -> str:
    """The relations that a process has locked: of nobody else's anything is evaluated, as it may be gone meanwhile."""
    return (
        f"SELECT DISTINCT relation FROM pg_locks WHERE pid = {process} AND locktype = 'relation' "
        f"AND relation >= {_FIRST_OF_USERS}"
    )


def states_query(process: int) -> str:
    """The state of all that a process of the server has locked and may read: the fields of ``RelationState``."""
    return f"""WITH own AS MATERIALIZED ({_locked(str(process))})
        SELECT c.oid::int8 AS number, format('%I.%I', n.nspname, c.relname) AS name,
            coalesce(pg_relation_filenode(c.oid), 0)::int8 AS file,
            coalesce(({_COLUMNS}), '') AS columns,
            left(md5(concat_ws(' ', c.relkind, c.relrowsecurity, c.relforcerowsecurity,
                CASE WHEN c.relkind = 'v' THEN c.reloptions::text END, ({_RULES}), ({_POLICIES}), ({_FOREIGN}))), 16)
                AS definition
        FROM own JOIN pg_class c ON c.oid = own.relation JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ({_READ}) ORDER BY c.oid"""


LOCKED_QUERY = f"""WITH own AS MATERIALIZED ({_locked("pg_backend_pid()")}), named AS MATERIALIZED (
        SELECT relation, pg_identify_object('pg_class'::regclass, relation, 0) AS o FROM own)
    SELECT relation::int8 AS number, (o).identity::text AS name FROM named
    WHERE (o).type NOT IN ({_NOT_READ}) ORDER BY relation"""
"""Numbers and names of what the own session has locked and may read, from no snapshot and with no lock on a catalog."""
