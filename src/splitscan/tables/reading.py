"""Reading pieces of a table: one query for each range of keys, claimed before it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from splitscan.errors import SchemaError, Where
from splitscan.ranges import ByteKeyRange, ByteKeyRangeTracker
from splitscan.tables.columns import TableColumn, TableConverter
from splitscan.tables.databases import open_session
from splitscan.tables.session import Session
from splitscan.tables.snapshots import reader_label
from splitscan.tables.spec import KeyPiece, TableSpec, show_key
from splitscan.tables.versions import TableVersion


def read_pieces(spec: TableSpec, pieces: Iterable[KeyPiece], version: TableVersion | None) -> Iterator[pa.RecordBatch]:
    """Read pieces of a table over a connection of their own, in one transaction.

    Args:
        spec: What to read.
        pieces: Which rows. Each is asked for when the one before it was read.
        version: Of which version of the table, as a session of the planner named it; ``None`` for what is there now.

    Raises:
        SourceError: If the database cannot be read, or does not have that version any more; ``[table-changed]`` also
            behind a piece, whose rows are of another version then.
        SchemaError: If a value does not fit its column.
    """
    with open_session(spec.address, reader_label(None if version is None else version.name)) as session:
        session.begin_reading(spec, version)
        for piece in pieces:
            yield from KeyPieceReader(spec, session, piece).batches()


class KeyPieceReader:
    """Reads one piece of a table, between cuts if there are some.

    The rows of a query come in no order, so they cannot be addressed one by one: the split points are the first keys of
    the queries. Each is claimed before anything of its query is delivered, and what the tracker has given away by then
    is not asked for. ``try_split`` gives away whole queries only.

    Args:
        spec: What to read.
        session: A connection, in a transaction.
        piece: Which rows.
        cuts: Keys inside of the range, in strict order, at which queries begin and the piece may be split.

    Thread safety: ``try_split`` from any thread, all else from one.
    """

    def __init__(self, spec: TableSpec, session: Session, piece: KeyPiece, cuts: Sequence[bytes] = ()) -> None:
        self.tracker = ByteKeyRangeTracker(*piece.keys)
        self._spec = spec
        self._session = session
        self._piece = piece
        self._starts = [piece.keys.start, *cuts]
        self._convert = TableConverter(spec.columns, spec.address.where)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the piece, up to where it was split; rows without a key come last."""
        if not self._piece.only_nulls:
            nulls = self._piece.with_nulls and len(self._starts) == 1  # one query for all
            for number, start in enumerate(self._starts):
                if not self.tracker.try_return_record_at(True, start):
                    break
                stop = self._starts[number + 1] if number + 1 < len(self._starts) else self._piece.keys.stop
                keys = ByteKeyRange(start, stop)
                yield from self._query(condition(self._spec.key, keys, self._session, nulls), keys)
            self.tracker.mark_done()
            if nulls:
                return
        if self._piece.with_nulls or self._piece.only_nulls:
            yield from self._query(null_condition(self._spec.key))

    def try_split(self, key: bytes) -> ByteKeyRange | None:
        """Give away what lies behind a key, from the first query on that begins there and is not under way.

        Returns:
            The range that this reader will deliver no row of, or ``None`` if there is none.
        """
        starts = (start for start in self._starts if start and start >= key)
        return next((residual for start in starts if (residual := self.tracker.try_split_off(start))), None)

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


def condition(key: TableColumn | None, keys: ByteKeyRange, session: Session, with_nulls: bool) -> str:
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
