"""A directory of messy CSV files becomes a partitioned Delta table, window by window, and is queried beside it.

    python examples/watch_into_delta.py LANDING ORDERS

It needs ``splitscan[delta]``, polars and duckdb. Kill it at any moment and run it again: every order is there once.
"""

import sys
from pathlib import Path

import duckdb
import polars as pl
from deltalake import DeltaTable
from pyspark.sql import SparkSession

import splitscan as ss
from splitscan.jobs import IngestSettings

SCHEMA = "id long, day date, note string, amount long"


def deliver(landing: Path) -> None:
    """What other systems drop there: three files of a hundred orders, with newlines inside quotes."""
    landing.mkdir(parents=True, exist_ok=True)
    for file in range(3):
        orders = (
            f'{number},2024-01-0{1 + number % 3},"two\nlines, and a comma",{number}'
            for number in range(100 * file, 100 * file + 100)
        )
        lines = ["id,day,note,amount", *orders]
        (landing / f"orders-{file}.csv").write_text("\n".join(lines) + "\n")


def main(landing: Path, orders: Path) -> None:
    """Watch until nothing is left, check, and query."""
    spark = SparkSession.builder.getOrCreate()
    deliver(landing)

    windows = ss.watch(
        spark, landing, orders, "csv", SCHEMA, once=True, table="delta",
        settings=IngestSettings(partition_by=("day",)), header=True, multiLine=True, maxFilesPerTrigger=1,
    )  # fmt: skip
    for window in windows:
        if window is not None and window.report is not None:
            print(f"window {window.number}: {window.report.rows} orders")
    print("verified:", ss.verify(orders, deep=True).ok)

    table = DeltaTable(orders)
    count, total = pl.scan_delta(table).select(pl.len(), pl.col("amount").sum()).collect().row(0)
    print(f"Polars: {count} orders, {total}")

    rows = duckdb.from_arrow(table.to_pyarrow_dataset())
    ((count, total),) = rows.aggregate("count(*), sum(amount)::BIGINT").fetchall()
    print(f"DuckDB: {count} orders, {total}")

    # Spark by the connector of Delta Lake, where this session has it; else by the files that the table names
    has_delta = "DeltaSparkSessionExtension" in str(spark.conf.get("spark.sql.extensions", ""))
    read = spark.read.format("delta").load(str(orders)) if has_delta else spark.read.parquet(*table.file_uris())
    count, total = read.selectExpr("count(*)", "sum(amount)").first() or (0, 0)
    print(f"Spark:  {count} orders, {total}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
