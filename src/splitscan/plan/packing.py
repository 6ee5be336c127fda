"""Pack blocks into tasks: neighbours together, many small files or few large blocks per task."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import heapreplace
from itertools import islice, tee

from splitscan.blocks import BlockMetadata
from splitscan.content.archives import split_member_path
from splitscan.content.codecs.formats import CODECS
from splitscan.errors import UsageError
from splitscan.plan.splitter import MOST_SHARES, BlockLengths
from splitscan.sizes import MIB

_TASKS_PER_SLOT = 4  # more tasks than slots, so that one that is slower than the others is not the end of the job
_TASK_START_BYTES = 8 * MIB  # what is read in the time in which a task starts
_LEAST_SHARE_BYTES = 8 * MIB  # of what a compressed archive holds
_TRIES = 3  # numbers of tasks: one, two rounds more than needed may come out even
_MOST_WEIGHED = 20_000  # blocks for which several packings are tried: that takes some hundredths of a second
_WORTH_A_TASK_BYTES = 64 * MIB  # starting a task takes 60 ms of processor time; reading this much, ten times that


def over_partitioned(total_bytes: int, slots: int) -> int:
    """How many tasks to make of so many bytes.

    As many as run at a time; and two, three or four times as many as long as each has 64 MiB to read, so that the price
    of starting tasks stays small. Always a multiple, so that no slot has one task more to run than another.

    Example:
        >>> [over_partitioned(mib << 20, slots=8) for mib in (1, 512, 1024, 1500, 10_000)]
        [8, 8, 16, 16, 32]
    """
    return slots * max(1, min(_TASKS_PER_SLOT, total_bytes // (slots * _WORTH_A_TASK_BYTES)))


def target_task_bytes(total_cost_bytes: int, task_bytes: int, open_cost_bytes: int, min_tasks: int) -> int:
    """Compute how much one task should read, by Spark's formula.

    ``min(task_bytes, max(open_cost_bytes, total_cost_bytes / min_tasks))``: full tasks where there is plenty to
    read, smaller ones where the cores would idle otherwise, but none that is dominated by opening files.

    Args:
        total_cost_bytes: All bytes to read, plus the cost of opening each file once.
        task_bytes: Upper bound.
        open_cost_bytes: What opening a file costs, expressed in bytes.
        min_tasks: Number of tasks that should at least be kept busy.

    Returns:
        The target, at least 1.

    Example:
        >>> target_task_bytes(1000, task_bytes=128, open_cost_bytes=4, min_tasks=2)
        128
        >>> target_task_bytes(1000, task_bytes=128, open_cost_bytes=4, min_tasks=100)
        10
    """
    return max(1, min(task_bytes, max(open_cost_bytes, total_cost_bytes // min_tasks)))


def pack_blocks(
    blocks: Iterable[BlockMetadata], task_bytes: int, open_cost_bytes: int, min_tasks: int
) -> list[tuple[BlockMetadata, ...]]:
    """Group blocks into tasks.

    Every block lands in exactly one task, and the tasks one after the other hold the blocks in the order in which
    they came. A task is closed when the next block would make it dearer than the target; its cost is the bytes
    of its blocks and *open_cost_bytes* for every file after the first. A block that is longer than the target is
    a task of its own. The result depends on the arguments only.

    Args:
        blocks: The blocks, blocks of one file next to each other; all are held in memory.
        task_bytes: Most bytes a task should read.
        open_cost_bytes: What opening a file costs, expressed in bytes.
        min_tasks: Number of tasks that should at least be kept busy; blocks are never cut to reach it.

    Returns:
        The tasks, none of them empty.

    Raises:
        UsageError: If a size or number has no meaning.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> blocks = [BlockMetadata(file, start, start + 2, start // 2) for start in range(0, 10, 2)]
        >>> [len(task) for task in pack_blocks(blocks, task_bytes=4, open_cost_bytes=0, min_tasks=1)]
        [2, 2, 1]
    """
    _check(task_bytes, open_cost_bytes, min_tasks)
    plan = list(blocks)
    target_bytes = target_task_bytes(sum(_costs(plan, open_cost_bytes)), task_bytes, open_cost_bytes, min_tasks)
    return list(fill_tasks(plan, target_bytes, open_cost_bytes))


def fill_tasks(
    blocks: Iterable[BlockMetadata], target_bytes: int, open_cost_bytes: int
) -> Iterator[tuple[BlockMetadata, ...]]:
    """Group blocks into tasks of a known target, lazily: only the task being filled is held in memory.

    The tasks are those of :func:`pack_blocks` for the same target.
    """
    task: list[BlockMetadata] = []
    cost_bytes = 0
    for block in blocks:
        added_bytes = block.cost_bytes
        if task:
            added_bytes += 0 if _same_file(task[-1], block) else open_cost_bytes
            if cost_bytes + added_bytes > target_bytes and not _goes_on(task[-1], block):
                yield tuple(task)
                task, cost_bytes, added_bytes = [], 0, block.cost_bytes
        task.append(block)
        cost_bytes += added_bytes
    if task:
        yield tuple(task)


def balance_blocks(
    blocks: Iterable[BlockMetadata], task_bytes: int, open_cost_bytes: int, slots: int
) -> list[tuple[BlockMetadata, ...]]:
    """Group blocks into tasks that keep all slots busy to the end.

    Tasks are about as long as each other, and as many as :func:`over_partitioned` says, or more where they would be
    longer than *task_bytes*. Of some numbers of tasks the one is taken with which the last slot is done first.
    Otherwise as :func:`pack_blocks`: neighbours stay together and in order, and nothing but the arguments matters.
    Shares of one stream are fewer tasks where that is faster, and perhaps longer ones: a task that begins inside a
    stream decompresses all that comes before, and goes on from a share to the next at no cost.

    Args:
        blocks: The blocks, blocks of one file next to each other; all are held in memory.
        task_bytes: Most bytes a task should read.
        open_cost_bytes: What opening a file costs, expressed in bytes.
        slots: How many tasks run at a time.

    Raises:
        UsageError: If a size or number has no meaning.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/data/a.csv", 14, 0, "14-0", "a.csv")
        >>> blocks = [BlockMetadata(file, start, start + 2, start // 2) for start in range(0, 14, 2)]
        >>> [len(task) for task in balance_blocks(blocks, task_bytes=6, open_cost_bytes=0, slots=2)]
        [2, 2, 2, 1]
    """
    _check(task_bytes, open_cost_bytes, slots)
    plan = list(blocks)
    costs = list(_costs(plan, open_cost_bytes))
    wanted = max(over_partitioned(sum(block.cost_bytes for block in plan), slots), -(-sum(costs) // task_bytes))
    rounds = -(-wanted // slots)
    tries = _TRIES if len(plan) <= _MOST_WEIGHED else 1  # of more blocks each is a small part of a task
    counts = [slots * (rounds + more) for more in range(tries)]
    entries = [block.entry_bytes for block in plan]
    if any(entries):
        counts.append(slots)
    packed = [list(_fill_evenly(plan, costs, sum(costs), count, task_bytes, open_cost_bytes)) for count in counts]
    return min(packed, key=lambda tasks: _done_after(map(len, tasks), costs, entries, slots))


def fill_evenly(
    blocks: Iterable[BlockMetadata], total_cost_bytes: int, task_bytes: int, open_cost_bytes: int, count: int
) -> Iterator[tuple[BlockMetadata, ...]]:
    """Group blocks into about *count* even tasks, lazily: only the task being filled is held in memory.

    Args:
        blocks: The blocks, blocks of one file next to each other.
        total_cost_bytes: All bytes to read, and the cost of opening each file once. Where that is not what the blocks
            cost, tasks are less even.
        task_bytes: Most bytes a task should read.
        open_cost_bytes: What opening a file costs, expressed in bytes.
        count: How many tasks there should be.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> files = [FileMetadata(f"/data/{name}", 6, 0, "6-0", name) for name in "abc"]
        >>> blocks = [BlockMetadata(file, start, start + 2, start // 2) for file in files for start in (0, 2, 4)]
        >>> [len(task) for task in fill_evenly(blocks, 18, task_bytes=10, open_cost_bytes=0, count=2)]
        [5, 4]
    """
    _check(task_bytes, open_cost_bytes, count)
    mine, theirs = tee(blocks)  # never more than one block apart
    return _fill_evenly(mine, _costs(theirs, open_cost_bytes), total_cost_bytes, count, task_bytes, open_cost_bytes)


def _fill_evenly(
    blocks: Iterable[BlockMetadata],
    costs: Iterable[int],
    left_bytes: int,
    count: int,
    task_bytes: int,
    open_cost_bytes: int,
) -> Iterator[tuple[BlockMetadata, ...]]:
    """About *count* tasks. Each takes its share of what those before it have left."""
    task: list[BlockMetadata] = []
    cost_bytes = read_bytes = 0
    count = min(count, -(-left_bytes // max(open_cost_bytes, 1)))  # none is to be dominated by opening files
    for block, cost in zip(blocks, costs, strict=True):
        if task and not _goes_on(task[-1], block):
            goal = left_bytes / max(count, 1)
            is_enough = cost_bytes + cost - goal > goal - cost_bytes + block.entry_bytes
            if is_enough or (read_bytes + cost > task_bytes and not block.entry_bytes):
                yield tuple(task)
                left_bytes -= cost_bytes
                count -= 1
                task, cost_bytes = [], 0
        read_bytes = read_bytes + cost if task else block.cost_bytes
        task.append(block)
        cost_bytes += cost
    if task:
        yield tuple(task)


def _done_after(lengths: Iterable[int], costs: Sequence[int], entries: Sequence[int], slots: int) -> int:
    """When the last slot is done, in bytes, if each takes the next task as soon as it is free."""
    busy = [0] * slots
    upcoming, first = iter(costs), 0
    for length in lengths:
        heapreplace(busy, busy[0] + _TASK_START_BYTES + entries[first] + sum(islice(upcoming, length)))
        first += length
    return max(busy)


def _costs(blocks: Iterable[BlockMetadata], open_cost_bytes: int) -> Iterator[int]:
    """What each block costs: that of a file's first one includes opening it."""
    before: BlockMetadata | None = None
    for block in blocks:
        opened = before is not None and _same_file(before, block)
        yield block.cost_bytes + (0 if opened else open_cost_bytes)
        before = block


def _goes_on(before: BlockMetadata, block: BlockMetadata) -> bool:
    """True if a block is for the task that has read the one before it.

    Where an archive can be decompressed from its beginning only, every task does that, up to the end of what it reads.
    So the archive is divided among as many tasks as one stream of a compressed file would be, and no more.
    """
    packed, last = block.file.packed, before.file.packed
    if packed is None or last is None or packed.points or _archive_of(before) != _archive_of(block):
        return False
    bounds = _archive_bounds(packed.codec, packed.archive_bytes)
    return bisect_right(bounds, packed.offset + block.start) == bisect_right(bounds, last.offset + before.start)


@lru_cache(maxsize=64)
def _archive_bounds(codec: str, archive_bytes: int) -> tuple[int, ...]:
    """Where in the content of a compressed archive other tasks may begin."""
    shares = min(MOST_SHARES, archive_bytes // _LEAST_SHARE_BYTES) if CODECS[codec].is_fast else 1
    return tuple(BlockLengths(1).share_bounds(archive_bytes, shares)) if shares > 1 else ()


def _archive_of(block: BlockMetadata) -> str:
    named = split_member_path(block.file.path)
    return block.file.path if named is None else named[0]


def _same_file(left: BlockMetadata, right: BlockMetadata) -> bool:
    return left.file is right.file or left.file.path == right.file.path


def _check(task_bytes: int, open_cost_bytes: int, min_tasks: int) -> None:
    for name, value, least in (
        ("task_bytes", task_bytes, 1), ("open_cost_bytes", open_cost_bytes, 0), ("min_tasks", min_tasks, 1),
    ):  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise UsageError(
                f"{name} must be a whole number, at least {least}", seen=f"{name}={value!r}",
                fix="check the options taskSize, openCostInBytes and minPartitionNum", code="bad-option",
            )  # fmt: skip
