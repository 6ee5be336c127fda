"""Tables of databases, read in parallel by ranges of their keys, Arrow all the way."""

from splitscan.tables.planning import KeyPartition, TablePlan, TableSpec, TableVersion, key_pieces
from splitscan.tables.table_scan import DatabaseScan, read_pieces

__all__ = [
    "DatabaseScan",
    "KeyPartition",
    "TablePlan",
    "TableSpec",
    "TableVersion",
    "key_pieces",
    "read_pieces",
]  # fmt: skip
