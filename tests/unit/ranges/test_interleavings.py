"""Both trackers under every schedule with one preemption."""

import numpy as np
import pytest
from tests.interleaving import check_linearizable, run_every_interleaving
from tests.race_law import check_race_law

from splitscan.ranges import ByteKeyRangeTracker, OffsetRangeTracker

TRACKERS = [
    pytest.param(OffsetRangeTracker, 0, 100, [10, 25, 50, 75], np.array, id="offsets"),
    pytest.param(ByteKeyRangeTracker, b"a", b"z", [b"c", b"f", b"m", b"t"], list, id="keys"),
]


def state(tracker):
    return (tracker.stop_position, tracker.fraction_consumed(), tracker.done, tracker.split_points_consumed)


@pytest.mark.slow
@pytest.mark.parametrize(("make_tracker", "start", "stop", "positions", "as_chunk"), TRACKERS)
def test_every_call_takes_effect_at_one_instant(make_tracker, start, stop, positions, as_chunk):
    assert check_race_law(make_tracker, start, stop, positions) > 300


@pytest.mark.parametrize(("make_tracker", "start", "stop", "positions", "as_chunk"), TRACKERS)
def test_exactly_one_of_a_claim_and_a_split_gets_the_record(make_tracker, start, stop, positions, as_chunk):
    def make():
        tracker = make_tracker(start, stop)
        assert tracker.try_return_record_at(True, positions[0])
        return tracker

    winners = set()

    def judge(tracker, claimed, split):
        assert claimed.error is None
        assert split.error is None
        assert claimed.value is not split.value
        assert tracker.stop_position == (stop if claimed.value else positions[1])
        winners.add("claim" if claimed.value else "split")

    schedules = run_every_interleaving(
        make,
        lambda tracker: tracker.try_return_record_at(True, positions[2]),
        lambda tracker: tracker.try_split_at_position(positions[1]),
        judge,
    )
    assert winners == {"claim", "split"}
    assert any(schedule.blocked for schedule in schedules)


@pytest.mark.slow
@pytest.mark.parametrize(("make_tracker", "start", "stop", "positions", "as_chunk"), TRACKERS)
def test_a_chunk_is_claimed_before_or_after_a_split_never_around_it(make_tracker, start, stop, positions, as_chunk):
    chunk = as_chunk(positions[1:])
    for split in positions[1:]:
        seen = set()

        def judge(tracker, claimed, residual, split=split, seen=seen):
            if residual.value is None:
                assert claimed.value == 3
                assert tracker.stop_position == stop
            else:
                assert residual.value == (split, stop)
                assert claimed.value == positions[1:].index(split)
                assert tracker.stop_position == split
            seen.add(residual.value)

        def make():
            tracker = make_tracker(start, stop)
            assert tracker.try_return_record_at(True, positions[0])
            return tracker

        run_every_interleaving(
            make,
            lambda tracker: tracker.claim_chunk(chunk),
            lambda tracker, split=split: tracker.try_split_off(split),
            judge,
        )
        assert len(seen) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("make_tracker", "start", "stop", "positions", "as_chunk"), TRACKERS)
def test_residuals_of_racing_splits_tile_what_was_given_away(make_tracker, start, stop, positions, as_chunk):
    def make():
        tracker = make_tracker(start, stop)
        assert tracker.try_return_record_at(True, positions[0])
        return tracker

    def judge(tracker, one, other):
        pieces = sorted(piece.value for piece in (one, other) if piece.value is not None)
        assert pieces
        assert [tracker.stop_position, *(piece[1] for piece in pieces)] == [*(piece[0] for piece in pieces), stop]

    run_every_interleaving(
        make, lambda t: t.try_split_off(positions[1]), lambda t: t.try_split_off(positions[3]), judge
    )


@pytest.mark.slow
@pytest.mark.parametrize(("make_tracker", "start", "stop", "positions", "as_chunk"), TRACKERS)
def test_progress_is_that_of_a_state_that_existed(make_tracker, start, stop, positions, as_chunk):
    def make():
        tracker = make_tracker(start, stop)
        assert tracker.try_return_record_at(True, positions[0])
        return tracker

    for query in (lambda t: t.fraction_consumed(), lambda t: t.position_at_fraction(0.5), repr):
        check_linearizable(
            make,
            [query, query],
            [lambda t: t.claim_chunk(as_chunk(positions[1:2])), lambda t: t.try_split_off(positions[3])],
            state,
        )
