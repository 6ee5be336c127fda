"""The vectorised JSON scanner: quote parity over whole buffers, depth by a running sum over brackets alone.

It is exact for bytes that keep the grammar of JSON as far as framing looks at it. :func:`scan` says where the first
byte is that does not; up to there its answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from splitscan.framing.contract import Offsets
from splitscan.framing.escapes import behind_odd_run
from splitscan.framing.json.grammar import BACKSLASH, BEFORE_BRACE, BRACE, LF, QUOTE, SPACE, Shape, separators, table
from splitscan.framing.words import (
    WORD_BITS,
    Units,
    Words,
    lowest,
    masks_of,
    moved_on,
    positions_of,
    prefix_parity,
    without,
)

_FOLD = 0x20  # between "[" and "{", and between "]" and "}"
_CLOSER = ord("}")
_FIRST_LOOK, _LONGEST_LOOK = 16, 4096  # how far back from a brace one look goes
_IS_SPACE = table(SPACE)
_MAY_PRECEDE_BRACE = table(BEFORE_BRACE)
_SEPARATES = {shape: table(separators(shape)) for shape in Shape}


@dataclass(frozen=True, slots=True)
class Brackets:
    """The brackets outside of strings.

    Attributes:
        at: Where they are.
        before: Depth before each, relative to the start.
        after: Depth behind each.
        ends_in_string: Whether the stretch ends in a string.
        broken: The first line feed in a string, ``None`` without one; all else is exact only before it.
    """

    at: Offsets
    before: Offsets
    after: Offsets
    ends_in_string: bool
    broken: int | None

    @property
    def opens(self) -> npt.NDArray[np.bool_]:
        """Which of them open."""
        return self.after > self.before

    @property
    def net(self) -> int:
        """Change of depth from start to end."""
        return int(self.after[-1]) if len(self.after) else 0


@dataclass(frozen=True, slots=True)
class Masks:
    """Strings and brackets of one stretch, under no assumption about its start."""

    units: Units
    feeds: Words
    parity: Words
    brackets: Words

    def assume(self, *, in_string: bool) -> Brackets:
        """The brackets, if the stretch begins in a string, or does not."""
        inside = ~self.parity if in_string else self.parity
        at = positions_of(self.brackets & ~inside)
        step = np.where((self.units[at] | _FOLD) == _CLOSER, -1, 1).astype(np.int64)
        after = np.cumsum(step)
        last = len(self.units) - 1
        is_odd = bool(self.parity[last // WORD_BITS] >> np.uint64(last % WORD_BITS) & np.uint64(1))
        return Brackets(at, after - step, after, is_odd != in_string, self.break_of(in_string=in_string))

    def break_of(self, *, in_string: bool) -> int | None:
        """The first line feed in a string."""
        found = lowest(self.feeds & (~self.parity if in_string else self.parity))
        return found if found is None or found < len(self.units) else None


def masks(units: Units) -> Masks:
    """Look at every byte, once per kind of byte that matters."""
    quotes, backslashes, feeds = masks_of(units, (QUOTE, BACKSLASH, LF))
    if backslashes.any():
        doubtful = positions_of(quotes & moved_on(backslashes))
        quotes = without(quotes, doubtful[behind_odd_run(doubtful, positions_of(backslashes))])
    openers, closers = masks_of(units, (BRACE, _CLOSER), fold=_FOLD)
    return Masks(units, feeds, prefix_parity(quotes), openers | closers)


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
    found = masks(units).assume(in_string=False)
    opens, limit = found.opens, found.broken
    below = np.flatnonzero(found.after < 0)
    if len(below):
        limit = _least(limit, int(found.at[below[0]]))
    starts = found.at[opens & (found.before == 0)]
    stops = found.at[~opens & (found.after == 0)] + 1
    if limit is not None:
        starts, stops = starts[starts < limit], stops[stops <= limit]
    ends_between = len(starts) == len(stops)
    garbage = first_garbage(units, starts, stops, len(units) if limit is None else limit, shape, open_end=ends_between)
    misplaced = misplaced_braces(units, found, found.before >= 1)
    limit = _least(limit, garbage, int(found.at[misplaced[0]]) if len(misplaced) else None)
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


def misplaced_braces(units: Units, found: Brackets, candidates: npt.NDArray[np.bool_]) -> Offsets:
    """Which of the candidates (index into the brackets) are ``{`` where JSON allows none inside a value."""
    left = np.flatnonzero(candidates & (units[found.at] == BRACE))
    at = found.at[left]
    symbols = np.where(at > 0, units[at - 1], 0)
    is_space = _IS_SPACE[symbols]
    wrong = [left[~is_space & ~_MAY_PRECEDE_BRACE[symbols]]]
    left, at = left[is_space], at[is_space] + _LONGEST_LOOK
    if len(left):  # indented: look further back, at several bytes at once
        padded = np.concatenate([np.zeros(_LONGEST_LOOK, dtype=np.uint8), units])
        length = _FIRST_LOOK
        while len(left):
            looks = np.lib.stride_tricks.sliding_window_view(padded, length)[at - length]
            others = ~_IS_SPACE[looks]
            is_known = others.any(axis=1)
            symbols = looks[np.arange(len(looks)), length - 1 - np.argmax(others[:, ::-1], axis=1)]
            wrong.append(left[is_known & ~_MAY_PRECEDE_BRACE[symbols]])
            left, at = left[~is_known], at[~is_known] - length
            length = min(length * 4, _LONGEST_LOOK)
    return np.sort(np.concatenate(wrong))


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
