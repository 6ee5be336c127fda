"""Sessions of databases, and the rows of pieces of a table over one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from splitscan.errors import SchemaError, Where
from splitscan.ranges import ByteKeyRange
from splitscan.tables.address import Address, Relation
from splitscan.tables.columns import TableColumn, TableConverter
from splitscan.tables.planning import KeyPiece, TableSpec, show_key
from splitscan.tables.postgresql import PostgresqlSession
from splitscan.tables.session import AdbcSession
from splitscan.tables.snapshots import reader_label
from splitscan.tables.sqlite import SqliteSession
from splitscan.tables.versions import TableVersion

_SESSIONS: dict[str, type[AdbcSession]] = {"postgresql": PostgresqlSession, "sqlite": SqliteSession}


def open_session(address: Address, label: str = "splitscan") -> AdbcSession:
    """Connect to a database.

    Raises:
        UsageError: ``[no-driver]`` if the driver is not installed.
        SourceError: ``[database-failed]`` if the database does not answer.
    """
    return _SESSIONS[address.scheme](address, label)


def database_of(address: Address, relation: Relation) -> str:
    """Which database a relation is looked for in, without password: the server says what the address leaves out.

    Raises:
        UsageError: ``[no-driver]`` if the driver is not installed.
        SourceError: ``[database-failed]`` if the database does not answer.
    """
    return _SESSIONS[address.scheme].database_of(address, relation)


def folds_names(address: Address) -> bool:
    """True if names without quotes are in lower case."""
    return address.scheme == "postgresql"


def read_pieces(spec: TableSpec, pieces: Iterable[KeyPiece], version: TableVersion | None) -> Iterator[pa.RecordBatch]:
    """Read pieces of a table over a connection of their own, in one transaction.

    Raises:
        SourceError: If the database cannot be read, or does not have that version any more; ``[table-changed]`` also
            after a piece, whose rows are of another version then.
        SchemaError: If a value does not fit its column.
    """
    with open_session(spec.address, reader_label(None if version is None else version.name)) as session:
        session.begin_reading(spec, version)
        for piece in pieces:
            yield from _PieceReader(spec, session, piece).batches()


class _PieceReader:
    """Reads one piece of a table over a connection that is in a transaction."""

    def __init__(self, spec: TableSpec, session: AdbcSession, piece: KeyPiece) -> None:
        self._spec = spec
        self._session = session
        self._piece = piece
        self._convert = TableConverter(spec.columns, spec.address.where)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the piece, in no order."""
        piece, key = self._piece, self._spec.key
        if piece.only_nulls:
            yield from self._query(null_condition(key))
        else:
            yield from self._query(condition(key, piece.keys, self._session, piece.with_nulls), piece.keys)

    def _query(self, where: str, keys: ByteKeyRange | None = None) -> Iterator[pa.RecordBatch]:
        spec = self._spec
        selected = [(column.expression, column.source) for column in spec.columns]
        for batch in self._session.read(spec.relation, selected, where, spec.batch_rows, spec.batch_bytes):
            try:
                converted = self._convert(batch)
            except SchemaError as error:
                error.locate(Where(path=str(spec.address), notes=self._notes(keys)))
                raise
            yield converted

    def _notes(self, keys: ByteKeyRange | None) -> tuple[tuple[str, str], ...]:
        """Which rows a query asked for, for messages."""
        key = self._spec.key
        if key is None or key.key_kind is None:
            return ()
        shown = (
            "null" if keys is None else f"[{show_key(key.key_kind, keys.start)}, {show_key(key.key_kind, keys.stop)})"
        )
        return ((key.name, shown),)


def condition(key: TableColumn | None, keys: ByteKeyRange, session: AdbcSession, with_nulls: bool) -> str:
    """The rows of a range as SQL: ``key >= start AND key < stop``, what is unbounded left out. Empty for all rows."""
    if key is None or key.key_kind is None:
        return ""
    parts = []
    if keys.start:
        parts.append(f"{key.key} >= {session.literal(key.key_kind, keys.start, key)}")
    if keys.stop:
        parts.append(f"{key.key} < {session.literal(key.key_kind, keys.stop, key)}")
    if with_nulls:
        return f"({' AND '.join(parts)}) OR {key.key} IS NULL" if parts else ""
    if not parts and key.nullable:
        parts.append(f"{key.key} IS NOT NULL")
    return " AND ".join(parts)


def null_condition(key: TableColumn | None) -> str:
    """The rows without a key as SQL; none without a key column."""
    return "1 = 0" if key is None else f"{key.key} IS NULL"
