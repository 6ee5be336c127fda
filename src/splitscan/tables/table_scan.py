"""A scan of a table, as a user holds it; sessions of databases, and the rows of pieces of a table over one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import pyarrow as pa

from splitscan.errors import SchemaError, SourceError, UsageError, Where, bad_option
from splitscan.formats.decoding.ddl import as_schema
from splitscan.jobs.ledger import KeyRange
from splitscan.options.sources import Snapshot, TableOptions, parse_table_options
from splitscan.redaction import redact
from splitscan.scans.rows import Rows, checked_limit, first_rows
from splitscan.tables.address import Address, Relation, parse_address, parse_relation
from splitscan.tables.columns import TableColumn, TableConverter, choose_columns, find_column
from splitscan.tables.keys import KeyKind
from splitscan.tables.planning import (
    EVERYTHING,
    KeyPartition,
    TablePlan,
    TableSpec,
    TableVersion,
    cut_stretches,
    plan_tasks,
    show_key,
    table_changed,
)
from splitscan.tables.postgresql import PostgresqlSession
from splitscan.tables.session import NOBODY, AdbcSession, give_back_with, hold_snapshot, reader_label
from splitscan.tables.sqlite import SqliteSession


class DatabaseScan(Rows):
    """Describes a scan of a table; nothing is connected to before something is asked of it.

    Args:
        options: Options of ``docs/options.md`` by name: ``url``, ``dbtable`` or ``query``, ``keyColumn`` and others.
        schema: What the columns are to be, by name, as DDL text or an Arrow schema; as the database has them if not
            given.
        limit: Most rows that are delivered; ``None`` for all.

    Raises:
        UsageError: If an option is unknown or has no meaning.

    Thread safety: yes, but for the first look at the columns, which may be made twice.
    Pickling: yes, with the password; ``repr`` does not show it.
    """

    def __init__(
        self, options: Mapping[str, Any], schema: str | pa.Schema | None = None, limit: int | None = None
    ) -> None:
        self._raw = dict(options)
        self.row_limit = limit
        self._wanted = as_schema(schema)
        self.options: TableOptions = parse_table_options(options)
        self.address: Address = parse_address(self.options.url, self.options.user, self.options.password)
        lower = self.address.scheme == "postgresql"  # names without quotes are in lower case
        self.relation: Relation = parse_relation(self.options.dbtable, self.options.query, lower=lower)
        self._spec: TableSpec | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.relation} of {self.address})"

    @property
    def schema(self) -> pa.Schema:
        """The columns that the scan delivers.

        Raises:
            SourceError: If the database does not answer.
            SchemaError: If a column is wanted that the table does not have, or cannot be what is wanted.
        """
        return self.spec.schema

    @property
    def spec(self) -> TableSpec:
        """Specification for every task; looked up once."""
        if self._spec is None:
            with self._session():
                pass
        assert self._spec is not None
        return self._spec

    @cached_property
    def database(self) -> str:
        """Which database the table is looked for in, without password; asked of the server once."""
        return redact(_SESSIONS[self.address.scheme].database_of(self.address, self.relation))

    def select(self, *names: str) -> Self:
        """A scan with these columns only, in this order; others are not asked of the database."""
        return type(self)({**_without(self._raw, "columns"), "columns": list(names)}, self._wanted, self.row_limit)

    def limit(self, rows: int) -> Self:
        """A scan that stops after *rows* rows, whichever come first. ``[bad-limit]`` if it is no number from 0 on."""
        return type(self)(self._raw, self._wanted, checked_limit(rows))

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Read everything in this process, in one transaction and in the order in which the database delivers it."""
        return first_rows(lambda: read_pieces(self.spec, (EVERYTHING,), None), self.row_limit)

    def count(self) -> int:
        """Number of rows, counted by the database; up to the limit, if there is one."""
        with open_session(self.address) as session:
            session.begin()
            rows = session.count(self.relation)
        return rows if self.row_limit is None else min(rows, self.row_limit)

    def plan(self, slots: int, watch: int | None = None) -> TablePlan:
        """Share the table out among tasks, of which *slots* run at a time.

        With ``snapshot=shared`` all of them read the version that is there now. In PostgreSQL a process of its own
        holds the snapshot, which ends with this process, when nobody has read with it for ``snapshotIdleMillis``, and
        when the version of the plan is gone, unless *watch* is given: the process with which it ends, or ``NOBODY``.
        """
        with self._session() as session:
            spec, options = self.spec, self.options
            statistics = session.statistics(spec.relation, spec.key)
        tasks = plan_tasks(spec, statistics, slots, options.task_bytes, options.min_partitions)
        return TablePlan(spec, tasks, self.take_version(watch), statistics)

    def stretches(self) -> tuple[KeyPartition, ...]:
        """Number the keys of the table, for tasks that share it out while they read: ``[bad-option]`` without a key."""
        key = self.spec.key
        if key is None or key.key_kind is None:
            raise bad_option(
                "tasks share a table out by ranges of a key",
                "rebalance without keyColumn",
                "name a key column, with an index on it; or leave rebalance out",
            )
        with self._session() as session:
            statistics = session.statistics(self.relation, key)
            ends = session.ends(self.relation, key)
        return cut_stretches(key.key_kind, statistics, ends, nullable=key.nullable)

    def take_version(self, watch: int | None = None) -> TableVersion | None:
        """Name the version of the table that is there now, and see to it that tasks can read it; as in :meth:`plan`.

        ``None`` with ``snapshot=own``; ``[table-changed]`` if it has other columns than :attr:`spec` says.
        """
        if self.options.snapshot is not Snapshot.SHARED:
            return None
        idle_seconds = self.options.snapshot_idle_ms / 1000
        spec = self.spec
        with self._session() as session:
            version = session.version(spec, lambda session: hold_snapshot(session, idle_seconds, watch))
            if watch is None:
                give_back_with(version)
            try:
                if self._resolve(session) != spec:
                    raise table_changed(self.address.where, "other columns than those that were looked up before")
            except BaseException:
                if watch == NOBODY:
                    with suppress(SourceError):  # then its holder ends by itself, as nobody reads
                        self.release_version(version)
                raise
            return version

    def has_version(self, version: TableVersion) -> bool:
        """True if tasks can read a version that was taken before, perhaps by another process."""
        try:
            with open_session(self.address, reader_label(version.name)) as session:
                session.begin_reading(self.spec, version)
        except SourceError as error:
            if error.reason_code not in {"snapshot-lost", "table-changed"}:
                raise
            return False
        return True

    def release_version(self, version: TableVersion) -> None:
        """Let nobody hold a version any more that was taken for ``NOBODY``."""
        with open_session(self.address) as session:
            session.release(version)

    @contextmanager
    def _session(self) -> Iterator[AdbcSession]:
        """A connection, in a transaction, that has looked up the columns if none had before."""
        with open_session(self.address) as session:
            session.begin()
            if self._spec is None:
                self._spec = self._resolve(session)
            yield session

    def _resolve(self, session: AdbcSession) -> TableSpec:
        options = self.options
        columns = session.columns(self.relation)
        chosen = choose_columns(columns, options.columns, self._wanted, self.address.where)
        if not chosen:
            raise bad_option("a scan of a table has one column or more", "none", "name a column")
        key = None if options.key_column is None else self._key(columns, options.key_column)
        return TableSpec(self.address, self.relation, chosen, key, options.batch_rows, options.batch_bytes)

    def _key(self, columns: list[TableColumn], name: str) -> TableColumn:
        key = find_column(columns, name, self.address.where)
        if key.key_kind is None:
            *kinds, last = (kind.value for kind in KeyKind)
            raise UsageError(
                f"column {key.name!r} cannot be the key column of a table",
                replace(self.address.where, column=key.name),
                seen=key.declared,
                fix=f"name a column of {', '.join(kinds)} or {last}, text in UTF-8; or leave keyColumn out",
                code="bad-key-column",
            )
        return key


def _without(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if str(key).lower() != name}


_SESSIONS: dict[str, type[AdbcSession]] = {"postgresql": PostgresqlSession, "sqlite": SqliteSession}


def open_session(address: Address, label: str = "splitscan") -> AdbcSession:
    """Connect to a database: ``[no-driver]``, ``[database-failed]`` if that cannot be."""
    return _SESSIONS[address.scheme](address, label)


def read_pieces(spec: TableSpec, pieces: Iterable[KeyRange], version: TableVersion | None) -> Iterator[pa.RecordBatch]:
    """Read pieces of a table over a connection of their own, in one transaction.

    Raises:
        SourceError: If the database cannot be read, or does not have that version any more; ``[table-changed]`` also
            after a piece, whose rows are of another version then.
        SchemaError: If a value does not fit its column.
    """
    convert = TableConverter(spec.columns, spec.address.where)
    selected = [(column.expression, column.source) for column in spec.columns]
    with open_session(spec.address, reader_label(None if version is None else version.name)) as session:
        session.begin_reading(spec, version)
        for piece in pieces:
            where = condition(spec.key, piece, session)
            for batch in session.read(spec.relation, selected, where, spec.batch_rows, spec.batch_bytes):
                try:
                    converted = convert(batch)
                except SchemaError as error:
                    error.locate(Where(path=str(spec.address), notes=_notes(spec.key, piece)))
                    raise
                yield converted


def _notes(key: TableColumn | None, piece: KeyRange) -> tuple[tuple[str, str], ...]:
    """Which rows a query asked for, for messages."""
    if key is None or key.key_kind is None:
        return ()
    start, stop = (show_key(key.key_kind, bound) for bound in (piece.start, piece.stop))
    return ((key.name, "null" if piece.only_nulls else f"[{start}, {stop})"),)


def condition(key: TableColumn | None, keys: KeyRange, session: AdbcSession) -> str:
    """The rows of a range as SQL: ``key >= start AND key < stop``, what is unbounded left out. Empty for all rows."""
    if keys.only_nulls:
        return "1 = 0" if key is None else f"{key.key} IS NULL"  # without a key column every row is in another piece
    if key is None or key.key_kind is None:
        return ""
    parts = []
    if keys.start:
        parts.append(f"{key.key} >= {session.literal(key.key_kind, keys.start, key)}")
    if keys.stop:
        parts.append(f"{key.key} < {session.literal(key.key_kind, keys.stop, key)}")
    if keys.with_nulls:
        return f"({' AND '.join(parts)}) OR {key.key} IS NULL" if parts else ""
    if not parts and key.nullable:
        parts.append(f"{key.key} IS NOT NULL")
    return " AND ".join(parts)
