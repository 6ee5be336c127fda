"""Reads a table on Spark with everything logged that Spark can log; run by test_tables.py in a process of its own.

Arguments: folder of the event log, URL of the database.
"""

import sys

from pyspark.sql import SparkSession

import splitscan as ss


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def main(folder: str, url: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file://{folder}")
        .config("spark.eventLog.compress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("INFO")
    given = {"source": "table", "url": url, "dbtable": "secrets", "keyColumn": "id"}
    frame = ss.scan_table(url, "secrets", "id", min_partitions=3).to_spark(spark)
    say("rows:", frame.count())
    say("rows:", spark.read.format("splitscan").options(**given, rebalance="true").load().count())
    frame = spark.read.format("splitscan").options(**given).schema("id int").load()
    say("rows:", frame.count())
    frame.explain("extended")
    spark.sql(f"CREATE TEMPORARY VIEW v USING splitscan OPTIONS (source 'table', url '{url}', dbtable 'secrets')")
    spark.sql("EXPLAIN EXTENDED SELECT * FROM v").show(truncate=False)
    for wrong in ({"pasword": url}, {"url": url.replace("/postgres?", "/none?")}):
        try:
            spark.read.format("splitscan").options(**{**given, **wrong}).load()
        except Exception as error:  # what a user would see
            say("error:", error)
    try:
        ss.scan_table(url, "beyond").to_spark(spark).collect()
    except Exception as error:
        say("error:", error)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
