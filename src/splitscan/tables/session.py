"""One connection to a database: what planning and reading ask of it, whichever database it is."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pkgutil
import secrets
import socket
import subprocess
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Self

import pyarrow as pa

from splitscan.errors import SourceError, SplitscanError, UsageError
from splitscan.tables.address import Address, Relation
from splitscan.tables.columns import TableColumn
from splitscan.tables.keys import KeyKind, TableStatistics
from splitscan.tables.planning import TableSpec, TableVersion, checked_name

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
            "the database cannot be read", self.address.where,
            seen=self.address.scrub(f"{type(error).__name__}: {error}")[:_SHOWN_CHARACTERS],
            fix="see what the database says, and run again", code="database-failed",
        )  # fmt: skip


def _load_driver(name: str) -> Any:
    try:
        return importlib.import_module(f"adbc_driver_{name}.dbapi")
    except ImportError as error:
        raise UsageError(
            f"reading tables of {name} needs its ADBC driver", seen=str(error),
            fix='pip install "splitscan[tables]", for Spark\'s workers too', code="no-driver",
        ) from error  # fmt: skip


MOST_HELD = 16
"""Snapshots of a database that are held for one process: each takes a connection, of which servers have about 100."""

NOBODY = 0
"""In place of a process to watch: the snapshot ends when nobody has read with it for a while, or it is released."""

# Which transactions a snapshot sees: two that say the same see the same rows, unless on a standby.
_SEEN = "left(md5(txid_current_snapshot()::text), 16)"
_GIVEN_BACK: dict[str, _Pipe] = {}  # those that this process took, by name
_LOCK = threading.RLock()  # of that; what is collected meanwhile may give back too
_HELD = f"""SELECT a.pid, split_part(a.application_name, ' ', 3) AS snapshot,
        split_part(a.application_name, ' ', 5) = {_SEEN} AND NOT pg_is_in_recovery() AS is_same,
        (SELECT count(*) FROM pg_stat_activity r
            WHERE r.application_name = 'splitscan ' || split_part(a.application_name, ' ', 3)) AS readers
    FROM pg_stat_activity a WHERE a.datname = current_database() AND a.usename = current_user
        AND a.application_name LIKE 'splitscan holds % {{key}} %' ORDER BY a.backend_start"""
_READY_SECONDS = 60.0  # a cold start of Python on a busy machine, and a connection


def reader_label(snapshot: str | None) -> str:
    """The name that readers of a snapshot have in the server's list of connections, by which its holder knows them.

    Example:
        >>> reader_label("00000003-1"), reader_label(None)
        ('splitscan 00000003-1', 'splitscan')
    """
    return "splitscan" if snapshot is None else f"splitscan {snapshot}"


def hold_snapshot(session: AdbcSession, idle_seconds: float, watch: int | None = None) -> str:
    """Take a snapshot of a database of PostgreSQL, and have it held by a process that is started for it.

    That process ends, and the snapshot with it, when a process that is watched ends, when its connection breaks, when
    nobody has read with it for a while, and when all that :func:`give_back_with` was told of is gone: rows that were
    deleted stay on the server as long as it is held. Where one that sees the same rows is held already, that one is
    taken. Each process that is watched has ``MOST_HELD`` in a database at most: of more the oldest that no task reads
    with ends. For ``NOBODY`` each is held on its own.

    Raises:
        SourceError: ``[database-failed]``, ``[snapshot-failed]`` if it cannot be taken, or the process not be started.
    """
    watched = os.getpid() if watch is None else watch
    own = secrets.token_hex(8) if watch == NOBODY else ""
    key = hashlib.sha256(f"{socket.gethostname()} {watched} {idle_seconds} {own}".encode()).hexdigest()[:8]
    held = session.ask(_HELD.format(key=key)).to_pylist()
    for holder in held:
        if holder["is_same"] and (watch is not None or _share(holder["snapshot"])):
            return str(holder["snapshot"])
    unread = [holder["pid"] for holder in held if not holder["readers"]]
    for process in unread[: max(0, len(held) + 1 - MOST_HELD)]:
        session.ask(f"SELECT pg_terminate_backend({process})")
    settings = {
        "target": session.address.labelled("splitscan snapshot"),
        "idle": idle_seconds,
        "watch": watched,
        "key": key,
        "seen": _SEEN,
        "is_given_back": watch is None,
    }
    read_end, write_end = os.pipe()
    try:
        os.write(write_end, json.dumps(settings).encode() + b"\n")
        snapshot = _start_holder(session.address, read_end)
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    if watch is None:
        _GIVEN_BACK[snapshot] = _Pipe(write_end)
    else:
        os.close(write_end)
    return snapshot


def release_query(snapshot: str) -> str:
    """Ends the process of the server that holds a snapshot, and its holder with it."""
    return f"""SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
        AND usename = current_user AND application_name LIKE 'splitscan holds {checked_name(snapshot)} %'"""


def give_back_with(version: TableVersion) -> None:
    """Give a snapshot that :func:`hold_snapshot` named back when a version is gone; each such call needs one of this.

    Copies of the version, as tasks have them, do not count. A snapshot with which another process ends is not given
    back.
    """
    pipe = _GIVEN_BACK.get(version.name)
    if pipe is not None:
        weakref.finalize(version, _give_back, version.name, pipe)


def _share(snapshot: str) -> bool:
    """Use a snapshot that this process took once more; not if it was given back."""
    with _LOCK:
        pipe = _GIVEN_BACK.get(snapshot)
        if pipe is not None:
            pipe.users += 1
        return pipe is not None


def _give_back(snapshot: str, pipe: _Pipe) -> None:
    with _LOCK:
        pipe.users -= 1
        if pipe.users == 0 and pipe.process == os.getpid():
            _GIVEN_BACK.pop(snapshot, None)
            os.close(pipe.write_end)


class _Pipe:
    """Pipe to a holder: it ends when the other end is closed."""

    def __init__(self, write_end: int) -> None:
        self.write_end = write_end
        self.users = 1
        self.process = os.getpid()  # a fork of it gives nothing back


def _start_holder(address: Address, settings: int) -> str:
    """Start the process, which reads its settings from a pipe; returns when it holds the snapshot."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _holder()],
            stdin=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            cwd="/",
            timeout=_READY_SECONDS,
            check=False,
            start_new_session=True,  # no Ctrl-C and no hang-up of the terminal reaches it
        )
        answer = json.loads(done.stdout or b"{}")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise _failed(address, address.scrub(f"{type(error).__name__}: {error}")) from None
    if "snapshot" not in answer:
        raise _failed(address, address.scrub(answer.get("error", f"its process ended with code {done.returncode}")))
    snapshot: str = answer["snapshot"]
    return snapshot


def _holder() -> str:
    text = pkgutil.get_data(__package__, "snapshot_holder.py")
    assert text is not None
    return text.decode()


def _failed(address: Address, seen: str) -> SourceError:
    return SourceError(
        "the snapshot that all tasks are to read cannot be held", address.where, seen=seen,
        fix="see what the database says; with snapshot=own each task reads the version that it finds",
        code="snapshot-failed",
    )  # fmt: skip
