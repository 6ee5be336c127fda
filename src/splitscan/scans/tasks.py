"""The task planner: how long blocks are, and which blocks each task reads; neighbours stay together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapreplace
from itertools import islice, tee

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.archives.member import split_member_path
from splitscan.content.codecs.formats import CODECS
from splitscan.options.files import FileOptions
from splitscan.reading.own_formats import Reading
from splitscan.scans.cutting import MOST_SHARES, BlockLengths, cut_files, may_be_compressed, shares_for
from splitscan.sizes import MIB

_TASKS_PER_SLOT = 4  # more tasks than slots, so that one that is slower than the others is not the end of the job
_TASK_START_BYTES = 8 * MIB  # what is read in the time in which a task starts
_LEAST_SHARE_BYTES = 8 * MIB  # of what a compressed archive holds
_SLACK = 16  # even tasks are planned to be this part shorter than they may be, for one may take half a block more
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


@dataclass(frozen=True)
class TaskPlanner:
    """Divides the files of a scan into blocks, and the blocks into tasks.

    Attributes:
        fixed: True if ``where`` tells blocks from each other: then ``blockSize`` alone says how files are cut.
    """

    files: Sequence[FileMetadata]
    options: FileOptions
    fixed: bool = False
    lengths: BlockLengths | None = None

    # ------------------------------------------------------------- lengths

    def at_most(self, block_bytes: int) -> BlockLengths:
        """Blocks of at most so many bytes; as the options say where blocks are fixed."""
        return BlockLengths(self.block_bytes(1, block_bytes))

    def fine(self) -> BlockLengths:
        """Blocks so short that any number of tasks can be made about even.

        They depend on the files alone, not on how many tasks there are: another cluster reads the same blocks.
        """
        block_bytes = self.block_bytes(1)
        return BlockLengths(block_bytes) if self.fixed else BlockLengths.fine(block_bytes, self._total_bytes)

    def for_tasks(self, slots: int) -> BlockLengths:
        """Blocks of which even tasks for so many slots can be made, as :meth:`even_tasks` packs them.

        Blocks of plain files are short; those of compressed ones, and those of a single file, are as long as a task.
        """
        block_bytes = self.block_bytes(self._tasks_worth(slots))
        if self.lengths is not None or self.fixed:
            return BlockLengths(block_bytes)
        most_bytes = min(block_bytes, self.options.task_bytes)
        if len(self.files) < 2 or any(map(self._may_be_compressed, self.files)):
            return BlockLengths(most_bytes)
        return BlockLengths.for_tasks(most_bytes, self._share_bytes(self._most_even_bytes, self._tasks_worth(slots)))

    def block_bytes(self, min_tasks: int, at_most: int | None = None) -> int:
        """Most bytes of a file in a block, so that *min_tasks* tasks find work, where there are bytes enough.

        As in Spark, ``blockSize`` is the upper bound, and no block is cut below ``openCostInBytes`` for it.
        """
        if self.lengths is not None:
            return self.lengths.block_bytes
        if self.fixed:
            return self.options.block_bytes
        most = min(self.options.block_bytes, at_most or self.options.block_bytes)
        return most if self._wanted(min_tasks) == 1 else self._share_bytes(most, min_tasks)

    # -------------------------------------------------------------- blocks

    def blocks(self, framing: Reading, most_shares: int = MOST_SHARES) -> Iterator[BlockMetadata]:
        """All blocks, lazily."""
        lengths = self.lengths or BlockLengths(self.block_bytes(1))
        return cut_files(self.files, lengths, framing, self.options, most_shares)

    def shares_for(self, slots: int, block_bytes: int) -> int:
        """Into how many shares each stream is cut that is longer than a block and cannot be entered in the middle."""
        long = sum(1 for file in self.files if file.size_bytes > block_bytes and self._may_be_compressed(file))
        return shares_for(max(1, long), slots)

    # --------------------------------------------------------------- tasks

    def even_tasks(self, blocks: Iterable[BlockMetadata], slots: int) -> Iterator[tuple[BlockMetadata, ...]]:
        """Pack blocks into even tasks of at most ``taskSize`` bytes, lazily; a multiple of *slots*, where it can be."""
        open_cost_bytes = self.options.open_cost_bytes
        total = self._total_bytes + open_cost_bytes * sum(1 for file in self.files if file.size_bytes)
        count = self._whole_rounds(self._most_even_bytes, self._tasks_worth(slots))
        return fill_evenly(blocks, total, self.options.task_bytes, open_cost_bytes, count)

    def balanced(self, blocks: Iterable[BlockMetadata], slots: int) -> list[tuple[BlockMetadata, ...]]:
        """Pack blocks into even tasks of at most ``taskSize`` bytes: see :func:`balance_blocks`."""
        return balance_blocks(blocks, self.options.task_bytes, self.options.open_cost_bytes, self._wanted(slots))

    def _tasks_worth(self, slots: int) -> int:
        return over_partitioned(self._total_bytes, slots)

    def _may_be_compressed(self, file: FileMetadata) -> bool:
        return file.packed is not None or may_be_compressed(file, self.options)

    def _wanted(self, min_tasks: int) -> int:
        return max(min_tasks, self.options.min_partitions or 1)

    @property
    def _most_even_bytes(self) -> int:
        return max(1, self.options.task_bytes - self.options.task_bytes // _SLACK)

    def _share_bytes(self, most_bytes: int, min_tasks: int) -> int:
        """Bytes of one of the wanted tasks, by Spark's formula: none is dominated by opening files."""
        share_bytes = self._total_cost_bytes // self._whole_rounds(most_bytes, min_tasks)
        return max(1, min(most_bytes, max(self.options.open_cost_bytes, share_bytes)))

    def _whole_rounds(self, most_bytes: int, min_tasks: int) -> int:
        """How many tasks are wanted: where one would read more than *most_bytes*, twice or three times as many.

        So their number stays even, and no slot has one more to run than another.
        """
        wanted = self._wanted(min_tasks)
        return wanted * max(1, -(-self._total_cost_bytes // (wanted * most_bytes)))

    @property
    def _total_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def _total_cost_bytes(self) -> int:
        return self._total_bytes + self.options.open_cost_bytes * len(self.files)


def balance_blocks(
    blocks: Iterable[BlockMetadata], task_bytes: int, open_cost_bytes: int, slots: int
) -> list[tuple[BlockMetadata, ...]]:
    """Group blocks into tasks that keep all slots busy to the end.

    Tasks are about as long as each other, and as many as :func:`over_partitioned` says, or more where they would be
    longer than *task_bytes*. Of some numbers of tasks the one is taken with which the last slot is done first.
    Every block lands in exactly one task, neighbours stay together and in order, and nothing but the arguments matters.
    Shares of one stream are fewer tasks where that is faster, and perhaps longer ones: a task that begins inside a
    stream decompresses all that comes before, and goes on from a share to the next at no cost.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> file = FileMetadata("/data/a.csv", 14, 0, "14-0", "a.csv")
        >>> blocks = [BlockMetadata(file, start, start + 2, start // 2) for start in range(0, 14, 2)]
        >>> [len(task) for task in balance_blocks(blocks, task_bytes=6, open_cost_bytes=0, slots=2)]
        [2, 2, 2, 1]
    """
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

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> files = [FileMetadata(f"/data/{name}", 6, 0, "6-0", name) for name in "abc"]
        >>> blocks = [BlockMetadata(file, start, start + 2, start // 2) for file in files for start in (0, 2, 4)]
        >>> [len(task) for task in fill_evenly(blocks, 18, task_bytes=10, open_cost_bytes=0, count=2)]
        [5, 4]
    """
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
    """Cost of each block: that of a file's first one includes opening it."""
    before: BlockMetadata | None = None
    for block in blocks:
        opened = before is not None and before.file.path == block.file.path
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
    """Offsets in the content of a compressed archive at which other tasks may begin."""
    shares = min(MOST_SHARES, archive_bytes // _LEAST_SHARE_BYTES) if CODECS[codec].is_fast else 1
    return tuple(BlockLengths(1).share_bounds(archive_bytes, shares)) if shares > 1 else ()


def _archive_of(block: BlockMetadata) -> str:
    named = split_member_path(block.file.path)
    return block.file.path if named is None else named[0]
