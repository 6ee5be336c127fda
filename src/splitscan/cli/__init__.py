"""The ``splitscan`` command: parse, call the rooms below, show what they say, map errors to exit codes."""

from splitscan.cli.program import main

__all__ = ["main"]
