"""What a piece of an XML file does to a parser, wherever in a record or a mark the piece begins."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from splitscan.formats.framing.frames import Buffer, Run, Summary
from splitscan.formats.xml.grammar import PLACES, Kind, Place
from splitscan.formats.xml.scanner import Scanner
from splitscan.formats.xml.symbols import Symbols

UNKNOWN_STATE = -1
"""No summary has an answer for it."""

_DEEPEST = 2  # row tags inside each other for which summaries have answers
_IN_RECORDS = {Kind.ROW, Kind.CLOSING}  # outside of records, where such a tag begins is no longer known
_MOST_BEFORE = 4  # units of the beginning of what ends a comment and the like


def state_of(scanner: Scanner) -> int:
    """The number of the place and depth that a scanner has come to; 0 is outside of everything."""
    if scanner.place is None or not _has_answer(scanner.place, scanner.depth):
        return UNKNOWN_STATE
    return PLACES.index(scanner.place) + len(PLACES) * scanner.depth


def _has_answer(place: Place, depth: int) -> bool:
    return depth <= _DEEPEST and (depth > 0 or place.kind not in _IN_RECORDS)


def summarise(symbols: Symbols, data: Buffer, before: bytes, mark: int) -> Summary:
    """Go through *data* from every place and depth.

    Args:
        symbols: Of the file.
        data: The piece.
        before: Some bytes right before it.
        mark: Position in the piece from which on a record start is asked for.
    """
    width = symbols.encoding.unit_bytes
    piece = _Piece(symbols, symbols.of(data), symbols.of(before[-_MOST_BEFORE * width :]), -(-mark // width))
    runs = (piece.run(place, depth) for depth in range(_DEEPEST + 1) for place in PLACES)
    return Summary(len(data), tuple(None if run is None else _in_bytes(run, width) for run in runs))


class _Piece:
    """The way through a piece from outside of everything; every other way ends where it meets that one."""

    def __init__(self, symbols: Symbols, text: bytes, before: bytes, mark: int) -> None:
        self._before = before
        self._mark = mark
        self._main = Scanner(symbols.marks, text)
        self._main.run()
        self._begun = {stop: count for count, stop in enumerate(self._main.stops, start=1)}

    def run(self, place: Place, depth: int) -> Run | None:
        """What the piece does to a parser in one place."""
        if not _has_answer(place, depth):
            return None
        scanner = Scanner(self._main.marks, self._main.data, depth=depth)
        position = scanner.leave(place, 0, self._before)
        if position is not None and (scanner.depth or position not in self._begun):
            position = scanner.run(position, until=self._begun)
        if position is None:
            return self._joined(scanner, scanner.starts, len(self._main.starts), depth)
        return self._joined(self._main, scanner.starts, self._begun[position], depth)

    def _joined(self, end: Scanner, own: list[int], begun: int, depth: int) -> Run:
        """The records that one way has, and those of the main one but for the first *begun*."""
        main = self._main.starts
        count = len(own) + len(main) - begun
        state = state_of(end)
        if not count:
            return Run(state, None, None, None, 0, is_gap=not depth and not end.depth and state != UNKNOWN_STATE)
        first = own[0] if own else main[begun]
        last = main[-1] if begun < len(main) else own[-1]
        place = bisect_left(own, self._mark)
        marked = own[place] if place < len(own) else None
        if marked is None and (place := bisect_left(main, self._mark, begun)) < len(main):
            marked = main[place]
        return Run(state, first, last, marked, count)


def _in_bytes(run: Run, width: int) -> Run:
    if width == 1:
        return run
    first, last, marked = (None if each is None else each * width for each in (run.first, run.last, run.marked))
    return replace(run, first=first, last=last, marked=marked)
