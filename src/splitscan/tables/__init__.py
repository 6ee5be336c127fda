"""Tables of databases, read in parallel by ranges of their keys, Arrow all the way."""

from splitscan.tables.planning import KeyPartition, KeyPiece, TablePlan, TableSpec, key_pieces
from splitscan.tables.reading import read_pieces
from splitscan.tables.table_scan import DatabaseScan
from splitscan.tables.versions import TableVersion

__all__ = [
    "DatabaseScan",
    "KeyPartition",
    "KeyPiece",
    "TablePlan",
    "TableSpec",
    "TableVersion",
    "key_pieces",
    "read_pieces",
]  # fmt: skip
