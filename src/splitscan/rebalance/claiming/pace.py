"""How large the next chunk should be: measured seconds in, positions out. Nothing here decides who owns what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Sizing:
    """Limits of chunks. The defaults were chosen by the simulation in ``bench/rebalance_simulation.py``.

    Attributes:
        share_of_rest: A chunk takes at most this part of the time that the scan still needs, so that a chunk
            that turns out far dearer than expected does not become the end of the scan.
        min_seconds: ... but is worth this long: a claim and the opening of a file cost about a millisecond.
        max_seconds: A chunk takes at most this long, as far as foreseen.
        overheads: A chunk is worth this many times what the cheapest chunk of the scan cost, with its claim: where
            each chunk has a fixed price (a request to an object store, a coordinator far away), chunks grow until it
            does not matter.
        max_growth: A chunk has at most this many times the positions of the one before it.
        first_share: The first chunk of a partition has this part of its range.
        min_positions: Smallest chunk.
        max_positions: Largest chunk.
        first_positions: Largest first chunk.
    """

    share_of_rest: float = 1 / 32
    min_seconds: float = 0.04
    max_seconds: float = 0.5
    overheads: float = 4.0
    max_growth: int = 4
    first_share: float = 1 / 512
    min_positions: int = 256
    max_positions: int = 128 << 20
    first_positions: int = 4 << 10


class Pace:
    """Seconds per position of one reader, from its latest chunks; older ones fade.

    Example:
        >>> pace = Pace()
        >>> pace.measured(positions=1000, seconds=2.0)
        >>> pace.seconds_per_position
        0.002
    """

    __slots__ = ("_positions", "_seconds")

    def __init__(self, positions: float = 0.0, seconds: float = 0.0) -> None:
        self._positions = positions
        self._seconds = seconds

    @property
    def seconds_per_position(self) -> float | None:
        """The pace; ``None`` before the first measurement."""
        return self._seconds / self._positions if self._positions else None

    def measured(self, positions: int, seconds: float) -> None:
        """Take one chunk into account; what was before counts half."""
        self._positions = self._positions / 2 + positions
        self._seconds = self._seconds / 2 + seconds


class Rest(NamedTuple):
    """What the scan still needs, divided among the readers that are at work.

    Attributes:
        seconds: As the paces of all readers let one expect.
        positions: What nobody has claimed.
    """

    seconds: float
    positions: float


def chunk_positions(
    sizing: Sizing, pace: float | None, rest: Rest, overhead_seconds: float, previous: int, unclaimed: int
) -> int:
    """How many positions the next chunk should have, at least 1.

    Args:
        sizing: The limits.
        pace: Seconds per position of this reader, if it has measured any.
        rest: What the scan still needs.
        overhead_seconds: What the cheapest chunk of the scan cost, and what claims take.
        previous: Positions of the chunk before; 0 for the first one.
        unclaimed: Positions that this partition has not claimed.
    """
    if not previous:
        wanted = min(int(unclaimed * sizing.first_share), sizing.first_positions)
    elif pace:
        rest_seconds = min(rest.seconds, rest.positions * pace)  # somebody else's slow region may lie ahead, too
        seconds = min(max(rest_seconds * sizing.share_of_rest, sizing.min_seconds), sizing.max_seconds)
        seconds = max(seconds, min(overhead_seconds * sizing.overheads, rest_seconds / sizing.overheads))
        wanted = min(int(seconds / pace), previous * sizing.max_growth)
    else:  # nothing measured, or nothing that took any time
        wanted = previous * sizing.max_growth
    return max(1, min(max(wanted, sizing.min_positions), sizing.max_positions, unclaimed))
