"""The bit-parallel CSV scanner: 64 bytes per machine word, for the dialects that nearly all files use.

Each interesting byte (quote, separator, line feed, carriage return) becomes one bit of a mask. "Inside quotes" is the
running parity of the quote mask, computed with shifts and exclusive ors over words; whether every quote is structural
is a handful of word operations. It gives what :func:`splitscan.framing.quoted.fast.scan` gives, several times faster.
The idea of masks and prefix parity is that of the simdjson and sparser line of work; here it is numpy over uint64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splitscan.framing.encodings import CR, LF
from splitscan.framing.frames import Counted, Offsets, Units
from splitscan.framing.quoted.dialect import Dialect
from splitscan.framing.quoted.marks import Marks, mark_all, mark_lines
from splitscan.framing.summaries import Run
from splitscan.framing.words import (
    NEAR_WORDS,
    WORD_BITS,
    Words,
    highest,
    lowest,
    moved_on,
    positions_of,
    prefix_parity,
)

_TOP = np.uint64(WORD_BITS - 1)
_ONE = np.uint64(1)


def applies(dialect: Dialect) -> bool:
    """Whether this scanner knows the dialect (its bytes may still hold escapes, which it leaves to the other)."""
    return counts_lines(dialect) and dialect.quote_unit is not None and len(dialect.sep_units) == 1


def counts_lines(dialect: Dialect) -> bool:
    """Whether this scanner knows all lines of the dialect, if perhaps not its quotes."""
    return dialect.encoding.unit_bytes == 1 and dialect.comment_unit is None and dialect.line_sep_units in {None, (LF,)}


@dataclass(frozen=True, slots=True)
class _Quoting:
    """What the quotes of a stretch mean, if all are structural, and whether they are.

    Attributes:
        quotes: The quotes.
        parity: Whether the number of quotes up to and including a unit is odd.
        openers: Units at which a quote could open a field: an edge is right before them.
        closers: Units at which a quote could close one.
    """

    quotes: Words
    parity: Words
    openers: Words
    closers: Words

    @property
    def is_odd(self) -> bool:
        """Whether the number of quotes is odd."""
        return bool(self.parity[-1] >> _TOP)

    def bad(self, *, inside: bool) -> int | None:
        """As :meth:`BitScan.bad`."""
        opening, closing = (self.closers, self.openers) if inside else (self.openers, self.closers)
        for part in (slice(NEAR_WORDS), slice(NEAR_WORDS, None)):  # under the wrong assumption it is near
            wrong = opening[part] ^ closing[part]
            wrong &= self.parity[part]
            wrong ^= closing[part]  # where a quote, opening or closing as parity has it, would be structural
            wrong &= self.quotes[part]
            wrong ^= self.quotes[part]
            first = lowest(wrong)
            if first is not None:
                return (part.start or 0) * WORD_BITS + first
        return None


@dataclass(frozen=True, slots=True)
class BitScan:
    """Masks of one stretch; bit i of word w stands for unit ``64 * w + i``.

    Attributes:
        size: Units in the stretch.
        feeds: Line feeds.
        begins: Units at which a terminator begins, quoted or not.
        ends: Units at which a terminator ends; the same mask where no terminator is two units long.
        returns: Carriage returns that count as terminators, also one whose line feed may not be there yet; ``None``
            without one.
        quoting: What the quotes mean; ``None`` without one.
    """

    size: int
    feeds: Words
    begins: Words
    ends: Words
    returns: Words | None = None
    quoting: _Quoting | None = None

    def bad(self, *, inside: bool) -> int | None:
        """The first quote that is not structural, if the stretch begins inside quotes or outside."""
        return None if self.quoting is None else self.quoting.bad(inside=inside)

    @property
    def hides_terminators(self) -> bool:
        """Whether a terminator lies inside quotes, if the stretch begins outside of them."""
        return self.quoting is not None and bool((self.begins & self.quoting.parity).any())

    def ends_inside(self, *, inside: bool) -> bool:
        """Whether the stretch ends inside quotes."""
        return inside if self.quoting is None else self.quoting.is_odd != inside

    def _outside(self, mask: Words, *, inside: bool) -> Words:
        """What of *mask* is outside quotes, in memory of its own."""
        if self.quoting is None:
            return np.zeros_like(mask) if inside else mask.copy()
        kept = mask & self.quoting.parity
        if not inside:
            kept ^= mask
        return kept

    def boundaries(self, *, inside: bool) -> tuple[Offsets, Offsets]:
        """Where each terminator outside quotes begins, and where the unit behind it is."""
        stops = positions_of(self._outside(self.begins, inside=inside))
        return stops, stops + self._lengths(stops)

    def run(self, mark: int, *, inside: bool, begins_line: bool) -> Run | None:
        """Summarise the stretch; ``None`` if parity cannot tell.

        Args:
            mark: From where on a record start is asked for.
            inside: Whether the stretch begins inside quotes.
            begins_line: Whether a record may start at its first unit.
        """
        if self.bad(inside=inside) is not None:
            return None
        if self.quoting is None and inside:
            return Run(1, None, None, None, 0)  # no terminator counts
        outside = self._outside(self.begins, inside=inside)
        state = int(self.ends_inside(inside=inside))
        records = self._count_starts(outside, inside=inside, begins_line=begins_line)
        first, last = lowest(outside), highest(outside)
        if first is None or last is None:
            return Run(state, None, None, None, records)
        behind = self._behind(last)
        marked = self._first_behind(outside, mark) if mark <= behind else None
        return Run(state, self._behind(first), behind, marked, records)

    def count(self) -> Counted | None:
        """The complete records of a stretch that begins with one; ``None`` if parity cannot tell."""
        if self.bad(inside=False) is not None:
            return None
        begins = self._outside(self.begins, inside=False)
        last = highest(begins)
        if last is None:
            return None
        ends = begins if self.ends is self.begins else self._outside(self.ends, inside=False)
        begins &= ~_next_unit(ends, True)  # of lines that are not empty
        return Counted(int(np.bitwise_count(begins).sum(dtype=np.int64)), self._behind(last))

    def _count_starts(self, begins: Words, *, inside: bool, begins_line: bool) -> int:
        """How many records start in the stretch: a line starts behind each terminator, and is none if it is empty."""
        ends = begins if self.ends is self.begins else self._outside(self.ends, inside=inside)
        starts = _next_unit(ends, begins_line and not inside)
        starts &= ~(begins if self.returns is None else begins | self.returns)
        if self.size % WORD_BITS:
            starts[-1] &= (_ONE << np.uint64(self.size % WORD_BITS)) - _ONE
        return int(np.bitwise_count(starts).sum(dtype=np.int64))

    def _first_behind(self, outside: Words, mark: int) -> int | None:
        """The first boundary at or behind *mark*; a terminator begins one or two units before its boundary."""
        skipped = max(mark - 2, 0)
        rest = outside[skipped // WORD_BITS :].copy()
        if not len(rest):
            return None
        rest[0] &= ~((_ONE << np.uint64(skipped % WORD_BITS)) - _ONE)
        for _ in range(3):
            position = lowest(rest)
            if position is None:
                return None
            boundary = self._behind(skipped // WORD_BITS * WORD_BITS + position)
            if boundary >= mark:
                return boundary
            rest[position // WORD_BITS] &= ~(_ONE << np.uint64(position % WORD_BITS))
        return None

    def _behind(self, stop: int) -> int:
        return stop + (1 if self.returns is None else int(self._lengths(np.array([stop]))[0]))

    def _lengths(self, stops: Offsets) -> Offsets:
        if self.returns is None or not len(stops):
            return np.ones(1, dtype=np.int64)  # broadcasts
        pairs = self.returns & _previous_unit(self.feeds, self.size, False)
        followed = pairs[stops // WORD_BITS] >> (stops % WORD_BITS).astype(np.uint64) & _ONE
        return 1 + followed.astype(np.int64)


def scan_bits(units: Units, dialect: Dialect, *, first_opens: bool, last_closes: bool, at_end: bool) -> BitScan | None:
    """Scan a stretch; ``None`` where there are escapes, which need the other scanner.

    Args:
        units: The stretch.
        dialect: One that this scanner knows.
        first_opens: Whether a quote that is the first unit would open a field (what is before it allows that).
        last_closes: Whether a quote that is the last unit would close one.
        at_end: Whether the file ends here, so that a last carriage return is a terminator.
    """
    marks = mark_all(units, dialect)
    if marks is None:
        return None
    lines = _lines(marks, at_end=at_end)
    if marks.quoting is None:
        return lines
    quotes, edges = marks.quoting.quotes, marks.quoting.separators
    edges |= lines.feeds
    if lines.returns is not None:
        edges |= lines.returns
    if dialect.doubled:
        edges |= quotes
    openers = _next_unit(edges, first_opens)
    closers = _previous_unit(edges, marks.size, last_closes)
    return replace(lines, quoting=_Quoting(quotes, prefix_parity(quotes), openers, closers))


def scan_lines(units: Units, dialect: Dialect, *, at_end: bool) -> BitScan:
    """Scan a stretch as if there were no quotes; the arguments are those of :func:`scan_bits`."""
    return _lines(mark_lines(units, dialect), at_end=at_end)


def _lines(marks: Marks, *, at_end: bool) -> BitScan:
    feeds, returns, size = marks.feeds, marks.returns, marks.size
    if returns is None:
        return BitScan(size, feeds, feeds, feeds)
    begins = returns | (feeds & ~_next_unit(returns, False))
    ends = feeds | (returns & ~_previous_unit(feeds, size, False))
    last = _ONE << np.uint64((size - 1) % WORD_BITS)
    if returns[-1] & last and not at_end:  # a line feed may follow
        begins[-1] &= ~last
        ends[-1] &= ~last
    return BitScan(size, feeds, begins, ends, returns)


def is_edge(unit: int, dialect: Dialect) -> bool:
    """Whether a quote beside this unit may open or close a field."""
    newlines = (CR, LF) if dialect.line_sep_units is None else (LF,)
    return unit == dialect.sep_units[0] or unit in newlines or (dialect.doubled and unit == dialect.quote_unit)


def _next_unit(bits: Words, first: bool) -> Words:
    """Each bit moved to the unit behind it; *first* comes in at the front."""
    moved = moved_on(bits)
    if first and len(moved):
        moved[0] |= _ONE
    return moved


def _previous_unit(bits: Words, size: int, last: bool) -> Words:
    """Each bit moved to the unit before it; *last* comes in at the end."""
    moved = bits >> _ONE
    moved[:-1] |= bits[1:] << _TOP
    if last and size:
        moved[(size - 1) // WORD_BITS] |= _ONE << np.uint64((size - 1) % WORD_BITS)
    return moved
