"""Chunk sizes are judged by what they lead to: the end of the scan, in simulated time."""

import pytest
from bench.rebalance_simulation import WORKS, simulate

from splitscan.rebalance.claim_values import ChunkStats, ReadingPace, Segment, Sizing, chunk_positions
from splitscan.rebalance.claims import ClaimLog


@pytest.mark.thin(5)
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_the_end_of_a_scan_is_near_the_ideal(work):
    found = simulate(work)
    assert found.ratio <= work.wanted
    assert found.static > 2.9 or "no skew" in work.name or "MB" in work.name  # else there was nothing to win


@pytest.mark.slow
def test_a_large_chunk_at_the_wrong_place_would_be_the_end_of_the_scan():
    """The simulation sees what a bad choice costs."""
    spike = next(work for work in WORKS if work.name == "2 % x100, at 0.70")
    assert (
        simulate(spike, Sizing(share_of_rest=1 / 4, max_seconds=10.0, max_growth=64)).ratio > 2 * simulate(spike).ratio
    )
    even = next(work for work in WORKS if work.name == "no skew")
    assert simulate(even, Sizing(share_of_rest=1 / 4096, min_seconds=0.001, overheads=0.1)).ratio > 1.3


def test_a_chunk_is_limited_from_all_sides():
    sizing = Sizing(share_of_rest=1 / 10, min_seconds=0.1, max_seconds=1.0, overheads=4.0, max_growth=8)
    rest = (5.0, 1_000_000)
    assert chunk_positions(sizing, 0.001, rest, 0.0, 10_000, 10**6) == 500  # a tenth of the rest
    assert chunk_positions(sizing, 0.001, (0.1, 10**6), 0.0, 10_000, 10**6) == 256  # min_seconds, min_positions
    assert chunk_positions(sizing, 0.0001, (0.1, 10**6), 0.0, 10_000, 10**6) == 1000  # min_seconds
    assert chunk_positions(sizing, 0.001, (500.0, 10**9), 0.0, 10_000, 10**6) == 1000  # max_seconds
    assert chunk_positions(sizing, 0.001, (500.0, 10**9), 2.0, 10_000, 10**6) == 8000  # the price of a chunk
    assert chunk_positions(sizing, 0.00001, (500.0, 10**9), 0.0, 1_000, 10**6) == 8000  # growth
    assert chunk_positions(sizing, 0.001, (500.0, 100_000), 0.0, 10_000, 700) == 700  # what there is
    assert chunk_positions(sizing, None, rest, 0.0, 0, 10**6) == 10**6 // 512  # the first one
    assert chunk_positions(sizing, None, rest, 0.0, 0, 10**9) == 4096  # a first one of a large range
    assert chunk_positions(sizing, None, rest, 0.0, 4096, 10**9) == 8 * 4096  # nothing measured
    assert chunk_positions(sizing, 1.0, rest, 0.0, 4096, 1) == 1


def test_older_measurements_fade():
    pace = ReadingPace()
    assert pace.seconds_per_position is None
    pace.measured(100, 1.0)
    pace.measured(100, 4.0)
    assert pace.seconds_per_position == pytest.approx((0.5 + 4.0) / 150)


def test_a_measurement_counts_once_whoever_reports_it():
    log = ClaimLog(Sizing(min_positions=10, max_positions=10))
    log.create("s", [Segment(100)], [(0, 100)])
    log.next("s", 0, 0)
    log.next("s", 0, 1, ChunkStats(2.0, 5, 9, 0.5))
    log.next("s", 0, 1, ChunkStats(7.0, 7, 7, 0.7))  # a replay
    log.next("s", 0, 0)
    log.next("s", 0, 2)  # whose chunk 1 was not measured
    record = log.record("s").partitions[0]
    assert (record.seconds, record.records, record.bytes_read, record.wait_seconds) == (2.0, 5, 9, 0.5)
    assert (record.chunks, record.positions, record.replays) == (3, 30, 2)
    assert [chunk.seconds for chunk in log.record("s").chunks] == [2.0, None, None]


class Asking:
    """Readers that ask the claim log for one chunk after the other."""

    def __init__(self, ranges, **limits):
        self._log = ClaimLog(Sizing(min_seconds=0.0, max_seconds=1e9, min_positions=1, **limits))
        self._log.create("s", [Segment(ranges[-1][1])], ranges)
        self._asked = [0] * len(ranges)

    @property
    def unclaimed(self):
        record = self._log.record("s")
        return record.total - sum(partition.positions for partition in record.partitions)

    def size(self, partition, *stats):
        """Positions of the next chunk of a partition; *stats* are of the one before."""
        chunk = self._log.next("s", partition, self._asked[partition], ChunkStats(*stats) if stats else None)
        self._asked[partition] += 1
        return chunk.stop - chunk.start


BY_REST = {"share_of_rest": 0.3, "overheads": 1e-9, "max_growth": 4, "first_share": 0.1}  # nothing else counts


def test_a_reader_that_is_alone_takes_its_share_of_what_it_has_left():
    readers = Asking([(0, 1002)], **BY_REST)
    assert [readers.size(0), readers.size(0, 1.0)] == [100, 400]  # nothing is known of its pace
    assert [readers.size(0, 3.0), readers.size(0)] == [150, 105]  # of 502, then of 352


def test_readers_divide_what_all_have_left_though_one_of_them_is_in_a_dear_region():
    readers = Asking([(0, 1000), (1000, 2001)], **BY_REST)
    for partition, stats in ((0, ()), (1, ()), (0, (1.0,)), (0, (101.0,))):
        readers.size(partition, *stats)
    assert (readers.unclaimed, readers.size(1, 2.0)) == (1326, 198)  # 0.3 of a half


def test_what_has_moved_from_reader_to_reader_is_counted_once():
    readers = Asking([(0, 1), (1, 1000), (1000, 3005)], **BY_REST)
    for partition, stats in ((0, ()), (1, ()), (2, ()), (1, (1.0,)), (1, (101.0,)), (0, (1.0,))):
        readers.size(partition, *stats)  # the last one takes [773, 1000)
    assert (readers.unclaimed, readers.size(2, 2.0)) == (2255, 225)  # 0.3 of a third


def test_a_chunk_is_worth_several_times_what_it_costs_and_half_of_what_claims_take():
    readers = Asking([(0, 10**6)], share_of_rest=1e-9, overheads=4.0, max_growth=8, first_share=0.001)
    assert [readers.size(0), readers.size(0, 1.0)] == [1000, 8000]
    assert readers.size(0, 81.0, 0, 0, 100.0) == 2550  # 4 * (1 s + a tenth of 100 s / 2), at 8500 positions in 80 s
