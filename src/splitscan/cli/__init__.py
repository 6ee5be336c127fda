"""The splitscan command."""
