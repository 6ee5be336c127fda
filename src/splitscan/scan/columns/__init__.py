"""Columns: what may be asked for, where their values come from, and which files they rule out."""
