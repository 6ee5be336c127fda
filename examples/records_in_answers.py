"""Answers of a service, each an object around the array of its records, split and read in parallel.

    python examples/records_in_answers.py FOLDER

Spark reads such an answer in one task, with the whole array in one row. Members around the array are columns too,
whether they stand before it or after it.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import splitscan as ss

DAYS, ITEMS = 3, 1000


def answer(day: int) -> str:
    """The answer for a day: its total stands after the records."""
    items = [{"id": number, "price": number / 4, "tags": ["new"] * (number % 2)} for number in range(ITEMS)]
    return json.dumps({"meta": {"day": f"2024-01-{day:02}"}, "items": items, "total": sum(range(ITEMS)) / 4}, indent=1)


def main(folder: Path) -> None:
    """Sum the prices of each day, and compare them with what the answers say."""
    spark = SparkSession.builder.getOrCreate()
    ss.register(spark)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "answers.json"
    path.write_text("\n".join(map(answer, range(1, 1 + DAYS))))

    reader = spark.read.format("splitscan").option("recordFormat", "json").option("blockSize", "16 KiB")
    around = "$.meta.day as day date, $.total as total double"
    items = reader.option("recordPath", "$.items[*]").option("recordPathColumns", around).load(str(path))
    print(", ".join(f"{name} {kind}" for name, kind in items.dtypes))
    days = items.groupBy("day", "total").agg({"id": "count", "price": "sum"}).sort("day")
    for day in days.collect():
        print(f"{day['day']}: {day['count(id)']} items, {day['sum(price)']} of {day['total']}")
    print(f"more than one task: {items.rdd.getNumPartitions() > 1}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
