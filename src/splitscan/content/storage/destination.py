"""Destinations of results: a folder of any storage, named by a path or URI."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, Protocol, runtime_checkable

from splitscan.content.storage.contract import locate
from splitscan.content.storage.local_destination import LocalStorage


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
    from splitscan.content.storage.remote_destination import RemoteStorage  # noqa: PLC0415 -- local paths never pay for fsspec

    return RemoteStorage(location, storage_options or {})
