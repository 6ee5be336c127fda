"""What was measured, as a table, as JSON, and as the tables of a page of the docs."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import CORES
from bench.measure import Samples

OURS = "splitscan"
_PACKAGES = ("splitscan", "pyspark", "pyarrow", "numpy", "duckdb", "polars")


@dataclass(frozen=True)
class Outcome:
    """What was measured on one input."""

    name: str
    title: str
    size_mb: int
    works: dict[str, dict[str, Samples]]


def show(outcome: Outcome) -> None:
    """Print a table."""
    table = Table(title=f"{outcome.title}, {outcome.size_mb} MB, {CORES} cores")
    headings = (
        "work",
        "contender",
        "median s",
        "min",
        "max",
        "times ours",
        "JVM s",
        "worker s",
        "driver s",
        "worker MB",
        "driver MB",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading in {"work", "contender"} else "right")
    for work, samples in outcome.works.items():
        for name, sample in samples.items():
            ratio = f"{sample.median / samples[OURS].median:.2f}" if OURS in samples and name != OURS else ""
            cpu = [f"{sample.cpu(role):.2f}" for role in ("jvm", "worker", "driver")]
            memory = [f"{sample.peak_mb(role):.0f}" for role in ("worker", "driver")]
            spread = [f"{seconds:.2f}" for seconds in (sample.median, min(sample.seconds), max(sample.seconds))]
            table.add_row(work, name, *spread, ratio, *cpu, *memory)
        table.add_section()
    Console(width=140).print(table)


def as_json(outcomes: Sequence[Outcome], runs: int, load_before: float, *, recommended: bool) -> dict[str, Any]:
    """All that was measured, with what it was measured on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(), "processor": _processor(), "system": platform.system(),
            "load_before": round(load_before, 2),
        },
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "runs": runs,
        "spark": "recommended" if recommended else "default",
        "suites": [
            {
                "name": outcome.name, "title": outcome.title, "size_mb": outcome.size_mb,
                "works": {
                    work: {name: _samples(sample) for name, sample in samples.items()}
                    for work, samples in outcome.works.items()
                },
            }
            for outcome in outcomes
        ],
    }  # fmt: skip


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open() as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def _samples(sample: Samples) -> dict[str, Any]:
    return {
        "median": round(sample.median, 3),
        "seconds": [round(seconds, 3) for seconds in sample.seconds],
        "cpu_seconds": {role: round(sample.cpu(role), 2) for role in ("jvm", "worker", "driver")},
        "peak_mb": {role: round(sample.peak_mb(role)) for role in ("jvm", "worker", "driver")},
    }


def _settings(report: dict[str, Any]) -> str:
    is_default = report.get("spark") == "default"
    return "default settings" if is_default else "recommended settings"


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """The lines of a section of the docs.

    Args:
        report: What :func:`as_json` made.
    """
    machine, versions = report["machine"], report["versions"]
    packages = ", ".join(f"{name} {versions[name]}" for name in _PACKAGES[1:])
    yield (
        f"Measured on {report['date'][:10]}: {machine['cores']} cores ({machine['processor']}), "
        f"load {machine['load_before']} before, Python {versions['python']}, {packages}; "
        f"medians of {report['runs']} runs in turn, files in the page cache, Spark with its {_settings(report)}."
    )
    for suite in report["suites"]:
        yield ""
        yield f"**{suite['title']}**, {suite['size_mb']} MB"
        yield ""
        yield "| work | contender | seconds | times ours | CPU s: JVM, workers, driver | peak MB: worker, driver |"
        yield "|---|---|---:|---:|---|---|"
        for work, contenders in suite["works"].items():
            for name, found in contenders.items():
                ours = contenders.get(OURS)
                ratio = f"{found['median'] / ours['median']:.2f}" if ours and name != OURS else ""
                cpu = ", ".join(f"{found['cpu_seconds'][role]:.1f}" for role in ("jvm", "worker", "driver"))
                memory = ", ".join(str(found["peak_mb"][role]) for role in ("worker", "driver"))
                yield f"| {work} | {name} | {found['median']:.2f} | {ratio} | {cpu} | {memory} |"
