"""State of a stream: what is planned of each file, and what is left to plan of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from splitscan.blocks import BlockMetadata, FileMetadata, plain_file, read_file
from splitscan.streaming.windows import PlannedFile, Window, check_format

_FORMAT = 1


@dataclass
class FileWork:
    """A file with something left to plan.

    Attributes:
        cut: Gives the blocks that are left, in order; called once, when the file's turn has come.
        plan: Describes the file as a window planned it that ends with the given block, and says whether that is all.

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
        """Path of the file."""
        return self.file.path

    @property
    def is_begun(self) -> bool:
        """True if a part of it is planned."""
        return self.window > 0

    @property
    def order(self) -> tuple[int, int, str]:
        """Key for the order of files: who was served longest ago, then the oldest file."""
        return (self.window, self.file.modified_us, self.file.path)

    @cached_property
    def blocks(self) -> Sequence[BlockMetadata]:
        """The blocks that were left when this was found."""
        return self.cut(self)

    @property
    def lengths(self) -> Sequence[int]:
        """Bytes of each block that is left, in order. Asked for only when the file's turn has come."""
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


Found: TypeAlias = tuple[list[FileWork], tuple[tuple[str, str], ...]]
"""What a listing shows: files with something left to plan, and old and new paths of files that have a new name."""


@dataclass(frozen=True, slots=True)
class FileProgress:
    """Progress of the planning of one file.

    Attributes:
        file: The version that was planned last: its planned size and fingerprint.
        position: First offset that is not planned.
        blocks: Number of blocks planned of this generation.
        content: Identity of this generation in its stream, through all renames: the window that planned it first, and
            its number among the files of that. Empty in the state of an earlier splitscan.
        late: Whether that content came late: with a time before that of a file which an earlier listing had shown.
    """

    file: FileMetadata
    generation: int
    position: int
    blocks: int
    window: int
    finished: bool
    block_bytes: int
    real_id: str = ""
    content: str = ""
    late: bool = False


@dataclass(slots=True)
class StreamState:
    """All files that a stream has planned something of.

    Attributes:
        files: By path.
        shape: What the plan depends on and must not change.
        horizon_us: Whatever is first seen now with a time before that is late.

    Thread safety: none; the planner's own.
    """

    window: int = 0
    files: dict[str, FileProgress] = field(default_factory=dict)
    shape: Mapping[str, str] = field(default_factory=dict)
    horizon_us: int = 0

    def apply(self, window: Window) -> None:
        """Add the next window."""
        moved = [(self.files.pop(old), new) for old, new in window.moves]  # all at once: a chain of names may shift
        for progress, new in moved:
            self.files[new] = replace(progress, file=replace(progress.file, path=new))
        ends = {block.file.path: block for block in window.blocks}
        begun = {block.file.path for block in window.blocks if not block.index}
        for number, planned in enumerate(window.files):
            path = planned.file.path
            last = ends[path]
            known = None if path in begun else self.files.get(path)
            self.files[path] = FileProgress(
                planned.file,
                planned.generation,
                last.stop,
                last.index + 1,
                window.number,
                planned.finished,
                planned.block_bytes,
                planned.real_id,
                f"{window.number}.{number}" if known is None else known.content,
                planned.late if known is None else known.late,
            )
        self.window, self.shape, self.horizon_us = window.number, window.shape, window.horizon_us

    def lines(self) -> Iterator[Any]:
        """The state as JSON values."""
        yield {"format": _FORMAT, "window": self.window, "shape": dict(self.shape), "horizon": self.horizon_us}
        for progress in self.files.values():
            file, *rest = (getattr(progress, name) for name in FileProgress.__slots__)
            yield [plain_file(file), *rest]


def read_state(lines: list[Any], path: str) -> StreamState:
    """The inverse of :meth:`StreamState.lines`."""
    head = lines[0]
    check_format(head, path)
    known = [FileProgress(read_file(file), *rest) for file, *rest in lines[1:]]
    files = {progress.file.path: progress for progress in known}
    return StreamState(head["window"], files, head["shape"], head.get("horizon", 0))
