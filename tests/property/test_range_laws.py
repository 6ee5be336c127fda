"""Laws of the range trackers, on random ranges, records and splits.

Out of scope, on purpose: Beam's *restriction* tracker (checkpoints, ``check_done``, splitting at a fraction of the
remainder) is another contract that splitscan does not offer, and cutting a range of offsets into pieces of a
minimum size is planning, tested with the splitter.
"""

from bisect import bisect_left
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from splitscan.errors import UsageError
from splitscan.ranges import OFFSET_INFINITY, ByteKeyRange, ByteKeyRangeTracker, OffsetRangeTracker
from splitscan.testing.range_laws import check_chunk_claim_law, check_tracker_law

offsets = st.integers(0, 60)
huge_offsets = st.integers(0, OFFSET_INFINITY - 1)
keys = st.binary(max_size=3) | st.text("ab\0", max_size=3).map(str.encode)
fractions = st.floats(0, 1) | st.fractions(0, 1)


@st.composite
def offset_cases(draw):
    start, stop = sorted(draw(st.tuples(offsets, offsets)))
    positions = sorted(draw(st.sets(st.integers(0, 70), max_size=7)))
    return start, stop, positions


@st.composite
def key_cases(draw):
    low, high = sorted(draw(st.tuples(keys, keys)))
    stop = draw(st.sampled_from([high, b""]))
    return low, stop, sorted(draw(st.sets(keys, max_size=7)))


@given(offset_cases())
@settings(max_examples=settings().max_examples * 3 // 2)
def test_offsets_are_read_once_wherever_the_range_is_split(case):
    start, stop, positions = case
    around = {p + d for p in [start, stop, *positions] for d in (-1, 0, 1) if p + d >= 0}
    census = check_tracker_law(OffsetRangeTracker, start, stop, positions, split_positions=sorted(around))
    owned = [p for p in positions if start <= p < stop]
    assert census.accepted == sum(record < p < stop for record in owned for p in around)


@given(key_cases())
@settings(max_examples=settings().max_examples * 3 // 2)
def test_keys_are_read_once_wherever_the_range_is_split(case):
    start, stop, positions = case
    where = sorted({start, stop, *positions, *(p + b"\0" for p in positions)})
    census = check_tracker_law(
        ByteKeyRangeTracker,
        start,
        stop,
        positions,
        split_positions=where,
        is_before_stop=lambda key, bound: not bound or key < bound,
    )
    owned = [p for p in positions if ByteKeyRange(start, stop).contains(p)]
    assert census.accepted == sum(record < p and (not stop or p < stop) for record in owned for p in where)


@given(offset_cases())
@settings(max_examples=settings().max_examples // 2)
def test_a_chunk_of_offsets_is_claimed_as_its_records_are(case):
    start, stop, positions = case
    ahead = [p for p in positions if p >= start]
    check_chunk_claim_law(OffsetRangeTracker, start, stop, ahead, as_chunk=lambda c: np.array(c, dtype=np.int64))


@given(key_cases())
@settings(max_examples=settings().max_examples // 2)
def test_a_chunk_of_keys_is_claimed_as_its_records_are(case):
    start, stop, positions = case
    check_chunk_claim_law(ByteKeyRangeTracker, start, stop, [p for p in positions if p >= start])


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except UsageError:
        return "raised"


class OffsetModel:
    """The rules of the offset tracker as a table, one position at a time, one thread."""

    def __init__(self, start, stop):
        self.start, self.stop = start, stop
        self.furthest = self.last_split_point = None
        self.returned = 0
        self.done = False

    def claim(self, is_at_split_point, position):
        if not is_at_split_point and self.returned == 0:
            return "raised"
        if position < max(self.start, self.furthest or 0):
            return "raised"
        if is_at_split_point and position == self.last_split_point:
            return "raised"
        self.furthest = position
        if not is_at_split_point:
            return True
        if position >= self.stop:
            self.done = True
            return False
        self.last_split_point = position
        self.returned += 1
        return True

    def chunk(self, positions):
        claimed = 0
        for position in positions:
            answer = self.claim(True, position)
            if answer == "raised":
                return "raised"
            if not answer:
                break
            claimed += 1
        return claimed

    def split(self, position):
        if self.furthest is None or self.done or not self.furthest < position < self.stop:
            return None
        self.stop, old_stop = position, self.stop
        return (position, old_stop)

    def state(self):
        fraction = 0.0
        if self.done or (self.furthest is not None and self.furthest >= self.stop):
            fraction = 1.0
        elif self.furthest is not None:
            fraction = float(Fraction(self.furthest - self.start, self.stop - self.start))
        return (self.start, self.stop, fraction, self.done, self.returned - (not self.done and self.returned > 0))


calls = st.one_of(
    st.tuples(st.just("claim"), st.booleans(), offsets),
    st.tuples(st.just("chunk"), st.lists(offsets, unique=True, max_size=5).map(sorted)),
    st.tuples(st.just("split"), offsets),
    st.tuples(st.just("done")),
)


@given(st.tuples(offsets, offsets).map(sorted), st.lists(calls, max_size=25))
@settings(max_examples=settings().max_examples * 4)
def test_the_offset_tracker_follows_its_rules_under_any_calls(bounds, script):
    tracker, model = OffsetRangeTracker(*bounds), OffsetModel(*bounds)
    for name, *arguments in script:
        if name == "claim":
            seen, expected = outcome(tracker.try_return_record_at, *arguments), model.claim(*arguments)
        elif name == "chunk":
            chunk = np.array(arguments[0], dtype=np.int64)
            seen, expected = outcome(tracker.claim_chunk, chunk), model.chunk(*arguments)
        elif name == "split":
            seen, expected = tracker.try_split_off(*arguments), model.split(*arguments)
        else:
            seen, expected = tracker.mark_done(), False
            model.done = True
        assert seen == expected, (name, arguments)
        assert model.state() == (
            tracker.start_position,
            tracker.stop_position,
            tracker.fraction_consumed(),
            tracker.done,
            tracker.split_points_consumed,
        ), (name, arguments)


@given(st.tuples(huge_offsets, huge_offsets).map(sorted), st.lists(fractions, min_size=2, max_size=6))
def test_positions_at_growing_fractions_grow_and_stay_in_the_range(bounds, some_fractions):
    start, stop = bounds
    tracker = OffsetRangeTracker(start, stop)
    found = [tracker.position_at_fraction(f) for f in sorted(some_fractions)]
    assert found == sorted(found)
    assert all(start <= position <= stop for position in found)
    assert (tracker.position_at_fraction(0.0), tracker.position_at_fraction(1.0)) == (start, stop)


@given(st.tuples(huge_offsets, huge_offsets).map(sorted), st.data())
def test_the_exact_fraction_of_a_position_leads_back_to_it(bounds, data):
    start, stop = bounds
    position = data.draw(st.integers(start, stop))
    fraction = Fraction(position - start, stop - start) if stop > start else Fraction(0)
    assert OffsetRangeTracker(start, stop).position_at_fraction(fraction) == position


@given(st.binary(max_size=12), st.binary(max_size=12), st.lists(fractions, min_size=2, max_size=6))
def test_keys_at_growing_fractions_grow_and_stay_in_the_range(low, high, some_fractions):
    start, stop = sorted([low, high])
    for bound in (stop, b""):
        key_range = ByteKeyRange(start, bound)
        found = [key_range.key_at(f) for f in sorted(f for f in some_fractions if f != 1)]
        assert found == sorted(found)
        assert all(found)
        for key in found:
            # an empty range has only its start, and in [b"", b"\0") the one key there is reads as unbounded
            assert key_range.contains(key) or key == start == bound or key == bound == b"\0"


@given(st.binary(max_size=6), st.binary(max_size=6), st.lists(st.binary(max_size=6), max_size=8))
def test_the_fraction_of_a_key_grows_with_the_key(low, high, some_keys):
    start, stop = sorted([low, high])
    for bound in (stop, b""):
        key_range = ByteKeyRange(start, bound)
        found = [key_range.fraction_of(key) for key in sorted(some_keys) if key_range.contains(key)]
        assert found == sorted(found)
        assert all(0.0 <= fraction <= 1.0 for fraction in found)


@given(st.binary(max_size=5), st.binary(max_size=5), st.integers(1, 40))
def test_pieces_of_a_key_range_tile_it(low, high, count):
    start, stop = sorted([low, high])
    for bound in (stop, b""):
        pieces = ByteKeyRange(start, bound).split(count)
        assert len(pieces) in (2, count + 1)
        assert (pieces[0], pieces[-1]) == (start, bound)
        inner = pieces[:-1]
        assert inner == sorted(set(inner))
        assert bound in (b"", start) or bisect_left(inner, bound) == len(inner)
