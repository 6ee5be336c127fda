"""One coordinator for all that is planned for one process: found by a file that only its user can read."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from splitscan.errors import RebalanceError, Where
from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.coordinator.process import start_coordinator
from splitscan.rebalance.messages import CoordinatorAddress

_ENTRY_BYTES = 1024  # an address and a token, twice
_PING_SECONDS = 10.0  # one that is slower than this is no good to anybody
_WILDCARD = "0.0.0.0"
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a coordinator listens.

    Attributes:
        bound: Address that it binds.
        advertised: Host under which readers reach it.
    """

    bound: str = _LOOPBACK
    advertised: str = _LOOPBACK


@dataclass(frozen=True, slots=True)
class SharedCoordinator:
    """A coordinator that several processes of one machine use.

    Attributes:
        near: Its address for processes on its own machine.
        far: Its address for readers.
    """

    near: CoordinatorAddress
    far: CoordinatorAddress


def shared_coordinator(process: int, choose: Callable[[], Place]) -> SharedCoordinator:
    """The coordinator that ends with *process*: the one that is there, or one that is started now.

    All who ask for the same process get the same, also when they ask at the same moment.

    Args:
        process: A process on this machine, such as the virtual machine of a Spark driver.
        choose: Says where a new one is to listen.

    Raises:
        RebalanceError: ``[coordinator-failed]`` if none can be started, or nothing be written down for others.
    """
    try:
        return _found_or_started(process, choose)
    except OSError as error:
        raise RebalanceError(
            "all that plan for one driver find its coordinator by a file",
            Where(path=error.filename or tempfile.gettempdir()),
            f"{type(error).__name__}: {error}",
            "set TMPDIR to a folder that can be written to and has room, or leave rebalance out",
            "coordinator-failed",
        ) from error


def _found_or_started(process: int, choose: Callable[[], Place]) -> SharedCoordinator:
    folder = _private_folder()
    path = folder / f"coordinator-{process}-{start_of(process)}"
    with _locked(path) as descriptor:
        known = _read(descriptor)
        if known is None or not _answers(known):
            _write(descriptor, b" " * _ENTRY_BYTES)  # a full disk is noticed before there is a process to be found
            known = _start(process, choose(), path)
            _write(descriptor, json.dumps(asdict(known)).encode())
            _sweep(folder)
        return known


def start_of(process: int) -> str:
    """When a process started, so that another one with the same number is told apart; ``0`` where nobody says."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


def _start(process: int, place: Place, path: Path) -> SharedCoordinator:
    started = start_coordinator(place.bound, watch=[process], detached=True, leaves=[str(path)]).address
    near = CoordinatorAddress(_LOOPBACK if place.bound == _WILDCARD else place.bound, started.port, started.token)
    return SharedCoordinator(near, CoordinatorAddress(place.advertised, started.port, started.token))


def _answers(known: SharedCoordinator) -> bool:
    try:
        Coordinator(known.near, _PING_SECONDS).ping()
    except RebalanceError:
        return False
    return True


def _private_folder() -> Path:
    """A folder in which nobody else can read, and nobody else has put anything."""
    folder = Path(tempfile.gettempdir()) / f"splitscan-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise RebalanceError(
            "the folder of coordinators belongs to its user alone",
            Where(path=str(folder)),
            f"owner {found.st_uid}, mode {stat.S_IMODE(found.st_mode):o}",
            "remove it, or set TMPDIR to a folder of your own",
            "coordinator-failed",
        )
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open and lock a file, and make sure that it is still the one of that name."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_named(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is_named(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _read(descriptor: int) -> SharedCoordinator | None:
    """What is written there; ``None`` if that is nothing yet, or not all of it."""
    try:
        plain: dict[str, dict[str, Any]] = json.loads(os.pread(descriptor, 1 << 16, 0))
        return SharedCoordinator(CoordinatorAddress(**plain["near"]), CoordinatorAddress(**plain["far"]))
    except (ValueError, KeyError, TypeError):
        return None


def _write(descriptor: int, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += os.pwrite(descriptor, content[written:], written)
    os.ftruncate(descriptor, written)


def _sweep(folder: Path) -> None:
    """Remove what coordinators have left that were killed."""
    for path in folder.glob("coordinator-*-*"):
        process, _, start = path.name.removeprefix("coordinator-").partition("-")
        with suppress(ValueError, OSError):
            if not _is_alive(int(process)) or start_of(int(process)) != start:
                path.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
