"""Where strings and brackets are in a stretch of bytes: one bit per byte, and depth from the bits of whole words.

A word is 64 bytes. Depth changes by what is counted in a word, so that only words in which it comes down far enough
are looked at bracket by bracket: those where records begin and end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from splitscan.framing.encodings import LF
from splitscan.framing.escapes import behind_odd_run
from splitscan.framing.frames import Offsets, Units
from splitscan.framing.json.grammar import BACKSLASH, BRACE, QUOTE
from splitscan.framing.words import (
    WORD_BITS,
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
_ONE = np.uint64(1)
_TOP = np.uint64(WORD_BITS - 1)
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_ODD_BITS = np.uint64(0xAAAA_AAAA_AAAA_AAAA)
_SHIFTS = tuple(np.uint64(shift) for shift in (1, 2, 4, 8, 16, 32))


@dataclass(frozen=True, slots=True)
class Brackets:
    """Some brackets outside of strings.

    Attributes:
        at: Where they are, in order.
        before: Depth before each, relative to the start of the stretch.
        after: Depth behind each.
    """

    at: Offsets
    before: Offsets
    after: Offsets

    @property
    def opens(self) -> npt.NDArray[np.bool_]:
        """Which of them open."""
        return self.after > self.before


@dataclass(frozen=True, slots=True)
class Nesting:
    """The brackets outside of strings, under one assumption about the start of the stretch.

    Attributes:
        units: The stretch.
        feeds: Line feeds, in strings or not.
        openers: Opening ones.
        closers: Closing ones.
        levels: Depth before each word, relative to the start.
        net: Change of depth from start to end.
        ends_in_string: Whether the stretch ends in a string.
        broken: The first line feed in a string, ``None`` without one; all else is exact only before it.
    """

    units: Units
    feeds: Words
    openers: Words
    closers: Words
    levels: Offsets
    net: int
    ends_in_string: bool
    broken: int | None

    @property
    def lowest_level(self) -> int:
        """A depth that is reached, at most 0: the lowest one at the edges of words."""
        return min(0, self.net, int(self.levels.min()) if len(self.levels) else 0)

    def down_to(self, level: int) -> Brackets:
        """At least the brackets that have depth *level* or less on one side."""
        brackets = self.openers | self.closers
        hot = np.flatnonzero((self.levels - np.bitwise_count(self.closers) <= level) & (brackets != 0))
        bits = brackets[hot]
        found = np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little").view(np.bool_))
        at = _spread(hot, bits, found)
        opened = np.unpackbits(self.openers[hot].view(np.uint8), bitorder="little")[found]
        step = np.where(opened, 1, -1)
        total = np.cumsum(step)
        counts = np.bitwise_count(bits).astype(np.int64)
        firsts = np.cumsum(counts) - counts
        after = total + np.repeat(self.levels[hot] - total[firsts] + step[firsts], counts)
        return Brackets(at, after - step, after)

    def depths_before(self, positions: Offsets) -> Offsets:
        """Depth before each position."""
        words = positions // WORD_BITS
        below = _bits_below(positions)
        opened = np.bitwise_count(self.openers[words] & below).astype(np.int64)
        depths: Offsets = self.levels[words] + opened - np.bitwise_count(self.closers[words] & below)
        return depths


@dataclass(frozen=True, slots=True)
class Structure:
    """Strings and brackets of a stretch, under no assumption about its start.

    Attributes:
        units: The stretch.
        feeds: Line feeds.
        parity: Whether an odd number of quotes lies up to and including a byte.
        openers: Opening brackets, in strings or not.
        closers: Closing ones.
    """

    units: Units
    feeds: Words
    parity: Words
    openers: Words
    closers: Words

    def assume(self, *, in_string: bool) -> Nesting:
        """The brackets, if the stretch begins in a string, or does not."""
        outside = self.parity if in_string else ~self.parity
        openers, closers = self.openers & outside, self.closers & outside
        steps = np.bitwise_count(openers).view(np.int8) - np.bitwise_count(closers).view(np.int8)  # at most 64
        levels = np.cumsum(steps, dtype=np.int64)
        net = int(levels[-1]) if len(levels) else 0
        levels -= steps
        last = len(self.units) - 1
        is_odd = bool(self.parity[last // WORD_BITS] >> np.uint64(last % WORD_BITS) & _ONE)
        broken = self.break_of(in_string=in_string)
        return Nesting(self.units, self.feeds, openers, closers, levels, net, is_odd != in_string, broken)

    def break_of(self, *, in_string: bool) -> int | None:
        """The first line feed in a string."""
        return lowest(self.feeds & (~self.parity if in_string else self.parity))


def structure(units: Units) -> Structure:
    """Look at every byte, once per kind of byte that matters."""
    quotes, backslashes, feeds = masks_of(units, (QUOTE, BACKSLASH, LF))
    openers, closers = masks_of(units, (BRACE, _CLOSER), fold=_FOLD)
    return Structure(units, feeds, prefix_parity(unescaped(quotes, backslashes)), openers, closers)


def unescaped(symbols: Words, backslashes: Words) -> Words:
    """The symbols that no odd run of backslashes precedes.

    The subtraction that finds the ends of odd runs is that of simdjson; here a run goes on from word to word by a
    carry, which does not depend on the one before it unless a whole word is backslashes.
    """
    hot = np.flatnonzero(backslashes)
    if not len(hot):
        return symbols
    runs = backslashes[hot]
    if (runs == _ALL).any():
        doubtful = positions_of(symbols & moved_on(backslashes))
        return without(symbols, doubtful[behind_odd_run(doubtful, positions_of(backslashes))])
    carries = np.zeros(len(symbols) + 1, dtype=np.uint64)
    carries[hot + 1] = (_odd_ends(runs) & runs) >> _TOP
    free = symbols & ~carries[:-1]
    entering = carries[hot]
    free[hot] &= ~(_odd_ends(runs & ~entering) ^ (runs | entering))
    return free


def _odd_ends(runs: Words) -> Words:
    """A code for runs of bits: its ``^`` with the runs is what they escape, its ``&`` with them is what escapes."""
    return (((runs << _ONE) | _ODD_BITS) - runs) ^ _ODD_BITS


def positions(bits: Words) -> Offsets:
    """Where the bits are, in order; words without one cost next to nothing."""
    hot = np.flatnonzero(bits)
    if 2 * len(hot) > len(bits):
        return positions_of(bits)
    some = bits[hot]
    found = np.flatnonzero(np.unpackbits(some.view(np.uint8), bitorder="little").view(np.bool_))
    return _spread(hot, some, found)


def _spread(hot: Offsets, bits: Words, found: Offsets) -> Offsets:
    """Positions in the whole of bits that were found where only the words at *hot* are."""
    at: Offsets = np.repeat(hot * WORD_BITS, np.bitwise_count(bits)) + (found & (WORD_BITS - 1))
    return at


def last_before(bits: Words, positions: Offsets) -> Offsets:
    """Where the last bit before each position is, -1 where there is none."""
    words = positions // WORD_BITS
    seen = bits[words] & _bits_below(positions)
    left = np.flatnonzero(seen == 0)
    while len(left):
        left = left[words[left] > 0]
        words[left] -= 1
        seen[left] = bits[words[left]]
        left = left[seen[left] == 0]
    for shift in _SHIFTS:
        seen |= seen >> shift
    found: Offsets = words * WORD_BITS + np.bitwise_count(seen) - 1
    return found


def _bits_below(positions: Offsets) -> Words:
    return (_ONE << (positions % WORD_BITS).astype(np.uint64)) - _ONE
