"""Processes as tests need them: started under a guard, found by what they run, killed and stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .guard import below

GUARD = Path(__file__).with_name("guard.py")


@dataclass(frozen=True)
class Seen:
    """A process that was seen running."""

    pid: int
    command: str

    @property
    def is_running(self) -> bool:
        """Whether it still runs; one that nobody has buried yet does not."""
        return self._state not in {"Z", "X", ""}

    @property
    def is_stopped(self) -> bool:
        """Whether it stands still until it is continued."""
        return self._state == "T"

    @property
    def _state(self) -> str:
        """The letter that Linux has for it; empty when it is gone."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return ""

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def tree(self) -> list[Seen]:
        """This process and all below it."""
        return [self, *descendants(self.pid)]


def descendants(root: int) -> list[Seen]:
    """The processes below *root*, with what they run."""
    found = []
    for pid in below(root):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found.append(Seen(pid, command))
    return [process for process in found if process.is_running]


def stop_tree(process: Seen) -> list[Seen]:
    """Stop a process and all below it. Returns them, for :func:`continue_all`."""
    tree = process.tree()
    for each in tree:
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGSTOP)
    return tree


def continue_all(processes: Sequence[Seen]) -> None:
    for each in processes:
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGCONT)


def wait_until(what: str, is_so: Callable[[], Any], seconds: float = 300) -> Any:
    """Wait for something to be true, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        found = is_so()
        if found:
            return found
        assert time.monotonic() < deadline, f"did not happen in {seconds} s: {what}"
        time.sleep(0.05)


class Guarded:
    """A command that runs under the guard, until this is closed or its process has gone, however that ended.

    Args:
        argv: The command.
        environment: All of its environment.
        log: Where its standard error goes, and its standard output where *piped* is not set.
        piped: Whether to talk to it through pipes.
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path, *, piped: bool = False) -> None:
        self.log = log
        self._lifeline, theirs = socket.socketpair()
        with theirs, log.open("ab") as errors:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", str(GUARD), str(theirs.fileno()), *argv],
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if piped else errors,
                stderr=errors,
                env=dict(environment),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self.pid = int(self._lifeline.makefile().readline())

    @property
    def input(self) -> IO[bytes]:
        assert self._guard.stdin is not None
        return self._guard.stdin

    @property
    def output(self) -> IO[bytes]:
        assert self._guard.stdout is not None
        return self._guard.stdout

    def processes(self) -> list[Seen]:
        """The command and all that came of it, also what has left it."""
        return descendants(self._guard.pid)

    @property
    def is_running(self) -> bool:
        return any(process.pid == self.pid for process in self.processes())

    def find(self, text: str) -> list[Seen]:
        """Processes whose command line has *text*."""
        return [process for process in self.processes() if text in process.command]

    def close(self) -> None:
        """Kill what is left of it; returns when nothing is."""
        self._lifeline.close()
        self._guard.wait(timeout=120)
        for pipe in (self._guard.stdin, self._guard.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
