"""Run the measurements: ``python -m bench [--mb 512] [--runs 5]``; one table, one JSON file."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "2")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ["SPLITSCAN_CACHE"] = os.devnull  # no index is kept: every run pays for its own

from rich.console import Console
from rich.table import Table

from bench.measure import Samples, interleave
from bench.works import CORES, Works, session
from splitscan.testing.generated import write_generated_csv

_RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=512, help="size of the generated file")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each contender")
    parser.add_argument("--only", default="", help="measure only works whose name contains this")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="splitscan-bench-") as scratch:
        source = Path(scratch) / "multiline.csv"
        records = write_generated_csv(source, args.mb * 1_000_000)
        works = Works(session(), source, Path(scratch)).all()
        results = {name: interleave(work, args.runs) for name, work in works.items() if args.only in name}
    for name, samples in results.items():
        answers = {repr(answer) for sample in samples.values() for answer in sample.answers}
        if len(answers) != 1:
            sys.exit(f"the contenders disagree on {name!r}: {sorted(answers)}")
    _show(results, args.mb, records)
    _save(results, args.mb, records, args.runs)


def _show(results: dict[str, dict[str, Samples]], size_mb: int, records: int) -> None:
    table = Table(title=f"CSV with newlines in quotes, {size_mb} MB, {records:,} records, {CORES} cores")
    for heading in ("work", "contender", "median s", "min", "max", "splitscan is faster by", "worker MB"):
        table.add_column(heading, justify="left" if heading in {"work", "contender"} else "right")
    for work, samples in results.items():
        ours = samples["splitscan"].median
        for name, sample in samples.items():
            ratio = "" if name == "splitscan" else f"{sample.median / ours:.2f}x"
            spread = f"{min(sample.seconds):.2f}", f"{max(sample.seconds):.2f}"
            memory = f"{sample.worker_mb:.0f}" if name.startswith("splitscan") else ""
            table.add_row(work, name, f"{sample.median:.2f}", *spread, ratio, memory)
        table.add_section()
    Console(width=120).print(table)


def _save(results: dict[str, dict[str, Samples]], size_mb: int, records: int, runs: int) -> None:
    _RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    packages = ("splitscan", "pyspark", "pyarrow", "numpy", "duckdb", "polars")
    report = {
        "date": now.isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "system": platform.system()},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "input": {"size_mb": size_mb, "records": records, "kind": "CSV, a newline in quotes in every fifth record"},
        "runs": runs,
        "works": {
            work: {
                name: {"seconds": [round(s, 3) for s in sample.seconds], "worker_mb": round(sample.worker_mb)}
                for name, sample in samples.items()
            }
            for work, samples in results.items()
        },
    }
    (_RESULTS / f"{now:%Y-%m-%d-%H%M}.json").write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
