"""Scans: files listed and cut into blocks, one schema, tasks: who reads what."""

from splitscan.scans.counting import count_blocks
from splitscan.scans.index import Indexer, IndexTask, fill_index
from splitscan.scans.planner import ScanPlanner

__all__ = [
    "IndexTask",
    "Indexer",
    "ScanPlanner",
    "count_blocks",
    "fill_index",
]
