"""The plan of a rebalanced scan: its segments, and which partition begins where."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol, Self

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.formats.framing.contract import RecordFormat, Splittability
from splitscan.options import FileOptions
from splitscan.plan.cutting import is_compressed
from splitscan.rebalance.claiming import PositionSpace, Segment
from splitscan.rebalance.reading.parts import PathSecrets, segment_of
from splitscan.scan import Cutting, Indexer, ScanPlanner
from splitscan.scan.block_scan import in_threads
from splitscan.scan.own_formats import Reading
from splitscan.sizes import MIB

_SEGMENT_BYTES = 4 * MIB  # what the boundary index knows in one piece, entered in the middle in a few ms
_MOST_OPENED = 2000  # files that planning looks into; where there are more, moving whole ones is even enough

_LOG = logging.getLogger("splitscan")


class Cuttable(Protocol):
    """What planning asks of a scan."""

    @property
    def framing(self) -> Reading:
        """How records are found."""

    def files(self) -> Sequence[FileMetadata]:
        """All files, in order."""

    def with_files(self, files: Sequence[FileMetadata]) -> Self:
        """The same scan of only these of its files."""

    def cut(self, cutting: Cutting) -> Self:
        """The same scan with other blocks."""

    def blocks(self, most_shares: int = ...) -> Iterable[BlockMetadata]:
        """The blocks; of compressed files that cannot be entered in the middle at most so many."""

    def plan(self, indexer: Indexer | None = None) -> list[BlockMetadata]:
        """The blocks, with their first record starts where the format needs them."""


@dataclass(frozen=True, slots=True)
class RebalancePlan:
    """What a coordinator is told of a scan.

    Attributes:
        segments: The blocks of the scan, in order.
        ranges: One range of positions per partition; together they tile all positions.
        secrets: Credentials of its paths. They are for the tasks: the coordinator is not told of them.
    """

    segments: tuple[Segment, ...]
    ranges: tuple[tuple[int, int], ...]
    secrets: tuple[str, ...] = field(repr=False)


def plan_rebalance(scan: ScanPlanner, slots: int, indexer: Indexer | None = None) -> RebalancePlan | None:
    """Plan a rebalanced scan: :func:`plan_blocks`, then :func:`share_out`.

    Args:
        scan: What to read.
        slots: How many tasks run at a time.
        indexer: How to run the summaries of the boundary index; threads of this process by default.

    Returns:
        The plan, or ``None`` if there is nothing to read.
    """
    blocks = plan_blocks(scan, indexer)
    return share_out(blocks, scan.framing, slots, scan.options.files) if blocks else None


def plan_blocks(scan: Cuttable, indexer: Indexer | None = None) -> list[BlockMetadata]:
    """List and cut the files of a scan, and where the format needs it, find the first record of every block.

    Blocks of such a format are short, and so are those of compressed files that can be entered between their members,
    except where ``where`` tells blocks from each other.
    """
    if scan.framing.splittability is Splittability.CONTEXT:
        return scan.cut(Cutting(at_most=_SEGMENT_BYTES)).plan(indexer)
    blocks = scan.plan(indexer)
    asked = {block.file.path for block in blocks if _may_have_members(block)}
    if scan.framing.splittability is Splittability.WHOLE or not 0 < len(asked) <= _MOST_OPENED:
        return blocks
    files = [file for file in scan.files() if file.path in asked]
    finer = scan.with_files(files).cut(Cutting(at_most=_SEGMENT_BYTES)).blocks(most_shares=1)
    return list(_with_members(blocks, finer))


def _may_have_members(block: BlockMetadata) -> bool:
    return block.file.size_bytes > _SEGMENT_BYTES and (block.is_file or block.file.compression is not None)


def _with_members(blocks: Sequence[BlockMetadata], finer: Iterable[BlockMetadata]) -> Iterator[BlockMetadata]:
    """The blocks of a plan; those of compressed files are the finer ones, where they begin at members."""
    by_path: dict[str, list[BlockMetadata]] = {}
    for block in finer:
        if block.file.compression is not None and block.seek is not None:
            by_path.setdefault(block.file.path, []).append(block)
    for path, planned in groupby(blocks, key=lambda block: block.file.path):
        yield from by_path.get(path, planned)


def share_out(blocks: Sequence[BlockMetadata], framing: Reading, slots: int, options: FileOptions) -> RebalancePlan:
    """Give each partition its share of the bytes to begin with, as even as files allow that cannot be split.

    The first bytes of files that are one block are read, to see whether they are compressed.

    Args:
        blocks: What to read, one block or more.
        framing: How records are found.
        slots: How many tasks run at a time: there are as many partitions, or ``minPartitionNum`` if that is more.
        options: How files are opened.
    """
    secrets = PathSecrets()
    segments = tuple(_segments(blocks, framing, options, secrets))
    space = PositionSpace(segments)
    partitions = min(max(slots, options.min_partitions or 1), space.total)
    return RebalancePlan(segments, tuple(space.even_ranges(partitions)), secrets.known)


def _segments(
    blocks: Sequence[BlockMetadata], framing: Reading, options: FileOptions, secrets: PathSecrets
) -> Iterator[Segment]:
    if framing.splittability is Splittability.WHOLE:
        whole = set(range(len(blocks)))
        _tell(f"files of format {framing.name}", len(whole))
    else:
        whole = _compressed(blocks, framing, options)
        _tell("compressed files", sum(blocks[number].seek is None for number in whole))
    for number, block in enumerate(blocks):
        yield segment_of(block, secrets, indivisible=number in whole)


def _compressed(blocks: Sequence[BlockMetadata], framing: Reading, options: FileOptions) -> set[int]:
    """Numbers of the blocks of compressed files; of very many files, of all that are one block."""
    planned = {number for number, block in enumerate(blocks) if block.file.compression is not None}
    unknown = [number for number, block in enumerate(blocks) if number not in planned and block.is_file]
    if not isinstance(framing, RecordFormat):
        return planned
    if len(unknown) > _MOST_OPENED:
        return planned | set(unknown)
    found = in_threads(lambda number: is_compressed(blocks[number].file, framing, options), unknown)
    return planned | {number for number, compressed in zip(unknown, found, strict=True) if compressed}


def _tell(what: str, count: int) -> None:
    if count:
        _LOG.warning("rebalance: %s cannot be split, so whole ones move between tasks (%d of them)", what, count)
