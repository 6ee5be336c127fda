"""Events that have no schema in common: each record is one variant, and SQL takes out of it what a question needs.

python examples/variants_of_events.py FOLDER
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import splitscan as ss

EVENTS = 100  # of each kind


def write(path: Path) -> None:
    """Orders, refunds and visits, one in a line."""
    with path.open("w") as file:
        for number in range(1, EVENTS + 1):
            amount = number if number % 2 else -number
            for event in (
                {"kind": "order", "order": {"amount": number, "lines": [{"sku": f"s{number}"}]}},
                {"kind": "refund", "order": {"amount": amount, "reason": "late"}},
                {"kind": "visit", "page": "/", "ms": number / 4},
            ):
                file.write(json.dumps(event) + "\n")


def main(folder: Path) -> None:
    """Ask for kinds, amounts and types."""
    spark = SparkSession.builder.getOrCreate()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "events.jsonl"
    write(path)

    events = ss.scan_json(str(path), single_variant_column="event", block_size="4 KiB").to_spark(spark)
    events.createOrReplaceTempView("events")
    kinds = spark.sql(
        "SELECT variant_get(event, '$.kind', 'string') kind, count(*) n FROM events GROUP BY kind ORDER BY kind"
    ).collect()
    broken = events.where("event IS NULL").count()
    counts = ", ".join(f"{row.kind} {row.n}" for row in kinds)
    print(f"{sum(row.n for row in kinds)} events, {broken} of them broken: {counts}")

    orders = spark.sql("SELECT * FROM events WHERE variant_get(event, '$.kind', 'string') = 'order'")
    amounts = orders.selectExpr("sum(variant_get(event, '$.order.amount', 'bigint'))").collect()
    print(f"amounts: {amounts[0][0]}")

    refunds = spark.sql("SELECT * FROM events WHERE variant_get(event, '$.kind', 'string') = 'refund'")
    types = refunds.selectExpr("schema_of_variant_agg(event)").collect()
    print(f"refund: {types[0][0]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
