"""Storages: bytes at offsets, what a directory holds, which storage a path names; failures, tried again."""

# Over 400 lines: half of them say what every storage promises.

from __future__ import annotations

import errno
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable
from urllib.parse import unquote

from splitscan.errors import SourceChangedError, SourceError, SourceMissingError, SplitscanError, UsageError, Where
from splitscan.redaction import has_credentials, redact
from splitscan.sizes import KIB

T = TypeVar("T")

_ATTEMPTS = 4
_FIRST_DELAY_SECONDS = 0.05  # then 0.2 and 0.8: rides out a throttled request, not an outage
_NOT_FOUND = (404, 410)  # what a server says of a file that is not there
_PERMANENT = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
_PERMANENT_ERRNOS = frozenset(
    {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EINVAL, errno.EBADF, errno.ELOOP, errno.ENAMETOOLONG,
     errno.ENOSPC, errno.EROFS, errno.ENOTSUP, errno.EMFILE, errno.ENFILE, errno.EFBIG}
)  # fmt: skip
NameFilter: TypeAlias = Callable[[str, bool], bool]
"""Decides by name and "is a directory" whether an entry is wanted."""

SHORT_BYTES = 256 * KIB
"""Up to this length a file is read at once: that costs about as much as asking for a few of its bytes."""

LOCAL_SCHEME = "file"

_DATABRICKS = "dbfs:/"

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)

_FILE_URI = re.compile(r"(?:file|local):(?://(?:localhost)?(?=/)|(?!//))(?P<path>/.*)", re.DOTALL | re.IGNORECASE)

# Hadoop's names for S3; fsspec knows the first only
_SCHEME_ALIASES = {"s3a": "s3", "s3n": "s3"}


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
) -> T:
    """Run *call*, perhaps several times: retry transient failures and name the place in whatever is left.

    *doing* is as in ``cannot read file``; secrets of *storage_options* are masked. Raises ``SourceMissingError`` if
    there is no such file, else ``SourceError``.
    """
    delay_seconds = _FIRST_DELAY_SECONDS
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return call()
        except SplitscanError:
            raise
        except Exception as raised:
            error = _without_disguise(raised)
            if attempt < _ATTEMPTS and is_transient(error):
                sleep(delay_seconds)
                delay_seconds *= 4
                continue
            _raise_source_error(error, doing, where, storage_options, attempt)
    raise AssertionError  # pragma: no cover -- attempts is at least 1


def _without_disguise(error: Exception) -> Exception:
    """The failure of a connection or a server that a library calls a missing file, which may well be there."""
    cause = error.__cause__
    if not isinstance(error, FileNotFoundError) or not isinstance(cause, Exception):
        return error
    has_failed = isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError)
    return cause if has_failed or getattr(cause, "status", _NOT_FOUND[0]) not in _NOT_FOUND else error


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


@runtime_checkable
class ByteSource(Protocol):
    """One open file, readable at any offset.

    Thread safety: ``read_at`` may be called from several threads.
    Pickling: never; open it again where it is needed.
    """

    @property
    def path(self) -> str:
        """The file, as the user would name it."""

    @property
    def size_bytes(self) -> int:
        """Length of the file when it was opened."""

    @property
    def fingerprint(self) -> str:
        """Identity of the content version that is open; comparable to ``FileMetadata.fingerprint``."""

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        """Read up to *length_bytes* bytes from *offset*; fewer only at the end of the file.

        Raises:
            SourceError: If the storage fails; the path and offset are named.
        """

    def close(self) -> None:
        """Release what is held. Calling it again does nothing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory as a storage lists it.

    Attributes:
        size_bytes: Length of a file, 0 for a directory.
        modified_us: Modification time in microseconds since the epoch, 0 when unknown.
        fingerprint: Identity of the content version, empty for a directory.
        real_id: Identity of the real directory behind links, ``None`` where a storage has no links.
    """

    path: str
    is_directory: bool
    size_bytes: int = 0
    modified_us: int = 0
    fingerprint: str = ""
    real_id: tuple[int, int] | None = None
    is_link: bool = False

    @property
    def name(self) -> str:
        """Last component of the path."""
        return self.path.rstrip("/").rpartition("/")[2]


@runtime_checkable
class FileTree(Protocol):
    """The directories of one storage. It never reads the content of a file."""

    def status(self, path: str) -> Entry | None:
        """Look up one canonical path.

        Returns:
            The entry, or ``None`` when nothing has that name. A link that leads nowhere is nothing.

        Raises:
            SourceError: If the storage fails.
        """

    def entries(self, directory: str, keep: NameFilter, ignore_missing: bool) -> Iterator[Entry]:
        """List what is directly in *directory*.

        The order is that of the full paths of all files below: a directory sorts as if its name ended in ``/``.

        Args:
            keep: Asked before anything else is found out about an entry.
            ignore_missing: Skip entries (and a directory) that vanish meanwhile, and links that lead nowhere.

        Raises:
            SourceMissingError: If something vanished.
            SourceError: If the storage fails, or an entry is neither a regular file nor a directory.
        """


class RangedSource(ABC):
    """A file whose length was fixed when it was opened, read at any offset.

    Bytes appended later are not seen, and a file that became shorter is an error instead of a silent end.

    Args:
        read_some: Reads, of at most so many bytes from an offset on, at least one; none where the file ends.
    """

    def __init__(
        self,
        path: str,
        size_bytes: int,
        fingerprint: str,
        read_some: Callable[[int, int], bytes],
        storage_options: Mapping[str, Any],
    ) -> None:
        self.path = path
        self.size_bytes = size_bytes
        self.fingerprint = fingerprint
        self._read_some = read_some
        self._options = storage_options

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        if offset < 0 or length_bytes < 0 or self._is_closed():
            raise refused_read(self._shown_path, offset, length_bytes)
        wanted = min(length_bytes, max(0, self.size_bytes - offset))
        pieces: list[bytes] = []
        while wanted > 0:
            place = Where(path=self.path, offset=offset)
            piece = guarded(partial(self._read_some, wanted, offset), "read file", place, self._options)
            if not piece:
                raise self._became_shorter(offset)
            pieces.append(piece)
            offset += len(piece)
            wanted -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @abstractmethod
    def close(self) -> None:
        """Refuse further reads. Calling it again does nothing."""

    @abstractmethod
    def _is_closed(self) -> bool: ...

    @property
    def _shown_path(self) -> str:
        """The path as messages show it."""
        return self.path

    def _became_shorter(self, offset: int) -> SourceChangedError:
        return SourceChangedError(
            "the file became shorter while it was read", Where(path=self._shown_path, offset=offset),
            f"no byte at {offset}, but the file had {self.size_bytes} bytes when it was opened",
            "read files that nobody writes to any more, and run the job again", "source-truncated",
        )  # fmt: skip


def refused_read(path: str, offset: int = 0, length_bytes: int = 0) -> UsageError:
    """Build the error for a read at a negative offset, or of a negative length, or else of a source that is closed."""
    if offset >= 0 and length_bytes >= 0:
        return UsageError("this source is closed", Where(path=path), fix="open it again", code="closed-source")
    return UsageError(
        "read_at needs a non-negative offset and length", Where(path=path), f"offset {offset}, length {length_bytes}",
        code="bad-read",
    )  # fmt: skip


def not_a_file(path: str) -> SourceError:
    """Build the error for pipes, devices, sockets and directories in the place of a file."""
    return SourceError(
        "only regular files can be read at an offset", Where(path=path),
        "a directory, pipe, socket or device", "copy its content to a file first", "not-a-file",
    )  # fmt: skip


class ShortSource:
    """A file of at most ``SHORT_BYTES`` bytes, for whoever reads all of it: the first read gets everything.

    What a reader looks at before its records, such as the first bytes and the header, is no read of its own.

    Thread safety: as that of *source*; two threads may both read it for the first time.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._content: bytes | None = None
        self.path = source.path
        self.size_bytes = source.size_bytes
        self.fingerprint = source.fingerprint

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        if offset < 0 or length_bytes < 0:
            return self._source.read_at(offset, length_bytes)  # which refuses it
        content = self._content
        if content is None:
            content = self._content = self._source.read_at(0, self.size_bytes)
        return content[offset : offset + length_bytes]

    def close(self) -> None:
        """Close the file, and forget its bytes."""
        self._content = None
        self._source.close()


class ReadWindow:
    """A source, read forward in large pieces and looked at in small ones: a read may be a request."""

    def __init__(self, source: ByteSource, window_bytes: int) -> None:
        self._source, self._window_bytes = source, window_bytes
        self._start = 0
        self._data = b""

    def at(self, offset: int, length_bytes: int) -> bytes:
        """Bytes from *offset*; fewer at the end of the file."""
        if not self._start <= offset <= offset + length_bytes <= self._start + len(self._data):
            self._start = offset
            self._data = self._source.read_at(offset, max(self._window_bytes, length_bytes))
        return self._data[offset - self._start : offset - self._start + length_bytes]


class SourceStream(io.RawIOBase):
    """A position in a source, for libraries that read files; closing it leaves the source open."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__()
        self._size_bytes = size_bytes
        self._position = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Offset of what is read next."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset; ``OSError`` if it lies before the beginning, as of any file."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size_bytes}[whence]
        if base + offset < 0:
            raise OSError(errno.EINVAL, f"offset {base + offset} lies before the beginning of the file")
        self._position = base + offset
        return self._position


def read_at_once(source: ByteSource) -> ByteSource:
    """This file; read in one go if it is short."""
    return ShortSource(source) if 0 < source.size_bytes <= SHORT_BYTES else source


class Location(NamedTuple):
    """A path and the storage it lives in.

    Attributes:
        scheme: Kind of storage, lower case; ``"file"`` for local paths.
    """

    scheme: str
    path: str

    def __repr__(self) -> str:
        return f"Location(scheme={self.scheme!r}, path={redact(self.path)!r})"

    @property
    def is_local(self) -> bool:
        """True if the path is on a file system that this machine has mounted."""
        return self.scheme == LOCAL_SCHEME


def locate(path: str | os.PathLike[str]) -> Location:
    """Find out which storage *path* names and spell it canonically, so that equal files have equal paths.

    Relative paths become absolute, ``file:`` URIs become plain paths, ``s3a:`` becomes ``s3:``, trailing and
    doubled slashes go away (only locally: in an object store they are part of the name). Percent signs are
    literal, as in Spark; only a ``file:`` URI whose literal name does not exist is decoded.

    Raises:
        UsageError: If the path is empty, holds a NUL character, or carries a password.

    Example:
        >>> locate("file:///data/a.csv")
        Location(scheme='file', path='/data/a.csv')
        >>> locate("s3a://bucket/dir/")
        Location(scheme='s3', path='s3://bucket/dir')
    """
    text = os.fspath(path)
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


def _existing_spelling(path: str) -> str:
    """Return the percent-decoded spelling only where the literal one does not exist and the decoded one does."""
    decoded = unquote(path)
    if decoded == path or os.path.lexists(path) or not os.path.lexists(decoded):
        return path
    return decoded


def _absolute(path: str) -> str:
    """Make a local path absolute; ``..`` is resolved as the kernel does, through links."""
    whole = path if path.startswith("/") else f"{Path.cwd()}/{path}"
    parts = whole.split("/")
    if ".." not in parts:
        return "/" + os.path.normpath(whole).lstrip("/")
    parts = [part for part in parts if part not in {"", "."}]
    last = len(parts) - parts[::-1].index("..")
    head = os.path.realpath("/" + "/".join(parts[:last]))
    return "/".join([head.rstrip("/"), *parts[last:]]) or "/"
