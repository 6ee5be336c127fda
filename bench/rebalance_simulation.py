"""What rebalancing would win, by simulation: readers, chunks and steals as events, with the real claim log.

Run ``python -m bench.rebalance_simulation`` to see the table by which the defaults of ``Sizing`` were chosen. Times are
simulated, so the figures do not depend on the machine. Each figure is the end of the last reader divided by the ideal:
the whole cost spread evenly over the slots.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from splitscan.rebalance.claim_values import ChunkStats, Segment, Sizing
from splitscan.rebalance.claims import ClaimLog

SLOTS = 8


@dataclass(frozen=True)
class Work:
    """Records of one length each, and what each costs. *weight* is relative, over the file's fraction from 0 to 1."""

    name: str
    weight: Callable[[float], float]
    wanted: float
    records: int = 60_000
    record_bytes: int = 100
    ideal_seconds: float = 11.0
    chunk_seconds: float = 0.003  # opening, seeking, the first batch
    claim_seconds: float = 0.001  # one question to the coordinator

    @property
    def total(self) -> int:
        return self.records * self.record_bytes

    def cost_before(self) -> list[float]:
        """Cost of all records before record i."""
        weights = [self.weight((i + 0.5) / self.records) for i in range(self.records)]
        scale = self.ideal_seconds * SLOTS / sum(weights)
        return [0.0, *accumulate(weight * scale for weight in weights)]


def hot(first: float, last: float, times: float) -> Callable[[float], float]:
    return lambda fraction: times if first <= fraction < last else 1.0


WORKS = (
    Work("last tenth x20", hot(0.9, 1.0, 20), 1.1),
    Work("first tenth x20", hot(0.0, 0.1, 20), 1.1),
    Work("middle tenth x20", hot(0.45, 0.55, 20), 1.1),
    Work("2 % x100, at 0.70", hot(0.70, 0.72, 100), 1.15),
    Work("2 % x100, at 0.98", hot(0.98, 1.0, 100), 1.15),
    Work("2 % x100, at 0.365", hot(0.365, 0.385, 100), 1.15),
    Work("2 % x100, 500-byte records", hot(0.70, 0.72, 100), 1.15, record_bytes=500),
    Work("no skew", hot(0, 0, 1), 1.05),
    Work("no skew, 2 s", hot(0, 0, 1), 1.1, ideal_seconds=2.0),
    Work("last tenth x20, 2 s", hot(0.9, 1.0, 20), 1.2, ideal_seconds=2.0),
    Work("last tenth x20, 3 min", hot(0.9, 1.0, 20), 1.1, ideal_seconds=180.0),
    Work("2 % x100, 3 min", hot(0.70, 0.72, 100), 1.15, ideal_seconds=180.0),
    Work("1 s a record, 800 records", hot(0.9, 1.0, 20), 1.15, records=800, ideal_seconds=100.0),
    Work("claims of 50 ms each, tenth x20", hot(0.9, 1.0, 20), 1.5, claim_seconds=0.05),
    Work("requests of 0.1 s each, 100 MB", hot(0, 0, 1), 1.4, record_bytes=1600, chunk_seconds=0.1),
    Work("requests of 0.1 s each, tenth x20", hot(0.9, 1, 20), 1.45, record_bytes=1600, chunk_seconds=0.1),
)


@dataclass(frozen=True)
class Outcome:
    ratio: float  # end of the last reader / ideal
    static: float  # the same with fixed ranges
    chunks: int
    steals: int


def simulate(work: Work, sizing: Sizing | None = None, slots: int = SLOTS) -> Outcome:
    """Let *slots* readers claim all of *work*."""
    log = ClaimLog(sizing)
    before = work.cost_before()
    ranges = [(work.total * i // slots, work.total * (i + 1) // slots) for i in range(slots)]
    log.create("s", [Segment(work.total)], ranges)
    waiting: list[tuple[float, int, int, ChunkStats | None]] = [(i * 1e-4, i, 0, None) for i in range(slots)]
    end = 0.0
    chunks = 0

    def cost(start: int, stop: int) -> float:  # of the records that start in it
        first, last = -(-start // work.record_bytes), -(-stop // work.record_bytes)
        return before[last] - before[first]

    while waiting:
        now, partition, number, stats = heapq.heappop(waiting)
        chunk = log.next("s", partition, number, stats, now)
        end = max(end, now + work.claim_seconds)
        if chunk is not None:
            chunks += 1
            seconds = work.chunk_seconds + cost(chunk.start, chunk.stop)
            stats = ChunkStats(seconds, wait_seconds=work.claim_seconds)
            heapq.heappush(waiting, (now + work.claim_seconds + seconds, partition, number + 1, stats))
    steals = len(log.record("s").steals)
    static = max(cost(start, stop) for start, stop in ranges) + work.chunk_seconds
    return Outcome(end / work.ideal_seconds, static / work.ideal_seconds, chunks, steals)


def main() -> None:
    print(f"{'work':<36}{'static':>8}{'claimed':>9}{'wanted':>8}{'chunks':>8}{'steals':>8}")
    for work in WORKS:
        found = simulate(work)
        mark = "" if found.ratio <= work.wanted else "  <- too slow"
        print(
            f"{work.name:<36}{found.static:>8.2f}{found.ratio:>9.3f}{work.wanted:>8.2f}"
            f"{found.chunks:>8}{found.steals:>8}{mark}"
        )


if __name__ == "__main__":
    main()
