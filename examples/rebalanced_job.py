"""Slow records at one end of a file: a task that is done takes over what another has not begun to read.

    python examples/rebalanced_job.py FOLDER

What is done with a record takes a while, and nobody knows beforehand for which of them. Cut into equal shares, the job
lasts as long as its slowest share. Rebalanced, the reader of that share goes on with its first part ("primary"), others
take the rest ("residual"), and each record is delivered once.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

import splitscan as ss

RECORDS, SLOW = 4_000, 2_000


def ask_a_service(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The slow work: a record of the second half takes three times as long as one of the first."""
    for batch in batches:
        for start in range(0, batch.num_rows, 100):
            portion = batch.slice(start, 100)
            slow = pc.sum(pc.greater_equal(portion["id"], RECORDS - SLOW)).as_py()
            time.sleep(0.0005 * (portion.num_rows + 2 * slow))
            yield portion.select(["id"])


def main(folder: Path) -> None:
    """Run the job, check that each record came once, and say what moved."""
    spark = SparkSession.builder.getOrCreate()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "records.csv"
    path.write_text("".join(f'{number},"a text\nof two lines"\n' for number in range(RECORDS)))

    scan = ss.scan_csv(str(path), "id long, text string", multi_line=True)
    frame = scan.to_spark(spark, rebalance=True, apply=ask_a_service, apply_schema="id long")
    row = frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(id)").first()
    once = row is not None and tuple(row) == (RECORDS, RECORDS, RECORDS * (RECORDS - 1) // 2)
    print("each record once:", once)

    report = ss.rebalance_report(spark)
    print("ranges that moved:", len(report.steals))
    print(report)
    (folder / "timeline.svg").write_text(report.to_svg())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
