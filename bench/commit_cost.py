"""What a commit costs as a destination grows: python -m bench.commit_cost [delta|iceberg|none|jobs|windows] [commits].

Each commit publishes ten files of one row: into a table, a plain folder, or a folder for each job (``jobs``). It counts
CPU time, so a busy machine does not matter. Beside it stands a bare append of as many rows by the library. Of a table,
the time inside the library, which opens the table, registers the files, and frees what it has read of the log, is told
apart from the rest, which is what splitscan adds. It passes if what is added at the end is at most 1.5 times what it is
at commit 100, or at the beginning of fewer commits. What the library takes grows with its log, and is printed.

``windows`` takes whole jobs into a plain folder, as a watch does them: a file of one row each, planned, read, checked
and published. It compares the last ten with the first.
"""

from __future__ import annotations

import pkgutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from splitscan.api.files import Scan
from splitscan.content.storage import open_storage
from splitscan.jobs.destination import History, HistoryReader, open_destination
from splitscan.jobs.division import Runner
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.ledger import Ledger, describe_columns
from splitscan.jobs.parquet import ParquetFileWriter
from splitscan.jobs.settings import IngestSettings, Layout, parquet_name
from splitscan.jobs.staging import Staging, part_name
from splitscan.jobs.steps import IngestTarget, run_ingest

FILES = 10
MOST_GROWTH = 1.5
SCHEMA = pa.schema([("id", pa.int64())])


LIBRARY = {
    "delta": ["deltalake:DeltaTable.__init__", "deltalake:DeltaTable.create_write_transaction"],
    "iceberg": [
        "pyiceberg.catalog.sql:SqlCatalog.load_table",
        "pyiceberg.table:Table.transaction",
        "pyiceberg.table:Transaction.add_files",
        "pyiceberg.table:Transaction.commit_transaction",
    ],
}
"""What a bare append calls too."""


class Library:
    """The CPU time that calls of a table's library take from now on."""

    def __init__(self, table: str) -> None:
        self.seconds = 0.0
        self._is_inside = False
        self._read: list[object] = []  # what it read of its log, kept so that freeing it is told apart, too
        for name in LIBRARY.get(table, ()):
            owner, _, method = name.rpartition(".")
            self._time(pkgutil.resolve_name(owner), method)

    def _time(self, owner: type, method: str) -> None:
        original = getattr(owner, method)

        def timed(*arguments: object, **named: object) -> object:
            if self._is_inside:  # a call of the library's own
                return original(*arguments, **named)
            started, self._is_inside = time.process_time(), True
            try:
                answer = original(*arguments, **named)
            finally:
                self.seconds, self._is_inside = self.seconds + time.process_time() - started, False
            self._read += (arguments, answer)
            return answer

        setattr(owner, method, timed)

    def free(self) -> None:
        """Let go of what the calls read and made."""
        started = time.process_time()
        self._read.clear()
        self.seconds += time.process_time() - started


def bare_append(folder: Path, table: str) -> Callable[[pa.Table], object] | None:
    """What appends rows to a new table by the library alone; ``None`` for a plain folder."""
    if table == "delta":
        return lambda rows: write_deltalake(folder, rows, mode="append")
    if table == "iceberg":
        folder.mkdir()
        catalog = SqlCatalog("bare", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        catalog.create_namespace("bare")
        catalog.create_table("bare.rows", SCHEMA)
        return lambda rows: catalog.load_table("bare.rows").append(rows)
    return None


def bare_seconds(folder: Path, table: str, commits: int) -> list[float]:
    """Append to a table by its library alone, commit after commit. Tell the CPU time of each."""
    append = bare_append(folder, table)
    rows = pa.table([pa.array([1] * FILES, pa.int64())], schema=SCHEMA)
    taken = []
    for _ in range(commits if append is not None else 0):
        started = time.process_time()
        append(rows)
        taken.append(time.process_time() - started)
    return taken


def commit_seconds(folder: Path, kind: str, commits: int) -> tuple[list[float], list[float]]:
    """Publish job after job. Tell the CPU time of each commit without the writing of its files, and of the library."""
    table = "none" if kind == "jobs" else kind
    sink = open_destination(folder, table)
    settings = IngestSettings(layout=Layout.JOBS if kind == "jobs" else None)
    partitioning = sink.check(SCHEMA, History(), settings)
    schema = sink.begin(SCHEMA, partitioning, settings)
    batch = pa.record_batch([pa.array([1])], schema=schema)
    library = Library(table)
    taken, inside = [], []
    for number in range(1, commits + 1):
        job_id = f"{number:032x}"[::-1]
        data = open_storage(sink.data_root) if sink.data_root else None
        staging = Staging(sink.place.staging, job_id, data)
        written = []
        for part in range(FILES):
            name = parquet_name(job_id, part_name(part, 1), "zstd")
            with ParquetFileWriter(staging, name, schema, IngestSettings()) as output:
                output.write(batch)
            written.append(output.written)
        columns = describe_columns(schema)
        ledger = Ledger(
            job_id, number, "2026-01-01T00:00:00Z", "csv", {}, columns, (), (), tuple(written),
            partitioning=partitioning,
        )  # fmt: skip
        started, library.seconds = time.process_time(), 0.0
        sink.commit(staging, ledger, lambda _: None)
        library.free()
        taken.append(time.process_time() - started)
        inside.append(library.seconds)
        staging.delete()
    return taken, inside


def window_seconds(folder: Path, windows: int) -> list[float]:
    """Ingest file after file, and tell the CPU time of each job."""
    runner, history, taken = Runner(), HistoryReader(), []
    for number in range(windows):
        source = folder / f"in/{number}.csv"
        source.parent.mkdir(exist_ok=True)
        source.write_text(f"id\n{number}\n")
        scan = Scan.of(str(source), "csv", "id long", {"header": True})
        started = time.process_time()
        run_ingest(FileSource(scan), IngestTarget(folder / "out", history=history, table="none"), runner)
        taken.append(time.process_time() - started)
    return taken


def main() -> int:
    """Measure, print, and fail if what is added to a commit grows."""
    table = sys.argv[1] if len(sys.argv) > 1 else "none"
    commits = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    if table == "windows":
        with tempfile.TemporaryDirectory() as folder:
            taken = window_seconds(Path(folder), commits)
        before, after = statistics.median(taken[:10]), statistics.median(taken[-10:])
        print(
            f"windows: {commits} jobs, {before * 1e3:.1f} ms of CPU for the first ten, {after * 1e3:.1f} for the last"
        )
        return 1 if after > MOST_GROWTH * before else 0
    with tempfile.TemporaryDirectory() as folder:
        bare = bare_seconds(Path(folder) / "bare", table, commits)
        taken, library = commit_seconds(Path(folder) / "out", table, commits)
    added = [total - own for total, own in zip(taken, library, strict=True)]
    early = slice(95, 105) if commits > 200 else slice(1, 11)  # the first makes the folder
    for name, seconds in (("bare append", bare), ("all", taken), ("library", library), ("added", added)):
        if not seconds:
            continue
        before, after = statistics.median(seconds[early]), statistics.median(seconds[-10:])
        print(
            f"{table}: {commits} commits, {name}: {before * 1e3:.1f} ms early, {after * 1e3:.1f} ms of CPU at the end"
        )
    return 1 if after > MOST_GROWTH * before else 0


if __name__ == "__main__":
    sys.exit(main())
