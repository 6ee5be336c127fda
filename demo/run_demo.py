"""Ingest the demo's CSV through the command line, show what arrived, and check the number of rows.

Exits with 1 unless the ingest delivered exactly the records that were counted while the file was written.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from splitscan.cli.session import start_session

SOURCE = Path("demo-data/python-sources.csv")
DESTINATION = Path("demo-data/out")
INGEST = ["splitscan", "ingest", str(SOURCE), str(DESTINATION)]  # the dialect and the types are found

console = Console(highlight=False)


def ingest() -> None:
    """Run the ingest into an empty destination, as a user would."""
    shutil.rmtree(DESTINATION, ignore_errors=True)
    console.print(f"[bold]$ {shlex.join(INGEST)}[/]", soft_wrap=True)
    command = Path(sys.executable).parent / INGEST[0]
    subprocess.run([command, *INGEST[1:]], check=True)


def show_rows(dataset: ds.Dataset, count: int = 5) -> None:
    """Print some of the ingested rows, each value on one short line."""
    rows = dataset.filter(ds.field("docstring").is_valid()).head(count)
    table = Table(title=f"Some rows of {DESTINATION}", title_justify="left", box=box.SIMPLE_HEAD)
    for name in rows.column_names:
        table.add_column(name, justify="right" if name == "size" else "left", no_wrap=True)
    for row in rows.to_pylist():
        table.add_row(*(shortened(value) for value in row.values()))
    console.print(table)


def shortened(value: str | int, width: int = 17) -> str:
    """A number with separators, or the beginning of a text with its line ends visible."""
    if isinstance(value, int):
        return f"{value:,}"
    text = escape(value[:width].replace("\n", "↵"))
    return text + "…" * (len(value) > width)


def rows_by_spark() -> tuple[int, int, int]:
    """What Spark's own CSV reader counts by default, and with the right options; and the tasks that takes."""
    session = start_session("local[2]", {})
    try:
        multi_line = session.spark.read.csv(str(SOURCE), header=True, multiLine=True, escape='"')
        by_default = session.spark.read.csv(str(SOURCE), header=True).count()
        return by_default, multi_line.count(), multi_line.rdd.getNumPartitions()
    finally:
        session.close(keep_log=False)


def main() -> int:
    """Run the demo; the exit code says whether the numbers agree."""
    known = json.loads(SOURCE.with_suffix(".json").read_text())["records"]
    try:
        ingest()
    except subprocess.CalledProcessError as error:
        console.print(f"[red]splitscan ended with exit code {error.returncode}[/]")
        return 1
    dataset = ds.dataset(DESTINATION, format="parquet")
    delivered = dataset.count_rows()
    show_rows(dataset)
    console.print("Counting the same file with Spark's own reader ...")
    by_default, by_multi_line, tasks = rows_by_spark()

    title = f"Rows in {SOURCE}: {SOURCE.stat().st_size:,} bytes, {known:,} records"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("reader", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for reader, rows, remark in (
        ("spark.read.csv, header", by_default, "and no warning"),
        ("the same with multiLine, escape", by_multi_line, f"but in {tasks} task"),
        ("splitscan ingest", delivered, "in parallel"),
    ):
        verdict = "[green]right[/]" if rows == known else "[red]wrong[/]"
        table.add_row(reader, f"{rows:,}", f"{verdict}, {remark}")
    console.print(table)
    return 0 if delivered == known else 1


if __name__ == "__main__":
    sys.exit(main())
