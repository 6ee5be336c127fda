"""Claiming many offsets in one call."""

import numpy as np
import pytest

from splitscan.ranges import OFFSET_INFINITY, OffsetRangeTracker

from .calls import claim, refuses, state


def test_a_chunk_is_claimed_up_to_the_stop():
    tracker = OffsetRangeTracker(0, 100)
    assert tracker.claim_chunk(np.array([0, 40])) == 2
    assert tracker.done is False
    assert tracker.claim_chunk(np.array([60, 99, 100, 120])) == 2
    assert (tracker.done, tracker.split_points_consumed) == (True, 4)
    assert tracker.claim_chunk(np.array([100, 130])) == 0


def test_an_empty_chunk_changes_nothing():
    tracker = OffsetRangeTracker(0, 100)
    before = state(tracker)
    assert [tracker.claim_chunk(np.array([], dtype=dtype)) for dtype in (np.int64, float)] == [0, 0]
    assert state(tracker) == before


def test_a_claimed_chunk_can_only_be_split_behind_its_last_record():
    tracker = OffsetRangeTracker(0, 100)
    tracker.claim_chunk(np.array([0, 40, 60]))
    assert [tracker.try_split_at_position(p) for p in (1, 40, 60, 61)] == [False, False, False, True]


def test_a_chunk_of_one_range_after_a_split_stops_at_the_new_stop():
    tracker = OffsetRangeTracker(0, 100)
    tracker.claim_chunk(np.array([0]))
    tracker.try_split_at_position(41)
    assert tracker.claim_chunk(np.array([40, 41, 42])) == 1


@pytest.mark.parametrize(
    ("chunk", "rule"),
    [
        (np.array([5, 6]), "must not go back"),
        (np.array([10, 20]), "must strictly increase"),
        (np.array([30, 30]), "chunk of record starts must strictly increase"),
        (np.array([30, 31, 20]), "chunk of record starts must strictly increase"),
        (np.array([[30, 31]]), "one-dimensional"),
        (np.array([30.0, 31.0]), "one-dimensional array of int64"),
        (np.array([30, 31], dtype=np.uint64), "one-dimensional array of int64"),
        (np.array([False, True]), "one-dimensional array of int64"),
    ],
)
def test_a_chunk_out_of_order_or_of_another_kind_raises_and_changes_nothing(chunk, rule):
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 10)
    refuses(tracker, rule, tracker.claim_chunk, chunk)


def test_a_chunk_to_infinity_is_claimed_whole():
    assert OffsetRangeTracker(0, OFFSET_INFINITY).claim_chunk(np.array([0, 2**62, 2**63 - 2])) == 3
