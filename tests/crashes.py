"""Ingests whose every change to the file system is the last one, or fails once; then run again, and checked.

``python -m tests.crashes FOLDER EVERY KIND`` kills before, and fails, every EVERY-th change of each job of a kind of
destination. It tells as JSON how many there are, and all that went wrong; null where the kernel has no such filters. It
runs in a process of its own, because it forks.
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections import Counter
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from tests.file_changes import Fault, is_supported, run_watched
from tests.unit.jobs.conftest import InProcessRunner

from splitscan.api.files import Scan
from splitscan.errors import SplitscanError
from splitscan.jobs import verify, workplace
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings, Layout, OnChanged, SchemaEvolution
from splitscan.jobs.single_file import FileTarget, write_file
from splitscan.jobs.steps import IngestTarget, run_ingest

TABLES = ("delta", "iceberg")
DESTINATIONS = {
    f"{kind}{'-by-kind' if is_partitioned else ''}": (kind, ("kind",) if is_partitioned else ())
    for kind in ("flat", "jobs", "inside", *TABLES)
    for is_partitioned in (False, True)
}
JOBS = ("first", "second", "columns", "replace")
FILES = ("rows.parquet", "rows.csv.gz", "rows.jsonl")
FILE_JOBS = ("first", "over")
KINDS = [*DESTINATIONS, *FILES]
ROWS = 6
MOST_CHANGES = 10_000
TYPED, UNTYPED = 3, 1
_CHANGES_THAT_ARE_NONE = {"fsync", "fdatasync"}  # killed before them or before the next is all the same


class Ingests:
    """Ingests into a destination of one kind: file 1, then file 2, or file 3 that has one column more, or file 1 again.

    Of the last, the first version is ingested together with file 2, so that data files have rows of both.
    """

    def __init__(self, folder, kind, job):
        self._folder, self._job = folder, job
        self._kind, self._partition_by = DESTINATIONS[kind]
        self._out = folder / "out"
        if self._kind == "inside":
            workplace._can_work_beside = lambda _: False
        (folder / "in").mkdir(exist_ok=True)
        for number in (1, 2, 3):
            more = [f",{number}"] * ROWS if number == 3 else [""] * ROWS
            lines = [f"{10 * number + row},{'ab'[row % 2]}{more[row]}" for row in range(ROWS)]
            (folder / "in" / f"{number}.csv").write_text("\n".join([*lines, "x,a"]) + "\n")

    def prepare(self):
        """What is there before the job."""
        if self._job == "replace":
            self._ingest(1, "id long, kind string", also=2)
            (self._folder / "in" / "1.csv").write_text("\n".join([f"{100 + row},b" for row in range(ROWS)] + ["y,b"]))
        elif self._job != "first":
            self._ingest(1, "id long, kind string")

    def run(self):
        """The job."""
        if self._job == "columns":
            self._ingest(3, "id long, kind string, more long")
        else:
            self._ingest(2 if self._job == "second" else 1, "id long, kind string")

    def _ingest(self, number, schema, also=None):
        numbers = [number] if also is None else [number, also]
        scan = Scan.of(
            [str(self._folder / "in" / f"{each}.csv") for each in numbers], "csv", schema,
            {"blockSize": 16, "taskSize": 32 if self._job != "replace" else 1000, "openCostInBytes": 0},
        )  # fmt: skip
        is_table = self._kind in TABLES
        settings = IngestSettings(
            partition_by=self._partition_by, layout=None if is_table else Layout(self._layout),
            schema_evolution_mode=SchemaEvolution.ADD, max_rejects=2, on_changed=OnChanged.REPLACE,
        )  # fmt: skip
        run_ingest(
            FileSource(scan),
            IngestTarget(self._out, settings, table=self._kind if is_table else None),
            InProcessRunner(),
        )

    @property
    def _layout(self):
        return "jobs" if self._kind == "jobs" else "flat"

    def look(self):
        """After a death: ``verify`` finds no fault, and finishes what was published, or says that nothing was."""
        try:
            report = verify(self._out, deep=True)
            if self._job == "replace":  # until it is replaced, the source is not what was ingested
                report = replace(report, notes=tuple(note for note in report.notes if note.code != "source-changed"))
            _agrees(report)
        except SplitscanError as error:
            if error.reason_code != "not-a-destination" or self._job != "first" or "did not write" in str(error):
                raise

    def check(self):
        """Every row is there once, and ``verify`` agrees."""
        numbers = {"first": (1,), "second": (1, 2), "columns": (1, 3), "replace": (10, 2)}[self._job]
        found = Counter(self._read()["id"].to_pylist())
        expected = Counter([10 * number + row for number in numbers for row in range(ROWS)] + [None] * len(numbers))
        _same(found, expected)
        report = verify(self._out, deep=True)
        _agrees(report)
        _same(report.rejects, len(numbers))
        _same((self._folder / ".out.splitscan").exists(), False)

    def _read(self):
        if self._kind == "delta":
            return DeltaTable(self._out).to_pyarrow_table()
        if self._kind == "iceberg":
            catalog = SqlCatalog("splitscan", uri=f"sqlite:///{self._out}/iceberg.db", warehouse=f"file://{self._out}")
            return catalog.load_table("splitscan.records").scan().to_arrow()
        return ds.dataset(self._out, format="parquet", partitioning="hive").to_table(columns=["id"])


class Files:
    """Rows written to one file, that is not there, or is written over."""

    def __init__(self, folder, kind, job):
        self._path, self._is_over = folder / "out" / kind, job == "over"

    def prepare(self):
        """What is there before."""
        self._path.parent.mkdir(exist_ok=True)
        if self._is_over:
            self._write(1)

    def run(self):
        """Write it."""
        if self._is_over or not self._path.exists():  # killed after the last change: nothing is left to do
            self._write(2)

    def _write(self, number):
        rows = pa.table({"id": [10 * number + row for row in range(ROWS)]})
        write_file(FileTarget.of(str(self._path)), rows.schema, rows.to_batches(2), overwrite=self._is_over)

    def look(self):
        """After a death: the file is as before or as after."""
        if self._path.exists() or self._is_over:
            rows = self._read()
            _same(rows in ([10 + row for row in range(ROWS)], [20 + row for row in range(ROWS)]), True)

    def check(self):
        """All rows are there."""
        _same(self._read(), [20 + row for row in range(ROWS)])

    def _read(self):
        kind = "json" if self._path.suffix == ".jsonl" else self._path.suffix.lstrip(".")
        return ds.dataset(self._path, format="csv" if kind == "gz" else kind).to_table()["id"].to_pylist()


def _agrees(report):
    _same((report.problems, report.notes), ((), ()))


def _same(found, expected):
    if found != expected:
        raise AssertionError(f"{found} where {expected} should be")


def _coded(step):
    """A step that tells by a code whether it failed, and if by an error of ours."""

    def call():
        try:
            step()
        except SplitscanError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            return TYPED
        except BaseException:
            traceback.print_exc()
            return UNTYPED
        finally:
            sys.stderr.flush()
        return 0

    return call


class Crashes:
    """One job, killed before or failed at one change after the other."""

    def __init__(self, folder, kind, job):
        self._work, self._saved, self._said = folder / "work", folder / "saved", folder / "said"
        self._work.mkdir()
        self._ingests = (Files if kind in FILES else Ingests)(self._work, kind, job)
        self.faults = []

    def run(self, chosen):
        """Crash at the chosen changes. Returns how many changes there are."""
        self._must("prepare", self._ingests.prepare)
        shutil.copytree(self._work, self._saved)
        whole = self._step(self._ingests.run)
        if whole.code != 0:
            raise AssertionError(f"without any fault: {self._said.read_text()}")
        self._must("check", self._ingests.check)
        for at in takewhile(lambda at: at < len(whole.changes), chosen):
            for fault in (Fault.KILL, Fault.NO_SPACE if at % 2 else Fault.IO_ERROR):
                if fault is not Fault.KILL or whole.changes[at][0] not in _CHANGES_THAT_ARE_NONE:
                    self._crash(at, fault)
        return len(whole.changes)

    def _crash(self, at, fault):
        for name in self._work.iterdir():
            if name.name != "in":
                shutil.rmtree(name)
        for name in self._saved.iterdir():
            if name.name != "in":
                shutil.copytree(name, self._work / name.name)
        run = self._step(self._ingests.run, at, fault)
        where = f"{fault.name} at change {at} {run.changes[at] if at < len(run.changes) else 'none'}"
        if run.code not in ({-signal.SIGKILL} if fault is Fault.KILL else {0, TYPED}) and len(run.changes) > at:
            self._blame(f"{where}: exit {run.code}")
        if at % 3 == 0:  # others are run again without this
            self._must(f"{where}: verify", self._ingests.look)
        self._must(f"{where}: run again", self._ingests.run)
        self._must(f"{where}: check", self._ingests.check)

    def _must(self, what, step):
        run = self._step(step)
        if run.code != 0:
            self._blame(f"{what}: exit {run.code}")

    def _blame(self, what):
        self.faults.append(f"{what}\n{self._said.read_text()[-1500:]}")

    def _step(self, step, at=None, fault=Fault.KILL):
        with self._said.open("wb") as said:

            def task():
                os.dup2(said.fileno(), 2)
                return _coded(step)()

            return run_watched(task, self._work, at, fault)


def main(folder, every, kind):
    """Crash every job of a kind, and tell of each."""
    if not is_supported():
        sys.stdout.write(json.dumps(None))
        return
    told = {}
    for number, job in enumerate(FILE_JOBS if kind in FILES else JOBS):
        below = Path(folder) / job
        below.mkdir()
        crashes = Crashes(below, kind, job)
        first = (KINDS.index(kind) * len(JOBS) + number) * 7 % int(every)  # so that other kinds die at other changes
        told[job] = {"changes": crashes.run(range(first, MOST_CHANGES, int(every))), "faults": crashes.faults}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
