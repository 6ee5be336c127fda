"""Reading that is divided while it runs: readers claim chunks from a log that a coordinator keeps."""

from splitscan.rebalance.claiming import (
    Chunk,
    ChunkPiece,
    ChunkRecord,
    ChunkStats,
    ClaimLog,
    PartitionRecord,
    PositionSpace,
    ScanRecord,
    Segment,
    Sizing,
    StealRecord,
)
from splitscan.rebalance.client import Claims, Coordinator
from splitscan.rebalance.coordinator import CoordinatorProcess, start_coordinator
from splitscan.rebalance.messages import CoordinatorAddress
from splitscan.rebalance.report import ReaderSummary, RebalanceReport

__all__ = [
    "Chunk",
    "ChunkPiece",
    "ChunkRecord",
    "ChunkStats",
    "ClaimLog",
    "Claims",
    "Coordinator",
    "CoordinatorAddress",
    "CoordinatorProcess",
    "PartitionRecord",
    "PositionSpace",
    "ReaderSummary",
    "RebalanceReport",
    "ScanRecord",
    "Segment",
    "Sizing",
    "StealRecord",
    "start_coordinator",
]
