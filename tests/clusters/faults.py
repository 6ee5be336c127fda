"""What goes wrong inside Spark's Python workers, at a given record, as often as a test says.

Runs in the workers: each fault leaves a file in a folder, by which all processes know how often it has happened.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

HANG_SECONDS = 600  # longer than any test: who hangs must not be waited for
DAWDLE_SECONDS = 6  # long enough for a copy of the task to start, which then may win or lose


class InjectedError(Exception):
    """The error of fault ``raise``."""


def take_turn(folder: str, name: str, times: int) -> int:
    """Which of the *times* times that something named *name* happens this is, over all processes, from 1; 0 if none."""
    for turn in range(times):
        with suppress(FileExistsError):
            os.close(os.open(f"{folder}/{name}-{turn}", os.O_CREAT | os.O_EXCL))
            return turn + 1
    return 0


def happened(folder: Path, name: str) -> int:
    """How often *name* has happened."""
    return len(list(Path(folder).glob(f"{name}-*")))


def do(what: str, turn: int = 1, folder: str = "", name: str = "") -> None:
    """Let the process that calls this suffer *what*, in turn *turn* of what *folder* knows as *name*."""
    if what == "raise":
        raise InjectedError(what)
    if what == "kill worker":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "kill executor":
        os.kill(executor_of(os.getpid()), signal.SIGKILL)
        time.sleep(HANG_SECONDS)  # until it is noticed
    elif what == "lose shuffle files":  # of a local master: they lie beside its driver's files
        for path in Path(os.environ["SPARK_LOCAL_DIRS"]).rglob("shuffle_*"):
            path.unlink(missing_ok=True)
        raise InjectedError(what)
    elif what == "dawdle":
        time.sleep(DAWDLE_SECONDS)
    elif what == "outlast copy":  # who comes first goes on when somebody else has come, who never does
        deadline = time.monotonic() + HANG_SECONDS
        while (turn > 1 or happened(Path(folder), name) < 2) and time.monotonic() < deadline:
            time.sleep(0.05)
    elif what == "hang":
        time.sleep(HANG_SECONDS)
    else:
        raise ValueError(what)


def executor_of(worker: int) -> int:
    """The Java process whose daemon forked a Python worker."""
    daemon = _parent_of(worker)
    return _parent_of(daemon)


def _parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def suffering(frame: DataFrame, folder: Path, faults: dict[int, str], times: int = 1) -> DataFrame:
    """The same rows, but *faults* (by record id) happen as the records pass, each *times* times."""
    plain = str(folder)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, what in faults.items():
                name = f"{what} at {number}"
                if _has(batch, number) and (turn := take_turn(plain, name, times)):
                    do(what, turn, plain, name)
            yield batch

    return frame.mapInArrow(run, frame.schema)


def costly(frame: DataFrame, seconds_per_record: Callable[[int], float] | float) -> DataFrame:
    """The same rows, each of which costs time as one that waits for something does."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if callable(seconds_per_record):
                time.sleep(sum(map(seconds_per_record, batch["id"].to_pylist())))
            else:
                time.sleep(seconds_per_record * batch.num_rows)
            yield batch

    return frame.mapInArrow(run, frame.schema)


def _has(batch: pa.RecordBatch, number: int) -> bool:
    return bool(pc.any(pc.equal(batch["id"], number)).as_py())
