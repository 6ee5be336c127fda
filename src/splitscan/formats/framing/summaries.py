"""What a piece of a file does to a parser, whatever precedes it. Summaries of neighbours compose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """What a piece of a file does to a parser that enters it in one given state.

    Attributes:
        state: The state in which the parser leaves.
        first: Where the first record start lies (relative to the piece), ``None`` without one.
        last: Where the last record start lies.
        marked: Where the first record start at or behind the mark lies.
        records: How many records start in the piece, those of its first byte included; ``None`` where a format does not
            count them.
    """

    state: int
    first: int | None
    last: int | None
    marked: int | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A function from start state to :class:`Run`; composition is associative.

    Attributes:
        length_bytes: Length of the piece.
        runs: One run per start state. ``None``, or no run for a state, means: only a reading from a known record start
            can tell (quotes that are not structural, brackets nested too deeply), so whoever composes must do that
            reading if the state turns out real.
    """

    length_bytes: int
    runs: tuple[Run | None, ...]

    def run(self, state: int) -> Run | None:
        """What the piece does to a parser that enters it in *state*."""
        return self.runs[state] if 0 <= state < len(self.runs) else None

    def then(self, following: Summary) -> Summary:
        """The summary of this piece and the one right behind it; the marks of both name the same position."""
        return Summary(self.length_bytes + following.length_bytes, tuple(self._join(r, following) for r in self.runs))

    def _join(self, run: Run | None, following: Summary) -> Run | None:
        if run is None:
            return None
        tail = following.run(run.state)
        if tail is None:
            return None
        first = run.first if run.first is not None else self._shift(tail.first)
        last = self._shift(tail.last) if tail.last is not None else run.last
        marked = run.marked if run.marked is not None else self._shift(tail.marked)
        counted = run.records is not None and tail.records is not None
        return Run(tail.state, first, last, marked, (run.records or 0) + (tail.records or 0) if counted else None)

    def _shift(self, position: int | None) -> int | None:
        return None if position is None else position + self.length_bytes
