"""The claim log: the partition that reads each range. Pure: no sockets, no threads, no clock."""

from splitscan.rebalance.claiming.claims import ClaimLog
from splitscan.rebalance.claiming.positions import PositionSpace
from splitscan.rebalance.claiming.values import (
    Chunk,
    ChunkPiece,
    ChunkRecord,
    ChunkStats,
    PartitionRecord,
    ScanRecord,
    Segment,
    Sizing,
    StealRecord,
)

__all__ = [
    "Chunk",
    "ChunkPiece",
    "ChunkRecord",
    "ChunkStats",
    "ClaimLog",
    "PartitionRecord",
    "PositionSpace",
    "ScanRecord",
    "Segment",
    "Sizing",
    "StealRecord",
]
