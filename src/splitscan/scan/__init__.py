"""Scan: many blocks, one schema, bounded batches."""
