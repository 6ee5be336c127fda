"""Where rows go: a plain folder of Parquet, or a table, behind one protocol."""

from splitscan.sinks.opening import PLAIN, open_sink

__all__ = ["PLAIN", "open_sink"]
