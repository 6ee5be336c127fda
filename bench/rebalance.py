"""Measure rebalancing: ``python -m bench rebalance [--works hot spike even cpu] [--runs 2]``.

Every record says what it costs. Where that is waiting (a service, a model elsewhere), eight tasks share the work on two
cores as well; where it is computing, what tells is how evenly the CPU time is shared. Every run is checked: number of
records, distinct numbers, their sum.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import splitscan as ss

_RESULTS = Path(__file__).parent / "results"
_RECORDS = 60_000
_OVER = 4  # tasks per slot, where more are planned than run at a time


@dataclass(frozen=True)
class Work:
    """A job, and what is wanted of it.

    Attributes:
        name: What it is called.
        slots: Tasks that run at a time.
        ideal: Seconds that it takes if all slots are busy until the end.
        expensive: The first and last share of the file, 0 to 1, between which records are expensive.
        times: How many times as expensive as the others.
        computes: Whether a record costs CPU time; otherwise it waits.
        wanted: The most that the rebalanced run may take, as text.
    """

    name: str
    slots: int
    ideal: float
    expensive: tuple[float, float]
    times: float
    computes: bool
    wanted: str

    def costs(self) -> Iterator[float]:
        """Seconds of every record."""
        first, last = (int(_RECORDS * share) for share in self.expensive)
        cheap = self.ideal * self.slots / (_RECORDS + (last - first) * (self.times - 1))
        for number in range(_RECORDS):
            yield cheap * (self.times if first <= number < last else 1)

    def write(self, path: Path) -> None:
        """Records with newlines in quotes, of about the same length."""
        with path.open("w", encoding="utf-8") as file:
            for number, cost in enumerate(self.costs()):
                file.write(f'{number},{cost:.7f},"record {number % 997:03d},\nover two lines"\n')


WORKS = {
    "hot": Work("the last tenth x20, waiting", 8, 11.0, (0.9, 1.0), 20, False, "wall at most 1.15x the ideal"),
    "spike": Work("2 % x100, waiting", 8, 11.0, (0.6, 0.62), 100, False, "wall at most 1.5x the ideal"),
    "even": Work("no skew, waiting", 8, 11.0, (0.0, 0.0), 1, False, "wall at most 1.05x the planned one"),
    "cpu": Work("the last tenth x20, computing", 2, 6.0, (0.9, 1.0), 20, True, "busiest task at most 1.1x the mean"),
}


def burn(seconds: float) -> None:
    """Use CPU time of this thread."""
    stop = time.thread_time() + seconds
    while time.thread_time() < stop:
        pass


def handle(marks: Path, pay: Callable[[float], None]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function behind the read: it pays what the records say. Every task leaves the CPU time that it used."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.thread_time()
        for batch in batches:
            pay(pc.sum(batch["cost"]).as_py() or 0.0)
            yield batch.select(["id"])
        (marks / uuid4().hex).write_text(str(time.thread_time() - started))

    return work


@dataclass(frozen=True)
class Outcome:
    """One run: wall seconds, CPU seconds of the busiest task over the mean, and the report's own ratio."""

    seconds: float
    imbalance: float
    reported: float | None = None


def run(spark: SparkSession, work: Work, source: Path, *, rebalance: bool, tasks: int) -> Outcome:
    """Run a job once, and check it."""
    size = -(-source.stat().st_size // tasks)
    options = {} if rebalance else {"block_size": size, "task_size": size, "open_cost_in_bytes": 0}
    with tempfile.TemporaryDirectory() as folder:
        scan = ss.scan_csv(str(source), "id long, cost double, text string", multi_line=True, **options)
        started = time.perf_counter()
        paid = handle(Path(folder), burn if work.computes else time.sleep)
        frame = scan.to_spark(spark, rebalance=rebalance, apply=paid, apply_schema="id long")
        answer = frame.selectExpr("count(*)", "count(distinct id)", "sum(id)").first()
        seconds = time.perf_counter() - started
        cpu = [float(path.read_text()) for path in Path(folder).iterdir()]
    if answer is None or tuple(answer) != (_RECORDS, _RECORDS, _RECORDS * (_RECORDS - 1) // 2):
        sys.exit(f"{work.name}: {answer} is not what was written")
    reported = ss.rebalance_report(spark).ratio if rebalance else None
    return Outcome(seconds, max(cpu) / statistics.mean(cpu), reported)


def session(slots: int) -> SparkSession:
    spark = (
        SparkSession.builder.master(f"local[{slots}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def measure(work: Work, runs: int, folder: Path) -> dict[str, list[Outcome]]:
    """Run the contenders in turn, after one run of no cost that starts Spark's workers."""
    source = folder / "work.csv"
    work.write(source)
    spark = session(work.slots)
    many = work.slots * _OVER
    contenders = {
        f"planned, {work.slots} tasks": {"rebalance": False, "tasks": work.slots},
        f"planned, {many} tasks": {"rebalance": False, "tasks": many},
        "rebalanced": {"rebalance": True, "tasks": work.slots},
    }
    try:
        free = Work("free", work.slots, 0.0, (0.0, 0.0), 1, False, "")
        free.write(folder / "free.csv")
        for options in contenders.values():
            run(spark, free, folder / "free.csv", **options)
        outcomes: dict[str, list[Outcome]] = {name: [] for name in contenders}
        for _ in range(runs):
            for name, options in contenders.items():
                outcomes[name].append(run(spark, work, source, **options))
        return outcomes
    finally:
        spark.stop()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench rebalance", description=__doc__)
    parser.add_argument("--works", nargs="+", choices=WORKS, default=[*WORKS])
    parser.add_argument("--runs", type=int, default=2)
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    console, results = Console(width=110), {}
    for key in chosen.works:
        work = WORKS[key]
        folder = Path(tempfile.mkdtemp())
        try:
            outcomes = measure(work, chosen.runs, folder)
        finally:
            shutil.rmtree(folder)
        table = Table(title=f"{work.name}; {work.slots} slots, ideal {work.ideal:.0f} s; wanted: {work.wanted}")
        for heading in ("contender", "wall s", "times ideal", "busiest task / mean CPU", "report says"):
            table.add_column(heading, justify="left" if heading == "contender" else "right")
        for name, found in outcomes.items():
            wall = statistics.median(outcome.seconds for outcome in found)
            imbalance = statistics.median(outcome.imbalance for outcome in found)
            reported = [outcome.reported for outcome in found if outcome.reported is not None]
            said = f"{statistics.median(reported):.2f}" if reported else ""
            table.add_row(name, f"{wall:.2f}", f"{wall / work.ideal:.2f}", f"{imbalance:.2f}", said)
        console.print(table)
        results[key] = {name: [asdict(outcome) for outcome in found] for name, found in outcomes.items()}
    now = datetime.now(UTC)
    _RESULTS.mkdir(exist_ok=True)
    report = {
        "date": now.isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "runs": chosen.runs,
        "ideal": {key: WORKS[key].ideal for key in results},
        "works": results,
    }
    (_RESULTS / f"rebalance-{now:%Y-%m-%d-%H%M}.json").write_text(json.dumps(report, indent=2) + "\n")
