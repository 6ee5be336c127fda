"""Columns at fixed places of lines, or of records of a fixed length."""
