from dataclasses import replace
from heapq import heapreplace
from itertools import count, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from splitscan.blocks import UNKNOWN_END, BlockMetadata, Compression, FileMetadata
from splitscan.scans.cutting import BlockLengths, split_file
from splitscan.scans.tasks import (
    balance_blocks,
    fill_evenly,
    over_partitioned,
)

KIB, MIB = 1 << 10, 1 << 20


def _blocks(sizes, block_bytes=128 * MIB):
    files = [FileMetadata(f"/d/{number:05}", size, 0, f"{size}", f"{number:05}") for number, size in enumerate(sizes)]
    return [block for file in files for block in split_file(file, block_bytes)]


def _shape(tasks):
    return [len(task) for task in tasks]


def _fill_evenly(blocks, task_bytes, open_cost_bytes, count):
    plan = list(blocks)
    total = sum(block.length_bytes for block in plan) + open_cost_bytes * len({block.file for block in plan})
    return list(fill_evenly(iter(plan), total, task_bytes, open_cost_bytes, count))


@pytest.mark.parametrize("pack", [balance_blocks, _fill_evenly])
@given(
    sizes=st.lists(st.integers(0, 300), max_size=30), block_bytes=st.integers(1, 100), task_bytes=st.integers(1, 400),
    open_cost_bytes=st.integers(0, 100), min_tasks=st.integers(1, 50),
)  # fmt: skip
def test_every_block_is_in_exactly_one_task_in_order_and_no_task_is_too_dear(
    pack, sizes, block_bytes, task_bytes, open_cost_bytes, min_tasks
):
    blocks = _blocks(sizes, block_bytes)
    tasks = pack(iter(blocks), task_bytes, open_cost_bytes, min_tasks)
    assert [block for task in tasks for block in task] == blocks
    assert all(tasks)
    assert tasks == pack(blocks, task_bytes, open_cost_bytes, min_tasks)
    for task in tasks:
        cost = sum(block.length_bytes for block in task) + open_cost_bytes * (len({block.file for block in task}) - 1)
        assert len(task) == 1 or cost <= task_bytes


def test_a_file_listed_twice_is_still_one_file_that_is_opened_once():
    blocks = _blocks([100 * MIB], MIB)
    listed_again = [replace(block, file=replace(block.file)) for block in blocks]
    assert _shape(balance_blocks(listed_again, 50 * MIB, 4 * MIB, 1)) == _shape(
        balance_blocks(blocks, 50 * MIB, 4 * MIB, 1)
    )


def test_nothing_to_read_is_no_task():
    assert balance_blocks([], 1, 0, 1) == []


def _done_after(tasks, slots):
    """When the last slot is done, if each takes the next task as soon as it is free."""
    busy = [0] * slots
    for task in tasks:
        heapreplace(busy, busy[0] + sum(block.length_bytes for block in task))
    return max(busy)


@pytest.mark.thin(2)
@pytest.mark.parametrize("slots", [1, 2, 4, 8, 100])
def test_balanced_tasks_keep_all_slots_busy_to_the_end(slots):
    chance = Random(slots)
    piece = 8 * MIB
    for _ in range(40):
        weights = [chance.random() + 0.05 for _ in range(chance.choice([1, 1, 2, 3, 5, 8, 20]))]
        total = chance.randrange(64 * MIB, 4096 * MIB)
        sizes = [int(total * weight / sum(weights)) for weight in weights]
        tasks = balance_blocks(_blocks(sizes, piece), 128 * MIB, 256 * KIB, slots)
        assert _done_after(tasks, slots) <= 1.1 * total / slots + piece
        assert len(tasks) == 1 or total / len(tasks) > min(64 * MIB, total / slots) / 2.1  # none is silly small


@pytest.mark.parametrize("count", [1, 2, 5, 8, 12])
@pytest.mark.parametrize("sizes", [[100] * 3, [60] * 7, [300, 1, 40], [5] * 100])
def test_tasks_filled_evenly_are_as_many_as_wanted_and_differ_by_a_block(sizes, count):
    block_bytes = 5
    tasks = _fill_evenly(_blocks(sizes, block_bytes), 1000, 0, count)
    assert len(tasks) == count
    goal = sum(sizes) / count
    assert all(abs(sum(block.length_bytes for block in task) - goal) <= block_bytes for task in tasks)


def test_tasks_are_filled_evenly_while_the_blocks_are_still_cut():
    endless = (BlockMetadata(FileMetadata("/d/a", 1 << 40, 0, "", "a"), 8 * n, 8 * n + 8, n) for n in count())
    tasks = fill_evenly(endless, 1 << 40, 80, 0, 1 << 20)
    assert [len(next(tasks)) for _ in range(3)] == [10, 10, 10]
    assert next(endless).index == 3 * 10 + 1  # the block after them was seen


def test_ten_thousand_small_files_are_few_tasks():
    blocks = _blocks([50_000] * 10_000)
    assert [len(balance_blocks(blocks, 128 * MIB, 256 * KIB, slots)) for slots in (2, 100)] == [24, 100]


@pytest.mark.parametrize("slots", [1, 3, 8])
@pytest.mark.parametrize("mib", [0, 1, 100, 500, 700, 5000])
def test_no_slot_has_one_task_more_than_another(slots, mib):
    assert over_partitioned(mib * MIB, slots) % slots == 0
    assert slots <= over_partitioned(mib * MIB, slots) <= 4 * slots


def _shares(content_mib, count):
    """Shares of streams of so much content each."""
    blocks = []
    for number, mib in enumerate(content_mib):
        file = FileMetadata(f"/d/{number}.gz", mib * MIB // 5, 0, "f", f"{number}.gz", Compression("gzip"))
        bounds = [0, *BlockLengths(MIB, MIB).share_bounds(mib * MIB, count), UNKNOWN_END]
        blocks += [BlockMetadata(file, *ends, index) for index, ends in enumerate(pairwise(bounds))]
    return blocks


@pytest.mark.parametrize(("slots", "lengths"), [(1, [4]), (2, [2, 2]), (4, [1, 1, 1, 1]), (100, [1, 1, 1, 1])])
def test_shares_of_one_stream_are_no_more_tasks_than_slots(slots, lengths):
    assert _shape(balance_blocks(_shares([1024], 4), 128 * MIB, 256 * KIB, slots)) == lengths


def test_streams_are_begun_in_the_middle_no_more_than_is_needed():
    tasks = balance_blocks(_shares([200] * 8, 4), 1024 * MIB, 256 * KIB, 2)
    assert all(task[0].start == 0 for task in tasks)


def test_the_last_share_counts_about_as_much_as_those_before_it():
    blocks = _shares([400], 4)
    assert sum(block.cost_bytes for block in blocks) == pytest.approx(400 * MIB, rel=0.15)
    assert [block.entry_bytes // MIB for block in blocks] == [0, 10, 21, 30]
