"""What a rebalanced scan did, as values, as text, as a picture."""

from splitscan.rebalance.report.summary import ReaderSummary, RebalanceReport

__all__ = ["ReaderSummary", "RebalanceReport"]
