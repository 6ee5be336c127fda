"""A coordinator is a process of its own: it is started, found by all that plan for one process, and ends with it."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from splitscan.errors import RebalanceError, Where
from splitscan.rebalance.client import Coordinator
from splitscan.rebalance.messages import CoordinatorAddress, new_token

_START_SECONDS = 60.0  # a cold start on a busy machine takes seconds
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02


class CoordinatorProcess:
    """A running coordinator. It is no thread, as it would starve while the driver computes; nothing of it is printed.

    The token goes to it through its standard input: neither its arguments nor its environment hold it.
    """

    def __init__(self, address: CoordinatorAddress, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.address = address
        self.pid = pid
        self._child = child  # None when it is detached

    @property
    def running(self) -> bool:
        """True if it still runs."""
        return is_alive(self.pid) if self._child is None else self._child.poll() is None

    def close(self) -> None:
        """End it. All logs are lost, so whatever is read later fails."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while self.running and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if self.running:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        if self._child is not None:
            _let_go(self._child)

    def __enter__(self) -> CoordinatorProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_coordinator(
    host: str = "127.0.0.1",
    advertised: str | None = None,
    watch: Sequence[int] = (),
    detached: bool = False,
    leaves: Sequence[str] = (),
) -> CoordinatorProcess:
    """Start a coordinator and wait until it listens.

    Args:
        advertised: Name under which readers reach it, where it is not *host*.
        watch: Processes on this machine; it ends when the first of them ends.
        detached: Whether it outlives this process; then *watch* must name another one. Otherwise it ends when this
            process ends, in whatever way.
        leaves: Paths of files that it removes when it ends.

    Raises:
        RebalanceError: ``[coordinator-failed]`` if it does not start.
    """
    if detached and not watch:
        raise _failed("a detached coordinator that watches no process, and so would never end")
    token = new_token()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            start_new_session=True,  # no Ctrl-C and no hang-up of the terminal reaches it
        )
    except OSError as error:
        raise _failed(f"it cannot be started: {type(error).__name__}: {error}") from error
    settings = {
        "token": token,
        "host": host,
        "port": 0,
        "watch": [*watch] if detached else [os.getpid(), *watch],
        "detached": detached,
        "leaves": [*leaves],
    }
    try:
        ready = _exchange(process, json.dumps(settings).encode() + b"\n")
    except BaseException:
        process.kill()
        _let_go(process)
        raise
    if detached:
        _let_go(process)  # the coordinator is its child
    address = CoordinatorAddress(advertised or host, ready["port"], token)
    return CoordinatorProcess(address, ready["pid"], None if detached else process)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Close our end of its standard input, and wait for its end."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    process.wait()


def _exchange(process: subprocess.Popen[bytes], settings: bytes) -> dict[str, int]:
    """Hand over the settings and wait for the port."""
    assert process.stdin is not None
    assert process.stdout is not None
    deadline = time.monotonic() + _START_SECONDS
    line = b""
    try:
        process.stdin.write(settings)
        process.stdin.flush()
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise _failed(f"no answer within {_START_SECONDS:.0f} s")
            read = os.read(process.stdout.fileno(), 4096)
            if not read:
                raise _failed(f"its process ended with code {process.wait()}")
            line += read
        ready: dict[str, int] = json.loads(line)
    except BrokenPipeError as error:
        raise _failed(f"its process ended with code {process.wait()}") from error
    except ValueError as error:
        raise _failed("something else than splitscan answers on its standard output") from error
    finally:
        process.stdout.close()
    if "error" in ready:
        raise _failed(str(ready["error"]))
    return ready


def _environment() -> dict[str, str]:
    """Ours, with the folder (or archive) that holds splitscan in front of the path."""
    where = str(Path(__file__).parents[3])
    path = [where, *(entry for entry in sys.path if entry and entry != where)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def _failed(seen: str) -> RebalanceError:
    return RebalanceError(
        "rebalancing needs a coordinator process",
        seen=seen,
        fix="leave rebalance out, or find out why this Python cannot start another one",
        code="coordinator-failed",
    )


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
            Where(path=error.filename or tempfile.gettempdir()),
            f"{type(error).__name__}: {error}",
            "set TMPDIR to a folder that can be written to and has room, or leave rebalance out",
            "coordinator-failed",
        ) from error


def start_of(process: int) -> str:
    """When a process started, so that another one with the same number is told apart; ``0`` where nobody says."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


def _start(process: int, place: ListenAddress, path: Path) -> SharedCoordinator:
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
