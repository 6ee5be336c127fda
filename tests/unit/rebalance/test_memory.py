"""Logs are kept for as long as the session lives, so what they cost is counted in bytes."""

import json
import random
import tracemalloc

import pytest

from splitscan.rebalance.claim_log import MAX_CHUNKS, ChunkLog, PackedTexts, PositionSpace
from splitscan.rebalance.claim_values import ChunkStats, Segment, Sizing
from splitscan.rebalance.claims import ClaimLog

SEGMENTS = [Segment(8 << 20, json.dumps({"path": f"/data/part-{n:05}.csv", "start": n << 23})) for n in range(500)]
RANGES = PositionSpace(SEGMENTS).even_ranges(8)


@pytest.fixture
def grown():
    """How many bytes were allocated since the last call."""
    tracemalloc.start()
    before = 0

    def since():
        nonlocal before
        now = tracemalloc.get_traced_memory()[0]
        before, difference = now, now - before
        return difference

    yield since
    tracemalloc.stop()


def run(log, scan):
    """Let all readers come to their ends; the number of chunks."""
    stats = [None] * len(RANGES)
    numbers = [0] * len(RANGES)
    reading = set(range(len(RANGES)))
    while reading:
        for partition in sorted(reading):
            chunk = log.next(scan, partition, numbers[partition], stats[partition])
            if chunk is None:
                reading.discard(partition)
            else:
                numbers[partition] += 1
                stats[partition] = ChunkStats((chunk.stop - chunk.start) * 1e-8, 1, 1)
    return sum(numbers)


def entries(rng, count):
    reached = 0
    for _ in range(count):
        start = reached + rng.choice([0, 0, 0, rng.randrange(1 << 40)])
        reached = start + rng.randrange(1, 1 << rng.choice([1, 20, 40]))
        yield start, reached


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1000])
@pytest.mark.parametrize("sealed", [False, True])
def test_a_log_answers_for_every_entry(count, sealed):
    expected = list(entries(random.Random(count), count))
    log = ChunkLog()
    for entry in expected:
        log.append(*entry)
    if sealed:
        log.seal()
    assert log.entries() == expected
    assert [log[index] for index in range(len(log))] == expected
    with pytest.raises(IndexError):
        log[count]


def test_texts_of_segments_come_back_whatever_they_hold():
    texts = ["", "a:b", "12:3", "\0\n", "\udcff", "ü" * 1000, *(str(number) for number in range(1000))]
    packed = PackedTexts(texts)
    assert [packed[number] for number in range(len(packed))] == texts
    assert PackedTexts(["a", "b"]).digest != PackedTexts(["ab", ""]).digest


@pytest.mark.slow
def test_an_entry_of_a_log_costs_a_few_bytes(grown):
    rng = random.Random(1)
    log = ChunkLog()
    reached = 0
    grown()
    for _ in range(50_000):
        length = rng.randrange(1_000_000, 1_300_000)
        log.append(reached, reached + length)
        reached += length
    assert grown() < 6 * 50_000


def test_a_scan_that_is_planned_and_never_run_costs_less_than_its_texts(grown):
    log = ClaimLog()
    log.create("warm", SEGMENTS, RANGES)
    grown()
    for number in range(50):
        log.create(str(number), SEGMENTS, RANGES)
    assert grown() < 50 * sum(len(segment.text) for segment in SEGMENTS)


@pytest.mark.slow
def test_a_scan_that_ran_costs_a_few_bytes_for_each_chunk(grown):
    log = ClaimLog()
    for number in range(50):
        log.create(str(number), SEGMENTS, RANGES)
    for number in range(40):  # more than those whose single events are kept
        run(log, str(number))
    grown()
    chunks = sum(run(log, str(number)) for number in range(40, 50))
    assert chunks > 3_000
    assert grown() < 20 * chunks
    assert log.record("0").chunks == ()
    assert log.record("0").chunks_dropped == sum(partition.chunks for partition in log.record("0").partitions)
    assert len(log.record("49").chunks) > 300


@pytest.mark.slow
def test_the_single_events_of_one_scan_are_bounded():
    log = ClaimLog(Sizing(max_positions=256))
    count = MAX_CHUNKS + 1000
    log.create("s", [Segment(256 * count)], [(0, 256 * count)])
    stats = None
    for number in range(count):
        assert log.next("s", 0, number, stats)
        stats = ChunkStats(1.0, 1)
    record = log.record("s")
    assert len(record.chunks) == MAX_CHUNKS
    assert record.chunks_dropped == 1000
    assert record.partitions[0].records == count - 1
