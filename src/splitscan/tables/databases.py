"""Which database an address is of."""

from __future__ import annotations

from splitscan.tables.address import Address, Relation
from splitscan.tables.postgresql import PostgresqlSession
from splitscan.tables.session import AdbcSession
from splitscan.tables.sqlite import SqliteSession

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
