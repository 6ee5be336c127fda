"""SQLite: a file that is opened for reading only, whose version is compared, and whose columns have any type.

Declared types are wishes, so values are looked at where these say nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from splitscan.errors import SourceChangedError, SourceError, Where
from splitscan.tables.address import Relation, quote_name
from splitscan.tables.columns import ANY_VALUE, TableColumn, is_number
from splitscan.tables.keys import KeyKind, TableStatistics, keys_of, to_integer
from splitscan.tables.planning import TableSpec, TableVersion
from splitscan.tables.session import AdbcSession

_AS_TEXT = "CAST({0} AS TEXT) AS {0}"
_AS_BYTES = "CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS TEXT) ELSE {0} END AS {0}"
_MOST_EXACT = 1 << 53  # the largest integer up to which each is a double
_LONG = "long integer"  # one that not every double of its size is
_PARTS = ("'integer' THEN {}", "'real' THEN {}", "'text' THEN {} WHEN 'blob' THEN 'x''' || hex({}) || ''''")
"""Of a value of any type, for each part of :data:`ANY_VALUE`."""
_SEEDS = {pa.int64(): "0", pa.float64(): "0.0", pa.string(): "''", pa.binary(): "x''"}
_KEYS = {pa.int64(): KeyKind.INTEGER, pa.string(): KeyKind.TEXT, pa.binary(): KeyKind.BYTES}
_NUMBERS = frozenset({"integer", "real", _LONG})
_SCALE = re.compile(r",\s*[1-9]")  # of digits after the point


def column_of(name: str, declared: str, seen: frozenset[str], *, required: bool, text_keys: bool) -> TableColumn:
    """How a column is read."""
    quoted = quote_name(name)
    kind, is_mixed = _kind(declared.upper(), seen)
    is_loose = _told_type(declared.upper()) is None
    key_kind = None if is_mixed else _KEYS.get(kind)
    if key_kind is KeyKind.TEXT and not text_keys:
        key_kind = None
    return TableColumn(
        name=name,
        type=kind,
        expression=_expression(quoted, kind, is_loose=is_loose),
        text=_AS_TEXT.format(quoted),
        key_kind=key_kind,
        key=f"{quoted} COLLATE BINARY" if key_kind is KeyKind.TEXT else quoted,
        nullable=not required,
        values=quoted if is_loose or not is_number(kind) else None,
        declared=declared or f"values of {', '.join(sorted(seen)) or 'no type'}",
    )


def seeds_of(kind: pa.DataType) -> list[str]:
    """A value of a type, or of each of its parts, as SQL."""
    return [_SEEDS[part.type] for part in kind] if kind.equals(ANY_VALUE) else [_SEEDS[kind]]


def _selected(expression: str, kind: pa.DataType) -> list[str]:
    if not kind.equals(ANY_VALUE):
        return [expression]
    return [f"CASE typeof({expression}) WHEN {part.format(expression, expression)} END" for part in _PARTS]


def _joined(columns: Iterator[pa.Array], kind: pa.DataType) -> pa.Array:
    """The next column of a driver's; of its parts, if it has any."""
    if not kind.equals(ANY_VALUE):
        return next(columns)
    parts = [next(columns).cast(field.type) for field in kind]
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=reduce(pc.and_, map(pc.is_null, parts)))


def _type_of(expression: str) -> str:
    """The type of a value; integers that are no double have one of their own."""
    is_long = f"typeof({expression}) = 'integer' AND {expression} NOT BETWEEN {-_MOST_EXACT} AND {_MOST_EXACT}"
    return f"CASE WHEN {is_long} THEN '{_LONG}' ELSE typeof({expression}) END"


_AFFINITIES = (
    (("INT",), pa.int64()),
    (("CHAR", "CLOB", "TEXT"), pa.string()),
    (("BLOB",), pa.binary()),
    (("REAL", "FLOA", "DOUB"), pa.float64()),
)
"""Words of a declared type by which SQLite turns all values that can be turned into one type; the first counts."""


def _told_type(declared: str) -> pa.DataType | None:
    return next((kind for words, kind in _AFFINITIES if any(word in declared for word in words)), None)


def _kind(declared: str, seen: frozenset[str]) -> tuple[pa.DataType, bool]:
    """The type of a column, and whether its values have to be turned into text for it."""
    told = _told_type(declared)
    if told is not None:
        return told, False
    is_numeric = bool(declared) and not any(word in declared for word in ("DATE", "TIME"))
    has_fractions = is_numeric and _SCALE.search(declared) is not None and _LONG not in seen
    if seen and seen <= _NUMBERS and not {"real", _LONG} <= seen:
        return (pa.float64() if has_fractions or "real" in seen else pa.int64()), False
    if seen == {"text"}:
        return pa.string(), False
    if seen == {"blob"}:
        return pa.binary(), False
    return (pa.float64(), False) if is_numeric and not seen else (pa.string(), True)


def _expression(quoted: str, kind: pa.DataType, *, is_loose: bool) -> str:
    """Expression for a column: the driver has digits of its own for numbers among texts and bytes."""
    if pa.types.is_binary(kind):
        return _AS_BYTES.format(quoted)
    return _AS_TEXT.format(quoted) if pa.types.is_string(kind) and is_loose else quoted


_BATCH_ROWS = "adbc.sqlite.query.batch_rows"
_MOST_BATCH_ROWS = 8192  # the driver counts rows and not bytes, so this bounds what wide ones take
_SAMPLES = 200
_TYPED_ROWS = 1000  # that tell the type of a column whose declaration does not
_VIEW = Relation(("temp", "splitscan_query"))
_HEADER_BYTES = 100  # of the file: counters of its changes are among them
_WAL_HEADER_BYTES = 32
_WAL_INDEX = slice(16, 40)  # last frame, checksum and salt of the index of the log


class SqliteSession(AdbcSession):
    """A connection to a file of SQLite."""

    driver: ClassVar[str] = "sqlite"

    def _target(self, label: str) -> str:
        """The file, for reading only: it is neither made nor changed, and no log is folded into it."""
        path = Path(self.address.target)
        if not path.is_file():
            raise SourceError(
                "the file of the database does not exist", Where(path=str(path)), seen="no such file",
                fix="four slashes come before an absolute path: sqlite:////data/a.db", code="path-not-found",
            )  # fmt: skip
        return f"file:{quote(str(path))}?mode=ro"

    def begin(self) -> None:
        """Begin a transaction; it sees the rows of its first statement, which is here."""
        self.run("BEGIN")
        self.ask("SELECT count(*) FROM sqlite_schema")

    def begin_reading(self, spec: TableSpec, version: TableVersion | None) -> None:
        self.begin()
        if version is not None and version.name != self._digest():
            raise SourceChangedError(
                "the database was written to after the scan was planned",
                self.address.where,
                "another version of the file",
                "read it again; if it is written to all the time, read a copy (VACUUM INTO), or set snapshot=own",
                "table-changed",
            )

    def version(self, spec: TableSpec, take_snapshot: Callable[[AdbcSession], str]) -> TableVersion:
        """The file as it is: definitions of tables and views are part of it."""
        return TableVersion(self._digest())

    def release(self, version: TableVersion) -> None:
        """Nothing: nobody holds a version of a file."""

    def _digest(self) -> str:
        """Digest of the file and its log, to tell one moment from another."""
        path = Path(self.address.target)
        found = path.stat()
        digest = hashlib.sha256(f"{found.st_size} {found.st_mtime_ns}".encode())
        with path.open("rb") as file:
            digest.update(file.read(_HEADER_BYTES))
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            with log.open("rb") as file:
                digest.update(file.read(_WAL_HEADER_BYTES))
            with Path(f"{path}-shm").open("rb") as file:
                digest.update(file.read(_WAL_INDEX.stop)[_WAL_INDEX])
        return digest.hexdigest()

    def columns(self, relation: Relation) -> list[TableColumn]:
        """Types as they are declared; where that says nothing, as the first rows have them."""
        utf8 = self.ask("PRAGMA encoding").column(0)[0].as_py() == "UTF-8"
        named = self._as_view(relation)
        schema = f"{quote_name(named.parts[0])}." if len(named.parts) > 1 else ""
        found = self.ask(f"PRAGMA {schema}table_xinfo({quote_name(named.parts[-1])})").to_pylist()
        if not found:
            raise SourceError(
                f"the database has no {relation}", self.address.where, seen="no such table",
                fix="name a table or a view", code="database-failed",
            )  # fmt: skip
        shown = [row for row in found if row["hidden"] != 1]  # columns of virtual tables that are arguments
        seen = self._types_seen(relation, [row["name"] for row in shown])
        return [
            column_of(row["name"], row["type"] or "", seen[row["name"]], required=bool(row["notnull"]), text_keys=utf8)
            for row in shown
        ]

    def _as_view(self, relation: Relation) -> Relation:
        if relation.query is None:
            return relation
        self.run(f"CREATE TEMP VIEW IF NOT EXISTS splitscan_query AS {relation.query}")
        return _VIEW

    def _types_seen(self, relation: Relation, names: Sequence[str]) -> dict[str, frozenset[str]]:
        first = f"(SELECT * FROM {relation.sql} LIMIT {_TYPED_ROWS})"
        parts = [
            f"SELECT DISTINCT {number} AS number, {_type_of(quote_name(name))} AS kind FROM {first}"
            for number, name in enumerate(names)
        ]
        found: dict[str, set[str]] = {name: set() for name in names}
        for part in parts:
            for row in self.ask(part).to_pylist():
                found[names[row["number"]]].add(row["kind"])
        return {name: frozenset(kinds - {"null"}) for name, kinds in found.items()}

    def statistics(self, relation: Relation, key: TableColumn | None) -> TableStatistics:
        """Sizes of the whole file, which is the most that a table can have; keys at evenly spaced numbers of rows."""
        pages = self.ask("PRAGMA page_count").column(0)[0].as_py() * self.ask("PRAGMA page_size").column(0)[0].as_py()
        ends = self._row_numbers(relation)
        rows = 0 if ends is None else ends[1] - ends[0] + 1
        if key is None:
            return TableStatistics(rows, pages)
        samples = self.ends(relation, key) if ends is None else self._sampled(relation, key, *ends)
        return TableStatistics(rows, pages, samples=samples)

    def _row_numbers(self, relation: Relation) -> tuple[int, int] | None:
        """The first and the last number of a row; ``None`` for what has none, or no row."""
        if relation.query is not None:
            return None
        try:
            sql = f"SELECT (SELECT min(_rowid_) FROM {relation.name}), (SELECT max(_rowid_) FROM {relation.name})"
            low, high = (column[0].as_py() for column in self.ask(sql).columns)
        except SourceError:  # a view, or a table WITHOUT ROWID
            return None
        return None if not isinstance(low, int) or not isinstance(high, int) else (low, high)

    def _sampled(self, relation: Relation, key: TableColumn, low: int, high: int) -> tuple[bytes, ...]:
        numbers = sorted({low + (high - low) * number // _SAMPLES for number in range(_SAMPLES + 1)})
        listed = ", ".join(f"({number})" for number in numbers)
        found = self._ask_keys(
            key,
            f"SELECT (SELECT {key.key} FROM {relation.name} WHERE _rowid_ >= n.column1 ORDER BY _rowid_ LIMIT 1) "
            f"AS k FROM (VALUES {listed}) AS n",
        )
        return tuple(sorted(found))

    def ends(self, relation: Relation, key: TableColumn) -> tuple[bytes, ...]:
        table = f"FROM {relation.sql} WHERE {key.key} IS NOT NULL ORDER BY {key.key}"
        found: list[bytes] = []
        for order in ("ASC", "DESC"):
            found += self._ask_keys(key, f"SELECT * FROM (SELECT {key.key} AS k {table} {order} LIMIT 1)")
        return tuple(found)

    def _ask_keys(self, key: TableColumn, sql: str) -> list[bytes]:
        """The keys among some values: SQLite may have others in any column, which belong to ranges all the same."""
        wanted = {KeyKind.INTEGER: "integer", KeyKind.TEXT: "text", KeyKind.BYTES: "blob"}[key.key_kind or KeyKind.TEXT]
        found = self.ask(f"SELECT k FROM ({sql}) WHERE typeof(k) = '{wanted}'").column(0)
        if pa.types.is_null(found.type) or not len(found):
            return []
        return [key for chunk in found.chunks for key in keys_of(chunk)]

    def literal(self, kind: KeyKind, key: bytes, column: TableColumn) -> str:
        match kind:
            case KeyKind.INTEGER:
                return str(to_integer(key))
            case KeyKind.TEXT:
                return f"CAST(x'{key.hex()}' AS TEXT)"
            case _:
                return f"x'{key.hex()}'"

    def read(
        self, relation: Relation, columns: Sequence[tuple[str, pa.DataType]], condition: str, rows: int, size_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows for which a condition holds.

        The driver takes the type of a column from its first rows, so one is put before them that has the right types.
        """
        selected = ", ".join(chain.from_iterable(_selected(*column) for column in columns))
        seeds = ", ".join(chain.from_iterable(seeds_of(kind) for _, kind in columns))
        where = f" WHERE {condition}" if condition else ""
        sql = f"SELECT {seeds} UNION ALL SELECT {selected} FROM {relation.sql}{where}"
        most = max(1, min(rows, _MOST_BATCH_ROWS, size_bytes))
        is_first = True
        for batch in self.stream(sql, {_BATCH_ROWS: str(most)}):
            wanted = batch.slice(1) if is_first else batch
            is_first = False
            if wanted.num_rows:
                given = iter(wanted.columns)
                joined = [_joined(given, kind) for _, kind in columns]
                yield pa.RecordBatch.from_arrays(joined, [str(number) for number in range(len(joined))])
