"""Run the measurements: ``python -m bench [--mb 512] [--runs 5]``; a table per input, one JSON file.

``python -m bench rebalance`` measures rebalancing instead.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "2")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ["SPLITSCAN_CACHE"] = os.devnull  # no index is kept: every run pays for its own

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench import rebalance
from bench.json_works import JsonWorks
from bench.measure import Samples, interleave
from bench.works import CORES, Work, Works, session
from splitscan.testing.generated import write_generated_csv
from splitscan.testing.generated_json import JsonLayout, write_generated_json

_RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Suite:
    """Works on one kind of file.

    Attributes:
        kind: What the file is.
        file_name: Its name.
        write: Writes it, of a size in bytes, and returns the number of records.
        works: The works on it; it need not be there yet.
    """

    kind: str
    file_name: str
    write: Callable[[Path, int], int]
    works: Callable[[SparkSession, Path, Path], dict[str, Work]]


@dataclass(frozen=True)
class Outcome:
    """What was measured on one file."""

    suite: Suite
    records: int
    works: dict[str, dict[str, Samples]]


def _json_suite(kind: str, file_name: str, layout: JsonLayout) -> Suite:
    return Suite(
        kind,
        file_name,
        lambda path, size_bytes: write_generated_json(path, size_bytes, layout),
        lambda spark, source, scratch: JsonWorks(spark, source, scratch, layout).all(),
    )


_SUITES = (
    Suite(
        "CSV with newlines in quotes",
        "multiline.csv",
        write_generated_csv,
        lambda spark, source, scratch: Works(spark, source, scratch).all(),
    ),
    _json_suite("JSON Lines", "records.jsonl", JsonLayout.LINES),
    _json_suite("pretty-printed JSON array", "array.json", JsonLayout.ARRAY),
)


def main() -> None:
    if sys.argv[1:2] == ["rebalance"]:
        rebalance.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=512, help="size of each generated file")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each contender")
    parser.add_argument("--only", default="", help="measure only works whose name contains this")
    args = parser.parse_args()
    spark = session()
    found = [_measure(suite, spark, args.mb, args.runs, args.only) for suite in _SUITES]
    outcomes = [outcome for outcome in found if outcome.works]
    if not outcomes:
        sys.exit(f"no work has {args.only!r} in its name")
    for outcome in outcomes:
        _show(outcome, args.mb)
    _save(outcomes, args.mb, args.runs)


def _measure(suite: Suite, spark: SparkSession, size_mb: int, runs: int, only: str) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="splitscan-bench-") as scratch:
        source = Path(scratch) / suite.file_name
        works = {name: work for name, work in suite.works(spark, source, Path(scratch)).items() if only in name}
        records = suite.write(source, size_mb * 1_000_000) if works else 0
        results = {name: interleave(work, runs) for name, work in works.items()}
    for name, samples in results.items():
        answers = {repr(answer) for sample in samples.values() for answer in sample.answers}
        if len(answers) != 1:
            sys.exit(f"the contenders disagree on {name!r}: {sorted(answers)}")
    return Outcome(suite, records, results)


def _show(outcome: Outcome, size_mb: int) -> None:
    table = Table(title=f"{outcome.suite.kind}, {size_mb} MB, {outcome.records:,} records, {CORES} cores")
    for heading in (
        "work",
        "contender",
        "median s",
        "min",
        "max",
        "splitscan is faster by",
        "driver CPU s",
        "worker MB",
    ):
        table.add_column(heading, justify="left" if heading in {"work", "contender"} else "right")
    for work, samples in outcome.works.items():
        ours = samples["splitscan"].median
        for name, sample in samples.items():
            ratio = "" if name == "splitscan" else f"{sample.median / ours:.2f}x"
            spread = f"{min(sample.seconds):.2f}", f"{max(sample.seconds):.2f}"
            memory = f"{sample.worker_mb:.0f}" if name.startswith("splitscan") else ""
            cpu = f"{statistics.median(sample.driver_cpu):.2f}" if name.startswith("splitscan") else ""
            table.add_row(work, name, f"{sample.median:.2f}", *spread, ratio, cpu, memory)
        table.add_section()
    Console(width=120).print(table)


def _save(outcomes: list[Outcome], size_mb: int, runs: int) -> None:
    _RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    packages = ("splitscan", "pyspark", "pyarrow", "numpy", "duckdb", "polars")
    report = {
        "date": now.isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "system": platform.system()},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "inputs": [
            {"kind": outcome.suite.kind, "size_mb": size_mb, "records": outcome.records, "works": list(outcome.works)}
            for outcome in outcomes
        ],
        "runs": runs,
        "works": {
            work: {
                name: {
                    "seconds": [round(s, 3) for s in sample.seconds],
                    "driver_cpu": [round(s, 3) for s in sample.driver_cpu],
                    "worker_mb": round(sample.worker_mb),
                }
                for name, sample in samples.items()
            }
            for outcome in outcomes
            for work, samples in outcome.works.items()
        },
    }
    (_RESULTS / f"{now:%Y-%m-%d-%H%M}.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
