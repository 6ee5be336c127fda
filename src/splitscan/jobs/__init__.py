"""Jobs: records from a source to a destination, each exactly once, with a ledger that proves it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from splitscan.jobs.ledger import Ledger, LedgerBlock, LedgerFile, RowRange, WrittenFile
    from splitscan.jobs.reports import Finding, IngestPlan, IngestProgress, IngestReport, Phase, VerifyReport
    from splitscan.jobs.settings import IngestSettings, Layout, OnChanged, SchemaEvolution
    from splitscan.jobs.verifying import verify

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
    "verify",
]

_HOMES = {
    "ledger": {"Ledger", "LedgerBlock", "LedgerFile", "RowRange", "WrittenFile"},
    "settings": {"IngestSettings", "Layout", "OnChanged", "SchemaEvolution"},
    "verifying": {"verify"},
}
"""The module of every public name, which is imported when it is first asked for; of all others, ``reports``."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'splitscan.jobs' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "reports")
    return getattr(import_module(f"{__name__}.{home}"), name)
