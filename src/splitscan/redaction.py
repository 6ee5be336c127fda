"""Keep secrets out of every message: logins in URIs, queries, settings of connections, storage options.

Texts are read as URIs and settings are, and where it is in doubt how far a secret reaches, more is masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

MASK = "***"

MARK_OF_SECRETS = r"(?i)[@=]|%40|passw|pwd|secret|token|credential|signature|authorization|bearer|[a-z]_?-?key"
"""A regular expression: a text in which it is not found has nothing that :func:`redact` masks without options."""

_MARK = re.compile(MARK_OF_SECRETS)
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://")
_CLEAR_START = re.compile(r"(?:^|(?<=[\s'\"(\[{<,;=|])|(?<=::))(?:[A-Za-z][\w+.-]*::?)*$")  # before a scheme
_CLOSING = r"['\"](?=[\s,;:.)\]}>]|$)"  # what ends a quoted text, and does not stand in one
_PORT = r"\d+(?:[/?#,;\s'\")\]]|$)"
_LOGIN = re.compile(rf"(?!\[[0-9a-f:.%\w]*\])[^/:@]*?(?::|%3a)(?!{_PORT})(?=.*(?:@|%40))", re.I)
_TOKEN = re.compile(r"(?P<token>[^/?#]+)@")
_OF_TOKENS = re.compile(
    r"(?:.*\+)?https?|s3[an]?|gc?s"
)  # no containers and users before an "@": a name alone is a token
# Without a scheme a login counts where a path begins. "file:/a@b" is none, nor is "a: b@c".
_BARE_LOGIN = re.compile(
    rf"(?<![^\s'\"=(,])(?!file:|[^/:@\s'\"]+:(?://|:)|:)[^/:@\s'\"]*:(?!{_PORT})(?=\S)(?:(?!{_CLOSING})[^\n])*@(?=[\w\[])",
    re.I,
)
_BASIC = re.compile(r"\b(?:bearer\s+|basic\s+(?=\S*[\d=]))([\w.~+/=-]{6,})", re.I)

_ANY_PART = re.compile(
    "secret|token|passw|pwd|credential|signature|key|auth|jwt|sig|session|cookie|policy|private|bearer|hdn|otp|ticket",
    re.I,
)  # of a name in a query, or of a storage option
_WHOLE_WORD = frozenset(
    ["code", "sas", "pass", "pw", "pin", "sid", "sign", "hmac", "psk", "pat", "assertion", "nonce", "headers", "dsn"]
)
_WORD = re.compile(r"[a-z]+|\d+|[A-Z]+(?![a-z])|[A-Z][a-z]*")
_CERTAIN = r"passw|pwd|secret|token|credential|signature|authorization|jwt|(?:api|access|account|private)[_-]?key"
_RANDOM = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}")  # nobody writes that by hand

_QUERY_PART = re.compile(r"[?&;#](?:amp;)?([^=&?;#\s'\"]+)=")
_QUERY_END = re.compile(rf"[&;#?]|{_CLOSING}")
_NAMELESS = re.compile(rf"[&;#?](?:(?!{_CLOSING})[^=&;#?])*(?=[&;#?]|{_CLOSING}|$)")
_SETTING = re.compile(
    rf"(?<![\w/.%?&;#-])([\w.%-]*(?:{_CERTAIN})[\w.%-]*)(['\"]?\s*(?:=>?|(?<=['\"]):|(?<=ation):)\s*)", re.I
)
_SETTING_END = re.compile(rf";|,?\s+[\w.-]+\s*=|{_CLOSING}")
_FOLDER = re.compile(r"[^;&\s]*/[^;&\s]*$")  # "token=a/b.csv": what begins like a partition directory

_MIN_SECRET_CHARS = 4  # shorter values would mask ordinary words and numbers

Span = tuple[int, int]


def has_credentials(path: str) -> bool:
    """Tell whether a path carries a password, as in ``s3://key:secret@bucket/name``, also in a chain of URIs.

    Example:
        >>> has_credentials("s3://AKIA:s3cr/et@bucket/a.csv"), has_credentials("hdfs://host:8020/user@home/a.csv")
        (True, False)
        >>> has_credentials("simplecache::https://me:s3cret@host/a"), has_credentials("me:s3cret@host/a")
        (True, True)
    """
    if "@" not in path and "%40" not in path:  # most have none: it is asked of every file
        return False
    return any(_logins(path)) or _BARE_LOGIN.match(path) is not None


def redact(text: str, storage_options: Mapping[str, Any] | None = None) -> str:
    """Mask every secret that can be recognised in *text*.

    Masked are logins in URIs, values of queries, fragments and settings whose name tells of a secret or that look
    random, and each value of *storage_options* whose name does, wherever it stands.

    Example:
        >>> redact("s3://AKIA:s3cr/et@bucket/a.csv")
        's3://***@bucket/a.csv'
        >>> redact("https://host/a.csv?sig=abc&x=1")
        'https://host/a.csv?sig=***&x=1'
        >>> redact("denied for hunter22", {"password": "hunter22"})
        'denied for ***'
    """
    if storage_options:
        for secret in sorted(_spellings(_secret_values(storage_options)), key=len, reverse=True):
            text = text.replace(secret, MASK)
    parts, reached = [], 0
    for start, stop in secret_ranges(text):
        parts += [text[reached:start], MASK]
        reached = stop
    return "".join([*parts, text[reached:]])


def secret_ranges(text: str) -> list[Span]:
    """Parts of a text that :func:`redact` masks, as ranges of characters, in order.

    Example:
        >>> secret_ranges("s3://AKIA:s3cr/et@bucket/a.csv?sig=abc")
        [(5, 17), (35, 38)]
        >>> secret_ranges("/data/a.csv")
        []
    """
    if not _MARK.search(text):  # what follows costs far more, and paths of every file come through here
        return []
    found: list[Span] = []
    begin = 0
    for line in text.split("\n"):
        spans = chain(_logins(line), _bare_logins(line), _query_values(line), _settings(line), _bearers(line))
        found += _merged((begin + start, begin + stop) for start, stop in spans)
        begin += len(line) + 1
    return found


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Merge ranges into those that neither overlap nor touch."""
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        elif start < stop:
            merged.append((start, stop))
    return merged


def _uris(line: str) -> Iterator[tuple[str, int, int]]:
    """Scheme of each URI, where it goes on after ``://``, and where the next one begins for certain."""
    found = list(_SCHEME.finditer(line))
    limit = len(line)
    for match in reversed(found):
        yield match[0][:-3].lower(), match.end(), limit
        clear = _CLEAR_START.search(line, 0, match.start())
        if clear is not None:
            limit = clear.start()


def _logins(line: str) -> Iterator[Span]:
    """User and password before a host. A password may hold ``/`` (AWS secrets do), ``@`` and blanks."""
    for scheme, start, limit in _uris(line):
        rest = line[start:limit]
        if rest.startswith(f"{MASK}@"):
            continue
        if _LOGIN.match(rest):
            mark = rest.rfind("@")
            yield start, start + (mark if mark >= 0 else rest.lower().rindex("%40"))
        elif _OF_TOKENS.fullmatch(scheme) and (token := _TOKEN.match(rest)):
            yield start, start + token.end("token")


def _bare_logins(line: str) -> Iterator[Span]:
    for match in _BARE_LOGIN.finditer(line):
        scheme = _SCHEME.search(line, match.start(), match.end())
        stop = match.end() - 1 if scheme is None else line.rfind("@", match.start(), scheme.start())
        if stop > match.start() and not line.startswith(MASK, match.start()):
            yield match.start(), stop


def _query_values(line: str) -> Iterator[Span]:
    """Values of a query or a fragment, and of ``;NAME=VALUE`` settings: up to what begins another."""
    starts = sorted(limit for _, _, limit in _uris(line))
    for match in _QUERY_PART.finditer(line):
        start = match.end()
        limit = next((each for each in starts if each >= start), len(line))
        end = _QUERY_END.search(line, start, limit)
        stop = end.start() if end is not None else limit
        value = line[start:stop]
        if value.startswith(MASK) or not (_tells_of_secret(match[1]) or _looks_secret(value)):
            continue
        while (more := _NAMELESS.match(line, stop, limit)) is not None:  # an "&" of the secret itself
            stop = more.end()
        yield start, stop


def _settings(line: str) -> Iterator[Span]:
    """Values of settings such as ``password=...``, ``"token": "..."`` and ``Authorization: ...``."""
    for match in _SETTING.finditer(line):
        start = match.end()
        quoted = line[start : start + 1] in {"'", '"'}
        start += quoted
        end = _SETTING_END.search(line, start)
        if quoted:
            end = re.compile(re.escape(line[start - 1]) + r"(?=[\s,;:.)\]}>]|$)").search(line, start) or end
        stop = end.start() if end is not None else len(line)
        is_folder = match.start() == 0 and "=" in match[2] and _FOLDER.match(line, start) is not None
        if not is_folder and not line.startswith(MASK, start):
            yield start, stop


def _bearers(line: str) -> Iterator[Span]:
    return (match.span(1) for match in _BASIC.finditer(line))


def _tells_of_secret(name: str) -> bool:
    """True if a name says that its value is a secret, however the name is encoded."""
    for _ in range(3):
        name = unquote_plus(name)
    words = {word.lower() for word in _WORD.findall(name)}
    return _ANY_PART.search(name) is not None or not words.isdisjoint(_WHOLE_WORD)


def _looks_secret(value: str) -> bool:
    """True if a value looks random, or holds an encoded URI with a secret."""
    plain = unquote(value)
    return _RANDOM.search(plain) is not None or (plain != value and bool(secret_ranges(plain)))


def _secret_values(options: Mapping[Any, Any], *, all_of: bool = False) -> Iterator[str]:
    for name, value in options.items():
        is_secret = all_of or _tells_of_secret(str(name)) or "connection" in str(name).lower()
        if isinstance(value, Mapping):
            yield from _secret_values(value, all_of=is_secret)
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from _secret_values(dict(enumerate(value)), all_of=is_secret)
        elif is_secret and not isinstance(value, bool) and value is not None:
            yield str(value)
        elif isinstance(value, str):
            yield from (value[start:stop] for start, stop in secret_ranges(value))


def _spellings(secrets: Iterable[str]) -> set[str]:
    """Secrets as they may stand in a text: encoded, escaped, and piece by piece where they are settings or headers."""
    whole = set(secrets)
    pieces = {piece for secret in whole for piece in re.split(r"[:;\s]+|(?<=\w)=(?=[^=])", secret)}
    found = {
        each
        for value in whole | pieces
        for each in (value, unquote(value), quote(value), quote_plus(value), quote(value, safe=""))
    }
    found |= {json.dumps(value)[1:-1] for value in found} | {repr(value)[1:-1] for value in found}
    return {value for value in found if len(value) >= _MIN_SECRET_CHARS}
