"""Storage, staging and lock of a destination: jobs work there, move their files in, and leave something over.

The kernel of the operating system holds the lock, so a dead holder never blocks. Staging is kept while a run could
still continue it, and thrown away when none can.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from splitscan.blocks import FileMetadata
from splitscan.content.storage import Storage, locate, open_storage
from splitscan.content.storage.destination import make_folder, sync_path
from splitscan.errors import IngestError, SplitscanError, Where
from splitscan.jobs.ledger import OUR_FOLDER, STAGING_FOLDER, Ledger, WrittenFile, check_written_name
from splitscan.jobs.ledger_files import read_ledger
from splitscan.jobs.staging import Staging
from splitscan.spelling import from_plain, read_object, to_plain

_log = logging.getLogger(__name__)

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


OWNER_NAME = "job.json"

KEEP_DAYS = 7
"""An interrupted job that nobody continued for so long will not be continued."""

_DAY_SECONDS = 24 * 60 * 60

_KEY_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Owner:
    """The job that works in a staging folder: when its last run began, in seconds since the epoch; its files' keys."""

    started: int
    files: tuple[str, ...] = ()


def claim(staging: Staging, identities: Iterable[str]) -> None:
    """Say in a staging folder which job works there, and that it does so now."""
    owner = Owner(int(time.time()), tuple(sorted(map(_key, identities))))
    staging.storage.write_bytes_atomic(f"{staging.job_id}/{OWNER_NAME}", json.dumps(to_plain(owner)).encode("ascii"))


def clean_up(
    place: DestinationStorage, staging: Staging, ingested: Iterable[str], discard: Callable[[str], None]
) -> list[str]:
    """Throw away what was prepared, after everything was published. Never fails: leftovers do no harm.

    What another job left stays where a run could continue it. No run can when one of its files has been ingested by
    another job meanwhile, for the rest is another job then; and nobody will after ``KEEP_DAYS``. In an object store,
    where no lock tells that the other job is not running, nothing of it is touched.

    Returns:
        The folders of other jobs that were thrown away; *discard* has deleted what these wrote elsewhere.
    """
    staging.delete()
    removed: list[str] = []
    if not place.is_local:
        return removed
    with suppress(SplitscanError):
        left = [name for name in place.staging.list_names() if name.endswith("/")]
        keys = frozenset(map(_key, ingested)) if left else frozenset()
        for name in left:
            if reason := _why_useless(place, name.rstrip("/"), keys):
                discard(name.rstrip("/"))
                place.staging.delete_tree(name)
                removed.append(place.staging.path_of(name.rstrip("/")))
                _log.info("removed what an interrupted ingest had left in %s: %s", removed[-1], reason)
    if not place.is_beside:
        with suppress(OSError):
            place.work_folder.rmdir()
    return removed


def _why_useless(place: DestinationStorage, job_id: str, ingested: frozenset[str]) -> str | None:
    owner = _read_owner(place, job_id)
    if not ingested.isdisjoint(owner.files):
        return "another job has ingested files of it"
    if time.time() - owner.started > KEEP_DAYS * _DAY_SECONDS:
        return f"nobody continued it for {KEEP_DAYS} days"
    return None


def _read_owner(place: DestinationStorage, job_id: str) -> Owner:
    with suppress(SplitscanError):
        return from_plain(Owner, read_object(place.staging.read_bytes(f"{job_id}/{OWNER_NAME}")))
    with suppress(OSError):  # killed before it could say so
        return Owner(int((place.work_folder / job_id).stat().st_mtime))
    return Owner(int(time.time()))


def _key(identity: str) -> str:
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_DIGITS]


Announce = Callable[[str], None]
"""Told the name of each step before it is taken."""


def unfinished_moves(place: DestinationStorage, jobs: Mapping[str, int]) -> list[int]:
    """Numbers of committed *jobs*, by identity, of which something may still wait in staging."""
    waiting = (name.rstrip("/") for name in place.staging.list_names() if name.endswith("/"))
    return sorted(jobs[job_id] for job_id in waiting if job_id in jobs)


def move_in_rest(place: DestinationStorage, sequence: int, *, only_rejects: bool = False) -> None:
    """Move in what still waits of a committed job: its rejects only, where data files become visible otherwise.

    Raises:
        IngestError: ``[data-file-missing]`` if a file is neither in the destination nor waiting.
    """
    ledger = read_ledger(place.destination, sequence)
    staging = Staging(place.staging, ledger.job_id)
    move_in(place, staging, [written for written in ledger.written if written.is_reject_table or not only_rejects])
    if not ledger.table:
        remove_replaced(place, ledger)
    staging.delete()


def remove_replaced(place: DestinationStorage, ledger: Ledger, announce: Announce = lambda _: None) -> None:
    """Delete the data files of a plain folder whose rows left with a job, or are in its own files by now."""
    for removed in ledger.removed:
        check_written_name(removed.name)
        announce(f"remove {removed.name}")
        place.destination.delete_tree(removed.name)


def move_in(
    place: DestinationStorage, staging: Staging, files: Iterable[WrittenFile], announce: Announce = lambda _: None
) -> None:
    """Move the files of a committed job that still wait to where its ledger says."""
    for written in sorted(files, key=lambda each: each.rows > 0):  # who tells the columns comes before their values
        check_written_name(written.name)  # it was read from a disk: nothing but Parquet of ours is moved or replaced
        if staging.storage.exists(staging.file_name(written.name)):
            announce(f"move {written.name}")
            _move(place, staging, written)
        elif not place.destination.exists(written.name):
            raise missing_error(written.name, place.destination.root)


def is_moved_in(place: DestinationStorage, ledger: Ledger) -> bool:
    """Return whether all files that a ledger names are in the destination, and those that left with it are gone."""
    exists = place.destination.exists
    return all(exists(each.name) for each in ledger.written) and not any(exists(each.name) for each in ledger.removed)


def _move(place: DestinationStorage, staging: Staging, written: WrittenFile) -> None:
    if place.is_local:
        _check_inside(place, written.name)
    if not place.is_beside:
        place.destination.rename(f"{STAGING_FOLDER}/{staging.file_name(written.name)}", written.name)
        return
    with naming_destination(place.destination.root):
        target = place.folder / written.name
        make_folder(target.parent)
        Path(staging.storage.path_of(staging.file_name(written.name))).replace(target)
        sync_path(target.parent)


def _check_inside(place: DestinationStorage, name: str) -> None:
    """Refuse a folder of the destination that is a link to elsewhere."""
    parent = (place.folder / name).parent
    real = Path(os.path.realpath(parent))
    if not real.is_relative_to(place.folder):
        raise IngestError(
            "a folder of the destination is a link that leads out of it, so no file is moved there",
            Where(path=str(parent)), str(real), "remove the link, and run again", "destination-failed",
        )  # fmt: skip


def missing_error(name: str, where: object) -> IngestError:
    """The error for a file that is nowhere."""
    return IngestError(
        "a file that the ledger names is neither in the destination nor waiting to be moved in",
        Where(path=f"{where}/{name}"),
        fix="if executors run on other machines, name a destination that all of them share; "
        "otherwise restore the file, or ingest into a new destination",
        code="data-file-missing",
    )


@contextmanager
def naming_destination(root: str) -> Iterator[None]:
    """Name the destination in errors of the operating system."""
    try:
        yield
    except SplitscanError:
        raise
    except OSError as error:
        raise IngestError(
            "the destination could not be published", Where(path=root), f"{type(error).__name__}: {error}",
            "check that the folder that holds the destination is writable and has space; then run again",
            "destination-failed",
        ) from error  # fmt: skip
