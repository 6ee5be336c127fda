"""Follow directories in replayable windows: what a window reads is written down before anybody reads it."""

from splitscan.streaming.offsets import Offset, read_offset
from splitscan.streaming.planner import StreamPlanner
from splitscan.streaming.planning import Limits

__all__ = ["Limits", "Offset", "StreamPlanner", "read_offset"]
