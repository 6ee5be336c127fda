"""Run the measurements: ``python -m bench``; a table per input, one JSON file, the tables and the chart of the docs.

``python -m bench rebalance`` measures rebalancing instead, ``python -m bench streaming`` streams,
``python -m bench tables`` tables of databases, ``python -m bench.destination_cost`` tables as destinations;
``python -m bench draw RESULTS.json`` only writes tables and chart of a run into the docs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "2")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ["SPLITSCAN_CACHE"] = os.devnull  # no index is kept: every run pays for its own

from pyspark.sql import SparkSession

from bench import rebalance, streaming, tables
from bench.chart import draw
from bench.measure import interleave
from bench.report import Outcome, as_json, markdown, show
from bench.session import session
from bench.suites import Suite, suites

_RESULTS = Path(__file__).parent / "results"
_DOCS = Path(__file__).parents[1] / "docs"
_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"


def main() -> None:
    if sys.argv[1:2] == ["rebalance"]:
        rebalance.main(sys.argv[2:])
    elif sys.argv[1:2] == ["streaming"]:
        streaming.main(sys.argv[2:])
    elif sys.argv[1:2] == ["tables"]:
        tables.main(sys.argv[2:])
    elif sys.argv[1:2] == ["draw"]:
        _write_docs(json.loads(Path(sys.argv[2]).read_text()))
    else:
        _measure_all(_arguments())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=512, help="size of each generated input (default 512)")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each contender (default 5)")
    parser.add_argument(
        "--works", nargs="+", default=["*"], metavar="NAME",
        help="inputs, or works as 'input/work', with wildcards: csv-quoted 'json-*/ingest' (default: all); "
        "tables and chart of the docs are written only if all are measured",
    )  # fmt: skip
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[256, 1024, 4096], metavar="MB",
        help="sizes whose cost for each GB is compared (default 256 1024 4096)",
    )  # fmt: skip
    parser.add_argument(
        "--recommended",
        action="store_true",
        help="set what splitscan.recommended_conf() names; without it Spark has its defaults",
    )
    parser.add_argument("--list", action="store_true", help="say what there is to measure, and stop")
    return parser.parse_args()


def _measure_all(args: argparse.Namespace) -> None:
    known = suites(args.sizes)
    if args.list:
        print("\n".join(f"{suite.name:12} {suite.title}" for suite in known))
        return
    load_before = os.getloadavg()[0]
    spark = session(recommended=args.recommended)
    outcomes = []
    for suite in known:
        outcome = _measure(suite, spark, suite.size_mb or args.mb, args.runs, args.works)
        if outcome.works:
            outcomes.append(outcome)
            show(outcome)
    spark.stop()
    if not outcomes:
        sys.exit(f"no work is called {' or '.join(args.works)}: --list names the inputs")
    report = as_json(outcomes, args.runs, load_before, recommended=args.recommended)
    _RESULTS.mkdir(exist_ok=True)
    target = _RESULTS / f"{datetime.now(UTC):%Y-%m-%d-%H%M}.json"
    target.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written: {target}")
    if args.works == ["*"] and not args.recommended:
        _write_docs(report)


def _measure(suite: Suite, spark: SparkSession, size_mb: int, runs: int, wanted: Sequence[str]) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="splitscan-bench-") as scratch:
        source = Path(scratch) / suite.file_name
        works = {
            name: work
            for name, work in suite.works(spark, source, Path(scratch)).items()
            if any(
                fnmatchcase(spelled, pattern) for spelled in (suite.name, f"{suite.name}/{name}") for pattern in wanted
            )
        }
        if works:
            suite.write(source, size_mb * 1_000_000)
        try:
            results = {name: interleave(work, runs) for name, work in works.items()}
        except ValueError as error:
            sys.exit(f"{suite.name}: {error}")
    return Outcome(suite.name, suite.title, size_mb, results)


def _write_docs(report: dict[str, Any]) -> None:
    (_DOCS / "performance.svg").write_text(draw(report))
    page = _DOCS / "performance.md"
    before, rest = page.read_text().split(_BEGIN)
    after = rest.split(_END)[1]
    chart = "![How many times as long as splitscan its peers take](performance.svg)"
    page.write_text("\n".join([before + _BEGIN, "", chart, "", *markdown(report), "", _END + after]))


if __name__ == "__main__":
    main()
