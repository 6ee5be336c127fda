"""A coordinator is a process of its own: it is started, found by all that plan for one process, and ends with it."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from splitscan.errors import RebalanceError, Where
from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.messages import CoordinatorAddress, new_token

_START_SECONDS = 60.0  # a cold start on a busy machine takes seconds


def start_coordinator(host: str, watch: Sequence[int], leaves: Sequence[str] = ()) -> tuple[CoordinatorAddress, int]:
    """Start a coordinator, wait until it listens on *host*, and return its address and its process.

    It is no thread, as it would starve while the driver computes; nothing of it is printed. The token goes to it
    through its standard input: neither its arguments nor its environment hold it.

    Args:
        watch: Processes on this machine; it ends when the first of them ends, and outlives this one.
        leaves: Paths of files that it removes when it ends.
    """
    token = new_token()
    settings = {"token": token, "host": host, "port": 0, "watch": [*watch], "leaves": [*leaves]}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "splitscan.rebalance.coordinator"],
            input=json.dumps(settings).encode() + b"\n",
            stdout=subprocess.PIPE,  # until it has said where it listens
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            start_new_session=True,  # no Ctrl-C and no hang-up of the terminal reaches it
            timeout=_START_SECONDS,
            check=False,
        )
    except OSError as error:
        raise _failed(f"it cannot be started: {type(error).__name__}: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise _failed(f"no answer within {_START_SECONDS:.0f} s") from error
    if not done.stdout.endswith(b"\n"):
        raise _failed(f"its process ended with code {done.returncode}")
    try:
        ready: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise _failed("something else than splitscan answers on its standard output") from error
    if "error" in ready:
        raise _failed(str(ready["error"]))
    return CoordinatorAddress(host, ready["port"], token), ready["pid"]


def _environment() -> dict[str, str]:
    """Ours, with the folder (or archive) that holds splitscan in front of the path."""
    where = str(Path(__file__).parents[2])
    path = [where, *(entry for entry in sys.path if entry and entry != where)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def _failed(seen: str) -> RebalanceError:
    return RebalanceError(
        "rebalancing needs a coordinator process", seen=seen,
        fix="leave rebalance out, or find out why this Python cannot start another one", code="coordinator-failed",
    )  # fmt: skip


_ENTRY_BYTES = 1024  # an address and a token, twice
_PING_SECONDS = 10.0  # one that is slower than this is no good to anybody
_WILDCARD = "0.0.0.0"
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Addresses of a coordinator: to bind, and to advertise."""

    bound: str = _LOOPBACK
    advertised: str = _LOOPBACK


@dataclass(frozen=True, slots=True)
class SharedCoordinator:
    """A coordinator that several processes of one machine use."""

    near: CoordinatorAddress
    far: CoordinatorAddress


def shared_coordinator(process: int, choose: Callable[[], ListenAddress]) -> SharedCoordinator:
    """The coordinator that ends with *process*: the one that is there, or one that is started now.

    All who ask for the same process get the same, also when they ask at the same moment.

    Raises:
        RebalanceError: ``[coordinator-failed]`` if none can be started, or nothing be written down for others.
    """
    try:
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
    except OSError as error:
        raise RebalanceError(
            "all that plan for one driver find its coordinator by a file",
            Where(path=error.filename or tempfile.gettempdir()), f"{type(error).__name__}: {error}",
            "set TMPDIR to a folder that can be written to and has room, or leave rebalance out", "coordinator-failed",
        ) from error  # fmt: skip


def start_of(process: int) -> str:
    """When a process started, so that another one with the same number is told apart; ``0`` where nobody says."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


def _start(process: int, place: ListenAddress, path: Path) -> SharedCoordinator:
    started, _ = start_coordinator(place.bound, [process], [str(path)])
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
            "the folder of coordinators belongs to its user alone", Where(path=str(folder)),
            f"owner {found.st_uid}, mode {stat.S_IMODE(found.st_mode):o}",
            "remove it, or set TMPDIR to a folder of your own", "coordinator-failed",
        )  # fmt: skip
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
    """Read what is written there; ``None`` if that is nothing yet, or not all of it."""
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
            if not is_alive(int(process)) or start_of(int(process)) != start:
                path.unlink()


def is_alive(process: int) -> bool:
    """True if there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
