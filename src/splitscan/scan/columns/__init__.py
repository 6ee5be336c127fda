"""Columns: what may be asked for, how each is read, where their values come from, and which files they rule out."""
