"""Storage of a destination, its staging folder, and the lock that allows one ingest at a time.

The kernel holds the lock, so a dead holder never blocks.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage import Storage, locate, open_storage
from splitscan.errors import IngestError, Where
from splitscan.jobs.ledger import OUR_FOLDER, STAGING_FOLDER

_ATTEMPTS = 1000  # each is lost to another holder that leaves at the same instant


@contextmanager
def lock_destination(path: Path, destination: str) -> Iterator[None]:
    """Hold an exclusive lock on a destination.

    The lock is a ``flock`` on a small file that also says who holds it. The file goes away with the lock.

    Raises:
        IngestError: ``[destination-busy]`` if another process (or thread) holds it.
    """
    attempts = (_try_open(path, destination) for _ in range(_ATTEMPTS))
    descriptor = next((each for each in attempts if each is not None), None)
    if descriptor is None:
        raise _lock_failed(destination, "its folder vanishes again and again")
    try:
        yield
    finally:
        try:
            with suppress(OSError):  # the name goes first: whoever opens it from now on gets a new file
                path.unlink()
            with suppress(OSError):  # only where nothing else is in it
                path.parent.rmdir()
        finally:
            os.close(descriptor)


def _try_open(path: Path, destination: str) -> int | None:
    """Open and lock the file; ``None`` when its last holder deleted it, or its folder, meanwhile."""
    try:
        descriptor = _open_lock_file(path)
        if descriptor is None:
            return None
        try:
            is_held = _hold(descriptor, path, destination)
        except BaseException:
            os.close(descriptor)
            raise
    except OSError as error:
        raise _lock_failed(destination, f"{type(error).__name__}: {error}") from error
    if not is_held:
        os.close(descriptor)
        return None
    with suppress(OSError):  # for messages only: on a full disk the lock holds all the same
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
    return descriptor


def _open_lock_file(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        return None
    except FileExistsError:
        if path.parent.is_file():
            raise
        return None


def _hold(descriptor: int, path: Path, destination: str) -> bool:
    """Lock an open file. Returns whether it is still the one that others open."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        seen = "the holder is not known"
        with suppress(ValueError, KeyError, TypeError):
            raw = json.loads(os.pread(descriptor, 500, 0))
            seen = f"process {int(raw['pid'])} on {str(raw['host'])[:80]} holds it"
        raise IngestError(
            "another ingest is writing to this destination", Where(path=destination), seen,
            "wait until it ends, then run again", "destination-busy",
        ) from None  # fmt: skip
    with suppress(FileNotFoundError):
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    return False


def _lock_failed(destination: str, seen: str) -> IngestError:
    return IngestError(
        "the destination cannot be locked", Where(path=destination), seen,
        "check that the folder that holds the destination is writable", "destination-failed",
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
        return lock_destination(home / "lock", self.destination.root)


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
