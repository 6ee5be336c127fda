"""The offset tracker, sentence by sentence.

Deliberately not here: the rules of Beam's *restriction* tracker (checkpoints, ``check_done``, splitting a range in
pieces of a minimum size) are another contract, which splitscan does not offer; planning cuts files elsewhere.
"""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from splitscan.blocks import ByteRange
from splitscan.errors import UsageError
from splitscan.ranges import OFFSET_INFINITY, OffsetRangeTracker

from .calls import claim, refuses, state


def test_a_sparse_range_claims_the_records_before_its_stop():
    assert claim(OffsetRangeTracker(100, 200), 110, 140, 183, 210) == [True, True, True, False]


def test_a_dense_range_claims_every_offset_and_not_its_stop():
    assert claim(OffsetRangeTracker(3, 6), 3, 4, 5, 6) == [True, True, True, False]


@pytest.mark.parametrize(("record_start", "is_claimed"), [(199, True), (200, False), (201, False)])
def test_stop_belongs_to_the_next_range(record_start, is_claimed):
    tracker = OffsetRangeTracker(100, 200)
    assert claim(tracker, 100, record_start) == [True, is_claimed]
    assert tracker.done is not is_claimed


def test_records_that_are_no_split_points_follow_theirs_past_the_stop():
    tracker = OffsetRangeTracker(9, 18)
    records = [(True, 10), (False, 12), (False, 14), (True, 16), (False, 18), (False, 20), (True, 22)]
    assert [tracker.try_return_record_at(*record) for record in records] == [True] * 6 + [False]


def test_the_start_stays_as_declared_whatever_the_first_record_is():
    tracker = OffsetRangeTracker(100, 200)
    claim(tracker, 150)
    assert (tracker.start_position, tracker.stop_position) == (100, 200)
    late = OffsetRangeTracker(100, 200)
    assert claim(late, 250) == [False]
    assert (late.start_position, late.stop_position, late.done) == (100, 200, True)


@pytest.mark.parametrize("position", [99, 100, 101, 150, 199, 200, 201])
def test_a_split_before_any_record_is_refused(position):
    tracker = OffsetRangeTracker(100, 200)
    before = state(tracker)
    assert tracker.try_split_at_position(position) is False
    assert state(tracker) == before


@pytest.mark.parametrize("position", [99, 109, 110, 200, 210, 2**70])
def test_a_split_at_consumed_offsets_or_outside_the_range_is_refused(position):
    tracker = OffsetRangeTracker(100, 200)
    claim(tracker, 110)
    before = state(tracker)
    assert tracker.try_split_at_position(position) is False
    assert state(tracker) == before


@pytest.mark.parametrize("position", [111, 129, 130, 131, 150, 199])
def test_a_split_behind_the_last_record_is_granted(position):
    tracker = OffsetRangeTracker(100, 200)
    claim(tracker, 110)
    assert tracker.try_split_at_position(position) is True
    assert tracker.stop_position == position


def test_splits_follow_each_other_downwards_and_the_new_stop_holds():
    tracker = OffsetRangeTracker(100, 200)
    claim(tracker, 110)
    assert [tracker.try_split_at_position(p) for p in (170, 170, 180, 150)] == [True, False, False, True]
    assert claim(tracker, 135, 149, 150, 151) == [True, True, False, False]
    assert [tracker.try_return_record_at(False, p) for p in (152, 160)] == [True, True]
    assert claim(tracker, 171) == [False]
    assert tracker.stop_position == 150


def test_a_record_that_is_no_split_point_is_consumed_too():
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 10)
    tracker.try_return_record_at(False, 40)
    assert [tracker.try_split_at_position(p) for p in (30, 40, 41)] == [False, False, True]


def test_a_record_of_the_primary_may_start_at_the_split_position_if_it_is_no_split_point():
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 10)
    assert tracker.try_split_at_position(11)
    assert tracker.try_return_record_at(False, 14) is True
    assert claim(tracker, 14) == [False]


def test_a_split_point_may_start_where_the_record_before_it_does():
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 10)
    tracker.try_return_record_at(False, 14)
    assert claim(tracker, 14) == [True]


def test_splitting_off_hands_the_residual_over_as_it_was_at_that_instant():
    tracker = OffsetRangeTracker(0, 100)
    assert tracker.try_split_off(50) is None
    claim(tracker, 0)
    assert tracker.try_split_off(60) == ByteRange(60, 100)
    assert tracker.try_split_off(60) is None
    assert tracker.try_split_off(20) == ByteRange(20, 60)


@pytest.mark.parametrize(
    "meet_the_end", [lambda t: claim(t, 130), lambda t: t.mark_done()], ids=["failed claim", "mark_done"]
)
def test_nothing_is_split_off_once_the_end_was_met(meet_the_end):
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 10)
    meet_the_end(tracker)
    assert not any(tracker.try_split_at_position(p) for p in range(102))
    assert tracker.stop_position == 100


@pytest.mark.parametrize(
    ("fraction", "position"),
    [(0, 3), (0.0, 3), (1 / 6, 3), (0.333, 3), (0.334, 4), (0.666, 4), (0.667, 5), (1.0, 6), (Fraction(1, 3), 4)],
)
def test_the_position_at_a_fraction_is_rounded_down(fraction, position):
    found = OffsetRangeTracker(3, 6).position_at_fraction(fraction)
    assert (found, type(found)) == (position, int)


def test_the_position_at_a_fraction_is_that_of_the_decimal_the_float_prints_as():
    tracker = OffsetRangeTracker(100, 200)
    assert [tracker.position_at_fraction(percent / 100) for percent in range(101)] == list(range(100, 201))
    assert tracker.position_at_fraction(np.float64(0.29)) == 129
    assert tracker.position_at_fraction(np.int64(1)) == 200


def test_the_position_at_a_fraction_is_relative_to_the_current_stop():
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 4)
    tracker.try_split_at_position(50)
    assert [tracker.position_at_fraction(f) for f in (0.0, 0.5, 1.0)] == [0, 25, 50]


def test_the_fraction_of_a_dense_range_counts_the_offsets_before_the_last_record():
    tracker = OffsetRangeTracker(3, 6)
    seen = [tracker.fraction_consumed()]
    for position in (3, 4, 5):
        claim(tracker, position)
        seen.append(tracker.fraction_consumed())
    tracker.try_return_record_at(False, 6)
    seen.append(tracker.fraction_consumed())
    claim(tracker, 7)
    seen.append(tracker.fraction_consumed())
    assert seen == [0.0, 0.0, 1 / 3, 2 / 3, 1.0, 1.0]


@pytest.mark.parametrize("positions", [(110, 150, 195, 300), (150, 160, 180, 195)])
def test_the_fraction_is_relative_to_the_declared_start_and_one_behind_the_end(positions):
    tracker = OffsetRangeTracker(100, 200)
    for position in positions:
        claim(tracker, position)
        assert tracker.fraction_consumed() == min((position - 100) / 100, 1.0)


def test_the_fraction_jumps_up_at_a_split():
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 10)
    assert tracker.try_split_at_position(20)
    assert tracker.fraction_consumed() == 0.5


def test_an_unbounded_range_claims_everything_and_is_never_split():
    tracker = OffsetRangeTracker(0, OFFSET_INFINITY)
    assert claim(tracker, 0, 10, 2**62) == [True, True, True]
    assert tracker.fraction_consumed() == 0.0
    assert not any(tracker.try_split_at_position(p) for p in (2**62 + 1, OFFSET_INFINITY, OFFSET_INFINITY + 1))
    refuses(tracker, "no position at a fraction", tracker.position_at_fraction, 0.5)
    tracker.mark_done()
    assert tracker.fraction_consumed() == 1.0
    assert OffsetRangeTracker.OFFSET_INFINITY == OFFSET_INFINITY == 2**63 - 1


def test_one_split_point_to_infinity_is_how_an_unsplittable_file_is_read():
    tracker = OffsetRangeTracker(0, OFFSET_INFINITY)
    claim(tracker, 0)
    assert all(tracker.try_return_record_at(False, p) for p in (5, 9, 9, 20))
    assert not any(tracker.try_split_at_position(p) for p in (1, 21, 1000))
    assert (tracker.fraction_consumed(), tracker.split_points_consumed) == (0.0, 0)
    tracker.mark_done()
    assert (tracker.fraction_consumed(), tracker.split_points_consumed) == (1.0, 1)


def test_the_first_record_must_be_at_a_split_point():
    tracker = OffsetRangeTracker(100, 200)
    refuses(tracker, "must be at a split point", tracker.try_return_record_at, False, 120)
    late = OffsetRangeTracker(100, 200)
    claim(late, 250)  # belongs to another range, so nothing was returned here yet
    refuses(late, "must be at a split point", late.try_return_record_at, False, 260)


def test_a_claim_that_goes_back_raises_and_changes_nothing():
    tracker = OffsetRangeTracker(100, 200)
    claim(tracker, 120)
    refuses(tracker, "must not go back", tracker.try_return_record_at, True, 110)
    tracker.try_return_record_at(False, 130)
    refuses(tracker, "must not go back", tracker.try_return_record_at, False, 125)
    refuses(tracker, "must not go back", tracker.try_return_record_at, True, 125)
    assert claim(tracker, 131) == [True]


def test_a_failed_claim_counts_as_the_furthest_position():
    tracker = OffsetRangeTracker(100, 200)
    assert claim(tracker, 110, 210, 210, 220) == [True, False, False, False]
    refuses(tracker, "must not go back", tracker.try_return_record_at, True, 215)
    refuses(tracker, "must not go back", tracker.try_return_record_at, False, 150)
    assert tracker.try_return_record_at(False, 230) is True


def test_a_split_point_is_claimed_once():
    tracker = OffsetRangeTracker(100, 200)
    claim(tracker, 110)
    refuses(tracker, "must strictly increase", tracker.try_return_record_at, True, 110)
    tracker.try_return_record_at(False, 110)
    refuses(tracker, "must strictly increase", tracker.try_return_record_at, True, 110)


def test_the_split_point_being_read_counts_as_consumed_only_when_done():
    tracker = OffsetRangeTracker(0, 100)
    seen = [tracker.split_points_consumed]
    for is_split_point, position in [(True, 0), (True, 10), (False, 15), (True, 20)]:
        tracker.try_return_record_at(is_split_point, position)
        seen.append(tracker.split_points_consumed)
    assert tracker.mark_done() is False
    assert [*seen, tracker.split_points_consumed] == [0, 0, 1, 1, 2, 3]


def test_the_count_of_split_points_goes_on_across_a_split_and_ends_with_all():
    tracker = OffsetRangeTracker(100, 400)
    seen = [tracker.split_points_consumed]
    for position in (110, 200):
        claim(tracker, position)
        seen.append(tracker.split_points_consumed)
    assert tracker.try_split_at_position(300)
    for position in (250, 299, 300):
        claim(tracker, position)
        seen.append(tracker.split_points_consumed)
    assert seen == [0, 0, 1, 2, 3, 4]


def test_a_claim_after_mark_done_is_still_judged_by_its_position_as_nothing_was_given_away():
    tracker = OffsetRangeTracker(0, 100)
    claim(tracker, 10)
    tracker.mark_done()
    assert claim(tracker, 20, 100) == [True, False]
    assert (tracker.done, tracker.fraction_consumed(), tracker.split_points_consumed) == (True, 1.0, 2)


def test_an_empty_range_is_unread_and_then_done():
    tracker = OffsetRangeTracker(7, 7)
    assert (tracker.fraction_consumed(), tracker.position_at_fraction(0.5)) == (0.0, 7)
    assert claim(tracker, 7) == [False]
    assert (tracker.fraction_consumed(), tracker.split_points_consumed, tracker.done) == (1.0, 0, True)


def test_an_empty_source_goes_from_nothing_to_done():
    tracker = OffsetRangeTracker(0, 10)
    assert (tracker.fraction_consumed(), tracker.split_points_consumed, tracker.done) == (0.0, 0, False)
    tracker.mark_done()
    assert (tracker.fraction_consumed(), tracker.split_points_consumed, tracker.done) == (1.0, 0, True)


def test_a_claim_below_the_start_raises_instead_of_reading_a_record_twice():
    tracker = OffsetRangeTracker(100, 200)
    refuses(tracker, "must not start before its range", tracker.try_return_record_at, True, 50)
    refuses(tracker, "must not start before its range", tracker.try_return_record_at, True, 99)
    refuses(tracker, "must not start before its range", tracker.claim_chunk, np.array([99, 150]))
    assert claim(tracker, 100) == [True]


@pytest.mark.parametrize(("start", "stop"), [(2**60 + 1, 2**60 + 3), (0, 2**63 - 2), (2**53 + 1, 2**53 + 4)])
def test_huge_offsets_stay_within_their_range(start, stop):
    tracker = OffsetRangeTracker(start, stop)
    found = [tracker.position_at_fraction(f) for f in (0.0, 1e-18, 0.5, 1 - 2**-53, 1.0)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (start, stop)
    assert found[2] == (start + stop) // 2
    assert claim(tracker, start, stop - 1, stop) == [True, True, False]


def test_position_zero_is_a_position_like_any_other():
    tracker = OffsetRangeTracker(0, 10)
    assert claim(tracker, 0) == [True]
    assert tracker.try_split_at_position(0) is False
    refuses(tracker, "must strictly increase", tracker.try_return_record_at, True, 0)
    assert tracker.try_split_at_position(1) is True


@pytest.mark.parametrize(
    ("start", "stop", "rule"),
    [
        (10, 9, "0 <= start <= stop"),
        (-1, 9, "0 <= start <= stop"),
        (0, OFFSET_INFINITY + 1, "0 <= start <= stop"),
        (0, float("inf"), "must be an integer"),
        (0.0, 10, "must be an integer"),
        (False, 10, "must be an integer"),
        (None, 10, "must be an integer"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(start, stop, rule):
    with pytest.raises(UsageError, match=rule):
        OffsetRangeTracker(start, stop)


@pytest.mark.parametrize("position", [1.0, "1", None, True])
def test_a_position_must_be_an_integer(position):
    tracker = OffsetRangeTracker(0, 10)
    claim(tracker, 0)
    refuses(tracker, "must be an integer", tracker.try_return_record_at, True, position)
    refuses(tracker, "must be an integer", tracker.try_split_at_position, position)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf"), "0.5", None, 1j])
def test_a_fraction_must_lie_between_zero_and_one(fraction):
    tracker = OffsetRangeTracker(0, 10)
    refuses(tracker, "between 0 and 1", tracker.position_at_fraction, fraction)


def test_numpy_integers_are_integers():
    tracker = OffsetRangeTracker(np.int64(0), np.int32(10))
    assert claim(tracker, np.int64(3)) == [True]
    assert [type(p) for p in (tracker.start_position, tracker.stop_position)] == [int, int]
    assert repr(tracker) == "OffsetRangeTracker(0, 10) <started, last 3>"


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_tracker_cannot_be_copied_or_pickled(duplicate):
    tracker = OffsetRangeTracker(0, 10)
    error = refuses(tracker, "cannot be copied or pickled", duplicate, tracker)
    assert "ship (start_position, stop_position)" in str(error)


def test_an_error_of_the_protocol_says_what_was_seen_and_what_to_do():
    tracker = OffsetRangeTracker(100, 200)
    claim(tracker, 120)
    with pytest.raises(ValueError, match="go back") as caught:
        tracker.try_return_record_at(True, 110)
    assert str(caught.value) == (
        "record starts must not go back [tracker-protocol]\n"
        "  seen:  record start 110 in range [100, 200), last 120\n"
        "  fix:   claim records in file order, each split point once; to read again, make a new tracker"
    )
