"""Destinations of results: a folder of any storage, named by a path or URI.

Names stay inside the folder, unfinished files have names of their own, errors name the place. A mounted file system is
written to here, another storage by ``remote``.
"""

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
    """Run one operation on a destination and name the place if it fails; nothing is retried: it may not be safe."""
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


class LocalStorage:
    """A folder of a mounted file system: temporary file, fsync, rename, fsync of the folder."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    @property
    def root(self) -> str:
        return str(self._root)

    def path_of(self, name: str) -> str:
        return str(self._root / check_name(name, allow_root=True))

    def exists(self, name: str) -> bool:
        return writing(lambda: os.path.lexists(self.path_of(name)), "look up", self.path_of(name))

    def list_names(self, folder: str = "") -> list[str]:
        path = self.path_of(folder)

        def listed() -> list[str]:
            with suppress(FileNotFoundError), os.scandir(path) as found:
                return sorted(item.name + "/" if item.is_dir(follow_symlinks=False) else item.name for item in found)
            return []

        return writing(listed, "list", path)

    def read_bytes(self, name: str) -> bytes:
        path = self._root / check_name(name)
        return writing(path.read_bytes, "read", str(path))

    def write_bytes_atomic(self, name: str, data: bytes) -> None:
        with self.open_output(name) as output:
            output.write(data)

    def try_create(self, name: str, data: bytes) -> bool:
        path = Path(self._root / check_name(name))

        def created() -> bool:
            make_folder(path.parent)
            temporary = path.with_name(temporary_name())
            try:
                with temporary.open("xb") as output:
                    output.write(data)
                    _sync(output)
                try:
                    os.link(temporary, path)
                except FileExistsError:
                    return False
            finally:
                _throw_away(temporary)
            sync_path(path.parent)
            return True

        return writing(created, "create", str(path))

    @contextmanager
    def open_output(self, name: str) -> Iterator[BinaryIO]:
        path = Path(self._root / check_name(name))
        temporary = path.with_name(temporary_name())

        def opened() -> BinaryIO:
            make_folder(path.parent)
            return temporary.open("xb")

        def published() -> None:
            _sync(output)
            output.close()
            temporary.replace(path)
            sync_path(path.parent)

        output = writing(opened, "write", str(path))
        try:
            with writing_block(str(path)):
                yield output
            writing(published, "write", str(path))
        finally:
            with suppress(OSError):  # a full disk fails again when the buffer is flushed
                output.close()
            _throw_away(temporary)

    def rename(self, name: str, new_name: str) -> None:
        source, target = self._root / check_name(name), self._root / check_name(new_name)

        def renamed() -> None:
            make_folder(target.parent)
            source.replace(target)
            sync_path(target.parent)
            if source.parent != target.parent:
                sync_path(source.parent)

        writing(renamed, "rename", str(source))

    def delete_tree(self, name: str) -> None:
        path = self._root / check_name(name)

        def deleted() -> None:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

        writing(deleted, "delete", str(path))


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, so that they stay after a crash."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_path(folder.parent)


def _throw_away(temporary: Path) -> None:
    """Delete an unfinished file; what is left of it is in no reader's way, and never hides why it is unfinished."""
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def _sync(output: BinaryIO) -> None:
    output.flush()
    os.fsync(output.fileno())


def sync_path(path: Path) -> None:
    """Make what a file holds, or which names a folder has, outlive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
