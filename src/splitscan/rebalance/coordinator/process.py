"""Starting a coordinator as a process of its own, which ends when the one that needs it ends."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from splitscan.errors import RebalanceError
from splitscan.rebalance.messages import CoordinatorAddress, new_token

_START_SECONDS = 60.0  # a cold start on a busy machine takes seconds
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02


class CoordinatorProcess:
    """A running coordinator. It is no thread, as it would starve while the driver computes; nothing of it is printed.

    The token goes to it through its standard input: neither its arguments nor its environment hold it.

    Attributes:
        address: Where it listens, with the token.
        pid: Its process.
    """

    def __init__(self, address: CoordinatorAddress, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.address = address
        self.pid = pid
        self._child = child  # None when it is detached

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        if self._child is not None:
            return self._child.poll() is None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        host: Address to bind.
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
