"""Where an ingest works before it publishes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage import Storage, locate, open_storage
from splitscan.errors import IngestError, Where
from splitscan.sinks.ledger import OUR_FOLDER, STAGING_FOLDER
from splitscan.sinks.lock import DestinationLock


@dataclass(frozen=True)
class Workplace:
    """A destination and the folder beside (or in) it where jobs prepare their files.

    Attributes:
        destination: The destination.
        staging: Holds one folder per job; on the destination's file system.
        is_beside: Whether *staging* is a sibling of the destination; otherwise it is inside, under ``_splitscan``.
        is_local: Whether the destination is on a mounted file system.
        storage_options: Settings of the destination's file system.
    """

    destination: Storage
    staging: Storage
    is_beside: bool
    is_local: bool
    storage_options: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        """The destination as a local path."""
        return Path(self.destination.root)

    @property
    def work_folder(self) -> Path:
        """The staging folder as a local path."""
        return Path(self.staging.root)

    def without_own(self, files: Iterable[FileMetadata]) -> list[FileMetadata]:
        """Leave out the files that lie in the destination: a source that holds it must not be read in circles."""
        resolve = cache(os.path.realpath)  # a folder of the source may be a link
        roots = tuple(f"{storage.root}/" for storage in (self.destination, self.staging))

        def is_own(file: FileMetadata) -> bool:
            folder = file.path.rpartition("/")[0]
            return f"{resolve(folder) if self.is_local and '://' not in folder else folder}/".startswith(roots)

        return [file for file in files if not is_own(file)]

    def lock(self) -> AbstractContextManager[object]:
        """Allow one ingest at a time. Object stores have no locks: there, the ledger's number can be taken only once.

        Raises:
            IngestError: On entering: ``[destination-busy]``.
        """
        if not self.is_local:
            return nullcontext()
        home = self.work_folder if self.is_beside else self.folder / OUR_FOLDER
        return DestinationLock(home / "lock", self.destination.root)


def open_workplace(destination: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Workplace:
    """Find out where an ingest into *destination* works. Nothing is created.

    Args:
        destination: Local path or URI of a folder that need not exist.
        storage_options: Settings of a remote file system.

    Raises:
        UsageError: If the path has no meaning.
        IngestError: ``[not-a-destination]`` if it names a file.
    """
    options = dict(storage_options or {})
    location = locate(destination)
    if not location.is_local:
        storage = open_storage(location.path, options)
        return Workplace(storage, open_storage(f"{location.path}/{STAGING_FOLDER}", options), False, False, options)
    folder = Path(os.path.realpath(location.path))  # a link to a folder stays a link
    if folder.exists() and not folder.is_dir():
        raise IngestError(
            "the destination must be a folder", Where(path=str(folder)), "a file", "name a folder", "not-a-destination"
        )
    beside = folder.parent / f".{folder.name}.splitscan"
    is_beside = _can_work_beside(folder)
    staging = beside if is_beside else folder / STAGING_FOLDER
    return Workplace(open_storage(folder), open_storage(staging), is_beside, True, options)


def _can_work_beside(folder: Path) -> bool:
    parent = folder.parent
    if parent == folder:
        return False
    if not folder.exists():
        return True
    return not os.path.ismount(folder) and os.access(parent, os.W_OK | os.X_OK)
