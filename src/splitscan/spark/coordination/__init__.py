"""Coordination of a Spark session: where the coordinator listens, and how planners and readers find it."""

from splitscan.spark.coordination.session import (
    ClaimedPartition,
    RebalanceWarning,
    RegisteredScan,
    has_coordinator,
    reachable,
    read_claimed,
    rebalance_report,
    register_in_planner,
    register_scan,
    session_coordinator,
)

__all__ = [
    "ClaimedPartition",
    "RebalanceWarning",
    "RegisteredScan",
    "has_coordinator",
    "reachable",
    "read_claimed",
    "rebalance_report",
    "register_in_planner",
    "register_scan",
    "session_coordinator",
]
