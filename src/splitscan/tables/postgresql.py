"""PostgreSQL: its types, COPY in binary through ADBC, catalogs and statistics, and snapshots that sessions share."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import pyarrow as pa

from splitscan.errors import SourceError
from splitscan.tables.address import MOST_PARTS, Address, Relation, quote_name
from splitscan.tables.columns import MOST_SHORT_DIGITS, TableColumn
from splitscan.tables.keys import KeyKind, TableStatistics, keys_of, to_integer
from splitscan.tables.planning import (
    LOCKED_QUERY,
    RelationState,
    TableSpec,
    TableVersion,
    check_unchanged,
    checked_name,
    states_query,
    table_changed,
)
from splitscan.tables.session import AdbcSession, release_query

_TYPE = b"POSTGRESQL:type"
_MODIFIER = b"POSTGRESQL:typmod"
_MOST_DIGITS = 38
_MODIFIER_OFFSET = 4
_SCALE_BITS = 0x7FF

_PLAIN = frozenset(
    {"int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "name", "char", "bytea", "bool", "date",
     "timestamp", "timestamptz"}
)  # fmt: skip
_AS_TEXT_ALREADY = frozenset({"uuid", "json", "jsonb"})  # the driver delivers them in a form that becomes text here
_KEYS = {
    "int2": KeyKind.INTEGER, "int4": KeyKind.INTEGER, "int8": KeyKind.INTEGER, "text": KeyKind.TEXT,
    "varchar": KeyKind.TEXT, "uuid": KeyKind.UUID, "bytea": KeyKind.BYTES, "date": KeyKind.DATE,
    "timestamp": KeyKind.TIMESTAMP, "timestamptz": KeyKind.TIMESTAMP,
}  # fmt: skip
_UNSIGNED = {"oid": "int8"}  # the driver takes them for signed numbers of 32 bits


def column_of(field: pa.Field, *, nullable: bool, is_c: bool, text_keys: bool) -> TableColumn:
    """How a column is read."""
    said = field.metadata or {}
    declared = said.get(_TYPE, b"").decode()
    name = quote_name(field.name)
    kind, expression = _delivered(field.type, declared, int(said.get(_MODIFIER, b"-1")), name)
    key_kind = _KEYS.get(declared)
    if key_kind is KeyKind.TEXT and not text_keys:
        key_kind = None
    collated = key_kind is KeyKind.TEXT and not is_c
    return TableColumn(
        name=field.name,
        type=kind,
        expression=f"{expression} AS {name}",
        text=f"{name}::text AS {name}",
        key_kind=key_kind,
        key=f'{name} COLLATE "C"' if collated else name,
        nullable=nullable,
        declared=declared,
    )


def _delivered(found: pa.DataType, declared: str, modifier: int, name: str) -> tuple[pa.DataType, str]:
    if pa.types.is_list(found):
        inner = declared.removeprefix("_")
        if inner in _PLAIN:
            return pa.list_(found.value_type), _one_dimension(name, f"{inner}[]")
        return pa.list_(pa.string()), _one_dimension(f"{name}::text[]", "text[]")
    if declared in _PLAIN:
        return found, name
    if declared in _AS_TEXT_ALREADY or declared == "numeric":
        digits = _numeric(modifier) if declared == "numeric" else pa.string()
        is_short = pa.types.is_decimal(digits) and digits.precision <= MOST_SHORT_DIGITS
        return digits, f"numeric_send({name})" if is_short else name  # the driver takes long to make texts of them
    if declared in _UNSIGNED:
        return pa.int64(), f"{name}::{_UNSIGNED[declared]}"
    return pa.string(), f"{name}::text"


def _numeric(modifier: int) -> pa.DataType:
    """A decimal where digits are declared, else text: any other type would lose some of them."""
    if modifier < _MODIFIER_OFFSET:
        return pa.string()
    precision = (modifier - _MODIFIER_OFFSET) >> 16 & 0xFFFF
    scale = (modifier - _MODIFIER_OFFSET) & _SCALE_BITS
    return pa.decimal128(precision, scale) if precision <= _MOST_DIGITS and scale <= precision else pa.string()


def _one_dimension(expression: str, kind: str) -> str:
    """An array, or an error of the server where it has several dimensions: the driver would flatten it silently."""
    said = "an array of several dimensions: declare the column as string; "
    return (
        f"CASE WHEN array_ndims({expression}) > 1 THEN ('{said}' || array_dims({expression}))::{kind} "
        f"ELSE {expression} END"
    )


_USE_COPY = "adbc.postgresql.use_copy"
_BATCH_BYTES = "adbc.postgresql.batch_size_hint_bytes"
_TEXT_KEYS = "UTF8"  # keys between others are made up, and other encodings have no bytes for most of them
_SAMPLED_PAGES = 300  # of 8 KiB: some ten thousand keys
_MOST_SAMPLES = 10_000
# The server converts texts, but for those whose encoding it does not know: they come as they are, and are looked at.
_ENCODING = """SELECT set_config('client_encoding',
    CASE current_setting('server_encoding') WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END, false)"""
# A server is known by the number that it was given when it was made; where that is kept secret, by where it listens.
_SYSTEM = "SELECT system_identifier::text FROM pg_control_system()"
_LISTENING = "SELECT concat(inet_server_addr(), ':', current_setting('port'))"
_DATABASE = """SELECT current_database()::text, array_to_json(current_schemas(false))::text,
    has_function_privilege('pg_control_system()', 'execute')"""
_LOCK_MILLIS = 60_000  # the catalogs are locked for moments only, but for VACUUM FULL of them
_MOST_SHOWN = 5
_EPOCH = dt.datetime(1970, 1, 1)
_ELEMENTS = {
    KeyKind.INTEGER: "int8", KeyKind.TEXT: "text", KeyKind.UUID: "uuid", KeyKind.BYTES: "bytea", KeyKind.DATE: "date",
}  # fmt: skip


class PostgresqlSession(AdbcSession):
    """A connection to a server of PostgreSQL, 12 or newer."""

    driver: ClassVar[str] = "postgresql"

    def __init__(self, address: Address, label: str = "splitscan") -> None:
        super().__init__(address, label)
        self.ask(_ENCODING)
        self._locking = ""  # locks all that is read; empty where no version is
        self._planned: tuple[RelationState, ...] = ()  # which must be just that

    @classmethod
    def database_of(cls, address: Address, relation: Relation) -> str:
        """Which database a relation is looked for in, and by which search path where its schema is not named."""
        with cls(address) as session:
            name, schemas, is_told = (column[0].as_py() for column in session.ask(_DATABASE).columns)
            facts = {"system": session.ask(_SYSTEM if is_told else _LISTENING).column(0)[0].as_py()}
        if len(relation.parts) < MOST_PARTS:
            names = json.loads(schemas)
            facts["search_path"] = ",".join(each if each.isidentifier() else quote_name(each) for each in names)
        return address.of_database(name, **facts)

    def _target(self, label: str) -> str:
        return self.address.labelled(label)

    def begin(self) -> None:
        self.run("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")

    def begin_reading(self, spec: TableSpec, version: TableVersion | None) -> None:
        """Begin a transaction that reads one snapshot from its first statement to its last.

        With a version it also locks all that the scan reads, so that none of it can be changed any more, and then has
        another session compare it with the plan.
        """
        self.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if version is None:
            return
        try:
            self.run(f"SET TRANSACTION SNAPSHOT '{checked_name(version.name)}'")
        except SourceError as error:
            self.run("ROLLBACK")  # fails where it was the connection, which says nothing of the snapshot
            raise self._lost(error.seen) from error
        process, server = self._process()
        if server != version.server:
            raise self._lost("a snapshot with that name of a server that was restarted")
        self._locking, self._planned = spec.locking, version.relations
        self.ask(self._locking)
        with type(self)(self.address) as other:
            other.begin()
            other.run(f"SET LOCAL lock_timeout = {_LOCK_MILLIS}")
            check_unchanged(self._planned, other.states(process), self.address.where)

    def _lost(self, seen: str | None) -> SourceError:
        return SourceError(
            "the snapshot that all tasks of the scan read is gone", self.address.where, seen,
            "make the DataFrame again, or run the ingest again; raise snapshotIdleMillis if tasks come late, or cache "
            "what is read again, as the snapshot of a DataFrame ends with its driver", "snapshot-lost",
        )  # fmt: skip

    def version(self, spec: TableSpec, take_snapshot: Callable[[AdbcSession], str]) -> TableVersion:
        self.ask(spec.locking)
        process, server = self._process()
        relations = self.states(process)
        return TableVersion(take_snapshot(self), relations, server)

    def states(self, process: int) -> tuple[RelationState, ...]:
        """Relations that a process of the server has locked, as they are now."""
        return tuple(RelationState(**row) for row in self.ask(states_query(process)).to_pylist())

    def _process(self) -> tuple[int, str]:
        """The process of the server that works for this session, and when the server was started."""
        found = self.ask("SELECT pg_backend_pid(), extract(epoch FROM pg_postmaster_start_time())::text")
        process, server = (column[0].as_py() for column in found.columns)
        return process, server

    def release(self, version: TableVersion) -> None:
        """End who holds the snapshot, if it is of this server's run."""
        if self._process()[1] == version.server:
            self.ask(release_query(version.name))

    def columns(self, relation: Relation) -> list[TableColumn]:
        """Names and types as the driver finds them; what may be null and how text compares as catalogs say."""
        fields = self.ask(f"SELECT * FROM {relation.sql} LIMIT 0").schema
        encoding = self.ask("SELECT current_setting('server_encoding')").column(0)[0].as_py()
        facts = self._facts(relation)
        return [
            column_of(
                field,
                nullable=not facts.get(field.name, (False, False))[0],
                is_c=facts.get(field.name, (False, False))[1],
                text_keys=encoding == _TEXT_KEYS,
            )
            for field in fields
        ]

    def _facts(self, relation: Relation) -> dict[str, tuple[bool, bool]]:
        """Of each column of a table, whether no row is without it, and whether its collation is C already.

        NOT NULL says nothing of tables that inherit, nor of foreign ones, nor where rows of before were not looked at.
        """
        if relation.query is not None:
            return {}
        rows = self.ask(
            "SELECT a.attname::text, a.attnotnull AND (c.relkind = 'p' OR c.relkind IN ('r', 'm') AND NOT "
            "c.relhassubclass) AND NOT EXISTS (SELECT FROM pg_constraint n WHERE n.conrelid = c.oid AND "
            "n.contype = 'n' AND NOT n.convalidated AND a.attnum = ANY (n.conkey)), "
            "coalesce(l.collcollate IN ('C', 'POSIX') "
            "OR (l.collname = 'default' AND d.datcollate IN ('C', 'POSIX')), false) FROM pg_attribute a "
            "JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation "
            "JOIN pg_database d ON d.datname = current_database() "
            f"WHERE a.attrelid = {self._oid(relation)} AND a.attnum > 0 AND NOT a.attisdropped"
        ).to_pydict()
        return {name: (required, is_c) for name, required, is_c in zip(*rows.values(), strict=True)}

    def statistics(self, relation: Relation, key: TableColumn | None) -> TableStatistics:
        kind = None if relation.query is not None else self._kind(relation)
        if kind is None or kind == "v":
            rows, size_bytes = self._expected(relation)
            samples = () if key is None else self.ends(relation, key)
            return TableStatistics(rows, size_bytes, samples=samples)
        oid = self._oid(relation)
        sizes = self.ask(
            f"SELECT greatest(c.reltuples, 0)::int8, greatest(pg_table_size(c.oid), coalesce((SELECT "
            "sum(pg_table_size(t.relid)) FROM pg_partition_tree(c.oid) t WHERE t.isleaf), 0))::int8 "
            f"FROM pg_class c WHERE c.oid = {oid}"
        )
        rows, size_bytes = (column[0].as_py() for column in sizes.columns)
        if key is None:
            return TableStatistics(rows, size_bytes)
        null_share, samples, common = self._analyzed(oid, key)
        if not samples and not common:
            samples = self._sampled(relation, key, size_bytes) if kind in "rmp" else self.ends(relation, key)
        return TableStatistics(rows, size_bytes, null_share, samples, common)

    def _kind(self, relation: Relation) -> str:
        found = self.ask(f"SELECT relkind::text FROM pg_class WHERE oid = {self._oid(relation)}")
        kind: str = found.column(0)[0].as_py()
        return kind

    def _expected(self, relation: Relation) -> tuple[int, int]:
        plan = self.ask(f"EXPLAIN (FORMAT JSON) SELECT * FROM {relation.sql}", {_USE_COPY: "false"})
        text = plan.column(0)[0].as_py()
        top = json.loads(text)[0]["Plan"]
        return int(top["Plan Rows"]), int(top["Plan Rows"] * top["Plan Width"])

    def _analyzed(self, oid: str, key: TableColumn) -> tuple[float, tuple[bytes, ...], tuple[tuple[bytes, float], ...]]:
        assert key.key_kind is not None
        element = _ELEMENTS.get(key.key_kind, key.declared)
        statistics = (
            "FROM pg_stats s JOIN pg_class c ON c.relname = s.tablename JOIN pg_namespace n ON n.oid = c.relnamespace "
            f"AND n.nspname = s.schemaname WHERE c.oid = {oid} AND s.attname = {_text(key.name)} "
            "ORDER BY s.inherited DESC LIMIT 1"
        )
        nulls = self.ask(f"SELECT s.null_frac::float8 {statistics}").column(0).to_pylist()
        bounds = self.ask(
            f"SELECT unnest(h::text::{element}[]) FROM (SELECT s.histogram_bounds AS h {statistics}) AS x"
        )
        common = self.ask(
            f"SELECT unnest(v::text::{element}[]), unnest(f)::float8 "
            f"FROM (SELECT s.most_common_vals AS v, s.most_common_freqs AS f {statistics}) AS x"
        )
        frequent = tuple(zip(_keys(key, common.column(0)), common.column(1).to_pylist(), strict=False))
        return (nulls[0] or 0.0) if nulls else 0.0, _keys(key, bounds.column(0)), frequent

    def _sampled(self, relation: Relation, key: TableColumn, size_bytes: int) -> tuple[bytes, ...]:
        percent = min(100.0, 100.0 * _SAMPLED_PAGES * 8192 / max(1, size_bytes))
        table = f"{relation.sql} TABLESAMPLE SYSTEM ({percent:.6f})"
        found = self.ask(f"SELECT {key.expression} FROM {table} LIMIT {_MOST_SAMPLES}")
        return _keys(key, found.column(0))

    def ends(self, relation: Relation, key: TableColumn) -> tuple[bytes, ...]:
        found: list[bytes] = []
        for order in ("ASC", "DESC"):
            sql = (
                f"SELECT {key.expression} FROM {relation.sql} WHERE {key.key} IS NOT NULL "
                f"ORDER BY {key.key} {order} LIMIT 1"
            )
            found += _keys(key, self.ask(sql).column(0))
        return tuple(found)

    def literal(self, kind: KeyKind, key: bytes, column: TableColumn) -> str:
        """A key as SQL: hexadecimal or decimal digits, and what the server makes of them. COPY takes no parameters."""
        match kind:
            case KeyKind.INTEGER:
                return f"({to_integer(key)})::int8"
            case KeyKind.UUID:
                return f"'{key.hex()}'::uuid"
            case KeyKind.BYTES:
                return f"'\\x{key.hex()}'::bytea"
            case KeyKind.TEXT:
                return _text(key.decode())
            case KeyKind.DATE:
                return f"'{(_EPOCH + dt.timedelta(days=to_integer(key))).date().isoformat()}'::date"
            case KeyKind.TIMESTAMP:
                moment = (_EPOCH + dt.timedelta(microseconds=to_integer(key))).isoformat()
                zone = "+00" if column.declared == "timestamptz" else ""
                return f"'{moment}{zone}'::{column.declared}"

    def read(
        self, relation: Relation, columns: Sequence[tuple[str, pa.DataType]], condition: str, rows: int, size_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows for which a condition holds; the driver makes batches by size, and they are cut by rows."""
        selected = ", ".join(expression for expression, _ in columns)
        sql = f"SELECT {selected} FROM {relation.sql}" + (f" WHERE {condition}" if condition else "")
        if self._locking:
            self.ask(self._locking)
            self._check_locked()
        for batch in self.stream(sql, {_USE_COPY: "true", _BATCH_BYTES: str(size_bytes)}):
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
        if self._locking:
            self._check_locked()

    def _check_locked(self) -> None:
        """See that nothing is read but what was planned, all of which is locked by now."""
        planned = {relation.number for relation in self._planned}
        others = [row["name"] for row in self.ask(LOCKED_QUERY).to_pylist() if row["number"] not in planned]
        if others:
            raise table_changed(self.address.where, f"{', '.join(others[:_MOST_SHOWN])} is read as well")

    def _oid(self, relation: Relation) -> str:
        return f"{_text(relation.name)}::regclass"


def _keys(key: TableColumn, column: pa.ChunkedArray) -> tuple[bytes, ...]:
    """Keys of a column, without those that stand for no moment of the calendar."""
    kind = key.key_kind
    assert kind is not None
    found = (key for chunk in column.chunks for key in keys_of(chunk))
    return tuple(key for key in found if kind.representable(key) == key)


def _text(text: str) -> str:
    """A text as SQL, whatever is in it."""
    return f"convert_from('\\x{text.encode().hex()}'::bytea, 'UTF8')"
