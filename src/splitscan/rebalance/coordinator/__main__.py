"""The coordinator's process: ``python -m splitscan.rebalance.coordinator``, started by :mod:`.process` only.

Its settings come on standard input, where nobody else can read them, and it says on standard output where it listens.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from splitscan.rebalance.claiming.claims import ClaimLog
from splitscan.rebalance.coordinator.process import is_alive, start_of
from splitscan.rebalance.coordinator.server import Answerer, start_server

_POLL_SECONDS = 1.0  # where the kernel cannot tell us of a process's end


def main() -> None:
    """Take the settings and serve, as a grandchild: nobody is to wait for us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which may go on after it
    settings = json.loads(sys.stdin.buffer.readline())
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each task that runs has a connection
    if os.fork() == 0:
        asyncio.run(_serve(settings))


async def _serve(settings: dict[str, Any]) -> None:
    """Serve until one of the watched processes is gone."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, gone.set)
    for pid in settings["watch"]:
        _watch(loop, pid, gone)
    try:
        _, (_, port) = await start_server(Answerer(ClaimLog()), settings["token"], settings["host"], settings["port"])
        ready: dict[str, str | int] = {"port": port, "pid": os.getpid()}
    except OSError as error:
        ready = {"error": f"{type(error).__name__}: {error}"}
        gone.set()
    _say(ready)
    await gone.wait()
    for path in settings["leaves"]:
        Path(path).unlink(missing_ok=True)


def _say(ready: dict[str, str | int]) -> None:
    """Tell the parent, then let go of its pipes, so that it never waits for us and we never for it."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(ready).encode() + b"\n")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, sys.stdout.fileno())
    os.dup2(nothing, sys.stderr.fileno())
    os.close(nothing)


def _watch(loop: asyncio.AbstractEventLoop, pid: int, gone: asyncio.Event) -> None:
    """Set *gone* when process *pid* ends, however it ends."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        gone.set()
    except (OSError, AttributeError):  # an old kernel, another system
        loop.call_later(_POLL_SECONDS, _poll, loop, pid, start_of(pid), gone)
    else:
        loop.add_reader(descriptor, _on_end, loop, descriptor, gone)


def _on_end(loop: asyncio.AbstractEventLoop, descriptor: int, gone: asyncio.Event) -> None:
    loop.remove_reader(descriptor)
    os.close(descriptor)
    gone.set()


def _poll(loop: asyncio.AbstractEventLoop, pid: int, start: str, gone: asyncio.Event) -> None:
    if start_of(pid) == start and is_alive(pid):
        loop.call_later(_POLL_SECONDS, _poll, loop, pid, start, gone)
    else:
        gone.set()


if __name__ == "__main__":
    main()
