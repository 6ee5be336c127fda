"""The claim log as a trace of requests and answers."""

import pytest

from splitscan.errors import RebalanceError, UsageError
from splitscan.rebalance.claim_log import ChunkLog, PositionSpace
from splitscan.rebalance.claim_values import (
    ChunkPiece,
    ChunkRecord,
    ChunkStats,
    PartitionRecord,
    Segment,
    Sizing,
    StealRecord,
)
from splitscan.rebalance.claims import ClaimLog

TENS = Sizing(min_positions=10, max_positions=10, first_positions=10)


def log_of(*ranges: tuple[int, int], segments: list[Segment] | None = None, sizing: Sizing = TENS) -> ClaimLog:
    log = ClaimLog(sizing)
    log.create("s", segments or [Segment(max(stop for _, stop in ranges), "a")], ranges)
    return log


def claimed(log: ClaimLog, partition: int, number: int, stats: ChunkStats | None = None) -> tuple[int, int] | None:
    chunk = log.next("s", partition, number, stats)
    return None if chunk is None else (chunk.start, chunk.stop)


def test_a_partition_claims_its_own_range_from_the_left():
    log = log_of((0, 25), (25, 50))
    assert [claimed(log, 1, number) for number in range(4)] == [(25, 35), (35, 45), (45, 50), None]


def test_an_entry_is_the_same_for_every_caller():
    log = log_of((0, 25))
    first = [claimed(log, 0, number) for number in (0, 0, 1, 0, 1, 2, 1)]
    assert first == [(0, 10), (0, 10), (10, 20), (0, 10), (10, 20), (20, 25), (10, 20)]
    assert [claimed(log, 0, number) for number in (3, 3, 0)] == [None, None, (0, 10)]


def test_who_runs_dry_takes_the_upper_half_of_what_is_left():
    log = log_of((0, 10), (10, 110))
    assert claimed(log, 1, 0) == (10, 20)
    assert claimed(log, 0, 0) == (0, 10)
    assert claimed(log, 0, 1) == (65, 75)  # [20, 110) was left
    assert [claimed(log, 1, number) for number in range(1, 6)] == [(20, 30), (30, 40), (40, 50), (50, 60), (60, 65)]
    record = log.record("s")
    assert [(move.victim, move.thief, move.start, move.stop) for move in record.steals] == [(1, 0, 65, 110)]


def test_nothing_is_taken_from_a_partition_that_has_not_started():
    log = log_of((0, 10), (10, 110))
    assert [claimed(log, 0, number) for number in range(2)] == [(0, 10), None]
    assert claimed(log, 1, 0) == (10, 20)


def test_a_sealed_partition_never_gets_anything():
    log = log_of((0, 10), (10, 110))
    assert [claimed(log, 0, number) for number in range(2)] == [(0, 10), None]
    assert claimed(log, 1, 0) == (10, 20)
    assert claimed(log, 0, 1) is None  # though there is something to take now


def test_an_empty_partition_begins_by_taking():
    log = log_of((0, 100), (100, 100))
    assert claimed(log, 0, 0) == (0, 10)
    assert claimed(log, 1, 0) == (55, 65)


def test_the_slowest_rest_is_taken_first():
    log = log_of((0, 10), (10, 110), (110, 190))
    assert [claimed(log, partition, 0) for partition in range(3)] == [(0, 10), (10, 20), (110, 120)]
    claimed(log, 1, 1, ChunkStats(1.0))
    claimed(log, 2, 1, ChunkStats(5.0))
    assert claimed(log, 0, 1) == (160, 170)  # of the shorter, but dearer rest [130, 190)


def test_a_chunk_that_takes_long_tells_of_its_price_before_it_ends():
    log = ClaimLog(TENS)
    log.create("s", [Segment(190)], [(0, 10), (10, 110), (110, 190)])
    log.next("s", 0, 0, now=0.0)
    log.next("s", 1, 0, now=0.0)
    log.next("s", 2, 0, now=0.0)
    log.next("s", 1, 1, ChunkStats(1.0), now=49.0)
    chunk = log.next("s", 0, 1, ChunkStats(1.0), now=50.0)
    assert chunk is not None
    assert chunk.start == 155  # partition 2 is in its first chunk for 50 s


@pytest.mark.parametrize(("partition", "number"), [(0, 1), (0, -1), (1, 0), (-1, 0)])
def test_a_reader_that_asks_for_what_cannot_come_next_is_refused(partition, number):
    with pytest.raises(RebalanceError, match="claim-protocol"):
        log_of((0, 25)).next("s", partition, number)


def test_an_unknown_scan_is_an_error_and_never_an_empty_log():
    with pytest.raises(RebalanceError, match="unknown-scan"):
        ClaimLog().next("s", 0, 0)


def test_the_same_plan_again_changes_nothing():
    log = log_of((0, 25))
    claimed(log, 0, 0)
    assert log.create("s", [Segment(25, "a")], [(0, 25)]) is False
    assert claimed(log, 0, 1) == (10, 20)


@pytest.mark.parametrize(
    ("segments", "ranges"),
    [([Segment(25, "b")], [(0, 25)]), ([Segment(25, "a")], [(0, 20), (20, 25)]), ([Segment(25, "a", True)], [(0, 25)])],
)
def test_another_plan_for_a_known_scan_is_refused(segments, ranges):
    with pytest.raises(UsageError, match="bad-rebalance-plan"):
        log_of((0, 25)).create("s", segments, ranges)


@pytest.mark.parametrize(
    "ranges",
    [
        [],
        [(0, 20)],
        [(5, 25)],
        [(0, 10), (12, 25)],
        [(0, 12), (10, 25)],
        [(0, 30)],
        [(0, 25), (25, 0)],
        [(0, 25), (0, 25)],
    ],
)
def test_ranges_that_do_not_tile_the_positions_are_refused(ranges):
    with pytest.raises(UsageError, match="bad-rebalance-plan"):
        ClaimLog().create("s", [Segment(25)], ranges)


def test_no_cut_falls_inside_an_indivisible_segment():
    segments = [
        Segment(25, "a"),
        Segment(30, "b", indivisible=True),
        Segment(5, "c"),
        Segment(30, "d", indivisible=True),
    ]
    log = log_of((0, 90), (90, 90), segments=segments)
    assert claimed(log, 0, 0) == (0, 10)
    assert claimed(log, 1, 0) == (25, 55)  # half of [10, 90) is 50, inside b
    assert claimed(log, 1, 1) == (55, 60)
    assert claimed(log, 1, 2) == (60, 90)
    with pytest.raises(UsageError, match="bad-rebalance-plan"):
        log_of((0, 30), (30, 90), segments=segments)


def test_a_chunk_says_which_segments_it_touches():
    segments = [Segment(4, "a"), Segment(4, "b"), Segment(20, "c")]
    chunk = log_of((0, 28), segments=segments).next("s", 0, 0)
    assert chunk is not None
    assert chunk.pieces == ((0, 0, 4, "a"), (1, 0, 4, "b"), (2, 0, 2, "c"))


def test_what_happened_is_written_down_in_seconds_from_the_plan():
    log = ClaimLog(TENS)
    log.create("s", [Segment(60, "a")], [(0, 10), (10, 60)], now=100.0, epoch_seconds=5.0)
    log.next("s", 1, 0, now=101.0)
    log.next("s", 0, 0, now=102.0)
    log.next("s", 0, 1, ChunkStats(0.5, 7, 10, 0.25), now=103.0)  # takes [40, 60)
    log.next("s", 1, 1, ChunkStats(1.5, 8, 9, 0.125), now=104.0)
    log.next("s", 1, 1, now=105.0)  # again
    log.next("s", 0, 2, ChunkStats(0.25, 1, 2), now=106.0)
    log.next("s", 0, 3, now=107.0)  # takes [35, 40)
    log.next("s", 1, 2, now=107.5)
    assert log.next("s", 1, 3, now=108.0) is None
    record = log.record("s")
    assert (record.scan, record.created, record.total, record.finished) == ("s", 5.0, 60, False)
    assert record.partitions == (
        PartitionRecord((0, 10), 4, 35, 8, 12, 0.75, 0.25, started=2.0, ended=None, steals=2, replays=0),
        PartitionRecord((10, 60), 3, 25, 8, 9, 1.5, 0.125, started=1.0, ended=8.0, steals=0, replays=1),
    )
    assert record.chunks == (
        ChunkRecord(1, 0, 10, 20, 1.0, 1.5, 8, 9, 0.125),
        ChunkRecord(0, 0, 0, 10, 2.0, 0.5, 7, 10, 0.25),
        ChunkRecord(0, 1, 40, 50, 3.0, 0.25, 1, 2, 0.0),
        ChunkRecord(1, 1, 20, 30, 4.0, None, 0, 0, 0.0),
        ChunkRecord(0, 2, 50, 60, 6.0, None, 0, 0, 0.0),
        ChunkRecord(0, 3, 35, 40, 7.0, None, 0, 0, 0.0),
        ChunkRecord(1, 2, 30, 35, 7.5, None, 0, 0, 0.0),
    )
    assert record.steals == (StealRecord(3.0, 1, 0, 40, 60), StealRecord(7.0, 1, 0, 35, 40))
    assert (record.chunks_dropped, record.steals_dropped) == (0, 0)


def test_a_log_whose_ranges_do_not_follow_each_other_is_the_same_when_it_is_compressed():
    log, entries = ChunkLog(), []
    for number in range(600):
        start = 1000 + 100 * number - (90_000 if number % 7 == 3 else 0)  # what was taken may lie before
        entries.append((start, start + number % 5 + 1))
        log.append(*entries[-1])
    assert log.entries() == entries
    log.seal()
    assert (len(log), log.entries(), [log[number] for number in (0, 255, 256, 599)]) == (
        600, entries, [entries[number] for number in (0, 255, 256, 599)],
    )  # fmt: skip


def test_a_chunk_grows_with_the_one_before_it():
    log = ClaimLog(Sizing(min_positions=1, first_positions=10, max_growth=3))
    log.create("s", [Segment(100_000)], [(0, 100_000)])
    sizes = [chunk.stop - chunk.start for number in range(5) if (chunk := log.next("s", 0, number)) is not None]
    assert sizes == [10, 30, 90, 270, 810]


def test_only_the_latest_chunk_is_measured_and_a_pace_that_is_not_known_takes_nothing():
    log = log_of((0, 100), (100, 200))
    claimed(log, 0, 0)
    claimed(log, 1, 0)
    claimed(log, 0, 1, ChunkStats(2.0))
    claimed(log, 0, 2, ChunkStats(4.0))
    measured = [(chunk.partition, chunk.number, chunk.seconds) for chunk in log.record("s").chunks]
    assert measured == [(0, 0, 2.0), (1, 0, None), (0, 1, 4.0), (0, 2, None)]


@pytest.mark.parametrize(
    ("seconds", "wait", "moved"), [(0.9, 0.0, False), (1.1, 0.0, True), (1.8, 5.0, False), (2.0, 5.0, True)]
)
def test_a_rest_that_costs_less_than_two_chunks_and_their_claims_stays_where_it_is(seconds, wait, moved):
    log = log_of((0, 10), (10, 40))
    log.next("s", 1, 0, now=0.0)
    log.next("s", 1, 1, ChunkStats(0.5, wait_seconds=wait), now=0.5)  # the cheapest chunk: its price is what any costs
    log.next("s", 0, 0, now=0.5)
    chunk = log.next("s", 0, 1, ChunkStats(0.5), now=0.5 + seconds)  # [30, 40) is left, as slow as [20, 30) shows
    assert (chunk is not None) == moved


def test_a_partition_in_no_range_has_no_name_too_many():
    with pytest.raises(UsageError, match="0 partitions"):
        PositionSpace([Segment(3)]).even_ranges(0)
    assert PositionSpace([Segment(3)]).even_ranges(1) == [(0, 3)]


@pytest.mark.parametrize(
    ("position", "before", "after"), [(0, 0, 0), (4, 4, 4), (5, 4, 10), (9, 4, 10), (10, 10, 10), (12, 12, 12)]
)
def test_cuts_lie_at_the_edges_of_indivisible_segments(position, before, after):
    space = PositionSpace([Segment(4), Segment(6, indivisible=True), Segment(5)])
    assert (space.cut_at_or_before(position), space.cut_at_or_after(position)) == (before, after)


def test_pieces_are_counted_from_the_start_of_their_segment():
    space = PositionSpace([Segment(4, "a"), Segment(6, "b"), Segment(5, "c")])
    assert space.pieces(5, 9) == (ChunkPiece(1, 1, 5, "b"),)
    assert space.pieces(5, 13) == (ChunkPiece(1, 1, 6, "b"), ChunkPiece(2, 0, 3, "c"))
    assert space.pieces(3, 10) == (ChunkPiece(0, 3, 4, "a"), ChunkPiece(1, 0, 6, "b"))


@pytest.mark.parametrize(("name", "shown"), [("x" * 80, "x" * 80), ("x" * 81, "x" * 80)])
def test_the_name_of_a_scan_is_shown_to_80_characters(name, shown):
    with pytest.raises(RebalanceError) as caught:
        ClaimLog().next(name, 0, 0)
    assert f"scan {shown!r}" in str(caught.value)


def test_what_was_measured_of_no_chunk_or_of_one_that_is_known_counts_nothing():
    log = log_of((0, 10))
    assert claimed(log, 0, 0, ChunkStats(9.0, 9, 9, 9.0)) == (0, 10)
    for _ in range(3):  # the answer to the last question was lost
        assert claimed(log, 0, 1, ChunkStats(2.0, 5, 10, 0.5)) is None
    (partition,) = log.record("s").partitions
    assert (partition.seconds, partition.records, partition.bytes_read, partition.wait_seconds) == (2.0, 5, 10, 0.5)


def test_of_two_cuts_that_are_as_near_the_first_is_taken():
    assert PositionSpace([Segment(6, indivisible=True)]).even_ranges(2) == [(0, 0), (0, 6)]


def test_a_cut_inside_an_indivisible_segment_moves_to_the_nearer_edge():
    space = PositionSpace([Segment(10), Segment(10, indivisible=True)])
    assert space.even_ranges(4) == [(0, 5), (5, 10), (10, 10), (10, 20)]
    assert space.even_ranges(5)[3:] == [(10, 20), (20, 20)]


def test_of_two_edges_that_are_as_near_a_cut_moves_to_the_first():
    space = PositionSpace([Segment(10), Segment(10)])
    assert [space.edge_near(15, reach) for reach in (4, 5)] == [15, 10]


def test_of_two_rests_of_one_length_the_first_is_halved():
    log = log_of((0, 0), (0, 100), (100, 200))
    assert [claimed(log, partition, 0) for partition in (1, 2, 0)] == [(0, 10), (100, 110), (55, 65)]


def test_single_events_are_kept_of_the_scans_that_were_asked_last():
    log = ClaimLog(TENS)
    names = [str(number) for number in range(33)]
    for name in names:
        log.create(name, [Segment(100)], [(0, 100), (100, 100)])
    for name in [*names[:32], "0", "32"]:
        log.next(name, 0, 0)
        log.next(name, 1, 0)  # takes from the first
    records = [log.record(name) for name in names]
    assert [(len(each.chunks), len(each.steals)) for each in records] == [(2, 1), (0, 0), *[(2, 1)] * 31]
    assert [(each.chunks_dropped, each.steals_dropped) for each in records] == [(0, 0), (2, 1), *[(0, 0)] * 31]
    assert [partition.chunks for partition in records[1].partitions] == [1, 1]
