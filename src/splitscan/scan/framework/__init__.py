"""The scan framework: any reader gets schema, projection, batch sizes and clean failure. It knows no file format."""

from splitscan.scan.framework.contract import Extra, ManagedReader, Origin, OutputPlan, ReaderPlan
from splitscan.scan.framework.loader import ResultSetLoader
from splitscan.scan.framework.negotiator import SchemaNegotiator
from splitscan.scan.framework.operator import ScanOperator

__all__ = [
    "Extra",
    "ManagedReader",
    "Origin",
    "OutputPlan",
    "ReaderPlan",
    "ResultSetLoader",
    "ScanOperator",
    "SchemaNegotiator",
]
