"""How the files of a scan become blocks, and blocks become tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.options.files import FileOptions
from splitscan.scan.managed_reading import Reading
from splitscan.splitting.cutting import cut_files
from splitscan.splitting.lengths import MOST_SHARES, BlockLengths
from splitscan.splitting.packing import balance_blocks, fill_tasks, over_partitioned, target_task_bytes


@dataclass(frozen=True)
class Cuts:
    """How long the blocks and the tasks of a scan are.

    Attributes:
        files: What is cut, in order.
        options: What the user said of blocks and tasks.
        fixed: Whether blocks are cut by ``blockSize`` alone: ``where`` tells them from each other.
        fine: Whether blocks are so short that any number of tasks can be made about even. How they are cut depends on
            the files alone then, not on how many tasks there are: another cluster reads the same blocks.
    """

    files: Sequence[FileMetadata]
    options: FileOptions
    fixed: bool
    fine: bool

    def block_bytes(self, min_tasks: int) -> int:
        """Most bytes of a file in a block, so that *min_tasks* tasks find work, where there are bytes enough."""
        if self.fixed or self._wanted(min_tasks) == 1:
            return self.options.block_bytes
        return self._share_bytes(self.options.block_bytes, min_tasks)

    def blocks(self, framing: Reading, most_shares: int = MOST_SHARES) -> Iterator[BlockMetadata]:
        """All blocks, lazily.

        Args:
            framing: How records are found.
            most_shares: Into how many blocks one stream of a compressed file is cut.
        """
        block_bytes = self.block_bytes(1)
        is_fine = self.fine and not self.fixed
        lengths = BlockLengths.fine(block_bytes, self._total_bytes) if is_fine else BlockLengths(block_bytes)
        return cut_files(self.files, lengths, framing, self.options, most_shares)

    # -------------------------------------------------------------- tasks

    @property
    def _total_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    def tasks_worth(self, slots: int) -> int:
        """How many tasks to make for so many slots: more where that costs little, see :func:`over_partitioned`."""
        return over_partitioned(self._total_bytes, slots)

    def filled(self, blocks: Iterable[BlockMetadata], min_tasks: int) -> Iterator[tuple[BlockMetadata, ...]]:
        """Pack blocks into tasks of about ``taskSize`` bytes, lazily; *min_tasks* of them, where there is enough."""
        target_bytes = self._share_bytes(self.options.task_bytes, min_tasks)
        return fill_tasks(blocks, target_bytes, self.options.open_cost_bytes)

    def balanced(self, blocks: Iterable[BlockMetadata], slots: int) -> list[tuple[BlockMetadata, ...]]:
        """Pack blocks into even tasks of at most ``taskSize`` bytes: see :func:`balance_blocks`."""
        return balance_blocks(blocks, self.options.task_bytes, self.options.open_cost_bytes, self._wanted(slots))

    def _wanted(self, min_tasks: int) -> int:
        return max(min_tasks, self.options.min_partitions or 1)

    def _share_bytes(self, most_bytes: int, min_tasks: int) -> int:
        """What one of the wanted tasks reads of all files, *most_bytes* at the most.

        Where that is too little for it, there are twice or three times as many tasks, so that their number stays even.
        """
        open_cost_bytes = self.options.open_cost_bytes
        total = self._total_bytes + open_cost_bytes * len(self.files)
        wanted = self._wanted(min_tasks)
        wanted *= max(1, -(-total // (wanted * most_bytes)))
        return target_task_bytes(total, most_bytes, open_cost_bytes, wanted)
