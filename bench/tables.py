"""Measure tables: ``python -m bench tables [--rows 5000000] [--runs 3] [--apart | --url postgresql://...]``.

A table keyed by uuid is read on two cores, which its server needs too: by splitscan with two tasks, by the same code
with one task (one ADBC reader, with the same way behind it), by one ADBC reader alone, and by ``COPY ... TO STDOUT``.
Every run but the last is checked: number of rows, and the sum of a column.

One reader keeps both cores busy as well, as it works while the server does. So the best ratio that several can have is
the wall time of one, divided by all CPU seconds of several, the server's too, over the cores. It is shown beside what
was measured. With ``--apart`` nobody takes cores from anybody: each reader has half a core, the process that plans
too, and the server one for all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import adbc_driver_postgresql.dbapi as driver
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table
from tests.postgresql import running_server

import splitscan as ss
from bench import CORES
from bench.apart import limited
from bench.measure import Samples, interleave
from bench.processes import cpu_seconds_of, descendants
from bench.session import session
from splitscan.tables import TablePlan, read_pieces

_RESULTS = Path(__file__).parent / "results"
_TABLE = "splitscan_bench"
_WANTED = 1.6
_COLUMNS = """md5(i::text)::uuid AS id, i AS n, (i % 100000) / 7.0::float8 AS price,
    (i % 1000)::numeric(10,2) AS amount, timestamptz '2024-01-01 00:00+00' + i * interval '1 second' AS at,
    'note number ' || i || ' of this table' AS note"""

_SETTLED_SECONDS = 0.5  # until processes of the server that are done have ended

Answer = tuple[int, int]


@dataclass
class ServerTimes:
    """CPU seconds that a server spends on each run of contenders.

    Attributes:
        pid: Its process; ``None`` for a server elsewhere, of which nothing is known.
        seconds: What was spent, by contender.
    """

    pid: int | None
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def counting(self, runs: dict[str, Callable[[], Answer]]) -> dict[str, Callable[[], Callable[[], Answer]]]:
        """The same contenders; what the server spent is looked up when nothing is measured."""
        return {name: self._counting(name, run) for name, run in runs.items()}

    def median(self, name: str) -> float | None:
        """Of the runs that count."""
        found = self.seconds.get(name, [])[1:]
        return statistics.median(found) if found else None

    def _counting(self, name: str, run: Callable[[], Answer]) -> Callable[[], Callable[[], Answer]]:
        def call() -> Callable[[], Answer]:
            before = None if self.pid is None else cpu_seconds_of(self.pid)
            answer = run()

            def found() -> Answer:
                if self.pid is not None and before is not None:
                    time.sleep(_SETTLED_SECONDS)
                    self.seconds.setdefault(name, []).append(cpu_seconds_of(self.pid) - before)
                return answer

            return found

        return call


def make_table(url: str, rows: int) -> None:
    """The table, with its index and its statistics."""
    with driver.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in (
            f"DROP TABLE IF EXISTS {_TABLE}",
            f"CREATE TABLE {_TABLE} AS SELECT {_COLUMNS} FROM generate_series(1, {rows}) i",
            f"ALTER TABLE {_TABLE} ADD PRIMARY KEY (id)",
            f"VACUUM ANALYZE {_TABLE}",
        ):
            cursor.execute(statement)


def add_up(batches: Iterable[pa.RecordBatch]) -> Answer:
    rows = total = 0
    for batch in batches:
        rows += batch.num_rows
        total += pc.sum(batch.column("n")).as_py() or 0
    return rows, total


def read_task(plan: TablePlan, number: int) -> Answer:
    return add_up(read_pieces(plan.spec, plan.tasks[number], plan.version))


def read_alone(url: str) -> Answer:
    with driver.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {_TABLE}")
        return add_up(cursor.fetch_record_batch())


def on_spark(spark: SparkSession, url: str) -> dict[str, Callable[[], Answer]]:
    def read(tasks: int) -> Answer:
        frame = ss.scan_table(url, _TABLE, "id", min_partitions=tasks, task_size="1 TiB").to_spark(spark)
        row = frame.selectExpr("count(id)", "sum(n)", "max(note)", "sum(amount)", "max(at)", "sum(price)").first()
        assert row is not None
        return row[0], row[1]

    return {
        f"splitscan on Spark, {CORES} tasks": lambda: read(CORES),
        "one reader on Spark, 1 task": lambda: read(1),
    }


def by_readers(url: str, pool: ProcessPoolExecutor) -> dict[str, Callable[[], Answer]]:
    def in_processes() -> Answer:
        plan = ss.scan_table(url, _TABLE, "id", min_partitions=CORES, task_size="1 TiB").plan(CORES)
        found = pool.map(read_task, [plan] * len(plan.tasks), range(len(plan.tasks)))
        rows, totals = zip(*found, strict=True)
        return sum(rows), sum(totals)

    return {
        f"splitscan, {CORES} processes": in_processes,
        "one ADBC reader, 1 process": lambda: pool.submit(read_alone, url).result(),
    }


@contextmanager
def apart(pid: int, pool: ProcessPoolExecutor) -> Iterator[None]:
    """Half a core for this process and each of a pool, and the other half of all cores for a server."""
    list(pool.map(time.sleep, [_SETTLED_SECONDS] * CORES))  # so that all of them are there
    with ExitStack() as groups:
        groups.enter_context(limited(pid, CORES / 2))
        for process in (os.getpid(), *descendants()):
            groups.enter_context(limited(process, 0.5))
        yield


def copy_out(url: str) -> None:
    """The server's own export, thrown away."""
    subprocess.run(
        ["psql", url, "--quiet", "--command", f"COPY {_TABLE} TO STDOUT"], stdout=subprocess.DEVNULL, check=True
    )


@contextmanager
def server(url: str | None) -> Iterator[tuple[str, int | None]]:
    """The address of a server, and the process of one that is ours."""
    if url is not None:
        yield url, None
    else:
        with running_server() as started:
            yield started.url, started.pid


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench tables", description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", help="a server to make the table in; by default one is started")
    where.add_argument("--apart", action="store_true", help="give server and readers cores of their own; as root")
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with server(chosen.url) as (url, pid), ProcessPoolExecutor(CORES, get_context("spawn")) as pool:
        make_table(url, chosen.rows)
        times = ServerTimes(pid)
        if chosen.apart:
            assert pid is not None
            with apart(pid, pool):
                samples = interleave(times.counting(by_readers(url, pool)), chosen.runs)
        else:
            samples = _measure(url, pool, times, chosen.runs)
    expected = (chosen.rows, chosen.rows * (chosen.rows + 1) // 2)
    for name, sample in samples.items():
        if any(answer not in (expected, None) for answer in sample.answers):
            sys.exit(f"{name}: {sample.answers} is not {expected}")
    show(samples, times, chosen.rows, is_apart=chosen.apart)
    save(samples, times, chosen.rows, chosen.runs, is_apart=chosen.apart)


def _measure(url: str, pool: ProcessPoolExecutor, times: ServerTimes, runs: int) -> dict[str, Samples]:
    spark = session()
    samples = interleave(times.counting(on_spark(spark, url) | by_readers(url, pool)), runs)
    spark.stop()
    if shutil.which("psql"):
        samples |= interleave(times.counting({"COPY TO STDOUT": lambda: copy_out(url)}), runs)
    return samples


def show(samples: dict[str, Samples], times: ServerTimes, rows: int, *, is_apart: bool) -> None:
    cores = "half a core for each reader, the server apart" if is_apart else f"{CORES} cores with the server"
    table = Table(title=f"{rows:,} rows keyed by uuid, {cores}; wanted: {_WANTED}x one reader")
    for heading in ("contender", "median s", "min", "max", "rows/s", "CPU s: server", "Python", "JVM"):
        table.add_column(heading, justify="left" if heading == "contender" else "right")
    for name, sample in samples.items():
        spread = f"{min(sample.seconds):.2f}", f"{max(sample.seconds):.2f}"
        spent = times.median(name), sample.cpu("driver") + sample.cpu("worker"), sample.cpu("jvm")
        shown = ("" if seconds is None else f"{seconds:.2f}" for seconds in spent)
        table.add_row(name, f"{sample.median:.2f}", *spread, f"{rows / sample.median:,.0f}", *shown)
    console = Console(width=130)
    console.print(table)
    names = list(samples)
    for several, one in zip(names[::2], names[1::2], strict=False):
        console.print(f"{several}: {compared(samples, times, several, one, is_apart=is_apart)} {one}")


def compared(samples: dict[str, Samples], times: ServerTimes, several: str, one: str, *, is_apart: bool) -> str:
    """How many times as fast several readers are as one, and could be if both cores were never idle."""
    sample, base, served = samples[several], samples[one].median, times.median(several)
    ratio = f"{base / sample.median:.2f}x"
    if served is None or is_apart:
        return ratio
    spent = served + sum(sample.cpu(role) for role in ("driver", "worker", "jvm"))
    return f"{ratio} of at most {base * CORES / spent:.2f}x"


def save(samples: dict[str, Samples], times: ServerTimes, rows: int, runs: int, *, is_apart: bool) -> None:
    now = datetime.now(UTC)
    _RESULTS.mkdir(exist_ok=True)
    report = {
        "date": now.isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "apart": is_apart,
        "rows": rows,
        "runs": runs,
        "seconds": {name: [round(seconds, 3) for seconds in sample.seconds] for name, sample in samples.items()},
        "server_cpu_seconds": {name: [round(one, 3) for one in found[1:]] for name, found in times.seconds.items()},
        "cpu_seconds": {
            name: [{role: round(one, 3) for role, one in usage.cpu_seconds.items()} for usage in sample.usage]
            for name, sample in samples.items()
        },
    }
    (_RESULTS / f"tables-{'apart-' * is_apart}{now:%Y-%m-%d-%H%M}.json").write_text(json.dumps(report, indent=2) + "\n")
