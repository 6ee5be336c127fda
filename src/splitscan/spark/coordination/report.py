"""What the rebalanced scans of a session did."""

from __future__ import annotations

from pyspark.sql import SparkSession

from splitscan.errors import UsageError
from splitscan.rebalance.report import RebalanceReport
from splitscan.spark.coordination.session import session_coordinator


def rebalance_report(spark: SparkSession) -> RebalanceReport:
    """What the latest rebalanced scan of a session did so far: chunks, ranges that moved, idle time.

    The latest is the one planned last among those that Spark has begun to read. Only the first action on a DataFrame is
    rebalanced; others read what the first one divided.

    Raises:
        UsageError: ``[no-rebalance]`` if no rebalanced scan of this session was read.
        RebalanceError: If the coordinator does not answer; that of Spark Connect answers to its executors alone.
    """
    coordinator = session_coordinator(spark)
    for scan in reversed(coordinator.scans()):
        report = RebalanceReport(coordinator.record(scan))
        if report.claimed_bytes:
            return report
    raise UsageError(
        "a report tells of a rebalanced scan that was read",
        seen="no such scan in this session",
        fix="make a DataFrame with to_spark(spark, rebalance=True), and run it",
        code="no-rebalance",
    )
