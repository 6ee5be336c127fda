"""What a scan would do on Spark, before it does: which task begins with what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from splitscan.blocks import BlockMetadata
from splitscan.rebalance.claiming import Chunk, PositionSpace
from splitscan.rebalance.reading.parts import parts_of
from splitscan.rebalance.reading.planning import plan_rebalance
from splitscan.redaction import redact
from splitscan.scan import Indexer, ScanPlanner
from splitscan.sizes import format_size

_MOST_SHOWN = 20  # tasks that are printed


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """What one task begins with; without rebalancing that is all it reads.

    Attributes:
        number: Number of the task, from 0.
        ranges: Ranges of files, in order.
    """

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
    """How a scan is divided among tasks; ``print`` shows it.

    Attributes:
        format: Name of the record format.
        entry: How a task finds its first record.
        rebalanced: Whether tasks that have nothing left take over what others have not begun to read.
        slots: How many tasks run at a time.
        files: How many files there are.
        tasks: What each begins with.
    """

    format: str
    entry: str
    rebalanced: bool
    slots: int
    files: int
    tasks: tuple[PlannedTask, ...]

    def __str__(self) -> str:
        total = format_size(sum(task.size_bytes for task in self.tasks))
        later = (
            "a task that has nothing left takes over what another one has not claimed"
            if self.rebalanced
            else "each task reads what is planned for it"
        )
        lines = [
            f"{self.format}, {self.files} files, {total}: {len(self.tasks)} tasks on {self.slots} slots",
            f"first records: {self.entry}; {later}",
            *(f"  {task}" for task in self.tasks[:_MOST_SHOWN]),
        ]
        if len(self.tasks) > _MOST_SHOWN:
            lines.append(f"  and {len(self.tasks) - _MOST_SHOWN} more")
        return "\n".join(lines)


def explain_plan(scan: ScanPlanner, slots: int, *, rebalance: bool, indexer: Indexer | None = None) -> PlanExplanation:
    """Plan a scan as ``to_spark`` does, and tell what each task begins with.

    Args:
        scan: What to read.
        slots: How many tasks run at a time.
        rebalance: Whether it is rebalanced.
        indexer: How to run the summaries of the boundary index; threads of this process by default.
    """
    shares = _claimed_shares(scan, slots, indexer) if rebalance else _fixed_shares(scan, slots, indexer)
    tasks = tuple(PlannedTask(number, tuple(ranges)) for number, ranges in enumerate(shares))
    framing = scan.framing
    return PlanExplanation(framing.name, framing.splittability.value, rebalance, slots, len(scan.files()), tasks)


def _fixed_shares(scan: ScanPlanner, slots: int, indexer: Indexer | None) -> list[Sequence[BlockMetadata]]:
    return [*scan.plan_tasks(slots, indexer)]


def _claimed_shares(scan: ScanPlanner, slots: int, indexer: Indexer | None) -> list[Sequence[BlockMetadata]]:
    plan = plan_rebalance(scan, slots, indexer)
    if plan is None:
        return []
    space = PositionSpace(plan.segments)
    chunks = [Chunk(0, start, stop, space.pieces(start, stop)) for start, stop in plan.ranges]
    return [[part.block for part in parts_of(chunk, plan.secrets)] for chunk in chunks]
