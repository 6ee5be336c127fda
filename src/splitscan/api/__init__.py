"""The public face: what ``import splitscan as ss`` offers, loaded when it is asked for.

PySpark is imported only by what needs it.
"""
