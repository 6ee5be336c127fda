"""Splitting: who reads what, and the reader of one block."""
