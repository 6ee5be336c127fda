"""Escape units: which code units are data because an escape stands before them.

An escape unit makes the unit after it data, whatever that is, so what counts is the *whole run* of escape units
before a position: an odd run escapes it, an even run is a number of escaped escapes. A run never reaches over a
record start, because no terminator contains the escape.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from splitscan.formats.framing.frames import Offsets, Units


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
    return positions[~behind_odd_run(positions, np.flatnonzero(units == escape))]


def behind_odd_run(positions: Offsets, escapes: Offsets) -> npt.NDArray[np.bool_]:
    """Which positions have an odd number of escapes right before them; *escapes* holds at least one, all sorted."""
    index = np.searchsorted(escapes, positions) - 1
    touching = (index >= 0) & (escapes[np.maximum(index, 0)] == positions - 1)
    rank = np.arange(len(escapes))
    run_begins = np.ones(len(escapes), dtype=bool)
    run_begins[1:] = np.diff(escapes) != 1
    run_start = np.maximum.accumulate(np.where(run_begins, rank, 0))
    run_length = rank - run_start + 1
    odd: npt.NDArray[np.bool_] = touching & ((run_length[np.maximum(index, 0)] & 1) == 1)
    return odd


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
    """The largest number of leading units, at most *position*, that can go without changing what is escaped after it.

    An escape that is still open at *position* is kept; any number of closed ones goes.
    """
    return position - run_before(units, position, escape) % 2


_RUN_WINDOW = 4096  # units compared at once; runs are short, adversarial ones are long
