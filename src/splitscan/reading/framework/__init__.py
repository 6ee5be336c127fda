"""The scan framework: any reader gets schema, projection, batch sizes and clean failure. It knows no file format."""

from splitscan.reading.framework.contract import ManagedReader, Origin, OutputPlan, ReaderPlan
from splitscan.reading.framework.loader import ResultSetLoader
from splitscan.reading.framework.operator import ScanOperator, SchemaNegotiator

__all__ = [
    "ManagedReader",
    "Origin",
    "OutputPlan",
    "ReaderPlan",
    "ResultSetLoader",
    "ScanOperator",
    "SchemaNegotiator",
]
