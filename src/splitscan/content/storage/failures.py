"""Turn a storage's failures into splitscan's errors, and try again where that can help."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from splitscan.errors import SourceError, SourceMissingError, SplitscanError, Where
from splitscan.redaction import redact

T = TypeVar("T")

_PERMANENT = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
_PERMANENT_ERRNOS = frozenset(
    {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EINVAL, errno.EBADF, errno.ELOOP, errno.ENAMETOOLONG,
     errno.ENOSPC, errno.EROFS, errno.ENOTSUP, errno.EMFILE, errno.ENFILE, errno.EFBIG}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a transient failure is tried again.

    Attributes:
        attempts: Calls in total, at least 1.
        first_delay_seconds: Pause before the second call; each further pause is four times as long.
        sleep: What waits; tests replace it.
    """

    attempts: int = 4
    first_delay_seconds: float = 0.05  # 0.05 + 0.2 + 0.8 s: rides out a throttled request, not an outage
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False)


DEFAULT_RETRIES = RetryPolicy()


def is_transient(error: BaseException) -> bool:
    """Tell whether trying again may help: an ``OSError`` that is not about the name, the rights or the space.

    Example:
        >>> is_transient(ConnectionResetError()), is_transient(FileNotFoundError())
        (True, False)
    """
    if isinstance(error, SplitscanError) or not isinstance(error, OSError) or isinstance(error, _PERMANENT):
        return False
    return error.errno not in _PERMANENT_ERRNOS


def guarded(
    call: Callable[[], T],
    doing: str,
    where: Where,
    storage_options: Mapping[str, Any] | None = None,
    retries: RetryPolicy = DEFAULT_RETRIES,
) -> T:
    """Run *call*; retry transient failures and name the place in whatever is left.

    Args:
        call: A read-only storage operation; it may run several times.
        doing: What is being done, as in ``"read"``: ``cannot read file``.
        where: The file and offset.
        storage_options: Options whose secrets must not show.
        retries: How often.

    Returns:
        What *call* returned.

    Raises:
        SourceMissingError: If there is no such file.
        SourceError: If the storage failed otherwise.
    """
    delay_seconds = retries.first_delay_seconds
    for attempt in range(1, retries.attempts + 1):
        try:
            return call()
        except SplitscanError:
            raise
        except Exception as error:
            if attempt < retries.attempts and is_transient(error):
                retries.sleep(delay_seconds)
                delay_seconds *= 4
                continue
            _raise_source_error(error, doing, where, storage_options, attempt)
    raise AssertionError  # pragma: no cover -- attempts is at least 1


def _raise_source_error(
    error: Exception, doing: str, where: Where, storage_options: Mapping[str, Any] | None, attempts: int
) -> None:
    """Raise the error that names the place. A cause whose text holds a secret is not chained: tracebacks travel."""
    place = Where(redact(where.path, storage_options) if where.path else None, where.offset, where.block, where.column)
    raw = f"{type(error).__name__}: {error}"
    shown = redact(raw, storage_options) + (f" (after {attempts} attempts)" if attempts > 1 else "")
    if isinstance(error, FileNotFoundError):
        wrapped: SourceError = SourceMissingError(
            f"cannot {doing}: it does not exist", place, shown,
            "check the path; option ignoreMissingFiles=true skips files that vanish", "file-missing",
        )  # fmt: skip
    elif isinstance(error, PermissionError):
        wrapped = SourceError(
            f"cannot {doing}: permission denied", place, shown, "grant read access", "file-unreadable"
        )
    else:
        wrapped = SourceError(f"cannot {doing}", place, shown, "check that the storage is reachable", "storage-failed")
    raise wrapped from (error if redact(raw, storage_options) == raw else None)
