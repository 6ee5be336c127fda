"""A server of PostgreSQL for tests, from the packages of the system: its own folder, a socket in it, a password."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .clusters.processes import wait_until

PASSWORD = "hunter2-of-the-tests"
_INSTALLED = Path("/usr/lib/postgresql")
_HOLDERS = "FROM pg_stat_activity WHERE application_name LIKE 'splitscan holds %'"
_SETTINGS = ("listen_addresses=", "fsync=off", "max_connections=60", "autovacuum=off", "log_statement=none")


@dataclass(frozen=True)
class Server:
    """A running server: its folder, which holds the socket, and a database."""

    folder: Path
    database: str = "postgres"

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{PASSWORD}@/{self.database}?host={self.folder}"

    @property
    def pid(self) -> int:
        """The process that all others of the server come from."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor each of whose statements is a transaction of its own."""
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.url, autocommit=True) as connection, connection.cursor() as cursor:
            yield cursor

    def run(self, *statements: str) -> None:
        """Run statements."""
        with self.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.cursor() as cursor:
            cursor.execute(query)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

    def holders(self) -> list[tuple[Any, ...]]:
        """The processes that hold a snapshot for splitscan, and since when."""
        return self.ask(f"SELECT pid, query_start {_HOLDERS}")

    def end_holders(self) -> None:
        """Let nobody hold a snapshot."""
        self.ask(f"SELECT pg_terminate_backend(pid) {_HOLDERS}")
        wait_until("nobody holds a snapshot", lambda: not self.holders())


def _programs() -> Path:
    found = sorted(_INSTALLED.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    named = shutil.which("initdb")
    if named is None:
        pytest.skip("no initdb in /usr/lib/postgresql/*/bin nor in PATH: install the package postgresql")
    return Path(named).parent


def _owner() -> str | None:
    """Whom the server runs as: it refuses root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def running_server() -> Iterator[Server]:
    """A server in a folder of its own, until the end of the block."""
    programs, owner = _programs(), _owner()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short, as the path of a socket has to be
    secret = folder / "password"
    secret.write_text(PASSWORD)
    if owner is not None:
        for path in (folder, secret):
            shutil.chown(path, owner)
        folder.chmod(0o755)

    def call(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(programs / program), "-D", str(folder / "data"), *arguments],
            user=owner, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout

    try:
        call(
            "initdb", "--username=postgres", f"--pwfile={secret}", "--auth=scram-sha-256", "--encoding=UTF8",
            "--locale=C.UTF-8", "--no-sync",
        )  # fmt: skip
        settings = [f"-c {setting}" for setting in (f"unix_socket_directories={folder}", *_SETTINGS)]
        call("pg_ctl", "--wait", "--timeout=120", f"--log={folder / 'log'}", f"--options={' '.join(settings)}", "start")
        try:
            yield Server(folder)
        finally:
            call("pg_ctl", "--wait", "--mode=immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """One server for all tests of a run; each makes tables of its own."""
    pytest.importorskip("adbc_driver_postgresql")
    with running_server() as server:
        yield server
