"""Files of mounted file systems, read with ``pread``: the fast path, which never imports fsspec."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from functools import partial

from splitscan.content.storage.contract import (
    DEFAULT_RETRIES,
    Entry,
    NameFilter,
    RangedSource,
    RetryPolicy,
    guarded,
    not_a_file,
)
from splitscan.errors import SourceError, SourceMissingError, Where

_NOTHING_THERE = frozenset({errno.ENOTDIR, errno.ELOOP})  # "file.csv/x"; links that lead to each other


def local_fingerprint(status: os.stat_result) -> str:
    """Identify a version of a local file by size and nanosecond mtime.

    The inode is left out on purpose: a copy that keeps its times (another host, another mount) is the same version.
    """
    return f"{status.st_size}-{status.st_mtime_ns}"


class LocalByteSource(RangedSource):
    """A regular file, open for reading at any offset.

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
        self._retries = retries
        self._file = guarded(
            partial(open, path, "rb", buffering=0, opener=_open_without_waiting),
            "open file", Where(path=path), retries=retries,
        )  # fmt: skip
        status = os.fstat(self._file.fileno())
        if not stat.S_ISREG(status.st_mode):
            self._file.close()
            raise not_a_file(path)
        super().__init__(path, status.st_size, local_fingerprint(status))
        self._real_id = f"{status.st_dev}:{status.st_ino}"
        self._changed_us = status.st_ctime_ns // 1000

    @property
    def real_id(self) -> str:
        """Identity of the file behind its name: it survives a rename, and may be used again for another file."""
        return self._real_id

    @property
    def changed_us(self) -> int:
        """When the file, its name or its times changed last, in microseconds since the epoch: no tool sets that."""
        return self._changed_us

    def close(self) -> None:
        """Close the file descriptor. Calling it again does nothing."""
        self._file.close()

    def _is_closed(self) -> bool:
        return self._file.closed

    def _read_some(self, offset: int, length_bytes: int) -> bytes:
        return guarded(
            lambda: os.pread(self._file.fileno(), length_bytes, offset),
            "read file", Where(path=self.path, offset=offset), retries=self._retries,
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
    if not found.st_size and _hides_its_size(path):
        raise SourceError(
            "a file is cut by its size, and this one does not tell it", Where(path=path), "size 0, but content",
            "copy its content to a file: cat FILE > COPY", "size-unknown",
        )  # fmt: skip
    return Entry(path, False, found.st_size, found.st_mtime_ns // 1000, local_fingerprint(found), is_link=is_link)


def _hides_its_size(path: str) -> bool:
    """Whether a file of size 0 has content, as those of ``/proc`` have. One that grows meanwhile tells its size."""
    try:
        descriptor = _open_without_waiting(path, os.O_RDONLY)
    except OSError:
        return False  # who reads it will say what is wrong
    try:
        return bool(os.read(descriptor, 1)) and not os.fstat(descriptor).st_size
    except OSError:
        return False  # nothing to read now, or for good: the same
    finally:
        os.close(descriptor)


def _vanished(path: str) -> SourceMissingError:
    link = os.path.islink(path)  # noqa: PTH114 -- paths are strings here
    return SourceMissingError(
        "a listed file cannot be found", Where(path=path),
        "a link that leads nowhere" if link else "it vanished while the directory was listed",
        "option ignoreMissingFiles=true skips such files", "file-missing",
    )  # fmt: skip
