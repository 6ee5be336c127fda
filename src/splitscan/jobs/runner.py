"""The seam to whoever runs the tasks of a job: Spark, or a process of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport
from splitscan.jobs.part_writing import PartTarget
from splitscan.jobs.parts import OutputPart
from splitscan.jobs.staging import PartReport
from splitscan.rebalance.reading.planning import RebalancePlan
from splitscan.rebalance.report import RebalanceReport
from splitscan.scan.index import IndexTask, Summarised
from splitscan.scan.rejects import OnRejects
from splitscan.scan.spec import ScanSpec


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run of a job whose tasks claim what they read. Pickling: plain values only.

    Attributes:
        scan: Identity of the scan: each run of a job has another one, and so other logs.
        partitions: How many there are.
        part_bytes: A Parquet file is closed when the chunks in it reach this length.
        secrets: Credentials of the plan's paths.
    """

    scan: str
    partitions: int
    part_bytes: int
    secrets: tuple[str, ...] = field(repr=False)


class BlockRows(Protocol):
    """The rows of one block: iterate once, then ask for the report."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    @property
    def passed_bytes(self) -> int:
        """Bytes of the block that were read."""

    @property
    def report(self) -> BlockReport:
        """Span, rows and rejects; known once iteration has ended."""


OpenBlock: TypeAlias = Callable[[BlockMetadata, OnRejects, bool], BlockRows]
"""Opens a block: the block, who takes rejects, whether to hash the source bytes."""


class Runner(Protocol):
    """Runs tasks: on Spark, or in this process."""

    @property
    def min_tasks(self) -> int:
        """Number of tasks that can run at a time."""

    @property
    def can_rebalance(self) -> bool:
        """True if tasks can reach a coordinator; it is started for that. Warns if not."""

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        """Run the tasks of the boundary index, in order."""

    def run(self, spec: ScanSpec, target: PartTarget, parts: Sequence[OutputPart]) -> Iterable[PartReport]:
        """Read each part of files and write what it holds, one task per part; called in a thread of its own."""

    def run_with(self, open_block: OpenBlock, target: PartTarget, parts: Sequence[OutputPart]) -> Iterable[PartReport]:
        """Read parts of a source that is no file, one task per part: *open_block* travels to the tasks."""

    def register(self, plan: RebalancePlan) -> str:
        """Tell the coordinator what there is to claim. Returns the identity of the scan: it has logs of its own."""

    def run_claimed(self, spec: ScanSpec, target: PartTarget, run: ClaimedRun) -> Iterable[PartReport]:
        """Read what its log says of each partition, one task per partition; called in a thread of its own."""

    def describe_claims(self, scan: str) -> RebalanceReport | None:
        """Report the claims of a scan; ``None`` where the coordinator does not answer to this process."""

    def cancel(self) -> None:
        """End running tasks soon; called from another thread."""
