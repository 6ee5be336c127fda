"""Framing: bytes to records. Pure: no files, threads, clocks or Spark."""
