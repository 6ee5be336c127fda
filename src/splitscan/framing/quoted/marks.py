"""The masks that the bit-parallel CSV scanner works with, made in one pass over the bytes.

A stretch is gone through block by block, and everything that is asked of a block is asked while it is in the
processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from splitscan.framing.encodings import CR, LF
from splitscan.framing.frames import Flags, Units
from splitscan.framing.quoted.dialect import Dialect
from splitscan.framing.words import BLOCK, WORD_BITS, Search, Words, mark, mark_one, room_for


@dataclass(frozen=True, slots=True)
class QuoteMarks:
    """Where quotes are, and what may stand beside them.

    Attributes:
        quotes: Quotes.
        separators: Separators, at least those beside quotes.
    """

    quotes: Words
    separators: Words


@dataclass(slots=True)
class Marks:
    """Where the symbols of a stretch are; bit i of word w stands for unit ``64 * w + i``.

    Attributes:
        size: Units in the stretch.
        feeds: Line feeds.
        returns: Carriage returns; ``None`` without one, or where they end no line.
        quoting: Quotes and separators; ``None`` without a quote.
    """

    size: int
    feeds: Words = field(init=False)
    returns: Words | None = None
    quoting: QuoteMarks | None = None

    def __post_init__(self) -> None:
        self.feeds = np.empty(-(-self.size // WORD_BITS), dtype=np.uint64)

    def blank(self) -> Words:
        """A new mask without a bit."""
        return np.zeros_like(self.feeds)


def mark_lines(units: Units, dialect: Dialect) -> Marks:
    """Mark line feeds and carriage returns."""
    marks, search, hits = Marks(len(units)), Search(units), room_for(len(units))
    for start in range(0, len(units), BLOCK):
        _mark_lines(marks, start, units[start : start + BLOCK], search, dialect, hits)
    return marks


def mark_all(units: Units, dialect: Dialect) -> Marks | None:
    """Mark lines, quotes and separators; ``None`` where there are escapes.

    Args:
        units: The stretch.
        dialect: With a quote; quote, separator and escape are one unit.
    """
    quote, separator, escape = dialect.quote_unit or 0, dialect.sep_units[0], dialect.escape_unit
    marks, search, hits = Marks(len(units)), Search(units), room_for(len(units))
    outermost: list[int] = []  # separators that may be beside quotes of other blocks
    for start in range(0, len(units), BLOCK):
        block = units[start : start + BLOCK]
        stop = start + len(block)
        if escape is not None and search.finds(escape, start, stop):
            return None
        _mark_lines(marks, start, block, search, dialect, hits)
        if search.finds(quote, start, stop):
            if marks.quoting is None:
                marks.quoting = QuoteMarks(marks.blank(), marks.blank())
            mark(marks.quoting.quotes, start, block, quote, hits)
            mark(marks.quoting.separators, start, block, separator, hits)
        else:
            outermost += [end for end in (start, stop - 1) if units[end] == separator]
    if marks.quoting is not None:
        for position in outermost:
            mark_one(marks.quoting.separators, position)
    return marks


def _mark_lines(marks: Marks, start: int, block: Units, search: Search, dialect: Dialect, hits: Flags) -> None:
    mark(marks.feeds, start, block, LF, hits)
    if dialect.line_sep_units is None and search.finds(CR, start, start + len(block)):
        if marks.returns is None:
            marks.returns = marks.blank()
        mark(marks.returns, start, block, CR, hits)
