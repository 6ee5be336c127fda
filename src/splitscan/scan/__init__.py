"""Scan: many blocks, one schema, bounded batches."""

from splitscan.formats.decoding.contract import format_ddl
from splitscan.formats.decoding.ddl import parse_ddl
from splitscan.scan.block_request import BlockReader
from splitscan.scan.block_scan import open_reader, scan_blocks
from splitscan.scan.counting import count_blocks
from splitscan.scan.given_up import RowCount
from splitscan.scan.index import Indexer, IndexTask, fill_index
from splitscan.scan.planner import ScanPlanner
from splitscan.scan.rejects import OnReject
from splitscan.scan.spec import ScanSpec, make_spec

__all__ = [
    "BlockReader",
    "IndexTask",
    "Indexer",
    "OnReject",
    "RowCount",
    "ScanPlanner",
    "ScanSpec",
    "count_blocks",
    "fill_index",
    "format_ddl",
    "make_spec",
    "open_reader",
    "parse_ddl",
    "scan_blocks",
]
