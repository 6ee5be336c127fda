"""A scan of a table, resolved, and how it is divided: ranges of keys that hold about as many bytes each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from splitscan.errors import SourceChangedError, Where
from splitscan.jobs.ledger import KeyRange
from splitscan.ranges import ByteKeyRange
from splitscan.sizes import MIB, format_size
from splitscan.tables.address import Address, Relation
from splitscan.tables.columns import ChosenColumn, TableColumn
from splitscan.tables.keys import KeyKind, TableStatistics, cut_keys, even_keys, to_integer

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


_SHOWN_CHARACTERS = 40


EVERYTHING = KeyRange(b"", b"", with_nulls=True)
"""All rows, with and without keys."""

NULLS = KeyRange(b"", b"", only_nulls=True)
"""The rows without a key."""


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A scan of a table, resolved.

    Attributes:
        key: The column by which it is divided; ``None`` if it is not.
        batch_rows: Most rows of a batch.
        batch_bytes: About how many bytes to ask for at a time.

    Pickling: with the password, so only inside Spark's own tasks; ``repr`` does not show it.
    """

    address: Address
    relation: Relation
    columns: tuple[ChosenColumn, ...]
    key: TableColumn | None
    batch_rows: int
    batch_bytes: int

    @property
    def schema(self) -> pa.Schema:
        """The columns of every batch."""
        return pa.schema([column.field for column in self.columns])

    @property
    def locking(self) -> str:
        """A statement that has no row: to plan it, a server locks all that any query of the scan reads."""
        selected = [column.expression for column in self.columns] + ([self.key.key] if self.key else [])
        return f"SELECT {', '.join(selected)} FROM {self.relation.sql} LIMIT 0"


def show_key(kind: KeyKind, key: bytes) -> str:
    r"""A key for people: a number, a text, or hexadecimal digits.

    Example:
        >>> show_key(KeyKind.TEXT, b"abc"), show_key(KeyKind.BYTES, b"\xff"), show_key(KeyKind.TEXT, b"")
        ("'abc'", "x'ff'", '...')
        >>> [len(show_key(KeyKind.TEXT, b"a" * length)) for length in (_SHOWN_CHARACTERS - 2, _SHOWN_CHARACTERS)]
        [40, 43]
    """
    if not key:
        return "..."
    if kind in (KeyKind.INTEGER, KeyKind.DATE, KeyKind.TIMESTAMP):
        return str(to_integer(key))
    text = repr(key.decode()) if kind is KeyKind.TEXT else f"x'{key.hex()}'"
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


STRETCHES = 256
"""Of equal shares, as far as statistics know: within one, keys are taken to be spread evenly."""

LEAST_POSITIONS = 1 << 12
"""Of a stretch: its keys can be divided as finely as that, however small the table."""


@dataclass(frozen=True, slots=True)
class KeyPartition:
    r"""A range of keys whose positions are numbered: position *p* is the key that lies *p* parts of *length* into it.

    Keys never go back as positions grow, and the same position is the same key everywhere. So any cuts of the
    positions are cuts of the keys, and every row lies between exactly two of them; where keys are few, several
    positions share one, and there is nothing between those.

    Attributes:
        stop: The key of position *length*, 1 or more; ``b""`` is unbounded.
        is_first: Whether position 0 stands for all keys before *start* as well.
        is_last: Whether *length* stands for the end of all keys, so that those from *stop* on belong here.
        only_nulls: The rows without a key, in place of a range; indivisible.

    Example:
        >>> from splitscan.tables.keys import from_integer, to_integer
        >>> stretch = KeyPartition(from_integer(0), from_integer(100), 4)
        >>> [to_integer(stretch.key_at(KeyKind.INTEGER, position)) for position in range(5)]
        [0, 25, 50, 75, 100]
    """

    start: bytes
    stop: bytes
    length: int
    is_first: bool = False
    is_last: bool = False
    only_nulls: bool = False

    def key_at(self, kind: KeyKind, position: int) -> bytes:
        """The key of a position, from 0 to *length*.

        It is found by cutting in two, again and again: each cut is one that the database can be told, and stays between
        the two around it, so no rounding of keys can make them go back.
        """
        if position >= self.length:
            return self.stop
        first, behind, low, high = 0, self.length, self.start, self.stop
        while first != position:
            middle = (first + behind) // 2
            key = kind.representable(ByteKeyRange(low, high).key_at(Fraction(middle - first, behind - first)))
            if key < low or (high and key > high):
                key = low
            if position < middle:
                if not key:  # as a bound above it would be unbounded, and nothing lies before it
                    return key
                behind, high = middle, key
            else:
                first, low = middle, key
        return low

    def keys_between(self, kind: KeyKind, start: int, stop: int) -> ByteKeyRange | None:
        """The keys of positions ``[start, stop)``; ``None`` where there is none."""
        low = b"" if start == 0 and self.is_first else self.key_at(kind, start)
        if stop == self.length and self.is_last:
            return ByteKeyRange(low, b"")
        high = self.key_at(kind, stop)
        return ByteKeyRange(low, high) if high and low != high else None


def cut_stretches(
    kind: KeyKind, statistics: TableStatistics, ends: tuple[bytes, ...], *, nullable: bool
) -> tuple[KeyPartition, ...]:
    """Number the keys of a table, so that about as many bytes lie between any two positions.

    The stretches together hold every row, each once. Their lengths are bytes of the table, by estimate, or more where
    the table is small.
    """
    low, high = (min(ends), max(ends)) if ends else (b"", b"")
    shares = Counter(key if low < key < high else low for key in even_keys(kind, statistics, STRETCHES) if key < high)
    edges = sorted({low, *shares})
    share_bytes = max(statistics.size_bytes // (shares.total() + 1), LEAST_POSITIONS)
    found = [
        KeyPartition(start, stop, share_bytes * (shares[start] + (start == low)), start == low, stop == high)
        for start, stop in pairwise([*edges, high])
    ]
    if nullable:
        null_bytes = max(1, int(statistics.size_bytes * statistics.null_share))
        found.append(KeyPartition(b"", b"", null_bytes, only_nulls=True))
    return tuple(found)


def key_pieces(kind: KeyKind, parts: Iterable[tuple[KeyPartition, int, int]]) -> Iterator[KeyRange]:
    """Pieces of key partitions to read, in order: as few ranges of keys as there can be."""
    waiting: ByteKeyRange | None = None
    for stretch, start, stop in parts:
        if stretch.only_nulls:
            yield NULLS
            continue
        keys = stretch.keys_between(kind, start, stop)
        if keys is None:
            continue
        if waiting is not None and waiting.stop and waiting.stop == keys.start:
            waiting = ByteKeyRange(waiting.start, keys.stop)
            continue
        if waiting is not None:
            yield KeyRange(*waiting)
        waiting = keys
    if waiting is not None:
        yield KeyRange(*waiting)


_LEAST_TASK_BYTES = 1 * MIB  # less is not worth a task and a connection, unless it is asked for

Task = tuple[KeyRange, ...]


@dataclass(frozen=True)
class TablePlan:
    """Pieces for the tasks of a scan. Together they read every row once.

    *version* names the version of the table that all of them read; ``None`` if each reads its own. Nothing but the
    evenness of the tasks depends on *statistics*.

    Pickling: with the password; neither ``str`` nor ``repr`` shows it.
    """

    spec: TableSpec
    tasks: tuple[Task, ...]
    version: TableVersion | None
    statistics: TableStatistics

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        known = self.statistics
        yield f"{self.spec.relation} of {self.spec.address}: about {known.rows} rows, {format_size(known.size_bytes)}"
        yield "all tasks read one version" if self.version is not None else "each task reads the version it finds"
        if self.spec.key is None:
            yield "task 0: everything, as no keyColumn is given"
            return
        for number, task in enumerate(self.tasks):
            yield f"task {number}: {', '.join(self._show(piece) for piece in task)}"

    def _show(self, piece: KeyRange) -> str:
        key = self.spec.key
        assert key is not None
        assert key.key_kind is not None
        if piece.only_nulls:
            return f"{key.name} is null"
        return f"{key.name} in [{show_key(key.key_kind, piece.start)}, {show_key(key.key_kind, piece.stop)})"


def plan_tasks(
    spec: TableSpec, statistics: TableStatistics, slots: int, task_bytes: int, min_tasks: int | None
) -> tuple[Task, ...]:
    """Share a table out.

    The first range is open below and the last one above, and rows without a key have a piece of their own: whatever
    the statistics say, and whatever is inserted meanwhile, each row belongs to exactly one task.
    """
    key = spec.key
    if key is None or key.key_kind is None:
        return ((EVERYTHING,),)
    worth = min(slots, max(1, statistics.size_bytes // _LEAST_TASK_BYTES)) if min_tasks is None else min_tasks
    count = max(worth, -(-statistics.size_bytes // task_bytes), 1)
    bounds = [b"", *cut_keys(key.key_kind, statistics, count), b""]
    tasks = [(KeyRange(start, stop),) for start, stop in pairwise(bounds)]
    if not key.nullable:
        return tuple(tasks)
    if statistics.null_share * count > 0.5:  # half a task of their own
        return (*tasks, (NULLS,))
    return (*tasks[:-1], (*tasks[-1], NULLS))
