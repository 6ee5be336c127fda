"""Rewrite regular CSV bytes into the one dialect that Arrow's parser reads: RFC 4180 with a one-byte separator.

Works on whole buffers with numpy. Only for bytes whose quotes are all structural (``Frames.regular``): there, a byte
is inside quotes exactly when an odd number of quotes lies before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from splitscan.framing.encodings import CR, LF
from splitscan.framing.frames import Frames
from splitscan.framing.quoted import Dialect
from splitscan.framing.quoted.fast import delimiters_overlap, find_quotes, find_sequence

Units = npt.NDArray[Any]
_SPARE_SEPARATORS = (0x1F, 0x1E, 0x1D, 0x1C, 0x01, 0x02, 0x03, 0x04)  # control characters hardly any file contains


def canonical(data: memoryview, frames: Frames, dialect: Dialect) -> tuple[memoryview, str] | None:
    """The records of *frames* in Arrow's dialect.

    Returns:
        The bytes and their separator; ``None`` when these bytes cannot be expressed, so that the records must be
        taken apart one by one.
    """
    first = frames.first
    region = data[first : frames.next_start]
    units = np.frombuffer(region, dtype=np.uint8)
    edit = _Edit(units, dialect)
    if not edit.terminators(frames, first) or not edit.separators():
        return None
    edit.escapes()
    return edit.result(region), edit.separator


def has_blank_edges(data: memoryview, dialect: Dialect) -> bool:
    """Whether white space stands beside a separator or terminator outside quotes, where trimming would take it."""
    units = np.frombuffer(data, dtype=np.uint8)
    terminator = dialect.line_sep_units or (CR, LF)
    is_edge = np.zeros(256, dtype=bool)
    is_edge[[*dialect.sep_units, *terminator]] = True
    is_blank = np.arange(256) <= 0x20
    if dialect.line_sep_units is None:
        is_blank[[CR, LF]] = False
    if len(dialect.sep_units) == 1:
        is_blank[dialect.sep_units[0]] = False
    hits = np.flatnonzero(is_blank[units])
    before, behind = units[np.maximum(hits - 1, 0)], units[np.minimum(hits + 1, len(units) - 1)]
    hits = hits[is_edge[before] | is_edge[behind] | (hits == 0) | (hits == len(units) - 1)]
    if not len(hits):
        return False
    return bool(((np.searchsorted(find_quotes(units, dialect), hits) & 1) == 0).any())


class _Edit:
    """Bytes to replace and bytes to drop, collected and applied once."""

    def __init__(self, units: Units, dialect: Dialect) -> None:
        self.units = units
        self.dialect = dialect
        self.separator = dialect.sep
        self._copy: Units | None = None
        self._keep: npt.NDArray[np.bool_] | None = None
        self._quotes: Units | None = None

    def terminators(self, frames: Frames, first: int) -> bool:
        """Make every terminator one that Arrow knows; False when bytes that look like one are data."""
        universal = self.dialect.line_sep is None
        if universal and self.dialect.comment is None:
            return True
        starts, stops = frames.starts - first, frames.stops - first
        if not universal:
            for byte in (CR, LF):
                hits = np.flatnonzero(self.units == byte)
                hits = hits[self._outside(hits)]
                record = np.searchsorted(starts, hits, side="right") - 1
                if len(hits) and bool((hits < stops[np.maximum(record, 0)]).any()):
                    return False
        gap_starts = stops[:-1]
        gap_stops = starts[1:]
        if universal and bool((gap_stops - gap_starts <= 2).all()):
            return True
        keep = self._kept()
        for low, high in zip(gap_starts.tolist(), gap_stops.tolist(), strict=True):
            self._writable()[low] = LF
            keep[low + 1 : high] = False
        last = int(stops[-1])
        self._writable()[last : last + 1] = LF
        keep[last + 1 :] = False
        return True

    def separators(self) -> bool:
        """Replace a separator of several bytes by one that occurs nowhere."""
        symbols = self.dialect.sep_units
        if len(symbols) == 1:
            return True
        if self.dialect.is_ambiguous and delimiters_overlap(self.units, self.dialect):
            return False
        spare = next((b for b in _SPARE_SEPARATORS if not bool((self.units == b).any())), None)
        if spare is None:
            return False
        hits = find_sequence(self.units, symbols)
        hits = hits[self._outside(hits)]
        self._writable()[hits] = spare
        keep = self._kept()
        for shift in range(1, len(symbols)):
            keep[hits + shift] = False
        self.separator = chr(spare)
        return True

    def escapes(self) -> None:
        r"""Turn ``\"`` into ``""`` and ``\\`` into ``\`` inside quotes."""
        escape = self.dialect.escape_unit
        if escape is None:
            return
        hits = np.flatnonzero(self.units == escape)
        if not len(hits):
            return
        hits = hits[~self._outside(hits)]
        if not len(hits):
            return
        rank = np.arange(len(hits))
        run_begins = np.ones(len(hits), dtype=bool)
        run_begins[1:] = np.diff(hits) != 1
        run_start = np.maximum.accumulate(np.where(run_begins, rank, 0))
        active = hits[((rank - run_start) & 1) == 0]  # every other one of a run escapes what follows it
        following = self.units[np.minimum(active + 1, len(self.units) - 1)]
        self._writable()[active[following == self.dialect.quote_unit]] = self.dialect.quote_unit
        self._kept()[active[following == escape]] = False

    def result(self, region: memoryview) -> memoryview:
        """The edited bytes; the original ones where there was nothing to edit.

        They end with a terminator: without one, Arrow takes an empty last field for a quoted one if the one before is.
        """
        edited = self.units if self._copy is None else self._copy
        if self._keep is not None:
            edited = edited[self._keep]
        result = region if edited is self.units else memoryview(edited.data)
        return result if result[-1] in {CR, LF} else memoryview(b"".join((result, b"\n")))

    def _outside(self, positions: Units) -> npt.NDArray[np.bool_]:
        if self._quotes is None:
            self._quotes = find_quotes(self.units, self.dialect)
        outside: npt.NDArray[np.bool_] = (np.searchsorted(self._quotes, positions) & 1) == 0
        return outside

    def _writable(self) -> Units:
        if self._copy is None:
            self._copy = self.units.copy()
        return self._copy

    def _kept(self) -> npt.NDArray[np.bool_]:
        if self._keep is None:
            self._keep = np.ones(len(self.units), dtype=bool)
        return self._keep
