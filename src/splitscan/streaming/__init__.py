"""Follow directories in replayable windows: what a window reads is written down before anybody reads it."""

from splitscan.streaming.planner import StreamPlanner
from splitscan.streaming.planning import Limits
from splitscan.streaming.windows import Offset, read_offset

__all__ = ["Limits", "Offset", "StreamPlanner", "read_offset"]
