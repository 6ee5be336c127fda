"""The byte-key tracker, sentence by sentence."""

import copy
import pickle

import pytest

from splitscan.errors import UsageError
from splitscan.ranges import ByteKeyRange, ByteKeyRangeTracker

from .calls import claim, refuses, state


def test_keys_are_claimed_before_the_stop_and_nothing_once_done():
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    keys = [b"\x12", b"\x12", b"\x23", b"\x33", b"\x34", b"\x33", b"\x35"]
    assert claim(tracker, *keys) == [True] * 4 + [False] * 3
    assert tracker.done


@pytest.mark.parametrize(
    ("key", "is_claimed"), [(b"\x33\xff\xff", True), (b"\x34", False), (b"\x34\x00", False), (b"\x35", False)]
)
def test_stop_belongs_to_the_next_range(key, is_claimed):
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    assert claim(tracker, key) == [is_claimed]
    assert tracker.done is not is_claimed


def test_a_first_key_behind_the_stop_is_refused_and_ends_the_range():
    tracker = ByteKeyRangeTracker(b"c", b"m")
    assert claim(tracker, b"z") == [False]
    assert (tracker.done, tracker.start_position, tracker.fraction_consumed()) == (True, b"c", 1.0)
    assert tracker.split_points_consumed == 0


def test_nothing_is_claimed_once_done_not_even_what_is_no_split_point():
    tracker = ByteKeyRangeTracker(b"c", b"m")
    claim(tracker, b"d", b"z")
    assert tracker.try_return_record_at(False, b"z") is False
    assert tracker.try_return_record_at(True, b"e") is False
    assert tracker.claim_chunk([b"e"]) == 0


def test_empty_bounds_are_unbounded():
    tracker = ByteKeyRangeTracker(b"", b"")
    assert claim(tracker, b"", b"\x00", b"\xff" * 50) == [True] * 3
    assert tracker.mark_done() is False
    assert tracker.done


def test_the_first_record_must_be_at_a_split_point():
    tracker = ByteKeyRangeTracker(b"c", b"m")
    refuses(tracker, "must be at a split point", tracker.try_return_record_at, False, b"d")


def test_a_key_before_the_start_raises():
    tracker = ByteKeyRangeTracker(b"c", b"m")
    refuses(tracker, "must not start before its range", tracker.try_return_record_at, True, b"b\xff")
    refuses(tracker, "must not start before its range", tracker.claim_chunk, [b"", b"d"])
    assert claim(tracker, b"c") == [True]


def test_a_key_before_the_last_one_raises_and_changes_nothing():
    tracker = ByteKeyRangeTracker(b"c", b"m")
    claim(tracker, b"f")
    refuses(tracker, "must not go back", tracker.try_return_record_at, True, b"e")
    tracker.try_return_record_at(False, b"k")
    refuses(tracker, "must not go back", tracker.try_return_record_at, False, b"g")
    assert claim(tracker, b"k\x00") == [True]


def test_the_fraction_is_that_of_the_last_key():
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    seen = [tracker.fraction_consumed()]
    for key in (b"\x12", b"\x23", b"\x33"):
        claim(tracker, key)
        seen.append(tracker.fraction_consumed())
    assert seen == [0.0, 0.0, 0.5, 0x21 / 0x22]


def test_the_fraction_is_relative_to_the_declared_start_also_when_records_begin_late():
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    seen = []
    for key in (b"\x14", b"\x24", b"\x33"):
        claim(tracker, key)
        seen.append(tracker.fraction_consumed())
    assert seen == [2 / 0x22, 0x12 / 0x22, 0x21 / 0x22]
    assert tracker.start_position == b"\x12"


def test_the_fraction_is_one_when_done():
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    claim(tracker, b"\x20", b"\x50")
    assert tracker.fraction_consumed() == 1.0
    marked = ByteKeyRangeTracker(b"", b"")
    marked.mark_done()
    assert marked.fraction_consumed() == 1.0


@pytest.mark.parametrize("key", [b"\x34", b"\x35", b"\xff\xff"])
def test_the_fraction_is_one_behind_the_end(key):
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    claim(tracker, b"\x20")
    assert tracker.try_return_record_at(False, key) is True
    assert (tracker.fraction_consumed(), tracker.done) == (1.0, False)


def test_an_unbounded_range_has_progress():
    tracker = ByteKeyRangeTracker(b"", b"")
    seen = []
    for key in (b"", b"\x40", b"\x80", b"\xff"):
        claim(tracker, key)
        seen.append(tracker.fraction_consumed())
    assert seen == [0.0, 0.25, 0.5, 255 / 256]


@pytest.mark.parametrize("key", [b"", b"\x11", b"\x12", b"\x12\x00", b"\x20", b"\x34"])
def test_a_split_before_any_record_is_refused(key):
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    before = state(tracker)
    assert tracker.try_split_at_position(key) is False
    assert state(tracker) == before


def test_a_split_is_granted_between_the_last_record_and_the_stop():
    tracker = ByteKeyRangeTracker(b"\x12", b"\x34")
    claim(tracker, b"\x12")
    assert tracker.try_split_at_position(b"\x33") is True
    assert tracker.try_split_at_position(b"\x34") is False
    assert tracker.try_split_at_position(b"\x33") is False
    assert claim(tracker, b"\x23") == [True]
    assert tracker.try_split_at_position(b"\x23") is False
    assert tracker.try_split_at_position(b"\x22") is False
    assert claim(tracker, b"\x23") == [True]
    assert claim(tracker, b"\x33") == [False]
    assert tracker.stop_position == b"\x33"


def test_a_key_and_its_successor_are_two_split_positions():
    tracker = ByteKeyRangeTracker(b"a", b"z")
    claim(tracker, b"k")
    assert tracker.try_split_at_position(b"k") is False
    assert tracker.try_split_at_position(b"k\x00") is True
    assert claim(tracker, b"k", b"k\x00") == [True, False]


def test_an_unbounded_range_is_split_at_any_key_ahead_but_the_empty_one():
    tracker = ByteKeyRangeTracker(b"", b"")
    claim(tracker, b"")
    assert [tracker.try_split_at_position(key) for key in (b"", b"\xff\xff", b"\x00")] == [False, True, True]


def test_splitting_off_hands_the_residual_over_as_it_was_at_that_instant():
    tracker = ByteKeyRangeTracker(b"a", b"")
    assert tracker.try_split_off(b"m") is None
    claim(tracker, b"a")
    assert tracker.try_split_off(b"m") == ByteKeyRange(b"m", b"")
    assert tracker.try_split_off(b"m") is None
    assert tracker.try_split_off(b"c") == ByteKeyRange(b"c", b"m")


@pytest.mark.parametrize(
    "meet_the_end", [lambda t: claim(t, b"z"), lambda t: t.mark_done()], ids=["failed claim", "mark_done"]
)
def test_nothing_is_split_off_once_the_end_was_met(meet_the_end):
    tracker = ByteKeyRangeTracker(b"a", b"m")
    claim(tracker, b"b")
    meet_the_end(tracker)
    assert not any(tracker.try_split_at_position(bytes([byte])) for byte in range(256))


def test_the_split_point_being_read_counts_as_consumed_only_when_done():
    tracker = ByteKeyRangeTracker(b"a", b"z")
    seen = [tracker.split_points_consumed]
    for is_split_point, key in [(True, b"b"), (True, b"c"), (False, b"d"), (True, b"e")]:
        tracker.try_return_record_at(is_split_point, key)
        seen.append(tracker.split_points_consumed)
    tracker.mark_done()
    assert [*seen, tracker.split_points_consumed] == [0, 0, 1, 1, 2, 3]


@pytest.mark.parametrize("stop", [b"k\x00", b"k\x00\x00", b"k" + b"\x00" * 20])
def test_a_range_whose_bounds_are_equal_as_numbers_has_no_progress_but_works(stop):
    tracker = ByteKeyRangeTracker(b"k", stop)
    assert [tracker.position_at_fraction(f) for f in (0.0, 0.5, 1.0)] == [b"k", b"k", stop]
    assert (claim(tracker, b"k"), tracker.fraction_consumed()) == ([True], 0.0)
    assert tracker.try_split_at_position(tracker.position_at_fraction(0.5)) is False
    assert tracker.try_split_at_position(b"k\x00") is (stop != b"k\x00")


def test_a_range_that_differs_only_far_behind_is_split_inside_itself():
    start, stop = b"a", b"a" + 12 * b"\x00" + b"\x01"
    tracker = ByteKeyRangeTracker(start, stop)
    claim(tracker, start)
    middle = tracker.position_at_fraction(0.5)
    assert start < middle < stop
    assert tracker.try_split_at_position(middle) is True
    assert tracker.fraction_consumed() == 0.0


def test_an_unstarted_range_is_not_split_even_where_the_key_lies_inside():
    assert ByteKeyRangeTracker(b"a", b"z").try_split_at_position(b"m") is False


def test_one_byte_keys_behave_as_numbers_do():
    tracker = ByteKeyRangeTracker(bytes([10]), bytes([20]))
    assert claim(tracker, bytes([10]), bytes([15])) == [True, True]
    refuses(tracker, "must not go back", tracker.try_return_record_at, True, bytes([12]))
    assert [tracker.try_split_at_position(bytes([p])) for p in (8, 10, 15, 20, 25)] == [False] * 5
    assert ByteKeyRange(bytes([10]), bytes([20])).fraction_of(bytes([18])) == 0.8
    assert tracker.try_split_at_position(bytes([18])) is True
    assert tracker.fraction_consumed() == 0.625
    assert claim(tracker, bytes([17]), bytes([18])) == [True, False]


def test_a_chunk_is_claimed_up_to_the_stop():
    tracker = ByteKeyRangeTracker(b"a", b"m")
    assert tracker.claim_chunk([b"a", b"a", b"b"]) == 3
    assert tracker.claim_chunk((b"b", b"l", b"m", b"z")) == 2
    assert (tracker.done, tracker.split_points_consumed) == (True, 5)
    assert ByteKeyRangeTracker(b"", b"").claim_chunk([b"", b"\xff" * 9]) == 2


def test_an_empty_chunk_changes_nothing():
    tracker = ByteKeyRangeTracker(b"a", b"m")
    before = state(tracker)
    assert tracker.claim_chunk([]) == 0
    assert state(tracker) == before


@pytest.mark.parametrize(
    ("chunk", "rule"),
    [
        ([b"b", b"f"], "must not go back"),
        ([b"f", b"e"], "must be in order"),
        (["f", "g"], "must be bytes"),
        ([b"f", None], "must be bytes"),
    ],
)
def test_a_chunk_out_of_order_or_of_another_kind_raises_and_changes_nothing(chunk, rule):
    tracker = ByteKeyRangeTracker(b"a", b"m")
    claim(tracker, b"c")
    refuses(tracker, rule, tracker.claim_chunk, chunk)


@pytest.mark.parametrize("key", ["k", 7, None, bytearray(b"k")], ids=repr)
def test_a_key_must_be_bytes(key):
    tracker = ByteKeyRangeTracker(b"a", b"m")
    refuses(tracker, "must be bytes", tracker.try_return_record_at, True, key)
    refuses(tracker, "must be bytes", tracker.try_split_at_position, key)
    with pytest.raises(UsageError, match="must be bytes"):
        ByteKeyRangeTracker(b"a", key)


def test_a_reversed_range_is_refused_and_an_empty_one_is_not():
    with pytest.raises(UsageError, match="start <= stop"):
        ByteKeyRangeTracker(b"b", b"a")
    assert claim(ByteKeyRangeTracker(b"b", b"b"), b"b") == [False]


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_tracker_cannot_be_copied_or_pickled(duplicate):
    tracker = ByteKeyRangeTracker(b"a", b"m")
    refuses(tracker, "cannot be copied or pickled", duplicate, tracker)


def test_a_message_never_quotes_a_long_key_in_full():
    tracker = ByteKeyRangeTracker(b"k" * 5000, b"")
    error = refuses(tracker, "must not start before its range", tracker.try_return_record_at, True, b"a" * 5000)
    assert len(str(error)) < 600
    assert "(5000 bytes)" in str(error)
    assert len(repr(tracker)) < 200
