"""Where results are written: a folder of any storage, named by a path or URI."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, runtime_checkable

from splitscan.errors import IngestError, SourceMissingError, SplitscanError, UsageError, Where
from splitscan.redaction import redact
from splitscan.storage.paths import locate

T = TypeVar("T")


@runtime_checkable
class Storage(Protocol):
    """A folder that is written to. All names are relative to it, ``/``-separated, and cannot leave it.

    Thread safety: all methods, on different names. Writers of one name race; the last one to finish wins,
    except in ``try_create``, which exactly one wins.
    Pickling: never; open it again where it is needed.
    """

    @property
    def root(self) -> str:
        """Canonical path of the folder."""

    def path_of(self, name: str) -> str:
        """Spell a name as a full path. Raises ``UsageError`` for names that would leave the folder."""

    def exists(self, name: str) -> bool:
        """Tell whether a file or folder has this name."""

    def list_names(self, folder: str = "") -> list[str]:
        """Names directly in *folder*, sorted, relative to it; folders end in ``/``. A missing folder is empty."""

    def read_bytes(self, name: str) -> bytes:
        """Read a whole file. Raises ``SourceMissingError`` if there is none."""

    def write_bytes_atomic(self, name: str, data: bytes) -> None:
        """Write or replace a whole file: readers see the old bytes or the new, also after a crash."""

    def try_create(self, name: str, data: bytes) -> bool:
        """Write a whole file only if the name is free, atomically; ``False`` if it was taken."""

    def open_output(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Write a file as a stream. It appears, durable and whole, when the ``with`` block ends without an error."""

    def rename(self, name: str, new_name: str) -> None:
        """Move a file or folder, replacing a file. One atomic step locally; copies and deletes in object stores."""

    def delete_tree(self, name: str) -> None:
        """Delete a file, or a folder with all that is in it. A missing name is fine; links are not followed."""

    def make_dirs(self, name: str = "") -> None:
        """Create a folder and its parents. Object stores have none, so there it does nothing."""


def open_storage(root: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Storage:
    """Open a destination folder; it need not exist yet.

    Args:
        root: Local path or URI of the folder.
        storage_options: Settings of a remote file system.

    Returns:
        The storage, bound to the folder.

    Raises:
        UsageError: If the path has no meaning, or no file system serves it.

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
    from splitscan.storage.remote_destination import RemoteStorage  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteStorage(location, storage_options or {})


class LocalStorage:
    """A folder of a mounted file system: temporary file, fsync, rename, fsync of the folder.

    Args:
        root: Absolute path.
    """

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    @property
    def root(self) -> str:
        """Absolute path of the folder."""
        return str(self._root)

    def path_of(self, name: str) -> str:
        """Spell a name as an absolute path."""
        return str(self._root / check_name(name, allow_root=True))

    def exists(self, name: str) -> bool:
        """Tell whether a file or folder has this name."""
        return writing(lambda: os.path.lexists(self.path_of(name)), "look up", self.path_of(name))

    def list_names(self, folder: str = "") -> list[str]:
        """Names directly in *folder*, sorted; folders end in ``/``."""
        path = self.path_of(folder)

        def listed() -> list[str]:
            with suppress(FileNotFoundError), os.scandir(path) as found:
                return sorted(item.name + "/" if item.is_dir(follow_symlinks=False) else item.name for item in found)
            return []

        return writing(listed, "list", path)

    def read_bytes(self, name: str) -> bytes:
        """Read a whole file."""
        path = self._root / check_name(name)
        return writing(path.read_bytes, "read", str(path))

    def write_bytes_atomic(self, name: str, data: bytes) -> None:
        """Write or replace a whole file."""
        with self.open_output(name) as output:
            output.write(data)

    def try_create(self, name: str, data: bytes) -> bool:
        """Write a whole file only if the name is free: a hard link refuses a name that is taken."""
        path = Path(self._root / check_name(name))

        def created() -> bool:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = _temporary(path)
            try:
                with temporary.open("xb") as output:
                    output.write(data)
                    _sync(output)
                try:
                    os.link(temporary, path)
                except FileExistsError:
                    return False
            finally:
                temporary.unlink(missing_ok=True)
            _sync_folder(path.parent)
            return True

        return writing(created, "create", str(path))

    @contextmanager
    def open_output(self, name: str) -> Iterator[BinaryIO]:
        """Write a file as a stream; it appears when the ``with`` block ends without an error."""
        path = Path(self._root / check_name(name))
        temporary = _temporary(path)

        def opened() -> BinaryIO:
            path.parent.mkdir(parents=True, exist_ok=True)
            return temporary.open("xb")

        def published() -> None:
            _sync(output)
            output.close()
            temporary.replace(path)
            _sync_folder(path.parent)

        output = writing(opened, "write", str(path))
        try:
            with writing_block(str(path)):
                yield output
            writing(published, "write", str(path))
        finally:
            with suppress(OSError):  # a full disk fails again when the buffer is flushed
                output.close()
            temporary.unlink(missing_ok=True)

    def rename(self, name: str, new_name: str) -> None:
        """Move a file or folder in one atomic step."""
        source, target = self._root / check_name(name), self._root / check_name(new_name)

        def renamed() -> None:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)
            _sync_folder(target.parent)
            if source.parent != target.parent:
                _sync_folder(source.parent)

        writing(renamed, "rename", str(source))

    def delete_tree(self, name: str) -> None:
        """Delete a file, or a folder with all that is in it."""
        path = self._root / check_name(name)

        def deleted() -> None:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

        writing(deleted, "delete", str(path))

    def make_dirs(self, name: str = "") -> None:
        """Create a folder and its parents."""
        path = Path(self.path_of(name))
        writing(lambda: path.mkdir(parents=True, exist_ok=True), "create folder", str(path))


def check_name(name: str, allow_root: bool = False) -> str:
    """Refuse a name that would leave the folder it is relative to.

    Args:
        name: Relative, ``/``-separated; a trailing ``/`` is dropped.
        allow_root: Whether the empty name is fine.

    Returns:
        The name to use.

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


def _temporary(path: Path) -> Path:
    # hidden from Spark and Hive, and never the same for two writers; short enough for names near the limit
    return path.parent / f".{secrets.token_hex(8)}.tmp"


def _sync(output: BinaryIO) -> None:
    output.flush()
    os.fsync(output.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
