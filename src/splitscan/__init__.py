"""splitscan reads record files in parallel on Spark, each record exactly once, and proves it.

>>> import splitscan as ss
>>> ss.__version__
'0.1.0'
"""

# ruff: noqa: E402 -- Ctrl-C is dealt with before the imports, which take a while
from splitscan import startup

startup.begin()

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from splitscan.adoption import adopt_readers
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

if TYPE_CHECKING:
    from splitscan.api.files import (
        Scan,
        scan,
        scan_cobol,
        scan_csv,
        scan_fixed,
        scan_fixed_width,
        scan_json,
        scan_log,
        scan_slices,
        scan_text,
        scan_xml,
        sniff_csv,
    )
    from splitscan.api.jobs import read_blocks, rebalance_report, split_files, watch
    from splitscan.api.sessions import recommended_conf, register
    from splitscan.api.sources import KafkaScan, TableScan, scan_kafka, scan_table
    from splitscan.engine import SlowEngineWarning
    from splitscan.formats.csv.sniffing.found import Dialect
    from splitscan.jobs.verifying import verify
    from splitscan.reading.framed_contexts import (
        FixedBytesReaderContext,
        LineReaderContext,
        ReadAheadLineReaderContext,
    )
    from splitscan.reading.framework import ManagedReader, Origin, ResultSetLoader, SchemaNegotiator
    from splitscan.reading.reader_context import Entity, ReaderContext

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
    "scan_cobol",
    "scan_csv",
    "scan_fixed",
    "scan_fixed_width",
    "scan_json",
    "scan_kafka",
    "scan_log",
    "scan_slices",
    "scan_table",
    "scan_text",
    "scan_xml",
    "sniff_csv",
    "split_files",
    "verify",
    "watch",
]

_HOMES = {
    "splitscan.api.jobs": ("read_blocks", "rebalance_report", "split_files", "watch"),
    "splitscan.api.sessions": ("recommended_conf", "register"),
    "splitscan.api.sources": ("KafkaScan", "TableScan", "scan_kafka", "scan_table"),
    "splitscan.engine": ("SlowEngineWarning",),
    "splitscan.formats.csv.sniffing.found": ("Dialect",),
    "splitscan.jobs.verifying": ("verify",),
    "splitscan.reading.framed_contexts": ("FixedBytesReaderContext", "LineReaderContext", "ReadAheadLineReaderContext"),
    "splitscan.reading.reader_context": ("Entity", "ReaderContext"),
    "splitscan.reading.framework": ("ManagedReader", "Origin", "ResultSetLoader", "SchemaNegotiator"),
}
"""Modules of public names, imported when one is first asked for; all others are of files."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'splitscan' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "splitscan.api.files")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """A package in which the function ``scan`` stays what it is when the room of the same name is imported."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Spark pickles the package with functions that use it: by its name, as it does plain modules."""
        return import_module, (__name__,)

    @property
    def scan(self) -> Any:
        return import_module("splitscan.api.files").scan

    @scan.setter
    def scan(self, room: ModuleType) -> None:
        """Python would put the room there."""


sys.modules[__name__].__class__ = _Package
adopt_readers()
