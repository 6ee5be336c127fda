"""The law of rebalancing: however positions are cut into chunks and dealt to readers, every record is read once.

The ``check_*`` function raises ``AssertionError`` with the first difference, and says under which deal it appeared.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from splitscan.api.files import Scan
from splitscan.blocks import BlockReport, Reject
from splitscan.rebalance.chunk_reader import ChunkReader
from splitscan.rebalance.claiming.positions import PositionSpace
from splitscan.rebalance.claiming.values import Chunk, ChunkStats
from splitscan.rebalance.planning import RebalancePlan, plan_rebalance
from splitscan.testing.laws import must_equal
from splitscan.testing.scan_laws import check_ledger_law, shown_rows

_SEED = 0


@dataclass(frozen=True, slots=True)
class RebalanceCensus:
    """Census of a check, so that a test can see that it was not vacuous."""

    deals: int
    chunks: int
    entered: int
    rows: int


class DealtChunks:
    """The log of one partition as a finished list of chunks, to be read by a ``ChunkReader``."""

    def __init__(self, space: PositionSpace, ranges: Sequence[tuple[int, int]]) -> None:
        self._space = space
        self._ranges = ranges

    def next(self, index: int, stats: ChunkStats | None = None) -> Chunk | None:
        """Entry *index*; ``None`` after the last one."""
        if index >= len(self._ranges):
            return None
        start, stop = self._ranges[index]
        return Chunk(index, start, stop, self._space.pieces(start, stop))


def check_rebalance_law(
    scan: Scan, cuts: Iterable[Sequence[int]], *, segment_bytes: int, readers: int = 2, seed: int = _SEED
) -> RebalanceCensus:
    """Check that chunks with any edges, dealt to readers in any way, give what one pass gives: rows, rejects, ledger.

    Every set of cuts is read three times: by one reader in order, by one reader from the end, and by *readers* readers
    of which each takes a random part of the chunks in random order, as if all the others were stolen from it.

    Args:
        scan: What to read. Its columns may name the block; those are not compared.
        cuts: Sets of positions at which to cut; positions number the bytes of all files, one file after the other.
            A cut inside a file that cannot be split moves to its start.
        segment_bytes: Longest block of the plan.
        readers: How many readers there are in the third reading.
        seed: Of the random deals.

    Returns:
        What was tried.
    """
    rejects: list[Reject] = []
    rows = shown_rows(row for batch in scan.to_batches(rejects.append) for row in batch.to_pylist())
    plan = plan_rebalance(scan.cut_at_most(segment_bytes), 1)
    if plan is None:
        must_equal(rows, [], "rebalance law, a scan without bytes")
        return RebalanceCensus(0, 0, 0, 0)
    space = PositionSpace(plan.segments)
    chance = random.Random(seed)
    deals = chunks = entered = 0
    for wanted in cuts:
        edges = sorted({0, space.total, *(space.cut_at_or_before(min(max(cut, 0), space.total)) for cut in wanted)})
        ranges = list(itertools.pairwise(edges))
        for logs in _deals(ranges, readers, chance):
            situation = f"rebalance law, cuts {edges[1:-1]}, logs {logs}"
            _check_deal(scan, space, plan.secrets, logs, rows, rejects, situation)
            deals, chunks = deals + 1, chunks + len(ranges)
            entered += sum(one[1] != other[0] for log in logs for one, other in itertools.pairwise([(0, 0), *log]))
    return RebalanceCensus(deals, chunks, entered, len(rows))


def _deals(ranges: list[tuple[int, int]], readers: int, chance: random.Random) -> Iterator[list[list[tuple[int, int]]]]:
    yield [ranges]
    yield [ranges[::-1]]
    logs: list[list[tuple[int, int]]] = [[] for _ in range(readers)]
    for one in chance.sample(ranges, len(ranges)):
        chance.choice(logs).append(one)
    yield logs


def _check_deal(
    scan: Scan,
    space: PositionSpace,
    secrets: tuple[str, ...],
    logs: list[list[tuple[int, int]]],
    rows: list[str],
    rejects: list[Reject],
    situation: str,
) -> None:
    results: dict[int, tuple[list[str], list[Reject]]] = {}
    reports: list[BlockReport] = []
    for log in logs:
        found: list[Reject] = []
        reader = ChunkReader(scan.spec, DealtChunks(space, log).next, secrets, on_reject=found.extend, with_digest=True)
        for chunk in reader:
            read = shown_rows(row for batch in chunk for row in batch.to_pylist())
            results[chunk.chunk.start] = (read, list(found))
            reports += chunk.reports
            must_equal([len(read)], [chunk.rows], f"{situation}, rows counted of chunk {chunk.chunk.start}")
            found.clear()
    ordered = [results[start] for start in sorted(results)]
    must_equal(rows, [row for read, _ in ordered for row in read], situation)
    must_equal(rejects, [reject for _, found in ordered for reject in found], f"{situation}, rejects")
    check_ledger_law(scan, reports)


def read_log(scan: Scan, plan: RebalancePlan, log: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """The rows of a finished log, as a reader of its partition delivers them."""
    reader = ChunkReader(scan.spec, DealtChunks(PositionSpace(plan.segments), log).next, plan.secrets)
    return [row for batch in reader.batches() for row in batch.to_pylist()]
