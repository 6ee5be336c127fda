"""Addresses of databases and of what is read: a table or a SELECT."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, unquote_plus

from splitscan.errors import UsageError, Where
from splitscan.redaction import MASK, redact

_PART = re.compile(r'"((?:[^"]|"")+)"|([^\W\d][\w$]*)')
MOST_PARTS = 2
"""A schema and a table."""


def quote_name(name: str) -> str:
    """A name as SQL has it, whatever is in it.

    Example:
        >>> quote_name("odd name")
        '"odd name"'
    """
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, by its parts (schema, if there is one, and name), or a SELECT."""

    parts: tuple[str, ...]
    query: str | None = None

    @property
    def sql(self) -> str:
        """SQL after FROM."""
        if self.query is not None:
            return f"({self.query}\n) AS splitscan_query"
        return self.name

    @property
    def name(self) -> str:
        """The quoted name of a table."""
        return ".".join(map(quote_name, self.parts))

    def __str__(self) -> str:
        return "the query" if self.query is not None else f"table {self.name}"


def parse_relation(dbtable: str | None, query: str | None, *, lower: bool) -> Relation:
    """Understand what is to be read: ``[bad-table]`` if the name is none.

    Example:
        >>> parse_relation('Sales."Odd.Name"', None, lower=True).parts
        ('sales', 'Odd.Name')
    """
    if query is not None:
        return Relation((), query.strip().rstrip(";"))
    assert dbtable is not None
    parts, position = [], 0
    while match := _PART.match(dbtable, position):
        quoted, plain = match.groups()
        parts.append(quoted.replace('""', '"') if quoted else plain.lower() if lower else plain)
        position = match.end()
        if position == len(dbtable) and len(parts) <= MOST_PARTS:
            return Relation(tuple(parts))
        if dbtable[position : position + 1] != ".":
            break
        position += 1
    raise UsageError(
        "option dbtable is the name of a table, with its schema in front or without", seen=repr(dbtable[:80]),
        fix='put a name that has other characters than letters, digits and _ in double quotes: sales."odd name"; '
        "give a SELECT as option query", code="bad-table",
    )  # fmt: skip


_POSTGRESQL = ("postgresql", "postgres")
_SQLITE = "sqlite"
_SECRET = "passw"  # in the names of all parameters of libpq that must not be shown
_PLACES = ("host", "hostaddr", "port", "service")  # parameters of libpq that say which server it is
_FIX = "write postgresql://HOST/DATABASE, or sqlite:///FILE (four slashes before an absolute path)"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A database: what a driver is told, a URI or the absolute path of a file, and what people are shown.

    Pickling: with the password, so only inside Spark's own tasks; neither ``str`` nor ``repr`` shows it.
    """

    scheme: str
    target: str

    def __str__(self) -> str:
        if self.scheme == _SQLITE:
            return f"sqlite:///{self.target}"
        before, at, behind = self.target.partition("@")
        shown = f"{before.partition('://')[0]}://{MASK}@{behind}" if at else self.target
        return redact(shown)

    def __repr__(self) -> str:
        return f"Address({self})"

    @property
    def where(self) -> Where:
        """The place, for messages."""
        return Where(path=str(self))

    def of_database(self, name: str, **facts: str) -> str:
        """The address of one of a server's databases, without password and settings of the connection.

        Example:
            >>> address = parse_address("postgresql://anna:s3cret@db.example?sslmode=require&port=5433")
            >>> address.of_database("sales", system="7")
            'postgresql://db.example/sales?port=5433&system=7'
        """
        _, hosts, query = _parts(self.target.partition("://")[2])
        given = sorted(each for each in query.split("&") if each.partition("=")[0].lower() in _PLACES)
        told = given + [f"{fact}={quote(value, safe=',')}" for fact, value in facts.items()]
        return f"{self.scheme}://{hosts}/{quote(name, safe='')}?{'&'.join(told)}"

    def labelled(self, label: str) -> str:
        """For the driver of PostgreSQL: the URI, with a label as the name of the application."""
        mark = "&" if "?" in self.target else "?"
        return f"{self.target}{mark}application_name={quote(label)}"

    def scrub(self, text: str) -> str:
        """A text of the driver without anything that only those may know who were given the address."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return redact(text)

    def _secrets(self) -> set[str]:
        if self.scheme == _SQLITE:
            return set()
        credentials, _, query = _parts(self.target.partition("://")[2])
        given = [credentials.partition(":")[2]]
        settings = [each.partition("=") for each in query.split("&")]
        given += [value for name, _, value in settings if _SECRET in unquote(name).lower()]
        given += [name for name, equals, _ in settings if not equals]  # perhaps an "&" of the secret itself
        found = {spelling for value in given for spelling in (value, unquote(value), unquote_plus(value))}
        return found - {""}


def parse_address(url: str, user: str | None = None, password: str | None = None) -> Address:
    """Understand where a database is.

    Raises:
        UsageError: ``[bad-database]``; nothing of *url* is shown, as anything in it may be a part of a password.

    Example:
        >>> str(parse_address("postgresql://anna:s3cret@db.example:5433/sales"))
        'postgresql://***@db.example:5433/sales'
    """
    scheme, mark, rest = url.partition("://")
    if not mark or scheme not in (*_POSTGRESQL, _SQLITE):
        raise _bad("a URL that begins with neither postgresql:// nor sqlite:///")
    if scheme == _SQLITE:
        if user is not None or password is not None:
            raise _bad("a file of SQLite, with a user or a password")
        if not rest.startswith("/") or not rest[1:] or rest[1:] == ":memory:":
            raise _bad("a URL of SQLite without a file")
        return Address(_SQLITE, str(Path(rest[1:]).absolute()))
    credentials, host, _ = _parts(rest)
    if rest.count("@") > ("@" in rest.partition("/")[0].partition("?")[0]):
        raise _bad("a URL with an @ or a / inside user or password: write %40 and %2F")
    if not all(map(_is_host, host.split(","))):
        raise _bad("a URL whose host or port is none: an IPv6 address stands in [], a port is a number")
    at = rest[: len(credentials) + 1] == f"{credentials}@"
    given_user, _, given_password = credentials.partition(":")
    if (user and given_user) or (password and given_password):
        raise _bad("a user or a password both in the URL and as an option")
    name = given_user or quote(user or "", safe="")
    secret = given_password or quote(password or "", safe="")
    if not (at or name or secret):
        return Address("postgresql", f"postgresql://{rest}")
    login = f"{name}:{secret}" if secret else name
    return Address("postgresql", f"postgresql://{login}@{rest[len(credentials) + at :]}")


def _parts(rest: str) -> tuple[str, str, str]:
    """User and password, hosts with their ports, and parameters, as libpq divides a URI.

    No parser of the standard library: those quote what they do not understand.
    """
    before, _, query = rest.partition("?")
    credentials, _, hosts = before.partition("/")[0].rpartition("@")
    return credentials, hosts, query


def _is_host(text: str) -> bool:
    """True if a text is a host with or without a port; it may be empty, and a percent-encoded folder of a socket."""
    return re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\[\]:]*)(:[0-9]*)?", text) is not None


def _bad(seen: str) -> UsageError:
    return UsageError("option url names a database", seen=seen, fix=_FIX, code="bad-database")
