"""Range trackers: who may read up to where."""

from splitscan.ranges.byte_key import ByteKeyRange, ByteKeyRangeTracker
from splitscan.ranges.contract import OFFSET_INFINITY, LockedTracker, OffsetRangeTracker, RangeTracker

__all__ = [
    "OFFSET_INFINITY",
    "ByteKeyRange",
    "ByteKeyRangeTracker",
    "LockedTracker",
    "OffsetRangeTracker",
    "RangeTracker",
]
