"""A snapshot of PostgreSQL that outlives the process that asks for it: a process of its own holds it."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys

from splitscan.errors import SourceError
from splitscan.tables.address import Address

_READY_SECONDS = 60.0  # a cold start of Python on a busy machine, and a connection


def reader_label(snapshot: str | None) -> str:
    """The name that readers of a snapshot have in the server's list of connections, by which its holder knows them."""
    return "splitscan" if snapshot is None else f"splitscan {snapshot}"


def hold_snapshot(address: Address, idle_seconds: float, watch: int | None = None) -> str:
    """Take a snapshot of a database of PostgreSQL, and have it held by a process that is started for it.

    That process ends, and the snapshot with it, when a process that is watched ends, when its connection breaks, and
    when nobody has read with it for a while: rows that were deleted stay on the server as long as it is held.

    Args:
        address: The database; it goes to the process through its standard input, where nobody else can read it.
        idle_seconds: For how long nobody need read; about.
        watch: The process to watch; this one if not given.

    Returns:
        The name of the snapshot.

    Raises:
        SourceError: ``[database-failed]``, ``[snapshot-failed]`` if it cannot be taken, or the process not be started.
    """
    settings = {
        "target": address.labelled("splitscan snapshot"),
        "idle": idle_seconds,
        "watch": os.getpid() if watch is None else watch,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-c", _holder()],
            input=json.dumps(settings).encode() + b"\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            timeout=_READY_SECONDS,
            check=False,
            start_new_session=True,  # no Ctrl-C and no hang-up of the terminal reaches it
        )
        answer = json.loads(done.stdout or b"{}")
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise _failed(address, address.scrub(f"{type(error).__name__}: {error}")) from None
    if "snapshot" not in answer:
        raise _failed(address, address.scrub(answer.get("error", f"its process ended with code {done.returncode}")))
    snapshot: str = answer["snapshot"]
    return snapshot


def _holder() -> str:
    """What the process runs; from an archive too."""
    text = pkgutil.get_data(__package__, "snapshot_holder.py")
    assert text is not None
    return text.decode()


def _environment() -> dict[str, str]:
    """Ours, with the folders that this process imports from."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def _failed(address: Address, seen: str) -> SourceError:
    return SourceError(
        "the snapshot that all tasks are to read cannot be held",
        address.where,
        seen=seen,
        fix="see what the database says; with snapshot=own each task reads the version that it finds",
        code="snapshot-failed",
    )
