"""A plan takes memory for one task, not for all its blocks."""

import os
import tracemalloc

import pytest

import splitscan as ss
from splitscan.splitting.packing import pack_blocks

BLOCKS = 100_000
MOST_BYTES = 1_000_000  # a tenth of what a list of them would take, however many there are


@pytest.mark.slow
def test_a_plan_takes_the_memory_of_a_task_however_many_blocks_there_are(tmp_path):
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, BLOCKS * 1024)
    scan = ss.scan_text(str(path), block_size=1024, task_size="1m", open_cost_in_bytes=0)
    tracemalloc.start()
    try:
        planned = sum(len(task) for task in scan.plan_tasks(min_tasks=2))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert planned == BLOCKS
    assert peak < MOST_BYTES


def test_the_streamed_tasks_are_those_of_the_whole_plan(tmp_path):
    for number, size in enumerate((10, 1000, 70, 0, 333)):
        (tmp_path / f"{number}.txt").write_bytes(b"x\n" * (size // 2))
    scan = ss.scan_text(str(tmp_path), block_size=64, task_size=128, open_cost_in_bytes=16)
    cut = scan.cut_for(3)
    assert list(scan.plan_tasks(3)) == pack_blocks(cut.plan(), 128, 16, 3)
