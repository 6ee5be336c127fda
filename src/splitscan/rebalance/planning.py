"""The plan of a rebalanced scan: its segments, which partition begins where, and what people are shown of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from splitscan.blocks import BlockMetadata
from splitscan.formats.framing.contract import Splittability
from splitscan.options import FileOptions
from splitscan.reading.block_scan import in_threads
from splitscan.reading.own_formats import Reading, record_format_of
from splitscan.rebalance.chunk_reader import PathSecrets, parts_of, segment_of
from splitscan.rebalance.claim_log import PositionSpace
from splitscan.rebalance.claim_values import Chunk, Segment
from splitscan.redaction import redact
from splitscan.scans import Indexer, ScanPlanner
from splitscan.scans.cutting import is_compressed
from splitscan.sizes import MIB, count_of, format_size

SEGMENT_BYTES = 4 * MIB
"""What the boundary index knows in one piece, entered in the middle in a few ms."""

MOST_OPENED = 2000
"""Files that planning looks into; where there are more, moving whole ones is even enough."""

_LOG = logging.getLogger("splitscan")


@dataclass(frozen=True, slots=True)
class RebalancePlan:
    """Plan of a scan for a coordinator.

    Attributes:
        ranges: One range of positions per partition; together they tile all positions.
        secrets: Credentials of its paths. They are for the tasks: the coordinator is not told of them.
    """

    segments: tuple[Segment, ...]
    ranges: tuple[tuple[int, int], ...]
    secrets: tuple[str, ...] = field(repr=False)


def plan_rebalance(scan: ScanPlanner, slots: int, indexer: Indexer | None = None) -> RebalancePlan | None:
    """Plan a rebalanced scan: :func:`plan_blocks`, then :func:`plan_ranges`."""
    blocks = plan_blocks(scan, indexer)
    return plan_ranges(blocks, scan.framing, slots, scan.options.files) if blocks else None


def plan_blocks(scan: ScanPlanner, indexer: Indexer | None = None) -> list[BlockMetadata]:
    """List and cut the files of a scan, and where the format needs it, find the first record of every block.

    Blocks of such a format are short, and so are those of compressed files that can be entered between their members,
    except where ``where`` tells blocks from each other.
    """
    if scan.framing.splittability is Splittability.CONTEXT:
        return scan.cut_at_most(SEGMENT_BYTES).plan(indexer)
    blocks = scan.plan(indexer)
    asked = {block.file.path for block in blocks if _may_have_members(block)}
    if scan.framing.splittability is Splittability.WHOLE or not 0 < len(asked) <= MOST_OPENED:
        return blocks
    files = [file for file in scan.files() if file.path in asked]
    finer = scan.with_files(files).cut_at_most(SEGMENT_BYTES).blocks(most_shares=1)
    return list(_with_members(blocks, finer))


def _may_have_members(block: BlockMetadata) -> bool:
    return block.file.size_bytes > SEGMENT_BYTES and (block.is_file or block.file.compression is not None)


def _with_members(blocks: Sequence[BlockMetadata], finer: Iterable[BlockMetadata]) -> Iterator[BlockMetadata]:
    """The blocks of a plan; those of compressed files are the finer ones, where they begin at members."""
    by_path: dict[str, list[BlockMetadata]] = {}
    for block in finer:
        if block.file.compression is not None and block.seek is not None:
            by_path.setdefault(block.file.path, []).append(block)
    for path, planned in groupby(blocks, key=lambda block: block.file.path):
        yield from by_path.get(path, planned)


def plan_ranges(blocks: Sequence[BlockMetadata], framing: Reading, slots: int, options: FileOptions) -> RebalancePlan:
    """Give each partition its share of the bytes to begin with, as even as files allow that cannot be split.

    The first bytes of files that are one block are read, to see whether they are compressed.
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
    if record_format_of(framing) is None:
        return planned
    if len(unknown) > MOST_OPENED:
        return planned | set(unknown)
    found = in_threads(lambda number: is_compressed(blocks[number].file, framing, options), unknown)
    return planned | {number for number, compressed in zip(unknown, found, strict=True) if compressed}


def _tell(what: str, count: int) -> None:
    if count:
        _LOG.warning("rebalance: %s cannot be split, so whole ones move between tasks (%d of them)", what, count)


_MOST_SHOWN = 20  # tasks that are printed


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """First share of one task; without rebalancing that is all it reads."""

    number: int
    ranges: tuple[BlockMetadata, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of files; of the content of compressed ones only what the files hold."""
        return sum(min(block.length_bytes, block.file.size_bytes) for block in self.ranges)

    def __str__(self) -> str:
        if not self.ranges:
            return f"task {self.number}: nothing to begin with"
        places = [
            f"{redact(block.file.name)} [{block.start}, {block.stop})" for block in (self.ranges[0], self.ranges[-1])
        ]
        where = places[0] if len(self.ranges) == 1 else f"{places[0]} to {places[1]}, {len(self.ranges)} ranges"
        return f"task {self.number}: {format_size(self.size_bytes)}, {where}"


@dataclass(frozen=True, slots=True)
class PlanExplanation:
    """Division of a scan among tasks; ``print`` shows it.

    Attributes:
        entry: How a task finds its first record.
        rebalanced: Whether tasks that have nothing left take over what others have not begun to read.
        reader: Who reads on Spark, and why; empty without a session.
    """

    format: str
    entry: str
    rebalanced: bool
    slots: int
    files: int
    tasks: tuple[PlannedTask, ...]
    reader: str = ""

    def __str__(self) -> str:
        total = format_size(sum(task.size_bytes for task in self.tasks))
        later = (
            "a task that has nothing left takes over what another one has not claimed"
            if self.rebalanced
            else "each task reads what is planned for it"
        )
        tasks = f"{count_of(len(self.tasks), 'task')} on {count_of(self.slots, 'slot')}"
        lines = [
            f"{self.format}, {count_of(self.files, 'file')}, {total}: {tasks}",
            f"first records: {self.entry}; {later}",
            *([f"read by: {self.reader}"] if self.reader else []),
            *(f"  {task}" for task in self.tasks[:_MOST_SHOWN]),
        ]
        if len(self.tasks) > _MOST_SHOWN:
            lines.append(f"  and {len(self.tasks) - _MOST_SHOWN} more")
        return "\n".join(lines)


def explain_plan(scan: ScanPlanner, slots: int, *, rebalance: bool, indexer: Indexer | None = None) -> PlanExplanation:
    """Plan a scan as ``to_spark`` does, and tell what each task begins with.

    Args:
        indexer: How to run the summaries of the boundary index; threads of this process by default.
    """
    shares = _claimed_shares(scan, slots, indexer) if rebalance else scan.plan_tasks(slots, indexer)
    tasks = tuple(PlannedTask(number, tuple(ranges)) for number, ranges in enumerate(shares))
    framing = scan.framing
    return PlanExplanation(framing.name, framing.splittability.value, rebalance, slots, len(scan.files()), tasks)


def _claimed_shares(scan: ScanPlanner, slots: int, indexer: Indexer | None) -> list[Sequence[BlockMetadata]]:
    plan = plan_rebalance(scan, slots, indexer)
    if plan is None:
        return []
    space = PositionSpace(plan.segments)
    chunks = [Chunk(0, start, stop, space.pieces(start, stop)) for start, stop in plan.ranges]
    return [[part.block for part in parts_of(chunk, plan.secrets)] for chunk in chunks]
