"""From a chunk of positions to the ranges of files that hold it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from splitscan.blocks import BlockMetadata
from splitscan.rebalance.claiming import Chunk
from splitscan.rebalance.reading.segment_texts import block_of


@dataclass(frozen=True, slots=True)
class Part:
    """A range of one file that belongs to a chunk.

    Attributes:
        block: The range. It carries its first record start if the plan knows that.
        planned: The planned block that it begins in.
        indivisible: Whether the range is the planned block, of which no part can be read.
    """

    block: BlockMetadata
    planned: BlockMetadata
    indivisible: bool = False


def parts_of(chunk: Chunk, secrets: tuple[str, ...], *, by_block: bool = False) -> Iterator[Part]:
    """The ranges of a chunk, in order: as few as files allow.

    Args:
        chunk: What was claimed.
        secrets: Of the paths of the plan.
        by_block: Whether a range must not reach over the edge of a planned block.

    Example:
        >>> from splitscan.blocks import FileMetadata
        >>> from splitscan.rebalance.claiming import PositionSpace
        >>> from splitscan.rebalance.reading.segment_texts import PathSecrets, segment_of
        >>> file = FileMetadata("/data/a.csv", 10, 0, "10-0", "a.csv")
        >>> blocks = [BlockMetadata(file, 0, 4, 0), BlockMetadata(file, 4, 10, 1)]
        >>> pieces = PositionSpace(segment_of(block, PathSecrets()) for block in blocks).pieces(3, 9)
        >>> [(part.block.start, part.block.stop) for part in parts_of(Chunk(0, 3, 9, pieces), ())]
        [(3, 9)]
        >>> [(part.block.start, part.block.stop) for part in parts_of(Chunk(0, 3, 9, pieces), (), by_block=True)]
        [(3, 4), (4, 9)]
    """
    waiting: Part | None = None
    for piece in chunk.pieces:
        planned, indivisible = block_of(piece.text, secrets)
        if indivisible:
            if waiting is not None:
                yield waiting
            waiting = Part(planned, planned, indivisible=True)
            continue
        start, stop = planned.start + piece.start, planned.start + piece.stop
        if waiting is not None:
            block = waiting.block
            if not by_block and not waiting.indivisible and block.stop == start and block.file == planned.file:
                joined = replace(block, stop=stop)
                waiting = Part(joined, waiting.planned)
                continue
            yield waiting
        first = planned.first_record_start if piece.start == 0 else None
        waiting = Part(BlockMetadata(planned.file, start, stop, planned.index, first), planned)
    if waiting is not None:
        yield waiting
