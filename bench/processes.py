"""What the processes of a measurement use: this one, the JVM that it started, and the Python workers of Spark."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.1  # the watching thread runs on the cores that are measured
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_DRIVER, _JVM, _WORKER = "driver", "jvm", "worker"


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    name: str
    cpu_seconds: float  # of the process and of those children that ended
    resident_mb: float


@dataclass(frozen=True)
class Usage:
    """What was used, apart by role: ``driver`` is this process, ``worker`` all Python workers of Spark.

    Attributes:
        cpu_seconds: CPU seconds of all processes of a role.
        peak_mb: Largest resident size that one process of a role reached.
    """

    cpu_seconds: dict[str, float]
    peak_mb: dict[str, float]


def cpu_seconds_of(pid: int) -> float:
    """CPU seconds of a process with its children, those that ended too: of a server that serves by its children."""
    found = [process for path in Path("/proc").glob("[0-9]*") if (process := _read(path)) is not None]
    return sum(process.cpu_seconds for process in found if pid in {process.pid, process.parent})


def descendants() -> list[int]:
    """The processes that this one started, and theirs."""
    return [process.pid for process in _family() if process.pid != os.getpid()]


class Watch:
    """Measures what is used between entering and leaving; then :attr:`usage` is there."""

    usage: Usage

    def __init__(self) -> None:
        self._peaks: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._before: dict[str, float] = {}

    def __enter__(self) -> Watch:
        self._before = self._sample()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        after = self._sample()
        spent = {role: after[role] - self._before.get(role, 0.0) for role in after}
        self.usage = Usage(spent, self._peaks)

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            self._sample()

    def _sample(self) -> dict[str, float]:
        """CPU seconds by role; remembers the largest sizes."""
        spent: dict[str, float] = {}
        for process in _family():
            role = _role(process)
            spent[role] = spent.get(role, 0.0) + process.cpu_seconds
            self._peaks[role] = max(self._peaks.get(role, 0.0), process.resident_mb)
        return spent


def _role(process: _Process) -> str:
    if process.pid == os.getpid():
        return _DRIVER
    return _JVM if process.name == "java" else _WORKER


def _family() -> list[_Process]:
    """This process and all that come from it."""
    found = {process.pid: process for path in Path("/proc").glob("[0-9]*") if (process := _read(path)) is not None}
    family = {os.getpid()}
    grown = True
    while grown:
        more = {process.pid for process in found.values() if process.parent in family} - family
        family |= more
        grown = bool(more)
    return [found[pid] for pid in family if pid in found]


def _read(path: Path) -> _Process | None:
    try:
        head, _, rest = (path / "stat").read_text().rpartition(")")
    except OSError:  # it has ended
        return None
    pid, _, name = head.partition(" (")
    fields = rest.split()
    is_self = int(pid) == os.getpid()
    ticks = sum(int(field) for field in fields[11 : 13 if is_self else 15])  # children of ours are counted themselves
    return _Process(int(pid), int(fields[1]), name, ticks / _TICKS, int(fields[21]) * _PAGE_BYTES / 1e6)
