"""Ingest: records to Parquet, exactly once, with proof."""
