"""The vectorised JSON scanner: quote parity over whole buffers, depth by counting the brackets of words.

It is exact for bytes that keep the grammar of JSON as far as framing looks at it. :func:`scan` says where the first
byte is that does not; up to there its answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splitscan.framing.frames import NO_OFFSETS, Offsets, Units
from splitscan.framing.json.grammar import BEFORE_BRACE, SPACE, Shape, separators, table
from splitscan.framing.json.structure import Nesting, last_before, positions, structure
from splitscan.framing.words import Words, masks_of, moved_on, without

_IS_SPACE = table(SPACE)
_MAY_PRECEDE_BRACE = table(BEFORE_BRACE)
_SEPARATES = {shape: table(separators(shape)) for shape in Shape}
_LAYOUT = tuple(ord(symbol) for symbol in "[,: ")


@dataclass(frozen=True, slots=True)
class Scan:
    """The records of a stretch that begins between records.

    Attributes:
        starts: Where records begin; the last may not stop.
        stops: Behind where they end.
        bad: The first byte that breaks the grammar; records that stop before it are exact. ``None``: all are.
    """

    starts: Offsets
    stops: Offsets
    bad: int | None


def scan(units: Units, shape: Shape) -> Scan:
    """Find the records of a stretch that begins between records."""
    found = structure(units).assume(in_string=False)
    edges = found.down_to(0)
    limit = found.broken
    below = np.flatnonzero(edges.after < 0)
    if len(below):
        limit = _least(limit, int(edges.at[below[0]]))
    opens = edges.opens
    starts = edges.at[opens & (edges.before == 0)]
    stops = edges.at[~opens & (edges.after == 0)] + 1
    inner = without(found.openers, starts)
    if limit is not None:
        starts, stops = starts[starts < limit], stops[stops <= limit]
    ends_between = len(starts) == len(stops)
    garbage = first_garbage(units, starts, stops, len(units) if limit is None else limit, shape, open_end=ends_between)
    misplaced = misplaced_braces(found, inner)
    if len(misplaced) and len(below):
        misplaced = misplaced[found.depths_before(misplaced) >= 1]
    limit = _least(limit, garbage, int(misplaced[0]) if len(misplaced) else None)
    return Scan(starts, stops, limit)


def first_garbage(
    units: Units, starts: Offsets, stops: Offsets, size: int, shape: Shape, *, open_end: bool
) -> int | None:
    """The first byte at depth 0 that neither separates records nor begins one.

    Args:
        units: The stretch.
        starts: Where records begin; what is before the first one, and between two, is looked at.
        stops: Where records end.
        size: Where the stretch ends.
        shape: The shape of the file.
        open_end: Whether what is behind the last stop is looked at too.
    """
    lows = np.concatenate([np.zeros(1, dtype=np.int64), stops])
    highs = np.concatenate([starts, np.full(1, size, dtype=np.int64)]) if open_end else starts
    return gap_garbage(units, lows[: len(highs)], highs, shape)


def gap_garbage(units: Units, lows: Offsets, highs: Offsets, shape: Shape) -> int | None:
    """The first byte in the gaps ``[low, high)`` that does not separate records."""
    lengths = highs - lows
    total = int(lengths.sum())
    if not total:
        return None
    at = np.arange(total) + np.repeat(lows - np.cumsum(lengths) + lengths, lengths)
    bad = np.flatnonzero(~_SEPARATES[shape][units[at]])
    return int(at[bad[0]]) if len(bad) else None


def misplaced_braces(found: Nesting, openers: Words) -> Offsets:
    """Which of the opening brackets are ``{`` where JSON allows none inside a value: by the last byte before them
    that is no white space, or because there is none.
    """  # noqa: D205 - the sentence is one
    if not openers.any():
        return NO_OFFSETS
    units = found.units
    at = positions(_doubtful_braces(found, openers))
    if not len(at):
        return NO_OFFSETS
    symbols = _symbols_at(units, at - 1)
    is_space = _IS_SPACE[symbols]
    wrong = at[~is_space & ~_MAY_PRECEDE_BRACE[symbols]]
    at = at[is_space]
    if len(at):
        spaces = np.bitwise_or.reduce(masks_of(units, tuple(sorted(SPACE))))
        symbols = _symbols_at(units, last_before(~spaces, at))
        wrong = np.sort(np.concatenate([wrong, at[~_MAY_PRECEDE_BRACE[symbols]]]))
    return wrong


def _doubtful_braces(found: Nesting, openers: Words) -> Words:
    """The braces, but not those behind ``[``, ``,`` or ``:`` and any number of blanks and line feeds.

    A bit behind such a byte that is added to a run of white space runs through it and comes out behind it.
    """
    brackets, commas, colons, blanks = masks_of(found.units, _LAYOUT)
    spaces, behind = blanks | found.feeds, moved_on(brackets | commas | colons)
    entered = spaces + (behind & spaces)
    carries = entered < spaces
    while carries.any():  # again where a word is nothing but white space
        carried = np.zeros_like(entered)
        carried[1:] = carries[:-1]
        entered += carried
        carries = entered < carried
    return openers & ~brackets & ~(behind | entered)


def _symbols_at(units: Units, at: Offsets) -> Units:
    """The bytes there, 0 where that is before the stretch."""
    return np.where(at >= 0, units[at], 0)


def gap_length(units: Units, start: int, shape: Shape) -> int | None:
    """How many bytes from *start* on only separate records; ``None`` if all of the rest does."""
    step = 64
    position = start
    while position < len(units):
        others = np.flatnonzero(~_SEPARATES[shape][units[position : position + step]])
        if len(others):
            return position + int(others[0]) - start
        position += step
        step = min(step * 4, 1 << 16)
    return None


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)
