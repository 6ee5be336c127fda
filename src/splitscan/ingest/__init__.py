"""Ingest: records to Parquet, each exactly once, with a ledger that proves it."""

from splitscan.ingest.job import ingest, ingest_table, plan_only
from splitscan.ingest.reports import Finding, IngestPlan, IngestProgress, IngestReport, Phase, VerifyReport
from splitscan.ingest.verify import verify
from splitscan.sinks.ledger import Ledger, LedgerBlock, LedgerFile, RowRange, WrittenFile
from splitscan.sinks.partitioning import Layout
from splitscan.sinks.settings import IngestSettings, OnChanged, SchemaEvolution

__all__ = [
    "Finding",
    "IngestPlan",
    "IngestProgress",
    "IngestReport",
    "IngestSettings",
    "Layout",
    "Ledger",
    "LedgerBlock",
    "LedgerFile",
    "OnChanged",
    "Phase",
    "RowRange",
    "SchemaEvolution",
    "VerifyReport",
    "WrittenFile",
    "ingest",
    "ingest_table",
    "plan_only",
    "verify",
]
