"""Files that grow, as one ingest takes them: a window of their stream, and what an earlier one has left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.options import ReadOptions
from splitscan.scan import ScanPlanner, ScanSpec
from splitscan.scan.own_formats import Reading
from splitscan.scan.planning import Cutting, Indexer
from splitscan.scan.schema.resolution import ResolvedSchema
from splitscan.streaming.windows import Window


@dataclass(frozen=True, slots=True)
class Growth:
    """What a job reads of a file that grows: from *start* to where the file was planned.

    Attributes:
        content: Identity of what was written under the file's name, in its destination.
        start: First offset that is read.
    """

    content: str
    start: int


def describe_growth(stream: str, window: Window, contents: Mapping[str, str]) -> dict[str, Growth]:
    """Tell what a window reads of each of its files, by path.

    Args:
        stream: Id of the stream.
        window: The window.
        contents: The content behind each path, as the stream numbers them.
    """
    starts: dict[str, int] = {}
    for block in window.blocks:
        starts.setdefault(block.file.path, block.start)
    return {path: Growth(f"{stream}/{contents[path]}", start) for path, start in starts.items()}


@dataclass(frozen=True)
class WindowScan:
    """A scan of the blocks of a window, exactly as they were planned: nothing is listed, cut or indexed again.

    Args:
        scan: How they are read.
        window: The window.
        only: The files of it that are read.
    """

    scan: ScanPlanner
    window: Window
    only: tuple[FileMetadata, ...]

    @property
    def options(self) -> ReadOptions:
        """What the user said."""
        return self.scan.options

    @property
    def spec(self) -> ScanSpec:
        """How records are read."""
        return self.scan.spec

    @property
    def framing(self) -> Reading:
        """How records are found."""
        return self.scan.framing

    @property
    def roots(self) -> Sequence[str]:
        """What the user named."""
        return self.scan.roots

    @property
    def chooses_blocks(self) -> bool:
        """Never: the window has all blocks that it is to have."""
        return False

    def files(self) -> list[FileMetadata]:
        """The files, as the window planned them."""
        return list(self.only)

    def with_files(self, files: Sequence[FileMetadata]) -> Self:
        """The same of only these of its files."""
        return replace(self, scan=self.scan.with_files(files), only=tuple(files))

    def with_schema(self, schema: pa.Schema) -> Self:
        """The same by a full schema."""
        return replace(self, scan=self.scan.with_schema(schema))

    @property
    def resolved(self) -> ResolvedSchema:
        """The columns of the records, with where each comes from."""
        return self.scan.resolved

    def naming_all(self, files: Sequence[FileMetadata]) -> Self:
        """The same, by the columns of these of its files, which misses none that a header names."""
        return replace(self, scan=self.scan.naming_all(files))

    def noticing(self, records: int) -> Self:
        """The same, whose blocks report columns that it does not have."""
        return replace(self, scan=self.scan.noticing(records))

    def cut(self, cutting: Cutting) -> Self:
        """The same: the blocks are cut."""
        return self

    def blocks(self, most_shares: int = 1) -> Iterator[BlockMetadata]:
        """The blocks of the files, in order, with their first record starts."""
        paths = {file.path for file in self.only}
        return (block for block in self.window.blocks if block.file.path in paths)

    def plan(self, indexer: Indexer | None = None) -> list[BlockMetadata]:
        """The same as a list."""
        return list(self.blocks())

    def tasks(self, blocks: Iterable[BlockMetadata], slots: int = 1) -> list[tuple[BlockMetadata, ...]]:
        """The tasks that the window was planned with, without what is not among *blocks*."""
        wanted = {(block.file.path, block.index) for block in blocks}
        shares = (
            tuple(block for block in task if (block.file.path, block.index) in wanted) for task in self.window.tasks()
        )
        return [share for share in shares if share]
