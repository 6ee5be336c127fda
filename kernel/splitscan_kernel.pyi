"""The native engine of splitscan. All positions in answers are relative to ``start``."""

SEAM: int
__version__: str
