"""Where a database is, and how to say so without saying the password."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from splitscan.errors import UsageError, Where
from splitscan.redaction import MASK, redact

_POSTGRESQL = ("postgresql", "postgres")
_SQLITE = "sqlite"
_FIX = "write postgresql://HOST/DATABASE, or sqlite:///FILE (four slashes before an absolute path)"


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A database: what a driver is told, and what people are shown.

    Attributes:
        scheme: ``postgresql`` or ``sqlite``.
        target: For the driver: a URI, or the absolute path of a file.

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
        parts = urlsplit(self.target)
        found = {parts.password or "", unquote(parts.password or "")}
        found |= {value for name, value in parse_qsl(parts.query) if "passw" in name.lower()}
        return found - {""}


def parse_address(url: str, user: str | None = None, password: str | None = None) -> Address:
    """Understand where a database is.

    Args:
        url: ``postgresql://...`` as libpq has it, or ``sqlite:///FILE``; a relative path is made absolute.
        user: User, where *url* names none.
        password: Password, where *url* has none.

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
    authority = rest.partition("/")[0].partition("?")[0]
    if rest.count("@") != authority.count("@") or authority.count("@") > 1:
        raise _bad("a URL with an @ or a / inside user or password: write %40 and %2F")
    credentials, at, host = rest.rpartition("@")
    given_user, _, given_password = credentials.partition(":")
    if (user and given_user) or (password and given_password):
        raise _bad("a user or a password both in the URL and as an option")
    name = given_user or quote(user or "", safe="")
    secret = given_password or quote(password or "", safe="")
    if not (at or name or secret):
        return Address("postgresql", f"postgresql://{rest}")
    login = f"{name}:{secret}" if secret else name
    return Address("postgresql", f"postgresql://{login}@{host}")


def _bad(seen: str) -> UsageError:
    return UsageError("option url names a database", seen=seen, fix=_FIX, code="bad-database")
