"""Readers that run on the scan framework: that of framed and decoded records, and users' own."""
