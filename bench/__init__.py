"""Measurements against the peers: every figure a ratio from interleaved runs on the same cached file."""

CORES = 2
"""Cores that every contender may use."""
