"""Keep secrets out of every message: credentials in URIs, signed queries, storage options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MASK = "***"

# user:password@ in front of a host or bucket. The password may hold slashes (AWS secrets do), so it reaches
# up to the "@"; digits followed by "/" or the end are a port, not a password. Without a scheme it counts where a path
# begins; "file:/a@b" is none. Over HTTP there are no containers before an "@", so a name alone is a token.
_SECRET = r"[^/:@\s'\"]*:(?!\d+(?:/|$))[^@\s'\"]*"
_CREDENTIALS = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<secret>{_SECRET})@"
    r"|(?P<http>\bhttps?://)(?P<token>[^/@\s'\"]+)@"
    rf"|(?<![^\s'\"=(,])(?!file:|[^/:@\s'\"]+:(?://|:))(?P<bare>(?!:){_SECRET})@(?=[\w\[])",
    re.I,
)
_SECRET_NAME = re.compile(
    r"secret|token|passw|credential|signature|sas\b|api_?key|access_?key|account_?key|private", re.I
)
_SECRET_OPTION = re.compile(rf"^(?:key|sig|auth)$|{_SECRET_NAME.pattern}", re.I)
_QUERY_VALUE = re.compile(
    r"(?P<name>[?&;][^=&?\s]*(?:secret|token|passw|pwd|credential|signature|key|auth|jwt|\bsig)[^=&?\s]*=)(?P<secret>[^&;\s'\"]+)",
    re.I,
)
MARK_OF_SECRETS = "[@=]"
"""A regular expression: a text in which it is not found has nothing that :func:`redact` masks without options."""

_MIN_SECRET_CHARS = 4  # shorter values would mask ordinary words and numbers


def has_credentials(path: str) -> bool:
    """Tell whether a path carries a password, as in ``s3://key:secret@bucket/name``, also in a chain of URIs.

    Example:
        >>> has_credentials("s3://AKIA:s3cr/et@bucket/a.csv"), has_credentials("hdfs://host:8020/user@home/a.csv")
        (True, False)
        >>> has_credentials("simplecache::https://me:s3cret@host/a"), has_credentials("me:s3cret@host/a")
        (True, True)
    """
    return "@" in path and _CREDENTIALS.search(path) is not None  # most have none: it is asked of every file


def redact(text: str, storage_options: Mapping[str, Any] | None = None) -> str:
    """Mask every secret that can be recognised in *text*.

    Masked are passwords in URIs, query values whose name tells of a secret, and each value of
    *storage_options* whose name does, wherever it stands. A secret that has no such name cannot be known.

    Args:
        text: A path, a message, anything that is about to be shown.
        storage_options: Options of the file system; may be nested.

    Returns:
        The text with ``***`` in place of the secrets.

    Example:
        >>> redact("s3://AKIA:s3cr/et@bucket/a.csv")
        's3://***@bucket/a.csv'
        >>> redact("https://host/a.csv?sig=abc&x=1")
        'https://host/a.csv?sig=***&x=1'
        >>> redact("denied for hunter22", {"password": "hunter22"})
        'denied for ***'
    """
    if storage_options:
        for secret in sorted(_secret_values(storage_options), key=len, reverse=True):
            text = text.replace(secret, MASK)
    if "@" in text:  # both patterns cost far more than this; paths of every file come through here
        text = _CREDENTIALS.sub(lambda found: f"{found['scheme'] or found['http'] or ''}{MASK}@", text)
    return _QUERY_VALUE.sub(rf"\g<name>{MASK}", text) if "=" in text else text


def secret_ranges(path: str) -> list[tuple[int, int]]:
    """Where a path holds what :func:`redact` masks of it, as ranges of characters, in order.

    Example:
        >>> secret_ranges("s3://AKIA:s3cr/et@bucket/a.csv?sig=abc")
        [(5, 17), (35, 38)]
        >>> secret_ranges("/data/a.csv")
        []
    """
    found = [match.span(_secret_group(match)) for match in _CREDENTIALS.finditer(path)]
    behind = found[-1][1] if found else 0
    return found + [match.span("secret") for match in _QUERY_VALUE.finditer(path, behind)]


def _secret_group(found: re.Match[str]) -> str:
    return next(name for name in ("secret", "token", "bare") if found[name] is not None)


def _secret_values(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        if isinstance(value, Mapping):
            yield from _secret_values(value)
        elif _SECRET_OPTION.search(str(name)) and len(str(value)) >= _MIN_SECRET_CHARS:
            yield str(value)
