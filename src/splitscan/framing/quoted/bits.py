"""The bit-parallel CSV scanner: 64 bytes per machine word, for the dialects that nearly all files use.

Each interesting byte (quote, separator, line feed, carriage return) becomes one bit of a mask. "Inside quotes" is the
running parity of the quote mask, computed with shifts and exclusive ors over words; whether every quote is structural
is a handful of word operations. It gives what :func:`splitscan.framing.quoted.fast.scan` gives, several times faster.
The idea of masks and prefix parity is that of the simdjson and sparser line of work; here it is numpy over uint64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from splitscan.framing.contract import Offsets, Run
from splitscan.framing.quoted.dialect import CR, LF, Dialect
from splitscan.framing.words import BLOCK, WORD_BITS, Units, Words, lowest, moved_on, positions_of, prefix_parity

_TOP = np.uint64(WORD_BITS - 1)
_ONE = np.uint64(1)


def applies(dialect: Dialect) -> bool:
    """Whether this scanner knows the dialect (its bytes may still hold escapes, which it leaves to the other)."""
    return (
        dialect.encoding.unit_bytes == 1
        and dialect.multi_line
        and dialect.quote_unit is not None
        and dialect.comment_unit is None
        and len(dialect.sep_units) == 1
        and dialect.line_sep_units in {None, (LF,)}
    )


@dataclass(frozen=True, slots=True)
class BitScan:
    """Masks of one stretch; bit i of word w stands for unit ``64 * w + i``.

    Attributes:
        size: Number of units.
        quotes: Quotes.
        parity: Whether the number of quotes up to and including a unit is odd.
        terminators: Units at which a terminator begins, quoted or not.
        pairs: Whether some terminator is two units long.
        irregular: Quotes that would not be structural if the stretch began outside quotes, and inside.
    """

    units: Units
    size: int
    quotes: Words
    parity: Words
    terminators: Words
    pairs: bool
    irregular: tuple[Words, Words]

    def bad(self, *, inside: bool) -> int | None:
        """The first quote that is not structural."""
        return lowest(self.irregular[inside])

    def ends_inside(self, *, inside: bool) -> bool:
        """Whether the stretch ends inside quotes."""
        odd = bool(self.parity[-1] >> _TOP) if len(self.parity) else False
        return odd != inside

    def outside_terminators(self, *, inside: bool) -> Words:
        """Terminators that are not quoted."""
        return self.terminators & (self.parity if inside else ~self.parity)

    def boundaries(self, *, inside: bool) -> tuple[Offsets, Offsets]:
        """Where each terminator outside quotes begins, and where the unit behind it is."""
        stops = positions_of(self.outside_terminators(inside=inside))
        return stops, stops + self._lengths(stops)

    def run(self, mark: int, *, inside: bool) -> Run | None:
        """Summarise the stretch; ``None`` if parity cannot tell."""
        if self.bad(inside=inside) is not None:
            return None
        outside = self.outside_terminators(inside=inside)
        state = int(self.ends_inside(inside=inside))
        first, last = lowest(outside), _highest(outside)
        if first is None or last is None:
            return Run(state, None, None, None)
        marked = self._first_behind(outside, mark)
        return Run(state, self._behind(first), self._behind(last), marked)

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
        return stop + int(self._lengths(np.array([stop]))[0])

    def _lengths(self, stops: Offsets) -> Offsets:
        if not self.pairs or not len(stops):
            return np.ones(1, dtype=np.int64)  # broadcasts
        following = self.units[np.minimum(stops + 1, len(self.units) - 1)]
        lengths: Offsets = 1 + ((self.units[stops] == CR) & (following == LF) & (stops + 1 < len(self.units)))
        return lengths


def scan_bits(units: Units, dialect: Dialect, *, first_opens: bool, last_closes: bool, at_end: bool) -> BitScan | None:
    """Scan a stretch; ``None`` where there are escapes, which need the other scanner.

    Args:
        units: The stretch.
        dialect: One that this scanner knows.
        first_opens: Whether a quote that is the first unit would open a field (what is before it allows that).
        last_closes: Whether a quote that is the last unit would close one.
        at_end: Whether the file ends here, so that a last carriage return is a terminator.
    """
    scratch = np.empty(min(len(units), BLOCK), dtype=bool)
    if dialect.escape_unit is not None and _contains(units, dialect.escape_unit, scratch):
        return None
    quotes = _mask(units, dialect.quote_unit or 0, scratch)
    structural = _mask(units, dialect.sep_units[0], scratch)
    feeds = _mask(units, LF, scratch)
    structural |= feeds
    terminators, pairs = feeds, False
    if dialect.line_sep_units is None and _contains(units, CR, scratch):
        returns = _mask(units, CR, scratch)
        structural |= returns
        pairs = True
        terminators = returns | (feeds & ~_next_unit(returns, False))
        if units[-1] == CR and not at_end:
            last = len(units) - 1
            terminators[last // WORD_BITS] &= ~(_ONE << np.uint64(last % WORD_BITS))
    parity = prefix_parity(quotes)
    edges = structural | quotes if dialect.doubled else structural
    opens_well = _next_unit(edges, first_opens)
    closes_well = _previous_unit(edges, len(units), last_closes)
    odd, even = quotes & parity, quotes & ~parity
    irregular = (
        (odd & ~opens_well) | (even & ~closes_well),
        (even & ~opens_well) | (odd & ~closes_well),
    )
    return BitScan(units, len(units), quotes, parity, terminators, pairs, irregular)


def is_edge(unit: int, dialect: Dialect) -> bool:
    """Whether a quote beside this unit may open or close a field."""
    newlines = (CR, LF) if dialect.line_sep_units is None else (LF,)
    return unit == dialect.sep_units[0] or unit in newlines or (dialect.doubled and unit == dialect.quote_unit)


def _contains(units: Units, symbol: int, scratch: npt.NDArray[np.bool_]) -> bool:
    for start in range(0, len(units), BLOCK):
        piece = units[start : start + BLOCK]
        if np.equal(piece, symbol, out=scratch[: len(piece)]).any():
            return True
    return False


def _mask(units: Units, symbol: int, scratch: npt.NDArray[np.bool_]) -> Words:
    words = np.zeros(-(-len(units) // WORD_BITS), dtype=np.uint64)
    octets = words.view(np.uint8)
    for start in range(0, len(units), BLOCK):
        piece = units[start : start + BLOCK]
        hits = scratch[: len(piece)]
        np.equal(piece, symbol, out=hits)
        packed = np.packbits(hits, bitorder="little")
        octets[start // 8 : start // 8 + len(packed)] = packed
    return words


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


def _highest(bits: Words) -> int | None:
    hit = np.flatnonzero(bits)
    return int(hit[-1]) * WORD_BITS + int(bits[hit[-1]]).bit_length() - 1 if len(hit) else None
