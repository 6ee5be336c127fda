"""A plan takes memory for one task, not for all its blocks."""

import gzip
import os
import random
import tracemalloc

import pytest

import splitscan as ss

MIB = 1 << 20
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
        planned = sum(len(task) for task in scan.plan_tasks(slots=2))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert planned == BLOCKS
    assert peak < MOST_BYTES


def test_the_streamed_tasks_of_one_file_are_those_of_the_whole_plan(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"x\n" * 700)
    scan = ss.scan_text(str(tmp_path), block_size=64, task_size=128, open_cost_in_bytes=16)
    whole = ss.scan_text(str(tmp_path), block_size=64, task_size=128, open_cost_in_bytes=16, min_partition_num=3).plan()
    tasks = list(scan.plan_tasks(3))
    assert [block for task in tasks for block in task] == whole
    assert {len(task) for task in tasks} <= {1, 2}
    assert len(tasks) % 3 == 0


@pytest.mark.parametrize("tasks", [2, 4, 8, 16, 24])
@pytest.mark.parametrize("mib", [(100, 100, 100), (60,) * 7, (200, 31, 77), (5,) * 100, (0, 300, 1, 0)], ids=str)
def test_plain_files_of_any_length_are_even_tasks(tmp_path, mib, tasks):
    for number, size in enumerate(mib):
        (tmp_path / f"{number:03}.txt").touch()
        os.truncate(tmp_path / f"{number:03}.txt", size * MIB)
    planned = list(ss.scan_text(str(tmp_path)).plan_tasks(tasks))
    blocks = [block for task in planned for block in task]
    assert [(block.file.name, block.start) for block in blocks] == sorted((b.file.name, b.start) for b in blocks)
    assert sum(block.length_bytes for block in blocks) == sum(mib) * MIB
    read = [sum(block.length_bytes for block in task) for task in planned]
    assert len(planned) % tasks == 0
    assert max(read) - min(read) <= 2 * max(block.length_bytes for block in blocks)
    assert max(read) <= 128 * MIB


@pytest.mark.parametrize(("files", "slots", "tasks"), [(1, 1, 1), (1, 2, 2), (1, 8, 4), (3, 2, 6), (20, 2, 20)])
def test_streams_are_decompressed_no_oftener_than_keeps_all_slots_busy(tmp_path, files, slots, tasks):
    content = gzip.compress(random.Random(1).randbytes(3000).hex().encode() + b"\n")
    for number in range(files):
        (tmp_path / f"{number:02}.txt.gz").write_bytes(content)
    scan = ss.scan_text(str(tmp_path), block_size=600, task_size=600, open_cost_in_bytes=0)
    assert len(list(scan.plan_tasks(slots))) == tasks


def test_row_11_partitions_are_as_many_as_spark_makes_of_max_partition_bytes(tmp_path):
    path = tmp_path / "a.bin"
    with path.open("wb") as file:
        file.truncate(15 << 20)
    for name in ("maxPartitionBytes", "task_size"):
        tasks = list(ss.scan_slices(str(path), slice_size=64, **{name: "1m"}).plan_tasks(2))
        assert [sum(block.stop - block.start for block in task) for task in tasks] == [1 << 20] * 15
