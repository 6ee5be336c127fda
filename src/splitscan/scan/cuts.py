"""How the files of a scan become blocks, and blocks become tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.options.files import FileOptions
from splitscan.plan.cutting import cut_files, may_be_compressed
from splitscan.plan.packing import balance_blocks, fill_evenly, fill_tasks, over_partitioned, target_task_bytes
from splitscan.plan.splitter import MOST_SHARES, BlockLengths, shares_for
from splitscan.scan.own_formats import Reading

_SLACK = 16  # even tasks are planned to be this part shorter than they may be, for one may take half a block more


@dataclass(frozen=True)
class Cutting:
    """How blocks are cut, where not by ``blockSize`` and ``minPartitionNum`` alone.

    Attributes:
        block_bytes: Bytes of a block, whatever these options say.
        at_most: Most bytes of a block, where ``where`` does not tell blocks from each other.
        fine: Whether blocks are so short that any number of tasks can be made about even. How they are cut depends on
            the files alone then, not on how many tasks there are: another cluster reads the same blocks.
        even_bytes: Where given, plain files are cut so that tasks of about so many bytes come out even.
    """

    block_bytes: int | None = None
    at_most: int | None = None
    fine: bool = False
    even_bytes: int | None = None


AS_THE_OPTIONS_SAY = Cutting()


@dataclass(frozen=True)
class Cuts:
    """How long the blocks and the tasks of a scan are.

    Attributes:
        files: What is cut, in order.
        options: What the user said of blocks and tasks.
        fixed: Whether ``where`` tells blocks from each other, so that only ``blockSize`` may say how they are cut.
        cutting: How they are cut otherwise.
    """

    files: Sequence[FileMetadata]
    options: FileOptions
    fixed: bool
    cutting: Cutting

    def block_bytes(self, min_tasks: int) -> int:
        """Most bytes of a file in a block, so that *min_tasks* tasks find work, where there are bytes enough.

        As in Spark, ``blockSize`` is the upper bound, and no block is cut below ``openCostInBytes`` for it.
        """
        if self.cutting.block_bytes is not None:
            return self.cutting.block_bytes
        if self.fixed:
            return self.options.block_bytes
        most = min(self.options.block_bytes, self.cutting.at_most or self.options.block_bytes)
        return most if self._wanted(min_tasks) == 1 else self._share_bytes(most, min_tasks)

    def blocks(self, framing: Reading, most_shares: int = MOST_SHARES) -> Iterator[BlockMetadata]:
        """All blocks, lazily.

        Args:
            framing: How records are found.
            most_shares: Into how many blocks one stream of a compressed file is cut.
        """
        return cut_files(self.files, self._lengths, framing, self.options, most_shares)

    @property
    def _lengths(self) -> BlockLengths:
        block_bytes = self.block_bytes(1)
        if self.cutting.fine and not self.fixed:
            return BlockLengths.fine(block_bytes, self._total_bytes)
        if self.cutting.even_bytes is not None:
            return BlockLengths.for_tasks(block_bytes, self.cutting.even_bytes)
        return BlockLengths(block_bytes)

    # -------------------------------------------------------------- tasks

    @property
    def _total_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    def tasks_worth(self, slots: int) -> int:
        """How many tasks to make for so many slots: more where that costs little, see :func:`over_partitioned`."""
        return over_partitioned(self._total_bytes, slots)

    def shares_for(self, slots: int, block_bytes: int) -> int:
        """Into how many shares each stream is cut that is longer than a block and cannot be entered in the middle."""
        long = sum(1 for file in self.files if file.size_bytes > block_bytes and self._may_be_compressed(file))
        return shares_for(max(1, long), slots)

    def even_bytes_of(self, min_tasks: int) -> int | None:
        """What each of the tasks reads that come out even; ``None`` where blocks as long as a task are as good.

        That is so for one file, where ``where`` tells blocks from each other, and for files that may be compressed, or
        are in an archive that is: what reading a block of those costs is not known from its length.
        """
        if len(self.files) < 2 or self.fixed or any(map(self._may_be_compressed, self.files)):
            return None
        return self._share_bytes(self._most_even_bytes, min_tasks)

    def _may_be_compressed(self, file: FileMetadata) -> bool:
        return file.packed is not None or may_be_compressed(file, self.options)

    def filled(self, blocks: Iterable[BlockMetadata], min_tasks: int) -> Iterator[tuple[BlockMetadata, ...]]:
        """Pack blocks into tasks of about ``taskSize`` bytes, lazily; *min_tasks* of them, where there is enough."""
        target_bytes = self._share_bytes(self.options.task_bytes, min_tasks)
        return fill_tasks(blocks, target_bytes, self.options.open_cost_bytes)

    def filled_evenly(self, blocks: Iterable[BlockMetadata], min_tasks: int) -> Iterator[tuple[BlockMetadata, ...]]:
        """The same, where :meth:`even_bytes_of` says how the blocks were cut: tasks are even, and as many as wanted."""
        open_cost_bytes = self.options.open_cost_bytes
        total = self._total_bytes + open_cost_bytes * sum(1 for file in self.files if file.size_bytes)
        count = self._whole_rounds(self._most_even_bytes, min_tasks)
        return fill_evenly(blocks, total, self.options.task_bytes, open_cost_bytes, count)

    def balanced(self, blocks: Iterable[BlockMetadata], slots: int) -> list[tuple[BlockMetadata, ...]]:
        """Pack blocks into even tasks of at most ``taskSize`` bytes: see :func:`balance_blocks`."""
        return balance_blocks(blocks, self.options.task_bytes, self.options.open_cost_bytes, self._wanted(slots))

    def _wanted(self, min_tasks: int) -> int:
        return max(min_tasks, self.options.min_partitions or 1)

    @property
    def _most_even_bytes(self) -> int:
        """Most bytes of an even task, on average."""
        return max(1, self.options.task_bytes - self.options.task_bytes // _SLACK)

    def _share_bytes(self, most_bytes: int, min_tasks: int) -> int:
        """What one of the wanted tasks reads of all files, *most_bytes* at the most."""
        wanted = self._whole_rounds(most_bytes, min_tasks)
        return target_task_bytes(self._total_cost_bytes, most_bytes, self.options.open_cost_bytes, wanted)

    def _whole_rounds(self, most_bytes: int, min_tasks: int) -> int:
        """How many tasks are wanted: where one would read more than *most_bytes*, twice or three times as many.

        So their number stays even, and no slot has one more to run than another.
        """
        wanted = self._wanted(min_tasks)
        return wanted * max(1, -(-self._total_cost_bytes // (wanted * most_bytes)))

    @property
    def _total_cost_bytes(self) -> int:
        return self._total_bytes + self.options.open_cost_bytes * len(self.files)
