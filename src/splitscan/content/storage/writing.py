"""Rules of all destinations: names that stay inside, names of unfinished files, and errors that name the place."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from splitscan.errors import IngestError, SourceMissingError, SplitscanError, UsageError, Where
from splitscan.redaction import redact

T = TypeVar("T")


def check_name(name: str, allow_root: bool = False) -> str:
    """Refuse a name that would leave the folder it is relative to.

    Raises:
        UsageError: If the name is absolute, empty, or has a ``.``, ``..`` or empty segment or a NUL.

    Example:
        >>> check_name("a/b.txt")
        'a/b.txt'
    """
    bare = name.removesuffix("/")
    if bare == "" and name == "" and allow_root:
        return ""
    if "\0" in bare or any(segment in {"", ".", ".."} for segment in bare.split("/")):
        raise UsageError(
            "a name in a destination must be relative and stay inside it", seen=repr(name),
            fix="use names like folder/file", code="path-escapes",
        )  # fmt: skip
    return bare


def temporary_name() -> str:
    """A name for a file that is not whole yet: hidden from Spark and Hive, and never the same for two writers."""
    return f".{secrets.token_hex(8)}.tmp"  # short enough for names near the limit


def writing(call: Callable[[], T], doing: str, path: str, storage_options: Mapping[str, Any] | None = None) -> T:
    """Run one operation on a destination and name the place if it fails. Nothing is retried: it may not be idempotent.

    Raises:
        SourceMissingError: If a name does not exist.
        IngestError: If the storage failed otherwise.
    """
    try:
        return call()
    except SplitscanError:
        raise
    except Exception as error:
        _raise_failed(error, doing, path, storage_options)
    raise AssertionError  # pragma: no cover -- the handler always raises


@contextmanager
def writing_block(path: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Name the destination in the ``OSError`` of a block that writes to it; other errors pass as they are."""
    try:
        yield
    except OSError as error:
        _raise_failed(error, "write", path, storage_options)


def _raise_failed(error: Exception, doing: str, path: str, storage_options: Mapping[str, Any] | None) -> None:
    raw = f"{type(error).__name__}: {error}"
    shown = redact(raw, storage_options)
    cause = error if shown == raw else None
    where = Where(path=redact(path, storage_options))
    if isinstance(error, FileNotFoundError):
        raise SourceMissingError(
            f"cannot {doing}: it does not exist", where, shown, "check the destination", "file-missing"
        ) from cause
    raise IngestError(
        f"cannot {doing} in the destination", where, shown,
        "check that the destination exists, is writable and has space", "destination-failed",
    ) from cause  # fmt: skip
