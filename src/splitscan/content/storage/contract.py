"""What storages offer: bytes at offsets of a file, and what a directory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable


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


NameFilter: TypeAlias = Callable[[str, bool], bool]
"""Decides by name and "is a directory" whether an entry is wanted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory as a storage lists it.

    Attributes:
        path: Canonical path, as in ``FileMetadata.path``.
        is_directory: Whether it holds entries.
        size_bytes: Length of a file, 0 for a directory.
        modified_us: Modification time in microseconds since the epoch, 0 when unknown.
        fingerprint: Identity of the content version, empty for a directory.
        real_id: Identity of the real directory behind links, ``None`` where a storage has no links.
        is_link: Whether the name is a symbolic link.
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
            directory: Canonical path.
            keep: Asked before anything else is found out about an entry.
            ignore_missing: Skip entries (and a directory) that vanish meanwhile, and links that lead nowhere.

        Raises:
            SourceMissingError: If something vanished.
            SourceError: If the storage fails, or an entry is neither a regular file nor a directory.
        """
