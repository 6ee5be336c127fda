"""Run a skewed job planned and rebalanced, check that every run delivers each record once, and draw what happened.

What is done with a record takes a while (it asks a service, or a model), and nobody can see beforehand which records
are slow: here, those of the last tenth of the file, twenty times as slow as the others. The timelines go to
``demo-data/rebalance.svg``. Exits with 1 unless every run delivers exactly the records that were written.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from rich import box
from rich.console import Console
from rich.table import Table

import splitscan as ss
from splitscan.cli.session import start_session
from splitscan.pages import Bar, Lane, Timeline, assign_lanes, draw_timelines
from splitscan.sizes import MIB, show_cost, show_seconds

FOLDER = Path("demo-data")
SOURCE, MARKS = FOLDER / "skewed.csv", FOLDER / "rebalance-marks"
PICTURE = FOLDER / "rebalance.svg"
RECORDS = 60_000
SLOTS = 8  # who waits needs no core, so there may be more tasks than cores
WORK_SECONDS = 48.0  # of all records together
DEAR_SHARE, DEAR_TIMES = 0.1, 20
PORTION_ROWS = 200

console = Console(highlight=False)


def write_source() -> None:
    """Write records of about the same length, with newlines in quotes, that say what they will cost."""
    FOLDER.mkdir(exist_ok=True)
    cheap = WORK_SECONDS / (RECORDS * (1 - DEAR_SHARE + DEAR_SHARE * DEAR_TIMES))
    with SOURCE.open("w", encoding="utf-8") as file:
        for number in range(RECORDS):
            cost = cheap * (DEAR_TIMES if number >= RECORDS * (1 - DEAR_SHARE) else 1)
            file.write(f'{number},{cost:.6f},"record {number % 997:03d},\nover two lines"\n')


def wait_for(marks: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The slow function: it waits as long as each record says. Every task leaves a file that says when it did."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with (marks / f"{uuid4().hex}.jsonl").open("w") as file:
            for batch in batches:
                for start in range(0, batch.num_rows, PORTION_ROWS):
                    portion = batch.slice(start, PORTION_ROWS)
                    began = time.time()
                    time.sleep(pc.sum(portion["cost"]).as_py())
                    mark = [began, time.time(), portion.num_rows]
                    file.write(json.dumps(mark) + "\n")
                    yield portion.select(["id"])

    return work


@dataclass(frozen=True)
class Run:
    """One way of running the job.

    Attributes:
        name: What it is called.
        seconds: Wall time.
        right: Whether it delivered each record once.
        timeline: Who did what, and when.
    """

    name: str
    seconds: float
    right: bool
    timeline: Timeline


def start_workers(spark: SparkSession) -> None:
    """Let Spark start its Python workers, so that no run pays for it."""
    spark.range(0, SLOTS, 1, SLOTS).mapInArrow(lambda batches: batches, "id long").count()


def run(spark: SparkSession, name: str, *, tasks: int | None = None) -> Run:
    """Run the job; the same function over the same records each time.

    Args:
        spark: The session.
        name: What to call it.
        tasks: Into how many tasks of equal length it is planned; ``None`` to rebalance it.
    """
    shutil.rmtree(MARKS, ignore_errors=True)
    MARKS.mkdir(parents=True)
    console.print(f"{name} ...")
    share = SOURCE.stat().st_size // tasks + 1 if tasks else None
    sizes = {"block_size": share, "task_size": share, "open_cost_in_bytes": 0} if share else {}
    scan = ss.scan_csv(str(SOURCE), "id long, cost double, text string", multi_line=True, **sizes)
    started = time.perf_counter()
    frame = scan.to_spark(spark, rebalance=tasks is None, apply=wait_for(MARKS.absolute()), apply_schema="id long")
    row = frame.selectExpr("count(*)", "count(distinct id)", "sum(id)").first()
    seconds = time.perf_counter() - started
    right = row is not None and tuple(row) == (RECORDS, RECORDS, RECORDS * (RECORDS - 1) // 2)
    timeline = ss.rebalance_report(spark).timeline(name) if tasks is None else planned_timeline(name)
    return Run(name, seconds, right, timeline)


def planned_timeline(name: str) -> Timeline:
    """What the tasks of a run without rebalancing did: a lane for each slot, a bar for each portion of records."""
    tasks = [[json.loads(line) for line in path.read_text().splitlines()] for path in MARKS.glob("*.jsonl")]
    tasks = sorted((marks for marks in tasks if marks), key=lambda marks: marks[0][0])
    first = tasks[0][0][0]
    bytes_per_record = SOURCE.stat().st_size / RECORDS
    lanes = assign_lanes((marks[0][0], marks[-1][1]) for marks in tasks)
    slots = [0.0] * (max(lanes) + 1)  # what each slot worked
    bars: list[Bar] = []
    for marks, slot in zip(tasks, lanes, strict=True):
        for began, ended, rows in marks:
            slots[slot] += ended - began
            cost = (ended - began) / (rows * bytes_per_record / MIB)
            title = f"{rows} records in {show_seconds(ended - began)}, {show_cost(cost)}"
            bars.append(Bar(slot, began - first, ended - first, cost, title))
    seconds = max(bar.stop for bar in bars)
    ideal = sum(slots) / SLOTS
    return Timeline(
        title=name,
        lanes=[Lane(f"slot {number}", f"{busy / seconds:.0%} busy") for number, busy in enumerate(slots)],
        bars=bars,
        seconds=seconds,
        ideal=ideal,
        subtitle=f"{show_seconds(seconds)}, {seconds / ideal:.2f} times the ideal; {len(tasks)} tasks",
    )


def main() -> int:
    """Run the demo; the exit code says whether all records were delivered once."""
    write_source()
    session = start_session(f"local[{SLOTS}]", {})
    try:
        start_workers(session.spark)
        runs = [
            run(session.spark, f"Planned, {SLOTS} tasks", tasks=SLOTS),
            run(session.spark, f"Planned, {4 * SLOTS} tasks", tasks=4 * SLOTS),
            run(session.spark, "Rebalanced"),
        ]
        report = ss.rebalance_report(session.spark)
    finally:
        session.close(keep_log=False)
        shutil.rmtree(MARKS, ignore_errors=True)

    console.print(f"\n{report}\n", soft_wrap=True)
    ideal = WORK_SECONDS / SLOTS
    table = Table(
        title=f"{RECORDS:,} records that take {WORK_SECONDS:.0f} s together, {SLOTS} slots: ideal {ideal:.1f} s",
        title_justify="left", box=box.SIMPLE_HEAD,
    )  # fmt: skip
    table.add_column("run", no_wrap=True)
    table.add_column("seconds", justify="right")
    table.add_column("times the ideal", justify="right")
    table.add_column("every record once")
    for each in runs:
        verdict = "[green]yes[/]" if each.right else "[red]no[/]"
        table.add_row(each.name, f"{each.seconds:.1f}", f"{each.seconds / ideal:.2f}", verdict)
    console.print(table)
    PICTURE.write_text(draw_timelines([each.timeline for each in runs]))
    console.print(f"The timelines are in {PICTURE}; they begin with the first record, when Spark has started its tasks")
    return 0 if all(each.right for each in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
