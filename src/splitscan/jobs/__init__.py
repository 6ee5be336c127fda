"""Ingest: records to Parquet, each exactly once, with a ledger that proves it."""

from splitscan.jobs.ingesting import ingest, ingest_table, plan_only
from splitscan.jobs.ledger import Ledger, LedgerBlock, LedgerFile, RowRange, WrittenFile
from splitscan.jobs.partitioning import Layout
from splitscan.jobs.reports import Finding, IngestPlan, IngestProgress, IngestReport, Phase, VerifyReport
from splitscan.jobs.settings import IngestSettings, OnChanged, SchemaEvolution
from splitscan.jobs.verify import verify

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
