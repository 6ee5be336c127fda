"""Escape units: which code units are data because an escape stands before them.

An escape unit makes the unit after it data, whatever that is, so what counts is the *whole run* of escape units
before a position: an odd run escapes it, an even run is a number of escaped escapes. A run never reaches over a
record start, because no terminator contains the escape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from splitscan.framing.contract import Offsets

Units = npt.NDArray[Any]  # code units of any width


def keep_unescaped(units: Units, positions: Offsets, escape: int | None) -> Offsets:
    """Of *positions*, those that no odd run of escape units precedes.

    Args:
        units: Code units, from a record start on.
        positions: Sorted indices into *units*.
        escape: The escape unit, or ``None`` when the format has none.
    """
    if escape is None or not len(positions):
        return positions
    if not (units[np.maximum(positions - 1, 0)] == escape).any():
        return positions
    escapes = np.flatnonzero(units == escape)
    indices = np.arange(len(escapes))
    begins_run = np.ones(len(escapes), dtype=bool)
    begins_run[1:] = np.diff(escapes) != 1
    run_length = indices - np.maximum.accumulate(np.where(begins_run, indices, 0)) + 1
    is_escaped = np.zeros(len(units) + 1, dtype=bool)
    is_escaped[escapes + 1] = run_length % 2 == 1
    return positions[~is_escaped[positions]]


def run_before(units: Units, position: int, escape: int | None) -> int:
    """Length of the run of escape units that ends right before *position*.

    Example:
        >>> run_before(np.frombuffer(b"a////n", dtype=np.uint8), 5, ord("/"))
        4
    """
    if escape is None:
        return 0
    first = position
    while first > 0 and units[first - 1] == escape:
        window = units[max(0, first - _RUN_WINDOW) : first][::-1] != escape
        first -= int(window.argmax()) if window.any() else len(window)
    return position - first


def droppable_before(units: Units, position: int, escape: int | None) -> int:
    """The largest number of leading units, at most *position*, that can go without changing what is escaped behind it.

    An escape that is still open at *position* is kept; any number of closed ones goes.
    """
    return position - run_before(units, position, escape) % 2


_RUN_WINDOW = 4096  # units compared at once; runs are short, adversarial ones are long
