"""Who reads what: the claim log and what it is made of. Pure: no sockets, no threads, no clock."""

from splitscan.rebalance.claiming.claims import ClaimLog
from splitscan.rebalance.claiming.positions import PositionSpace
from splitscan.rebalance.claiming.values import (
    Chunk,
    ChunkRecord,
    ChunkStats,
    PartitionRecord,
    Piece,
    ScanRecord,
    Segment,
    Sizing,
    StealRecord,
)

__all__ = [
    "Chunk",
    "ChunkRecord",
    "ChunkStats",
    "ClaimLog",
    "PartitionRecord",
    "Piece",
    "PositionSpace",
    "ScanRecord",
    "Segment",
    "Sizing",
    "StealRecord",
]
