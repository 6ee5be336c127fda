"""Cores of their own for processes that one machine has too few cores for: each gets a part of one, and no more.

The parts are control groups of Linux: this needs root, and the controller ``cpu`` of version 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD_US = 10_000  # short, so that who has used up a part waits for milliseconds


@contextmanager
def limited(process: int, cores: float) -> Iterator[None]:
    """Let a process, and all that it starts meanwhile, have so many cores together until the end of the block."""
    group = _GROUPS / f"splitscan-bench-{os.getpid()}-{process}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(int(_PERIOD_US * cores)))
        (group / "cgroup.procs").write_text(str(process))
        yield
    finally:
        for line in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):  # it has ended
                (_GROUPS / "cgroup.procs").write_text(line)
        group.rmdir()
