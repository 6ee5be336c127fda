"""Measure streams: ``python -m bench streaming [--files 200] [--mb 1] [--per-window 20] [--known 100000] [--runs 3]``.

Two measures. What planning a window costs, and how many records a second go through, beside Spark's own stream of text
files on the same files: as ratios, so that the machine matters little. And what ``latestOffset`` costs in CPU time
where many files are known: idle, and with one new file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamReader
from rich.console import Console
from rich.table import Table

from splitscan.api.files import Scan
from splitscan.options.stream import parse_stream_options
from splitscan.streaming import StreamPlanner

_RESULTS = Path(__file__).parent / "results"
_LINE_BYTES = 100
_PER_FOLDER = 1000  # files
_PLANNING = ("latestOffset", "getBatch", "queryPlanning", "walCommit", "commitOffsets")  # of Spark's progress
_WANTED_MS = 300  # for latestOffset with all files known
_FEW = 5  # times that latestOffset is asked


@dataclass(frozen=True)
class Outcome:
    """One run of a stream: records, seconds of all windows, and per window the milliseconds that were no reading."""

    records: int
    seconds: float
    planning_ms: float

    @property
    def rate(self) -> float:
        return self.records / self.seconds


def write_files(folder: Path, files: int, lines: int) -> None:
    line = b"x" * (_LINE_BYTES - 1) + b"\n"
    for number in range(files):
        path = folder / f"{number // _PER_FOLDER:04d}" / f"{number:07d}.txt"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(line * lines)


def streams(spark: SparkSession, per_window: int) -> dict[str, DataStreamReader]:
    def reader(name: str) -> DataStreamReader:
        options = {"maxFilesPerTrigger": per_window, "recursiveFileLookup": True}
        return spark.readStream.format(name).options(**options)

    ours = reader("splitscan").option("recordFormat", "text").schema("value string")
    return {"splitscan": ours, "spark": reader("text")}


def run(reader: DataStreamReader, source: Path, name: str) -> Outcome:
    """Drain the files into nothing; the first window pays for starting, and is not counted."""
    with tempfile.TemporaryDirectory(prefix="splitscan-bench-") as checkpoint:
        if name == "splitscan":
            reader = reader.option("stateLocation", f"{checkpoint}/splitscan")
        writer = reader.load(str(source)).writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        if query.exception() is not None:
            sys.exit(str(query.exception()))
        batches = [each for each in query.recentProgress if each["numInputRows"]][1:]
    durations = [each["durationMs"] for each in batches]
    planning = [sum(duration.get(name, 0) for name in _PLANNING) for duration in durations]
    seconds = sum(duration["triggerExecution"] for duration in durations) / 1000
    return Outcome(sum(each["numInputRows"] for each in batches), seconds, statistics.median(planning))


def compare(
    spark: SparkSession, folder: Path, files: int, mb: float, per_window: int, runs: int
) -> dict[str, list[Outcome]]:
    write_files(folder, files, int(mb * 1_000_000) // _LINE_BYTES)
    outcomes: dict[str, list[Outcome]] = {}
    for number in range(runs + 1):
        for name, reader in streams(spark, per_window).items():
            outcome = run(reader, folder, name)
            if number:
                outcomes.setdefault(name, []).append(outcome)
    found = {outcome.records for many in outcomes.values() for outcome in many}
    if len(found) != 1:
        sys.exit(f"the contenders disagree on the number of records: {found}")
    return outcomes


def latest_offset_ms(folder: Path, known: int) -> dict[str, float]:
    """Milliseconds of CPU time that the planner's thread needs for ``latestOffset``, and for all threads together."""
    write_files(folder / "in", known, 1)
    raw = {"stateLocation": str(folder / "state"), "scanIntervalMillis": 0}
    planner = StreamPlanner(
        Scan.of(str(folder / "in"), "text", None, {"recursiveFileLookup": True}), parse_stream_options(raw)[0]
    )
    position = planner.latest(planner.initial())
    costs: dict[str, list[float]] = {}
    for number in range(_FEW):
        for what in ("idle", "one new file"):
            if what != "idle":
                (folder / "in" / f"new-{number}.txt").write_bytes(b"x\n")
                planner._scanner.rescan()  # so that it is certainly seen
            everything, mine = time.process_time(), time.thread_time()
            position = planner.latest(position)
            costs.setdefault(f"{what}, its thread", []).append(time.thread_time() - mine)
            costs.setdefault(f"{what}, all threads", []).append(time.process_time() - everything)
    planner.close()
    return {name: statistics.median(seconds) * 1000 for name, seconds in costs.items()}


def session() -> SparkSession:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench streaming", description=__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--mb", type=float, default=1.0, help="size of each file")
    parser.add_argument("--per-window", type=int, default=20, help="files that one window reads")
    parser.add_argument("--known", type=int, default=100_000, help="files that the planner knows")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="splitscan-bench-") as scratch:
        spark = session()
        try:
            work = (chosen.files, chosen.mb, chosen.per_window, chosen.runs)
            outcomes = compare(spark, Path(scratch) / "files", *work)
        finally:
            spark.stop()
        latest = latest_offset_ms(Path(scratch) / "known", chosen.known)
    show(outcomes, latest, chosen.known)
    now = datetime.now(UTC)
    _RESULTS.mkdir(exist_ok=True)
    report = {
        "date": now.isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "work": vars(chosen),
        "streams": {name: [asdict(outcome) for outcome in many] for name, many in outcomes.items()},
        "latest_offset_ms": latest,
    }
    (_RESULTS / f"streaming-{now:%Y-%m-%d-%H%M}.json").write_text(json.dumps(report, indent=2) + "\n")


def show(outcomes: dict[str, list[Outcome]], latest: dict[str, float], known: int) -> None:
    table = Table(title="the same text files as a stream, windows after the first")
    for heading in ("contender", "records/s", "rate / Spark's", "planning ms per window", "planning / Spark's"):
        table.add_column(heading, justify="left" if heading == "contender" else "right")
    medians = {
        name: (statistics.median(one.rate for one in many), statistics.median(one.planning_ms for one in many))
        for name, many in outcomes.items()
    }
    base_rate, base_planning = medians["spark"]
    for name, (rate, planning) in medians.items():
        ratios = f"{rate / base_rate:.2f}", f"{planning / max(1, base_planning):.2f}"
        table.add_row(name, f"{rate:,.0f}", ratios[0], f"{planning:.0f}", ratios[1])
    console = Console(width=110)
    console.print(table)
    table = Table(title=f"latestOffset with {known:,} known files, CPU time; wanted: its thread below {_WANTED_MS} ms")
    for heading in ("call", "ms"):
        table.add_column(heading, justify="left" if heading == "call" else "right")
    for name, cost in latest.items():
        table.add_row(name, f"{cost:.1f}")
    console.print(table)
