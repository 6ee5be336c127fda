"""The context of a session, where it has one."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def classic_context(spark: SparkSession) -> SparkContext | None:
    """The context of a session; Spark Connect has none."""
    try:
        return spark.sparkContext
    except (PySparkException, AttributeError, NotImplementedError):
        return None


def is_local(spark: SparkSession) -> bool:
    """True if the session's tasks run on the cores of this process: the master is ``local[...]``."""
    context = classic_context(spark)
    return context is not None and str(context.master).split("[")[0] == "local"
