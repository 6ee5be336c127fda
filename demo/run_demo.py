"""Ingest the demo's CSV through the command line, show what arrived, and check the number of rows.

Exits with 1 unless the ingest delivered exactly the records that were counted while the file was written.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

SOURCE = Path("demo-data/python-sources.csv")
DESTINATION = Path("demo-data/out")
INGEST = [
    *("splitscan", "ingest", str(SOURCE), str(DESTINATION), "--format", "csv"),
    *("--option", "header=true", "--option", "multiLine=true", "--option", 'escape="'),
    *("--schema", "path string, size long, docstring string, source string"),
]

console = Console(highlight=False)


def ingest() -> float:
    """Run the ingest into an empty destination, as a user would; return the seconds it took."""
    shutil.rmtree(DESTINATION, ignore_errors=True)
    console.print(f"[bold]$ {shlex.join(INGEST)}[/]", soft_wrap=True)
    command = Path(sys.executable).parent / INGEST[0]
    started = time.perf_counter()
    subprocess.run([command, *INGEST[1:]], check=True)
    return time.perf_counter() - started


def show_rows(dataset: ds.Dataset, count: int = 5) -> None:
    """Print some of the ingested rows, each value on one short line."""
    rows = dataset.filter(ds.field("docstring").is_valid()).head(count)
    table = Table(title=f"{count} of the rows in {DESTINATION}", title_justify="left")
    for name in rows.column_names:
        table.add_column(name, justify="right" if name == "size" else "left", no_wrap=True, max_width=34)
    for row in rows.to_pylist():
        table.add_row(*(repr(value) if isinstance(value, str) else f"{value:,}" for value in row.values()))
    console.print(table)


def rows_by_spark() -> tuple[int, int, int]:
    """What Spark's own CSV reader counts by default, and with the right options; and the tasks that takes."""
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    spark = SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate()
    try:
        by_default = spark.read.csv(str(SOURCE), header=True).count()
        multi_line = spark.read.csv(str(SOURCE), header=True, multiLine=True, escape='"')
        return by_default, multi_line.count(), multi_line.rdd.getNumPartitions()
    finally:
        spark.stop()


def main() -> int:
    """Run the demo; the exit code says whether the numbers agree."""
    known = json.loads(SOURCE.with_suffix(".json").read_text())["records"]
    try:
        seconds = ingest()
    except subprocess.CalledProcessError as error:
        console.print(f"[red]splitscan ended with exit code {error.returncode}[/]")
        return 1
    dataset = ds.dataset(DESTINATION, format="parquet")
    delivered = dataset.count_rows()
    show_rows(dataset)
    console.print("Counting the same file with Spark's own reader ...")
    by_default, by_multi_line, tasks = rows_by_spark()

    table = Table(title=f"Rows in {SOURCE} ({SOURCE.stat().st_size:,} bytes)", title_justify="left")
    table.add_column("counted by")
    table.add_column("rows", justify="right")
    table.add_column("")
    table.add_row("Python, while writing the file", f"{known:,}", "the truth")
    for reader, rows, remark in (
        ("spark.read.csv, header", by_default, "no warning"),
        ("spark.read.csv, header, multiLine, escape", by_multi_line, f"in {tasks} task"),
        ("splitscan ingest", delivered, f"to Parquet, in parallel, {seconds:.0f} s with Spark's start"),
    ):
        verdict = "[green]right[/]" if rows == known else "[red]wrong[/]"
        table.add_row(reader, f"{rows:,}", f"{verdict}, {remark}")
    console.print(table)
    return 0 if delivered == known else 1


if __name__ == "__main__":
    sys.exit(main())
