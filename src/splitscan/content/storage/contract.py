"""What a storage is: a place that lists files and hands out their bytes."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


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
