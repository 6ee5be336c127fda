"""The process that keeps the claim log: its server, its start and its end.

What only that process needs (``server``) is not imported here: every reader's process imports this.
"""
