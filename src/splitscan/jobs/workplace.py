"""Storage of a destination, its staging folder, and the lock that allows one ingest at a time.

The kernel holds the lock, so a dead holder never blocks.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage import Storage, locate, open_storage
from splitscan.errors import IngestError, Where
from splitscan.jobs.ledger import OUR_FOLDER, STAGING_FOLDER

_ATTEMPTS = 1000  # each is lost to another holder that leaves at the same instant


class DestinationLock:
    """An exclusive lock on a destination, as a context manager.

    The lock is a ``flock`` on a small file that also says who holds it. The file goes away with the lock.

    Raises:
        IngestError: ``[destination-busy]`` on entering, if another process (or thread) holds it.
    """

    def __init__(self, path: Path, destination: str) -> None:
        self._path = path
        self._destination = destination
        self._descriptor: int | None = None

    def __enter__(self) -> DestinationLock:
        for _ in range(_ATTEMPTS):
            self._descriptor = self._try_open()
            if self._descriptor is not None:
                return self
        raise self._failed("its folder vanishes again and again")

    def __exit__(self, *_: object) -> None:
        if self._descriptor is None:
            return
        try:
            with suppress(OSError):  # the name goes first: whoever opens it from now on gets a new file
                self._path.unlink()
            with suppress(OSError):  # only where nothing else is in it
                self._path.parent.rmdir()
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def _try_open(self) -> int | None:
        """Open and lock the file; ``None`` when its last holder deleted it, or its folder, meanwhile."""
        try:
            descriptor = self._open_file()
            if descriptor is None:
                return None
            try:
                is_held = self._hold(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            raise self._failed(f"{type(error).__name__}: {error}") from error
        if not is_held:
            os.close(descriptor)
            return None
        with suppress(OSError):  # for messages only: on a full disk the lock holds all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        return descriptor

    def _open_file(self) -> int | None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:
            return None
        except FileExistsError:
            if self._path.parent.is_file():
                raise
            return None

    def _hold(self, descriptor: int) -> bool:
        """Lock an open file. Returns whether it is still the one that others open."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._busy(os.pread(descriptor, 500, 0)) from None
        with suppress(FileNotFoundError):
            return self._path.stat().st_ino == os.fstat(descriptor).st_ino
        return False

    def _failed(self, seen: str) -> IngestError:
        return IngestError(
            "the destination cannot be locked", Where(path=self._destination), seen,
            "check that the folder that holds the destination is writable", "destination-failed",
        )  # fmt: skip

    def _busy(self, holder: bytes) -> IngestError:
        seen = "the holder is not known"
        with suppress(ValueError, KeyError, TypeError):
            raw = json.loads(holder)
            seen = f"process {int(raw['pid'])} on {str(raw['host'])[:80]} holds it"
        return IngestError(
            "another ingest is writing to this destination", Where(path=self._destination), seen,
            "wait until it ends, then run again", "destination-busy",
        )  # fmt: skip


@dataclass(frozen=True)
class DestinationStorage:
    """A destination and the folder beside (or in) it where jobs prepare their files.

    Attributes:
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


def open_destination_storage(
    destination: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> DestinationStorage:
    """Find out where an ingest into *destination* works. Nothing is created.

    Raises:
        IngestError: ``[not-a-destination]`` if it names a file.
    """
    options = dict(storage_options or {})
    location = locate(destination)
    if not location.is_local:
        storage = open_storage(location.path, options)
        return DestinationStorage(
            storage, open_storage(f"{location.path}/{STAGING_FOLDER}", options), False, False, options
        )
    folder = Path(os.path.realpath(location.path))  # a link to a folder stays a link
    if folder.exists() and not folder.is_dir():
        raise IngestError(
            "the destination must be a folder", Where(path=str(folder)), "a file", "name a folder", "not-a-destination"
        )
    beside = folder.parent / f".{folder.name}.splitscan"
    is_beside = _can_work_beside(folder)
    staging = beside if is_beside else folder / STAGING_FOLDER
    return DestinationStorage(open_storage(folder), open_storage(staging), is_beside, True, options)


def _can_work_beside(folder: Path) -> bool:
    parent = folder.parent
    if parent == folder:
        return False
    if not folder.exists():
        return True
    return not os.path.ismount(folder) and os.access(parent, os.W_OK | os.X_OK)
