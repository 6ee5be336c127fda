"""Spark: scans as DataFrames, the data source, files and blocks as operators on DataFrames."""
