"""Laws of range trackers, and of readers whose ranges are claimed or divided."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from splitscan.api.files import Scan
from splitscan.blocks import BlockReport, Reject
from splitscan.ranges import RangeTracker
from splitscan.rebalance.chunk_reader import ChunkReader
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import Chunk, ChunkStats
from splitscan.rebalance.planning import RebalancePlan, plan_rebalance
from splitscan.testing.laws import must_equal, require
from splitscan.testing.scan_laws import check_ledger_law, shown_rows

PositionT = TypeVar("PositionT", bound=Any)  # which has an order
_MakeTracker = Callable[[PositionT, PositionT], RangeTracker[PositionT]]
_State = tuple[Any, Any, float, bool, int]


@dataclass(frozen=True, slots=True)
class SplitCensus:
    """Census of a check, so that a test can see that it was not vacuous."""

    accepted: int
    refused: int
    with_records: int


def check_tracker_law(
    make_tracker: _MakeTracker[PositionT],
    start: PositionT,
    stop: PositionT,
    positions: Sequence[PositionT],
    *,
    split_positions: Sequence[PositionT] | None = None,
    is_before_stop: Callable[[PositionT, PositionT], bool] | None = None,
    splittable: bool = True,
) -> SplitCensus:
    """Check that a tracker hands out every record of its range once, wherever and whenever the range is split.

    After every number of records read, a split at every position is tried. Checked are: the claims are exactly the
    split points in ``[start, stop)``; claims of the primary and of the residual, read by a new tracker, are together
    what was there; nothing consumed is given away; a refused split changes nothing; a claim that goes back, or lies
    before the range, raises and changes nothing; *stop* never grows, also when splits follow each other; a record
    after *stop* that is no split point still belongs to the range; progress stays within 0 and 1 and does not
    decrease.

    Args:
        make_tracker: Makes a new tracker for a range.
        start: Where the range starts.
        stop: Where it stops.
        positions: The split points of the source, in strict order: in the range, at its stop, and after. Give
            one at *stop* and one at *start*: that is where trackers are wrong.
        split_positions: Where to split; *positions* with *start* and *stop* if not given. Use all there are, if few.
        is_before_stop: Whether a position lies before a stop; ``<`` if not given. Give it where a stop may mean
            "unbounded".
        splittable: Whether at least one split that gives a record away must be granted.

    Returns:
        How many splits were granted and refused.

    Example:
        >>> from splitscan.ranges import OffsetRangeTracker
        >>> check_tracker_law(OffsetRangeTracker, 0, 9, [0, 3, 6, 9, 12])
        SplitCensus(accepted=3, refused=12, with_records=3)
    """
    is_before = is_before_stop or (lambda position, stop: position < stop)
    ahead = [p for p in positions if not p < start]
    owned = [p for p in ahead if is_before(p, stop)]
    where = sorted({start, stop, *positions}) if split_positions is None else list(split_positions)

    unstarted = make_tracker(start, stop)
    require(unstarted.fraction_consumed() == 0.0, f"an unstarted tracker has consumed {_state(unstarted)}")
    for position in where:
        _check_refused(unstarted, position, "before any record was read")
    _check_going_back(unstarted, [p for p in positions if p < start])
    _require_equal(_read(unstarted, ahead), owned, "the claims of the range are not the split points in it")

    accepted = refused = with_records = 0
    for count in range(1, len(owned) + 1):
        tracker = _tracker_after(make_tracker(start, stop), owned[:count])
        _check_going_back(tracker, [p for p in positions if p < owned[count - 1]])
        for position in where:
            tracker = _tracker_after(make_tracker(start, stop), owned[:count])
            case = f"{count} records read, then split at {position!r}"
            is_free = owned[count - 1] < position and is_before(position, stop)
            if not is_free or not _split(tracker, position, case):
                _check_refused(tracker, position, case)
                _require_equal(owned[:count] + _read(tracker, ahead[count:]), owned, f"{case}: claims after a refusal")
                refused += 1
                continue
            residual = _read(make_tracker(position, stop), [p for p in ahead if not p < position])
            _check_later_splits(tracker, position, where, case)
            _check_overrun(tracker, position, case)
            primary = _tracker_after(make_tracker(start, stop), owned[:count])
            primary.try_split_at_position(position)
            claims = owned[:count] + _read(primary, ahead[count:])
            _require_equal(claims + residual, owned, f"{case}: claims of primary {claims!r} and residual {residual!r}")
            accepted, with_records = accepted + 1, with_records + bool(residual)
    require(with_records > 0 or not splittable or len(owned) < 2, "no split that gives a record away was granted")
    return SplitCensus(accepted, refused, with_records)


def check_chunk_claim_law(
    make_tracker: Callable[[PositionT, PositionT], Any],
    start: PositionT,
    stop: PositionT,
    positions: Sequence[PositionT],
    *,
    as_chunk: Callable[[Sequence[PositionT]], Any] = list,
) -> None:
    """Check that claiming a chunk is the same as claiming each of its records until one is refused.

    *make_tracker* makes a tracker whose method ``claim_chunk`` claims the split points of a chunk before the stop, and
    returns how many. Every slice of *positions* is claimed after every number of records before it; also the empty one.

    Example:
        >>> from splitscan.ranges import OffsetRangeTracker
        >>> check_chunk_claim_law(OffsetRangeTracker, 0, 9, [0, 3, 6, 9, 12])
    """
    for begin in range(len(positions) + 1):
        for end in range(begin, len(positions) + 1):
            chunked, single = make_tracker(start, stop), make_tracker(start, stop)
            for tracker in (chunked, single):
                _claim_until_refused(tracker, positions[:begin])
            claimed = chunked.claim_chunk(as_chunk(positions[begin:end]))
            expected = _claim_until_refused(single, positions[begin:end])
            case = f"{list(positions[:begin])!r} claimed, then the chunk {list(positions[begin:end])!r}"
            _require_equal(claimed, len(expected), f"{case}: count")
            _require_equal(_state(chunked), _state(single), f"{case}: state")


def _claim_until_refused(tracker: RangeTracker[PositionT], positions: Sequence[PositionT]) -> list[PositionT]:
    claimed = []
    for position in positions:
        if not tracker.try_return_record_at(True, position):
            break
        claimed.append(position)
    return claimed


def _tracker_after(tracker: RangeTracker[PositionT], owned: Sequence[PositionT]) -> RangeTracker[PositionT]:
    _require_equal(_claim_until_refused(tracker, owned), list(owned), "split points of the range were refused")
    return tracker


def _read(tracker: RangeTracker[PositionT], ahead: Sequence[PositionT]) -> list[PositionT]:
    """Read to the end, and check that nothing but progress happens on the way."""
    claimed: list[PositionT] = []
    stop, progress = tracker.stop_position, tracker.fraction_consumed()
    for position in ahead:
        is_owned = tracker.try_return_record_at(True, position)
        before, progress = progress, tracker.fraction_consumed()
        require(0.0 <= before <= progress <= 1.0, f"progress went from {before} to {progress} at {position!r}")
        if not is_owned:
            require(tracker.done, f"{position!r} was refused, yet the tracker is not done: {_state(tracker)}")
            break
        claimed.append(position)
    _require_equal(tracker.stop_position, stop, "claims moved stop")
    return claimed


def _split(tracker: RangeTracker[PositionT], position: PositionT, case: str) -> bool:
    before = _state(tracker)
    if not tracker.try_split_at_position(position):
        _require_equal(_state(tracker), before, f"{case}: a refused split changed the tracker")
        return False
    after = _state(tracker)
    _require_equal(after[:2], (before[0], position), f"{case}: the range after the split")
    require(before[2] <= after[2] <= 1.0, f"{case}: progress went from {before[2]} to {after[2]}")
    return True


def _check_refused(tracker: RangeTracker[PositionT], position: PositionT, case: str) -> None:
    before = _state(tracker)
    require(not tracker.try_split_at_position(position), f"{case}: a split at {position!r} was granted in {before}")
    _require_equal(_state(tracker), before, f"{case}: a refused split changed the tracker")


def _check_going_back(tracker: RangeTracker[PositionT], behind: Sequence[PositionT]) -> None:
    """Claim what lies before the range or before the last record."""
    before = _state(tracker)
    for position in behind:
        try:
            answer = tracker.try_return_record_at(True, position)
        except Exception:
            _require_equal(
                _state(tracker), before, f"claiming {position!r}, which was passed, raised, but changed the tracker"
            )
        else:
            raise AssertionError(
                f"claiming {position!r}, which was passed, gave {answer}: it must raise; state {before}"
            )


def _check_later_splits(
    tracker: RangeTracker[PositionT], stop: PositionT, where: Sequence[PositionT], case: str
) -> None:
    """Split on, from the end to the start: only below the new stop, and stop never grows."""
    for position in reversed(where):
        if not position < stop:
            _check_refused(tracker, position, f"{case}, then")
        elif _split(tracker, position, f"{case}, then at {position!r}"):
            stop = position


def _check_overrun(tracker: RangeTracker[PositionT], position: PositionT, case: str) -> None:
    require(
        tracker.try_return_record_at(False, position) is True,
        f"{case}: a record at {position!r} that is no split point was refused, though it follows a record of the range",
    )
    require(tracker.fraction_consumed() <= 1.0, f"{case}: progress {tracker.fraction_consumed()} after the stop")


def _state(tracker: RangeTracker[PositionT]) -> _State:
    return (
        tracker.start_position,
        tracker.stop_position,
        tracker.fraction_consumed(),
        tracker.done,
        tracker.split_points_consumed,
    )


def _require_equal(seen: object, expected: object, message: str) -> None:
    require(seen == expected, f"{message}\n  seen:     {seen!r}\n  expected: {expected!r}")


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
