"""Open a path of any storage, local ones with ``pread`` and without fsspec; is a planned file the same, or grown?"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage.contract import (
    ByteSource,
    Entry,
    FileTree,
    Location,
    NameFilter,
    RangedSource,
    guarded,
    locate,
    not_a_file,
)
from splitscan.content.storage.destination import LocalStorage, Storage
from splitscan.errors import SourceChangedError, SourceError, SourceMissingError, Where
from splitscan.redaction import redact

_NOTHING_THERE = frozenset({errno.ENOTDIR, errno.ELOOP})  # "file.csv/x"; links that lead to each other
HEAD_BYTES = 1024
"""How many bytes of the head are compared. Files that begin alike are told apart by the end of what was known."""

_TAIL_BYTES = 64

# a pipe without a writer would block open() for ever; regular files ignore the flag
_WITHOUT_WAITING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC

_MARK = "prefix"


def local_fingerprint(status: os.stat_result) -> str:
    """Identify a version of a local file by size and nanosecond mtime.

    The inode is left out on purpose: a copy that keeps its times (another host, another mount) is the same version.
    """
    return f"{status.st_size}-{status.st_mtime_ns}"


class LocalByteSource(RangedSource):
    """A regular file, open for reading at any offset.

    Thread safety: ``read_at`` may run in several threads; ``close`` must not overtake it.
    Pickling: never.
    """

    def __init__(self, path: str) -> None:
        opened = guarded(partial(os.open, path, _WITHOUT_WAITING), "open file", Where(path=path))
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            os.close(opened)
            raise not_a_file(path)
        self._file = open(opened, "rb", buffering=0)  # noqa: PTH123, SIM115 -- of a descriptor; closed by close()
        super().__init__(path, status.st_size, local_fingerprint(status), partial(os.pread, opened), {})
        self._real_id = f"{status.st_dev}:{status.st_ino}"
        self._changed_us = status.st_ctime_ns // 1000

    @property
    def descriptor(self) -> int:
        """Of the open file."""
        return self._file.fileno()

    @property
    def real_id(self) -> str:
        """Identity of the file behind its name: it survives a rename, and may be used again for another file."""
        return self._real_id

    @property
    def changed_us(self) -> int:
        """When the file, its name or its times changed last, in microseconds since the epoch: no tool sets that."""
        return self._changed_us

    def close(self) -> None:
        self._file.close()

    def _is_closed(self) -> bool:
        return self._file.closed


class LocalTree:
    """Directories of mounted file systems; links are followed."""

    def status(self, path: str) -> Entry | None:
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
    """True if a file of size 0 has content, as those of ``/proc`` have. One that grows meanwhile tells its size."""
    try:
        descriptor = os.open(path, _WITHOUT_WAITING)
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


def prefix_fingerprint(source: ByteSource, size_bytes: int) -> str:
    """Identity of the first *size_bytes* bytes of a file, whatever follows them: their length, head and end."""
    head = source.read_at(0, min(HEAD_BYTES, size_bytes))
    tail_bytes = min(_TAIL_BYTES, size_bytes)
    tail = source.read_at(size_bytes - tail_bytes, tail_bytes)
    return f"{_MARK}-{size_bytes}-{_hash(head)}-{_hash(tail)}"


def head_of(fingerprint: str) -> str:
    """Head of the file by its prefix fingerprint."""
    return fingerprint.split("-")[2]


def is_prefix_fingerprint(fingerprint: str) -> bool:
    """True if a fingerprint is of a part of a file."""
    return fingerprint.startswith(f"{_MARK}-")


def has_prefix(source: ByteSource, fingerprint: str) -> bool:
    """True if a file still begins with the part that a prefix fingerprint is of."""
    size_bytes = int(fingerprint.split("-")[1])
    return source.size_bytes >= size_bytes and prefix_fingerprint(source, size_bytes) == fingerprint


def check_prefix(file: FileMetadata, source: ByteSource) -> None:
    """Make sure that a file that may have grown still begins with what was planned; else ``SourceChangedError``."""
    if has_prefix(source, file.fingerprint):
        return
    raise SourceChangedError(
        "the file is no longer the one that was planned: it was replaced, not appended to",
        Where(path=redact(file.path)),
        f"{source.size_bytes} bytes; the first {file.size_bytes} were planned, and are others now",
        "put the file back as it was, or start with another checkpoint",
        "source-changed",
    )


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def open_source(
    path: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None = None,
    planned: FileMetadata | None = None,
) -> ByteSource:
    """Open a file for reading at any offset.

    Args:
        path: A local path, a ``file:`` URI, or any URI that fsspec knows (``s3://``, ``s3a://``, ``memory://`` ...).
        storage_options: Settings of the remote file system; local paths ignore them.
        planned: The file as it was planned. One that grew then is found again where rotation has renamed it; whether
            any other is the planned version is for :func:`check_unchanged`.

    Returns:
        The open file. The caller closes it.

    Raises:
        UsageError: If the path has no meaning, or no file system serves it.
        SourceMissingError: If there is no such file.
        SourceError: If it cannot be opened.

    Example:
        >>> source = open_source(__file__)
        >>> source.read_at(0, 3), source.read_at(source.size_bytes, 10)
        (b'\"\"\"', b'')
        >>> source.close()
    """
    if planned is not None and is_prefix_fingerprint(planned.fingerprint):
        found = _open_grown(planned, storage_options)
        if found is not None:
            return found
    location = locate(path)
    if location.is_local:
        return LocalByteSource(location.path)
    from splitscan.content.storage.remote import RemoteByteSource  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteByteSource(location, storage_options or {})


def _open_grown(file: FileMetadata, storage_options: Mapping[str, Any] | None) -> ByteSource | None:
    """The file by its name, or another one of its directory; names that begin alike are looked at first.

    Others that cannot be read matter only if no file is the one.
    """
    with suppress(SourceMissingError):
        source = _open_if_planned(file.path, file, storage_options)
        if source is not None:
            return source
    folder = file.path.rpartition("/")[0]
    listed = open_tree(locate(file.path), storage_options).entries(folder, lambda _, is_folder: not is_folder, True)
    fitting = [entry for entry in listed if not entry.is_directory and entry.size_bytes >= file.size_bytes]
    unread = None
    for entry in sorted(fitting, key=lambda entry: (not entry.name.startswith(file.name), entry.name)):
        try:
            source = _open_if_planned(entry.path, file, storage_options)
        except SourceMissingError:
            continue
        except SourceError as error:
            unread = unread or error
            continue
        if source is not None:
            return source
    if unread is not None:
        raise unread
    return None


def _open_if_planned(path: str, file: FileMetadata, storage_options: Mapping[str, Any] | None) -> ByteSource | None:
    source = open_source(path, storage_options)
    try:
        fits = has_prefix(source, file.fingerprint)
    except SourceChangedError:  # it became shorter
        fits = False
    except BaseException:
        source.close()
        raise
    if not fits:
        source.close()
        return None
    return source


def open_storage(root: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Storage:
    """Open a destination folder; it need not exist yet.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     storage = open_storage(folder)
        ...     storage.write_bytes_atomic("a/b.txt", b"hello")
        ...     storage.list_names(), storage.read_bytes("a/b.txt")
        (['a/'], b'hello')
    """
    location = locate(root)
    if location.is_local:
        return LocalStorage(location.path)
    from splitscan.content.storage.remote import RemoteStorage  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteStorage(location, storage_options or {})


def open_tree(location: Location, storage_options: Mapping[str, Any] | None = None) -> FileTree:
    """Open the storage of a location for listing; ``[bad-storage]`` if no file system serves it."""
    if location.is_local:
        return LocalTree()
    from splitscan.content.storage.remote import RemoteTree  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteTree(location, storage_options or {})


def check_unchanged(file: FileMetadata, source: ByteSource) -> None:
    """Make sure that what is open is the version that was planned, or raise ``SourceChangedError``.

    A file that was planned while it grew may be longer. Called after opening it protects against changes before the
    read; open the file again after the last read and call it once more to protect against changes during the read.
    """
    if is_prefix_fingerprint(file.fingerprint):
        check_prefix(file, source)
        return
    if source.fingerprint == file.fingerprint and source.size_bytes == file.size_bytes:
        return
    raise SourceChangedError(
        "the file changed after it was planned (onFileChange=fail)", Where(path=redact(file.path)),
        f"fingerprint {source.fingerprint}, {source.size_bytes} bytes; "
        f"planned {file.fingerprint}, {file.size_bytes} bytes",
        "plan again, or set option onFileChange=ignore to read whatever is there now", "source-changed",
    )  # fmt: skip
