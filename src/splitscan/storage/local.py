"""Files of mounted file systems, read with ``pread``: the fast path, which never imports fsspec."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from splitscan.errors import SourceChangedError, SourceError, SourceMissingError, UsageError, Where
from splitscan.storage.failures import DEFAULT_RETRIES, RetryPolicy, guarded
from splitscan.storage.tree import Entry, NameFilter

_NOTHING_THERE = frozenset({errno.ENOTDIR, errno.ELOOP})  # "file.csv/x"; links that lead to each other


def local_fingerprint(status: os.stat_result) -> str:
    """Identify a version of a local file by size and nanosecond mtime.

    The inode is left out on purpose: a copy that keeps its times (another host, another mount) is the same version.
    """
    return f"{status.st_size}-{status.st_mtime_ns}"


class LocalByteSource:
    """A regular file, open for reading at any offset.

    The length is fixed when the file is opened: bytes appended later are not seen, and a file that became
    shorter is an error instead of a silent end.

    Args:
        path: Absolute path.
        retries: How transient failures (a network mount) are retried.

    Raises:
        SourceMissingError: If there is no such file.
        SourceError: If it cannot be opened, or is not a regular file.

    Thread safety: ``read_at`` may run in several threads; ``close`` must not overtake it.
    Pickling: never.
    """

    def __init__(self, path: str, retries: RetryPolicy = DEFAULT_RETRIES) -> None:
        self._path = path
        self._retries = retries
        self._file = guarded(
            lambda: open(path, "rb", buffering=0, opener=_open_without_waiting),  # noqa: SIM115 -- closed by close()
            "open file", Where(path=path), retries=retries,
        )  # fmt: skip
        status = os.fstat(self._file.fileno())
        if not stat.S_ISREG(status.st_mode):
            self._file.close()
            raise not_a_file(path)
        self._size_bytes = status.st_size
        self._fingerprint = local_fingerprint(status)
        self._real_id = f"{status.st_dev}:{status.st_ino}"
        self._changed_us = status.st_ctime_ns // 1000

    @property
    def path(self) -> str:
        """The absolute path."""
        return self._path

    @property
    def size_bytes(self) -> int:
        """Length of the file when it was opened."""
        return self._size_bytes

    @property
    def fingerprint(self) -> str:
        """Size and mtime when the file was opened."""
        return self._fingerprint

    @property
    def real_id(self) -> str:
        """Identity of the file behind its name: it survives a rename, and may be used again for another file."""
        return self._real_id

    @property
    def changed_us(self) -> int:
        """When the file, its name or its times changed last, in microseconds since the epoch: no tool sets that."""
        return self._changed_us

    def read_at(self, offset: int, length_bytes: int) -> bytes:
        """Read up to *length_bytes* bytes from *offset*; fewer only at the end of the file.

        Raises:
            UsageError: If an argument is negative, or the source is closed.
            SourceChangedError: If the file became shorter since it was opened.
            SourceError: If the file system fails.
        """
        check_read(self._path, offset, length_bytes, self._file.closed)
        wanted = min(length_bytes, max(0, self._size_bytes - offset))
        pieces: list[bytes] = []
        while wanted > 0:
            piece = self._read_some(offset, wanted)
            if not piece:
                raise became_shorter(self._path, offset, self._size_bytes)
            pieces.append(piece)
            offset += len(piece)
            wanted -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """Close the file descriptor. Calling it again does nothing."""
        self._file.close()

    def _read_some(self, offset: int, length_bytes: int) -> bytes:
        return guarded(
            lambda: os.pread(self._file.fileno(), length_bytes, offset),
            "read file", Where(path=self._path, offset=offset), retries=self._retries,
        )  # fmt: skip


class LocalTree:
    """Directories of mounted file systems; links are followed."""

    def status(self, path: str) -> Entry | None:
        """Look up one path; a link that leads nowhere is ``None``."""
        try:
            found = guarded(lambda: os.stat(path), "look up path", Where(path=path))  # noqa: PTH116 -- hot path
        except SourceMissingError:
            return None
        except SourceError as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno in _NOTHING_THERE:
                return None
            raise
        return _entry(path, found, is_link=os.path.islink(path))  # noqa: PTH114 -- hot path

    def entries(self, directory: str, keep: NameFilter, ignore_missing: bool) -> Iterator[Entry]:
        """List *directory* in path order; only names are held in memory, details are looked up one by one."""
        try:
            keys = guarded(lambda: _sorted_keys(directory, keep), "list directory", Where(path=directory))
        except SourceMissingError:
            if ignore_missing:
                return
            raise
        prefix = directory.rstrip("/") + "/"
        for key in keys:
            path = prefix + key.rstrip("/")
            entry = self.status(path)
            if entry is not None:
                yield entry
            elif not ignore_missing:
                raise _vanished(path)


def check_read(path: str, offset: int, length_bytes: int, closed: bool) -> None:
    """Refuse a read that has no meaning.

    Raises:
        UsageError: If an argument is negative, or the source is closed.
    """
    if offset < 0 or length_bytes < 0:
        raise UsageError(
            "read_at needs a non-negative offset and length", Where(path=path),
            f"offset {offset}, length {length_bytes}", code="bad-read",
        )  # fmt: skip
    if closed:
        raise UsageError("this source is closed", Where(path=path), fix="open it again", code="closed-source")


def became_shorter(path: str, offset: int, size_bytes: int) -> SourceChangedError:
    """Build the error for a file whose bytes end before the length it was opened with."""
    return SourceChangedError(
        "the file became shorter while it was read", Where(path=path, offset=offset),
        f"no byte at {offset}, but the file had {size_bytes} bytes when it was opened",
        "read files that nobody writes to any more, and run the job again", "source-truncated",
    )  # fmt: skip


def not_a_file(path: str) -> SourceError:
    """Build the error for pipes, devices, sockets and directories in the place of a file."""
    return SourceError(
        "only regular files can be read at an offset", Where(path=path),
        "a directory, pipe, socket or device", "copy its content to a file first", "not-a-file",
    )  # fmt: skip


def _open_without_waiting(path: str, flags: int) -> int:
    # a pipe without a writer would block open() for ever; regular files ignore the flag
    return os.open(path, flags | os.O_NONBLOCK)


def _is_directory(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_dir()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
        raise


def _sorted_keys(directory: str, keep: NameFilter) -> list[str]:
    keys = []
    with os.scandir(directory) as found:
        for item in found:
            is_directory = _is_directory(item)
            if keep(item.name, is_directory):
                keys.append(item.name + "/" if is_directory else item.name)
    keys.sort()
    return keys


def _entry(path: str, found: os.stat_result, is_link: bool) -> Entry:
    if stat.S_ISDIR(found.st_mode):
        return Entry(path, True, real_id=(found.st_dev, found.st_ino), is_link=is_link)
    if not stat.S_ISREG(found.st_mode):
        raise not_a_file(path)
    return Entry(path, False, found.st_size, found.st_mtime_ns // 1000, local_fingerprint(found), is_link=is_link)


def _vanished(path: str) -> SourceMissingError:
    link = os.path.islink(path)  # noqa: PTH114 -- paths are strings here
    return SourceMissingError(
        "a listed file cannot be found", Where(path=path),
        "a link that leads nowhere" if link else "it vanished while the directory was listed",
        "option ignoreMissingFiles=true skips such files", "file-missing",
    )  # fmt: skip
