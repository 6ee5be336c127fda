"""Which storage a path names, and its one canonical spelling."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from splitscan.errors import UsageError, Where
from splitscan.redaction import has_credentials, redact

LOCAL_SCHEME = "file"
_DATABRICKS = "dbfs:/"
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_FILE_URI = re.compile(r"(?:file|local):(?://(?:localhost)?(?=/)|(?!//))(?P<path>/.*)", re.DOTALL | re.IGNORECASE)
# Hadoop's names for S3; fsspec knows the first only
_SCHEME_ALIASES = {"s3a": "s3", "s3n": "s3"}


class Location(NamedTuple):
    """A path and the storage it lives in.

    Attributes:
        scheme: Kind of storage, lower case; ``"file"`` for local paths.
        path: Canonical spelling: an absolute local path, or a URI kept whole.
    """

    scheme: str
    path: str

    def __repr__(self) -> str:
        return f"Location(scheme={self.scheme!r}, path={redact(self.path)!r})"

    @property
    def is_local(self) -> bool:
        """Whether the path is on a file system that this machine has mounted."""
        return self.scheme == LOCAL_SCHEME


def locate(path: str | os.PathLike[str]) -> Location:
    """Find out which storage *path* names and spell it canonically, so that equal files have equal paths.

    Relative paths become absolute, ``file:`` URIs become plain paths, ``s3a:`` becomes ``s3:``, trailing and
    doubled slashes go away (only locally: in an object store they are part of the name). Percent signs are
    literal, as in Spark; only a ``file:`` URI whose literal name does not exist is decoded.

    Args:
        path: What the user wrote.

    Returns:
        The location. That something exists there is not checked.

    Raises:
        UsageError: If the path is empty, holds a NUL character, or carries a password.

    Example:
        >>> locate("file:///data/a.csv")
        Location(scheme='file', path='/data/a.csv')
        >>> locate("s3a://bucket/dir/")
        Location(scheme='s3', path='s3://bucket/dir')
    """
    text = os.fspath(path)
    _check_text(text)
    file_uri = _FILE_URI.fullmatch(text)
    if file_uri is not None:
        return Location(LOCAL_SCHEME, _absolute(_existing_spelling(file_uri["path"])))
    if text.lower().startswith(_DATABRICKS) and not os.path.lexists(text):
        raise UsageError(
            "paths of dbfs: are known to Databricks' own readers alone", where=Where(path=text),
            fix=f"write /dbfs/{text[len(_DATABRICKS) :].lstrip('/')}, or the path of a volume: /Volumes/...",
            code="bad-path",
        )  # fmt: skip
    uri = _URI.fullmatch(text)
    if uri is None:
        return Location(LOCAL_SCHEME, _absolute(text))
    scheme = uri["scheme"].lower()
    scheme = _SCHEME_ALIASES.get(scheme, scheme)
    if scheme == LOCAL_SCHEME:
        raise UsageError(
            "a file URI must be absolute", where=Where(path=text), fix="write file:///dir/name", code="bad-path"
        )
    return Location(scheme, f"{scheme}://{uri['rest'].rstrip('/')}")


def is_inside(path: str, root: str) -> bool:
    """Tell whether canonical *path* is *root* itself or lies below it, without following any link.

    Example:
        >>> is_inside("/data/a/b.csv", "/data/a"), is_inside("/data/ab.csv", "/data/a")
        (True, False)
        >>> is_inside("s3://b/x/../../c", "s3://b/x")
        False
    """
    root = root.rstrip("/")
    if path != root and not path.startswith(f"{root}/"):
        return False
    return ".." not in path[len(root) :].split("/")


def _check_text(text: Any) -> None:
    if not isinstance(text, str) or not text.strip():
        raise UsageError("a path must be a non-empty string", seen=repr(text), code="bad-path")
    if "\0" in text:
        raise UsageError("a path cannot hold a NUL character", seen=repr(redact(text)), code="bad-path")
    if has_credentials(text) and not os.path.lexists(text):
        raise UsageError(
            "a path must not carry a password: paths travel into plans, logs and results",
            where=Where(path=redact(text)),
            fix="pass credentials in storage_options (for S3: key and secret) or in the environment; "
            "write a file of such a name as ./NAME",
            code="credentials-in-path",
        )


def _existing_spelling(path: str) -> str:
    """Return the percent-decoded spelling only where the literal one does not exist and the decoded one does."""
    decoded = unquote(path)
    if decoded == path or os.path.lexists(path) or not os.path.lexists(decoded):
        return path
    return decoded


def _absolute(path: str) -> str:
    """Make a local path absolute; ``..`` is resolved as the kernel does, through links."""
    whole = path if path.startswith("/") else f"{Path.cwd()}/{path}"
    parts = [part for part in whole.split("/") if part not in {"", "."}]
    if ".." not in parts:
        return "/" + "/".join(parts)
    last = len(parts) - parts[::-1].index("..")
    head = os.path.realpath("/" + "/".join(parts[:last]))
    return "/".join([head.rstrip("/"), *parts[last:]]) or "/"
