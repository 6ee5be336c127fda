"""Compressed files: recognised by their first bytes, and read at offsets of what they hold."""
