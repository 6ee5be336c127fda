from hypothesis import given
from hypothesis import strategies as st

from splitscan.streaming.planning import count_readers, share_blocks


@given(st.integers(0, 10**9), st.integers(0, 500), st.integers(1, 20), st.none() | st.integers(1, 40), st.booleans())
def test_readers_keep_their_bounds(size_bytes, blocks, least, most, follows):
    most = None if most is None else max(least, most)
    readers = count_readers(size_bytes, blocks, least, most, 1000 if follows else None)
    assert readers <= blocks
    assert readers == blocks or readers >= least
    assert most is None or readers <= most


def test_readers_go_up_with_the_backlog_and_down_again():
    sizes = [0, 100, 250, 500, 10_000, 500, 250, 0]
    assert [count_readers(size, 100, 2, 8, 100) for size in sizes] == [2, 2, 3, 5, 8, 5, 3, 2]


def test_without_statistics_the_number_is_fixed():
    assert {count_readers(size, 100, 3, 8, None) for size in (0, 10**6)} == {3}


@given(st.lists(st.integers(0, 100), min_size=1, max_size=30), st.integers(1, 30))
def test_every_reader_gets_blocks_and_none_is_lost(lengths, readers):
    readers = min(readers, len(lengths))
    shares = share_blocks(lengths, readers)
    assert len(shares) == readers
    assert sum(shares) == len(lengths)
    assert min(shares) >= 1


def test_equal_blocks_are_shared_equally():
    assert [share_blocks([7] * 12, readers) for readers in (1, 2, 3, 4)] == [(12,), (6, 6), (4, 4, 4), (3, 3, 3, 3)]


@given(st.lists(st.integers(1, 100), min_size=1, max_size=30), st.integers(1, 30))
def test_shares_differ_by_a_block_or_so(lengths, readers):
    readers = min(readers, len(lengths))
    position, largest = 0, 0
    for count in share_blocks(lengths, readers):
        largest = max(largest, sum(lengths[position : position + count]))
        position += count
    assert largest <= sum(lengths) / readers + 2 * max(lengths)
