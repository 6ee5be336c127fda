"""splitscan reads record files in parallel on Spark, each record exactly once, and proves it.

>>> import splitscan as ss
>>> ss.__version__
'0.1.0'
"""

# ruff: noqa: E402 -- Ctrl-C is dealt with before the imports, which take a while
from splitscan import startup

startup.begin()

from splitscan.api import (
    KafkaScan,
    Scan,
    TableScan,
    read_blocks,
    rebalance_report,
    recommended_conf,
    register,
    scan,
    scan_csv,
    scan_fixed,
    scan_fixed_width,
    scan_json,
    scan_kafka,
    scan_slices,
    scan_table,
    scan_text,
    scan_xml,
    sniff_csv,
    split_files,
    verify,
    watch,
)
from splitscan.engine import SlowEngineWarning
from splitscan.errors import (
    IngestError,
    InvariantError,
    RebalanceError,
    RecordError,
    SchemaError,
    SourceChangedError,
    SourceError,
    SourceMissingError,
    SplitscanError,
    StreamError,
    UsageError,
)
from splitscan.formats.csv.sniffing.found import Dialect
from splitscan.read.framed_contexts import (
    FixedBytesReaderContext,
    LineReaderContext,
    ReadAheadLineReaderContext,
)
from splitscan.read.reader_context import Entity, ReaderContext
from splitscan.scan.framework import ManagedReader, Origin, ResultSetLoader, SchemaNegotiator

__version__ = "0.1.0"

__all__ = [
    "Dialect",
    "Entity",
    "FixedBytesReaderContext",
    "IngestError",
    "InvariantError",
    "KafkaScan",
    "LineReaderContext",
    "ManagedReader",
    "Origin",
    "ReadAheadLineReaderContext",
    "ReaderContext",
    "RebalanceError",
    "RecordError",
    "ResultSetLoader",
    "Scan",
    "SchemaError",
    "SchemaNegotiator",
    "SlowEngineWarning",
    "SourceChangedError",
    "SourceError",
    "SourceMissingError",
    "SplitscanError",
    "StreamError",
    "TableScan",
    "UsageError",
    "__version__",
    "read_blocks",
    "rebalance_report",
    "recommended_conf",
    "register",
    "scan",
    "scan_csv",
    "scan_fixed",
    "scan_fixed_width",
    "scan_json",
    "scan_kafka",
    "scan_slices",
    "scan_table",
    "scan_text",
    "scan_xml",
    "sniff_csv",
    "split_files",
    "verify",
    "watch",
]
