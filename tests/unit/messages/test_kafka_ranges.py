from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from splitscan.messages.kafka import MessageRange, TopicPartition, cut_ranges, share_limit

RANGES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 60)), max_size=8).map(
    lambda pairs: [
        MessageRange(TopicPartition("t", number), start, start + offsets)
        for number, (start, offsets) in enumerate(pairs)
    ]
)


def offsets_of(ranges):
    return [(each.source, offset) for each in ranges for offset in range(each.start, each.stop)]


@given(RANGES, st.none() | st.integers(1, 40), st.none() | st.integers(1, 40))
def test_pieces_tile_what_was_cut(ranges, least, most):
    cut = cut_ranges(ranges, least, most)
    assert offsets_of(cut) == offsets_of(ranges)
    assert all(each.offsets for each in cut)
    assert most is None or all(each.offsets <= most for each in cut)
    if least is not None:
        assert len(cut) >= min(least, len(offsets_of(ranges)))


@given(RANGES, st.integers(1, 200))
def test_a_limit_is_used_up_and_nobody_starves(ranges, limit):
    shared = share_limit(ranges, limit)
    total = sum(each.offsets for each in ranges)
    assert sum(each.offsets for each in shared) == min(limit, total)
    assert [(each.source, each.start) for each in shared] == [(each.source, each.start) for each in ranges]
    assert all(mine.offsets <= whole.offsets for mine, whole in zip(shared, ranges, strict=True))
    if limit >= sum(1 for each in ranges if each.offsets):
        assert all(mine.offsets for mine, whole in zip(shared, ranges, strict=True) if whole.offsets)


@given(RANGES, st.integers(1, 3))
def test_every_range_is_read_to_its_end_however_small_the_windows_are(ranges, limit):
    read = []
    for _ in range(len(offsets_of(ranges)) + 1):
        shared = share_limit(ranges, limit)
        read += offsets_of(shared)
        ranges_left = [
            MessageRange(each.source, mine.stop, each.stop) for each, mine in zip(ranges, shared, strict=True)
        ]
        if ranges_left == ranges:
            break
        ranges = ranges_left
    assert not offsets_of(ranges)
    assert len(set(read)) == len(read)


def test_without_a_limit_all_is_granted():
    ranges = [MessageRange(TopicPartition("t", 0), 0, 5)]
    assert share_limit(ranges, None) == ranges


def test_a_partition_that_always_has_more_does_not_starve_another():
    busy, quiet = MessageRange(TopicPartition("t", 0), 0, 1_000_000), MessageRange(TopicPartition("t", 1), 0, 3)
    windows = 0
    while quiet.offsets:
        first, second = share_limit([busy, quiet], 1)
        busy = MessageRange(busy.source, first.stop, busy.stop)
        quiet = MessageRange(quiet.source, second.stop, quiet.stop)
        windows += 1
        assert windows < 20


def test_where_there_are_ranges_enough_none_is_cut():
    ranges = [MessageRange(TopicPartition("t", 0), 0, 6), MessageRange(TopicPartition("t", 0), 6, 8)]
    assert cut_ranges(ranges, 2) == ranges


def test_what_rounding_leaves_goes_to_a_range_that_has_more():
    stops = {0: 2, 1: 2, 2: 3}
    ranges = [MessageRange(TopicPartition("t", number), stop - 2 + number // 2, stop) for number, stop in stops.items()]
    assert [each.stop for each in share_limit(ranges, 4)] == [2, 1, 3]
