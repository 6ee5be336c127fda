"""Range trackers: who may read up to where."""

from splitscan.ranges.byte_key import ByteKeyRangeTracker
from splitscan.ranges.contract import LockedTracker, RangeTracker
from splitscan.ranges.key_range import ByteKeyRange
from splitscan.ranges.offset import OFFSET_INFINITY, OffsetRangeTracker

__all__ = [
    "OFFSET_INFINITY",
    "ByteKeyRange",
    "ByteKeyRangeTracker",
    "LockedTracker",
    "OffsetRangeTracker",
    "RangeTracker",
]
