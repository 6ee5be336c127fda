"""Spark: the only room that imports PySpark (besides the command line)."""
