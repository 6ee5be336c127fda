"""The log of a program, whose errors have stack traces, beside those of its jobs and its web server, read in parallel.

    python examples/logs_with_traces.py FOLDER

A line without a time belongs to the record before it. Named groups of a pattern are the columns of the log of jobs,
with the types that all values fit. The server names its columns in the file, each time it starts.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import avg, col, count, substring, sum

COPIES = 400
PROGRAM = """2024-01-31 10:00:00,123 [main] INFO shop.Cart - 2 items
2024-01-31 11:00:01,000 [http-1] ERROR shop.Pay - no answer
java.net.SocketTimeoutException: Read timed out
\tat shop.Bank.ask(Bank.java:31)

Caused by: java.io.IOException: closed
2024-01-31 11:00:02,500 [http-2] WARN shop.Pay - second try
"""
JOBS = "2024-01-31 10:00:00 load rows=1200 seconds=3.5\n2024-01-31 11:00:00 sort rows=- seconds=12\n"
JOB = r"(?P<at>\S+ \S+) (?P<job>\w+) rows=(?P<rows>\S+) seconds=(?P<seconds>\S+)"
DIRECTIVES = "#Version: 1.0\n#Fields: date time cs-uri-stem sc-status time-taken\n"
REQUESTS = "2024-01-31 10:00:00 /cart 200 20\n2024-01-31 11:00:01 /pay 504 3000\n"


def main(folder: Path) -> None:
    """Count errors with their traces, and slow requests by the hour."""
    spark = SparkSession.builder.getOrCreate()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.log").write_text(PROGRAM * COPIES)
    (folder / "jobs.log").write_text(JOBS * COPIES)
    (folder / "server.log").write_text((DIRECTIVES + REQUESTS) * COPIES)  # the server starts again and again

    def read(name: str, **options: str | bool) -> DataFrame:
        reader = spark.read.format("splitscan").options(recordFormat="log", blockSize="4 KiB", **options)
        return reader.load(str(folder / name))

    records = read("program.log", logFormat="java")
    errors = records.filter(col("level") == "ERROR")
    traced = errors.filter(col("message").contains("Caused by:")).count()
    print(f"{records.count()} records, {errors.count()} errors, {traced} with their cause")

    jobs = read("jobs.log", recordPattern=JOB, inferSchema=True)
    (rows,) = jobs.agg(sum("rows")).collect()[0]
    print(f"jobs: {rows} rows; {', '.join(f'{name} {kind}' for name, kind in jobs.dtypes)}")

    requests = read("server.log", logFormat="w3c")
    failed = sum((col("sc-status") >= 500).cast("int"))
    hours = requests.groupBy(substring("time", 1, 2)).agg(count("*"), failed, avg("time-taken"))
    for hour, number, failures, milliseconds in sorted(hours.collect()):
        print(f"hour {hour}: {number} requests, {failures} failed, {milliseconds:.0f} ms")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
