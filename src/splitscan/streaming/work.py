"""What is left to plan of one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.streaming.windows import PlannedFile


@dataclass
class FileWork:
    """A file with something left to plan.

    Attributes:
        file: The version to plan.
        generation: How often the content under this path was replaced before.
        window: The window that planned it last, 0 if none did.
        left_bytes: Bytes that are left.
        block_bytes: Length of the blocks that it is cut into.
        cut: Gives the blocks that are left, in order; called once, when the file's turn has come.
        plan: Describes the file as a window planned it that ends with the given block, and says whether that is all.
        indivisible: Whether all of it goes into one window.
        real_id: Identity of the file behind its name.

    Thread safety: none; the planner's own.
    """

    file: FileMetadata
    generation: int
    window: int
    left_bytes: int
    block_bytes: int
    cut: Callable[[FileWork], Sequence[BlockMetadata]]
    plan: Callable[[FileWork, BlockMetadata, bool], PlannedFile]
    indivisible: bool = False
    real_id: str = ""
    skipped: int = field(default=0)

    @property
    def path(self) -> str:
        """Its path."""
        return self.file.path

    @property
    def is_begun(self) -> bool:
        """Whether a part of it is planned."""
        return self.window > 0

    @property
    def order(self) -> tuple[int, int, str]:
        """Whose turn it is: who was served longest ago, then the oldest file."""
        return (self.window, self.file.modified_us, self.file.path)

    @cached_property
    def blocks(self) -> Sequence[BlockMetadata]:
        """The blocks that were left when this was found."""
        return self.cut(self)

    @property
    def lengths(self) -> Sequence[int]:
        """Bytes that reading each block costs that is left now."""
        return [block.cost_bytes for block in self.blocks[self.skipped :]]

    def take(self, count: int) -> tuple[PlannedFile, list[BlockMetadata]]:
        """Plan the next *count* blocks. Nothing changes before :meth:`taken` is called: the window may be refused."""
        chosen = self.blocks[self.skipped : self.skipped + count]
        planned = self.plan(self, chosen[-1], self.skipped + count == len(self.blocks))
        same = planned.file == chosen[0].file
        return planned, list(chosen) if same else [replace(block, file=planned.file) for block in chosen]

    def taken(self, count: int, window: int) -> bool:
        """Remember that a window has the next *count* blocks; says whether something is left."""
        self.left_bytes = max(0, self.left_bytes - sum(self.lengths[:count]))
        self.skipped += count
        self.window = window
        return self.skipped < len(self.blocks)


@dataclass
class Found:
    """What a listing shows to be done.

    Attributes:
        works: Files with something left to plan.
        moves: Files that have a new name, as old and new path.
    """

    works: list[FileWork] = field(default_factory=list)
    moves: tuple[tuple[str, str], ...] = ()
