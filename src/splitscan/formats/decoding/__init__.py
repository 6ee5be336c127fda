"""Decoding: framed bytes to Arrow columns."""
