"""The process that holds a snapshot of PostgreSQL: started by splitscan, ends by itself.

:mod:`splitscan.tables.session` hands this text to an interpreter of its own. It imports nothing of splitscan and no
DB-API, which would take a second of processor time for each DataFrame.

Its settings come on standard input, where nobody else can read them, and it says on standard output what the snapshot
is called. Then its parent ends, so that nobody has to wait for it. Where standard input may end, so does the snapshot.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.modules["numpy"] = None  # type: ignore[assignment]  # pyarrow does without, and starts in half the time

import adbc_driver_manager
import adbc_driver_postgresql
import pyarrow as pa

_POLL_SECONDS = 1.0
_POLLS_PER_IDLE_TIME = 4
_SHOWN_CHARACTERS = 1000


class _Connection:
    def __init__(self, target: str) -> None:
        self._database = adbc_driver_postgresql.connect(target)
        self._connection = adbc_driver_manager.AdbcConnection(self._database)
        self._statement = adbc_driver_manager.AdbcStatement(self._connection)

    def begin(self) -> None:
        """Begin the one transaction that lasts until the end."""
        self._statement.set_sql_query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._statement.execute_update()

    def ask(self, query: str) -> Any:
        """The only value of a query."""
        self._statement.set_sql_query(query)
        stream, _ = self._statement.execute_query()
        return pa.RecordBatchReader.from_stream(stream).read_all().column(0)[0].as_py()


def main() -> None:
    """Take the settings and the snapshot, and hold it in a process that is nobody's child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which may go on after it
    settings = json.loads(sys.stdin.buffer.readline())
    if os.fork() == 0:
        _serve(**settings)


def _serve(watch: int, idle: float, target: str, key: str, seen: str, is_given_back: bool) -> None:
    born = _birth(watch)
    try:
        connection = _Connection(target)
        connection.begin()
        snapshot = connection.ask("SELECT pg_export_snapshot()")
        label = f"splitscan holds {snapshot} {key}"
        connection.ask(f"SELECT set_config('application_name', '{label} ' || {seen}, false)")
        _say({"snapshot": snapshot}, keep_input=is_given_back)
        _hold(connection, snapshot, idle, lambda: _is_alive(watch, born), [sys.stdin] if is_given_back else [])
    except Exception as error:  # the driver's, or Arrow's where a query fails after its first row: our last words
        _say({"error": f"{type(error).__name__}: {error}"[:_SHOWN_CHARACTERS]})


def _hold(
    connection: _Connection, snapshot: str, idle_seconds: float, is_watched: Callable[[], bool], ends: list[Any]
) -> None:
    """Wait until nobody can read any more, or nobody has read for long; a connection that breaks raises."""
    pause = min(_POLL_SECONDS, idle_seconds / _POLLS_PER_IDLE_TIME)
    used = time.monotonic()
    while is_watched() and time.monotonic() - used < idle_seconds:
        if select.select(ends, [], [], pause)[0]:
            return  # whoever planned has closed the other end: nobody is going to read any more
        connection.ask("SELECT pg_stat_clear_snapshot()")  # a transaction sees the list of connections once
        if connection.ask(f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'splitscan {snapshot}'"):
            used = time.monotonic()


def _say(answer: dict[str, str], *, keep_input: bool = False) -> None:
    """Tell the parent, then let go of its pipes, so that it never waits for us."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(answer).encode())
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr) if keep_input else (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nothing, stream.fileno())
    os.close(nothing)


def _is_alive(process: int, born: str) -> bool:
    if not process:  # nobody is watched
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it lives, and is somebody else's
        return True
    return _birth(process) == born


def _birth(process: int) -> str:
    """When a process started, so that another one with the same number is told apart; empty where nobody says."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


if __name__ == "__main__":
    main()
