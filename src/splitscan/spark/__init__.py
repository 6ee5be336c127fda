"""Spark: scans as DataFrames, the data source, files and blocks as operators on DataFrames."""

from splitscan.spark.connector import why_python
from splitscan.spark.coordination import rebalance_report
from splitscan.spark.frames import count_rows, to_spark
from splitscan.spark.indexing import spark_indexer
from splitscan.spark.operators import read_blocks, split_files
from splitscan.spark.registration import messages_to_spark, register
from splitscan.spark.source import SplitscanDataSource
from splitscan.spark.tables import table_to_spark

__all__ = [
    "SplitscanDataSource",
    "count_rows",
    "messages_to_spark",
    "read_blocks",
    "rebalance_report",
    "register",
    "spark_indexer",
    "split_files",
    "table_to_spark",
    "to_spark",
    "why_python",
]
