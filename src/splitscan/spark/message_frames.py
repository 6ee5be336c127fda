"""DataFrames of messages."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from splitscan.spark.schemas import spark_schema
from splitscan.spark.source import register
from splitscan.streaming.message_scan import MessageScan


def messages_to_spark(scan: MessageScan, spark: SparkSession) -> DataFrame:
    """A DataFrame of the rows of a scan, by the data source: Spark's schema is the scan's.

    Args:
        scan: What is read.
        spark: The session.
    """
    register(spark)
    reader = spark.read.format("splitscan").schema(spark_schema(scan.full_schema))
    frame = reader.options(**{**scan.options, "source": "kafka"}).load()
    if scan.selected is not None:
        frame = frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in scan.selected))
    return frame if scan.row_limit is None else frame.limit(scan.row_limit)
