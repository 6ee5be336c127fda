"""The vectorised CSV framer: quote parity over whole buffers, and the proof that parity may be trusted.

Where every quote is *structural* (it opens a field, closes one, or is half of a doubled quote), a byte is inside
quotes exactly when an odd number of quotes lies before it. :func:`scan` counts them with numpy, checks that each
one is structural, and says where the first one is that is not: up to there its answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splitscan.framing.encodings import CR, LF
from splitscan.framing.escapes import behind_odd_run
from splitscan.framing.frames import NO_OFFSETS, Flags, Offsets, Units
from splitscan.framing.quoted.bits import BitScan, applies, is_edge, scan_bits
from splitscan.framing.quoted.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Scan:
    """What parity says about a stretch of units.

    Attributes:
        stops: Where each terminator outside quotes begins.
        nexts: Where the unit behind each of these terminators is.
        inside: Whether the stretch ends inside quotes.
        bad: The first quote that is not structural; positions before it are exact. ``None``: all are.
    """

    stops: Offsets
    nexts: Offsets
    inside: bool
    bad: int | None


def find_terminators(units: Units, dialect: Dialect, at_end: bool) -> tuple[Offsets, Offsets]:
    """Every line terminator, quoted or not: where it begins and where it has ended.

    A carriage return that is the last unit is left out unless *at_end*: a line feed may follow.
    """
    if dialect.line_sep_units is not None:
        begins = find_sequence(units, dialect.line_sep_units)
        if dialect.is_ambiguous:
            begins = _leftmost(begins, len(dialect.line_sep_units))
        return begins, begins + len(dialect.line_sep_units)
    lf = np.flatnonzero(units == LF)
    cr = np.flatnonzero(units == CR)
    if not len(cr):
        return lf, lf + 1
    last = len(units) - 1
    behind = units[np.minimum(cr + 1, last)]
    lone = cr[np.where(cr == last, at_end, behind != LF)]
    paired = (lf > 0) & (units[np.maximum(lf - 1, 0)] == CR)
    begins = np.concatenate([lf - paired, lone])
    nexts = np.concatenate([lf, lone]) + 1
    order = np.argsort(begins, kind="stable")
    return begins[order], nexts[order]


def _leftmost(found: Offsets, length: int) -> Offsets:
    """Of occurrences that overlap, those that a reader from left to right takes."""
    taken: list[int] = []
    for position in found.tolist():
        if not taken or position >= taken[-1] + length:
            taken.append(position)
    return np.array(taken, dtype=np.int64)


def find_sequence(units: Units, symbols: tuple[int, ...]) -> Offsets:
    """Every position at which *symbols* stand (overlapping ones too)."""
    room = len(units) - len(symbols) + 1
    if room <= 0:
        return NO_OFFSETS
    found = np.flatnonzero(units[:room] == symbols[0])
    for shift, symbol in enumerate(symbols[1:], start=1):
        found = found[units[found + shift] == symbol]
    return found


def scan(units: Units, low: int, high: int, dialect: Dialect, *, inside: bool, at_start: bool, at_end: bool) -> Scan:
    """Scan ``units[low:high]``; the units around that stretch are only looked at.

    Args:
        units: The stretch with its neighbours.
        low: First unit of the stretch.
        high: First unit behind it.
        dialect: The grammar.
        inside: Whether the stretch begins inside quotes.
        at_start: Whether a record starts at *low*.
        at_end: Whether the file ends behind *units*.
    """
    if applies(dialect):
        bits = scan_bits(
            units[low:high],
            dialect,
            first_opens=at_start or (low > 0 and is_edge(int(units[low - 1]), dialect)),
            last_closes=high == len(units) or is_edge(int(units[high]), dialect),
            at_end=at_end and high == len(units),
        )
        if bits is not None and (dialect.multi_line or _keeps_to_lines(bits, at_end=at_end)):
            stops, nexts = bits.boundaries(inside=inside)
            ends_inside = dialect.multi_line and bits.ends_inside(inside=inside)
            return Scan(stops, nexts, ends_inside, bits.bad(inside=inside))
    return scan_positions(units, low, high, dialect, inside=inside, at_start=at_start, at_end=at_end)


def _keeps_to_lines(bits: BitScan, *, at_end: bool) -> bool:
    """Whether quotes are closed in the line in which they are opened, so that parity need not start anew in each."""
    return not bits.hides_terminators and not (at_end and bits.ends_inside(inside=False))


def scan_positions(
    units: Units, low: int, high: int, dialect: Dialect, *, inside: bool, at_start: bool, at_end: bool
) -> Scan:
    """The same for every dialect, by arrays of positions."""
    stretch = units[low:high]
    begins, nexts = find_terminators(stretch, dialect, at_end and high == len(units))
    quotes = find_quotes(stretch, dialect)
    if not dialect.multi_line:
        return _scan_lines(units, low, high, dialect, begins, nexts, quotes, at_end=at_end)
    if not len(quotes):
        outside = np.zeros(len(begins), dtype=bool) if inside else slice(None)
        bad = _bad_comment(stretch, dialect, begins, nexts, quotes, at_start)
        return Scan(begins[outside], nexts[outside], inside, bad)
    odd = np.searchsorted(quotes, begins) & 1
    keep = odd == (1 if inside else 0)
    opening = np.zeros(len(quotes), dtype=bool)
    opening[1 if inside else 0 :: 2] = True
    bad = _first_irregular(units, low, high, quotes, opening, dialect, at_start=at_start)
    comment = _bad_comment(stretch, dialect, begins, nexts, quotes, at_start)
    ends_inside = inside != bool(len(quotes) & 1)
    return Scan(begins[keep], nexts[keep], ends_inside, _least(bad, comment))


def _scan_lines(
    units: Units,
    low: int,
    high: int,
    dialect: Dialect,
    begins: Offsets,
    nexts: Offsets,
    quotes: Offsets,
    *,
    at_end: bool,
) -> Scan:
    """Parity that starts anew in every line; a line with an odd number of quotes is irregular."""
    if not len(quotes):
        return Scan(begins, nexts, False, None)
    lines = np.concatenate([np.zeros(1, dtype=np.int64), nexts])
    line_of = np.searchsorted(nexts, quotes, side="right")
    first_of_line = np.searchsorted(quotes, lines[line_of])
    opening = ((np.arange(len(quotes)) - first_of_line) & 1) == 0
    bad = _first_irregular(units, low, high, quotes, opening, dialect, at_start=True)
    last_in_line = np.append(line_of[1:] != line_of[:-1], True)
    unclosed = quotes[last_in_line & opening]
    if not at_end and len(unclosed) and line_of[-1] == len(nexts):
        unclosed = unclosed[unclosed != quotes[-1]]  # the unfinished last line may still be closed
    comment = _bad_comment(units[low:high], dialect, begins, nexts, quotes, at_start=True)
    return Scan(begins, nexts, False, _least(bad, comment, int(unclosed[0]) if len(unclosed) else None))


def find_quotes(units: Units, dialect: Dialect) -> Offsets:
    """Quotes that are not hidden by an escape (an odd run of escapes right before them)."""
    if dialect.quote_unit is None:
        return NO_OFFSETS
    quotes = np.flatnonzero(units == dialect.quote_unit)
    if dialect.escape_unit is None or not len(quotes):
        return quotes
    escapes = np.flatnonzero(units == dialect.escape_unit)
    if not len(escapes):
        return quotes
    return quotes[~behind_odd_run(quotes, escapes)]


def _first_irregular(
    units: Units, low: int, high: int, quotes: Offsets, opening: Flags, dialect: Dialect, *, at_start: bool
) -> int | None:
    if dialect.is_ambiguous and delimiters_overlap(units, dialect):
        return int(quotes[0])
    at = quotes + low
    opens = at[opening]
    closes = at[~opening]
    good = np.empty(len(quotes), dtype=bool)
    good[opening] = _opens_field(units, opens, dialect, low if at_start else -1)
    good[~opening] = _closes_field(units, closes, dialect)
    wrong = np.flatnonzero(~good)
    return int(quotes[wrong[0]]) if len(wrong) else None


def delimiters_overlap(units: Units, dialect: Dialect) -> bool:
    """Whether some separator or terminator begins inside another, so that only reading tells which one counts."""
    longer = [symbols for symbols in (dialect.sep_units, dialect.line_sep_units or ()) if len(symbols) > 1]
    found = [find_sequence(units, symbols) for symbols in longer]
    begins = np.concatenate(found)
    stops = np.concatenate([at + len(symbols) for at, symbols in zip(found, longer, strict=True)])
    order = np.argsort(begins, kind="stable")
    return bool((begins[order][1:] < stops[order][:-1]).any())


def _opens_field(units: Units, at: Offsets, dialect: Dialect, record_start: int) -> Flags:
    before = units[np.maximum(at - 1, 0)]
    good: Flags = (at == record_start) | _preceded_by(units, at, dialect.sep_units)
    if dialect.line_sep_units is None:
        good |= (at > 0) & ((before == LF) | (before == CR))
    else:
        good |= _preceded_by(units, at, dialect.line_sep_units)
    if dialect.doubled:
        good |= (at > 0) & (before == dialect.quote_unit)
    return good


def _closes_field(units: Units, at: Offsets, dialect: Dialect) -> Flags:
    last = len(units) - 1
    behind = units[np.minimum(at + 1, last)]
    good: Flags = (at == last) | _followed_by(units, at, dialect.sep_units)
    if dialect.line_sep_units is None:
        good |= (behind == LF) | (behind == CR)
    else:
        good |= _followed_by(units, at, dialect.line_sep_units)
    if dialect.doubled:
        good |= behind == dialect.quote_unit
    return good


def _preceded_by(units: Units, at: Offsets, symbols: tuple[int, ...]) -> Flags:
    good = at >= len(symbols)
    for distance, symbol in enumerate(reversed(symbols), start=1):
        good &= units[np.maximum(at - distance, 0)] == symbol
    return good


def _followed_by(units: Units, at: Offsets, symbols: tuple[int, ...]) -> Flags:
    """Whether *symbols* follow, or would if the units that are not there yet went on in the same way."""
    last = len(units) - 1
    good = np.ones(len(at), dtype=bool)
    for distance, symbol in enumerate(symbols, start=1):
        good &= (units[np.minimum(at + distance, last)] == symbol) | (at + distance > last)
    return good


def _bad_comment(
    units: Units, dialect: Dialect, begins: Offsets, nexts: Offsets, quotes: Offsets, at_start: bool
) -> int | None:
    """The first quote in a line that begins like a comment: whether it counts, parity cannot tell."""
    if dialect.comment_unit is None or not len(quotes):
        return None
    line_starts = np.concatenate([np.zeros(1 if at_start else 0, dtype=np.int64), nexts])
    line_starts = line_starts[line_starts < len(units)]
    marked = line_starts[units[line_starts] == dialect.comment_unit]
    if not len(marked):
        return None
    line_stops = np.append(begins, len(units))[np.searchsorted(begins, marked)]
    first_quote = np.searchsorted(quotes, marked)
    hit = np.flatnonzero((first_quote < len(quotes)) & (np.append(quotes, len(units))[first_quote] < line_stops))
    return int(quotes[first_quote[hit[0]]]) if len(hit) else None


def _least(*values: int | None) -> int | None:
    return min((v for v in values if v is not None), default=None)
