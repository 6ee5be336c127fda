"""One connection to a database: what planning and reading ask of it, whichever database it is."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Self

import pyarrow as pa

from splitscan.errors import SourceError, SplitscanError, UsageError
from splitscan.tables.address import Address, Relation
from splitscan.tables.columns import TableColumn
from splitscan.tables.keys import KeyKind, TableStatistics
from splitscan.tables.planning import TableSpec
from splitscan.tables.versions import TableVersion

_SHOWN_CHARACTERS = 1000  # of a driver's message, which may quote a whole statement


class AdbcSession(ABC):
    """A connection through an ADBC driver. All it does is reading.

    Raises:
        UsageError: ``[no-driver]`` if the driver is not installed.
        SourceError: ``[database-failed]`` if the database does not answer; later too, from every method.

    Thread safety: none. Pickling: no.
    """

    driver: ClassVar[str]

    def __init__(self, address: Address, label: str = "splitscan") -> None:
        self.address = address
        dbapi = _load_driver(self.driver)
        with self._failures():
            self._connection: Any = dbapi.connect(self._target(label), autocommit=True)
            self._cursor: Any = self._connection.cursor()

    @classmethod
    def database_of(cls, address: Address, relation: Relation) -> str:
        """Which database a relation is looked for in, and where there, whoever asks and however it is reached."""
        return str(address)

    @abstractmethod
    def _target(self, label: str) -> str: ...

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction for questions, each of which is answered by what is there then."""

    @abstractmethod
    def begin_reading(self, spec: TableSpec, version: TableVersion | None) -> None:
        """Begin the transaction that everything is read in.

        With a *version*, which another session's :meth:`version` gave, it reads the very same rows; otherwise new ones.

        Raises:
            SourceError: ``[snapshot-lost]`` or ``[table-changed]`` if those rows are not to be had any more; the
                latter from :meth:`read` too.
        """

    @abstractmethod
    def version(self, spec: TableSpec, take_snapshot: Callable[[AdbcSession], str]) -> TableVersion:
        """The version that is there now, in a transaction that :meth:`begin` began."""

    @abstractmethod
    def columns(self, relation: Relation) -> list[TableColumn]:
        """The columns of a table, in its order."""

    @abstractmethod
    def statistics(self, relation: Relation, key: TableColumn | None) -> TableStatistics:
        """Statistics of a table without reading it; of its keys if there are such."""

    @abstractmethod
    def ends(self, relation: Relation, key: TableColumn) -> tuple[bytes, ...]:
        """The least and the largest key; none where no row has one. Without an index it takes a pass over the table."""

    @abstractmethod
    def literal(self, kind: KeyKind, key: bytes, column: TableColumn) -> str:
        """A key as SQL. Nothing in it can be understood as anything else: it is digits, whatever the key."""

    @abstractmethod
    def read(
        self, relation: Relation, columns: Sequence[tuple[str, pa.DataType]], condition: str, rows: int, size_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a table for which a condition holds, in no order."""

    @abstractmethod
    def release(self, version: TableVersion) -> None:
        """Let nobody hold a version any more that was taken to outlive its process."""

    def count(self, relation: Relation) -> int:
        """Number of rows."""
        found: int = self.ask(f"SELECT count(*) FROM {relation.sql}").column(0)[0].as_py()
        return found

    def ask(self, sql: str, options: dict[str, str] | None = None) -> pa.Table:
        """Run a statement whose answer is short."""
        with self._failures():
            self._set_options(options or {})
            self._cursor.execute(sql)
            return self._cursor.fetch_arrow_table()

    def run(self, sql: str) -> None:
        """Run a statement that has no answer."""
        with self._failures():
            self._cursor.execute(sql)

    def stream(self, sql: str, options: dict[str, str]) -> Iterator[pa.RecordBatch]:
        """Run a statement whose answer is long."""
        with self._failures():
            self._set_options(options)
            self._cursor.execute(sql)
            yield from self._cursor.fetch_record_batch()

    def close(self) -> None:
        """Close the connection; what it was in the middle of ends."""
        with suppress(Exception):  # one that is broken already
            self._cursor.close()
        with suppress(Exception):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _set_options(self, options: dict[str, str]) -> None:
        if options:
            self._cursor.adbc_statement.set_options(**options)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Raise what the driver raises as an error of ours, without the password."""
        try:
            yield
        except (SplitscanError, GeneratorExit):
            raise
        except Exception as error:  # drivers raise DB-API's errors while a statement starts, and Arrow's after that
            raise self._failed(error) from None  # its text is kept; its traceback may hold the address

    def _failed(self, error: Exception) -> SourceError:
        return SourceError(
            "the database cannot be read",
            self.address.where,
            seen=self.address.scrub(f"{type(error).__name__}: {error}")[:_SHOWN_CHARACTERS],
            fix="see what the database says, and run again",
            code="database-failed",
        )


def _load_driver(name: str) -> Any:
    try:
        return importlib.import_module(f"adbc_driver_{name}.dbapi")
    except ImportError as error:
        raise UsageError(
            f"reading tables of {name} needs its ADBC driver",
            seen=str(error),
            fix='pip install "splitscan[tables]", for Spark\'s workers too',
            code="no-driver",
        ) from error
