"""The process that holds a snapshot: ``python -m splitscan.tables.snapshot_holder``, started by :mod:`.snapshots` only.

Its settings come on standard input, where nobody else can read them, and it says on standard output what the snapshot
is called. Then its parent ends, so that nobody has to wait for it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from splitscan.errors import SplitscanError
from splitscan.tables.address import Address
from splitscan.tables.databases import open_session
from splitscan.tables.session import Session
from splitscan.tables.snapshots import reader_label

_POLL_SECONDS = 1.0
_POLLS_PER_IDLE_TIME = 4


def main() -> None:
    """Take the settings and the snapshot, and hold it in a process that is nobody's child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which may go on after it
    settings = json.loads(sys.stdin.buffer.readline())
    if os.fork() == 0:
        _serve(settings["watch"], settings["idle"], Address(settings["scheme"], settings["target"]))


def _serve(watched: int, idle_seconds: float, address: Address) -> None:
    born = _birth(watched)
    try:
        with open_session(address, "splitscan snapshot") as session:
            session.begin(None)
            version = session.version()
            _say({"version": version})
            _hold(session, reader_label(version), idle_seconds, lambda: _is_alive(watched, born))
    except SplitscanError as error:
        _say({"error": error.seen or str(error)})


def _hold(session: Session, label: str, idle_seconds: float, is_watched_alive: Callable[[], bool]) -> None:
    """Wait until nobody can read any more, or nobody has read for long; a connection that breaks raises."""
    pause = min(_POLL_SECONDS, idle_seconds / _POLLS_PER_IDLE_TIME)
    used = time.monotonic()
    while is_watched_alive() and time.monotonic() - used < idle_seconds:
        time.sleep(pause)
        session.ask("SELECT pg_stat_clear_snapshot()")  # a transaction sees the list of connections once
        readers = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{label}'"
        if session.ask(readers).column(0)[0].as_py():
            used = time.monotonic()


def _say(answer: dict[str, str]) -> None:
    """Tell the parent, then let go of its pipes, so that it never waits for us."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(answer).encode())
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        os.dup2(nothing, stream.fileno())
    os.close(nothing)


def _is_alive(process: int, born: str) -> bool:
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
