"""What the steps of an ingest ask of others: of the scan, of who runs tasks, of how the work is divided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.options import ReadOptions
from splitscan.rebalance.reading.planning import RebalancePlan
from splitscan.rebalance.report import RebalanceReport
from splitscan.scan.own_formats import Reading
from splitscan.scan.planning import Cutting, Indexer, IndexTask, Summarised
from splitscan.scan.schema.resolution import ResolvedSchema
from splitscan.scan.spec import ScanSpec
from splitscan.sinks.part_writing import PartTarget
from splitscan.sinks.parts import Part
from splitscan.sinks.staging import PartReport, Staging


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """What the tasks of a run have in common. Pickling: plain values only.

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


class ReportWatch(Protocol):
    """Looks for the reports of one run of a job."""

    def look(self, staging: Staging) -> Iterable[PartReport]:
        """The reports that are there and were not seen before."""

    def unseen(self, reports: Iterable[PartReport]) -> Iterable[PartReport]:
        """Of the reports that tasks handed back at the end, those that were never seen."""


Watched: TypeAlias = Callable[[Callable[[], list[PartReport]], ReportWatch], list[PartReport]]
"""Runs tasks in another thread while their reports are watched, and returns what they hand back."""


class Plannable(Protocol):
    """What an ingest asks of a scan."""

    @property
    def options(self) -> ReadOptions:
        """What the user said."""

    @property
    def spec(self) -> ScanSpec:
        """How records are read."""

    @property
    def framing(self) -> Reading:
        """How records are found."""

    @property
    def roots(self) -> Sequence[str]:
        """What the user named: every file lies below one of them."""

    @property
    def chooses_blocks(self) -> bool:
        """Whether only some blocks of a file are read."""

    def files(self) -> Sequence[FileMetadata]:
        """All files, in order, as they were listed once."""

    def with_files(self, files: Sequence[FileMetadata]) -> Self:
        """The same scan of only these of its files."""

    def with_schema(self, schema: pa.Schema) -> Self:
        """The same scan, by a full schema."""

    @property
    def resolved(self) -> ResolvedSchema:
        """The columns of the records, with where each comes from."""

    def naming_all(self, files: Sequence[FileMetadata]) -> Self:
        """The same scan, by the columns of these of its files, which misses none that a header names."""

    def noticing(self, records: int) -> Self:
        """The same scan, whose blocks report columns that it does not have, as seen in so many of their records."""

    def cut(self, cutting: Cutting) -> Self:
        """The same scan with other blocks."""

    def blocks(self, most_shares: int = ...) -> Iterable[BlockMetadata]:
        """All blocks of all files, in order; *most_shares* of a compressed one that cannot be entered in the middle."""

    def plan(self, indexer: Indexer | None = None) -> list[BlockMetadata]:
        """The same, with their first record starts where the format needs them."""

    def tasks(self, blocks: Iterable[BlockMetadata], slots: int = 1) -> Sequence[Sequence[BlockMetadata]]:
        """Group blocks into tasks."""


class Runner(Protocol):
    """Who runs tasks: Spark, or this process."""

    @property
    def min_tasks(self) -> int:
        """Number of tasks that can run at a time."""

    @property
    def can_rebalance(self) -> bool:
        """Whether tasks can reach a coordinator; it is started for that. Warns if not."""

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        """Run the tasks of the boundary index, in order."""

    def run(self, spec: ScanSpec, target: PartTarget, parts: Sequence[Part]) -> Iterable[PartReport]:
        """Read each part and write what it holds, one task per part; called in a thread of its own."""

    def register(self, plan: RebalancePlan) -> str:
        """Tell the coordinator what there is to claim. Returns the identity of the scan: it has logs of its own."""

    def run_claimed(self, spec: ScanSpec, target: PartTarget, run: ClaimedRun) -> Iterable[PartReport]:
        """Read what its log says of each partition, one task per partition; called in a thread of its own."""

    def describe_claims(self, scan: str) -> RebalanceReport | None:
        """What happened in a scan; ``None`` where the coordinator does not answer to this process."""

    def cancel(self) -> None:
        """End running tasks soon; called from another thread."""


class Sharing(Protocol):
    """How the reading of one job is divided."""

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        """What is to be read, in order: the same in every run of the job."""

    @property
    def blocks_total(self) -> int | None:
        """How many blocks the ledger will have; ``None`` where nobody knows before the end."""

    @property
    def rebalance(self) -> RebalanceReport | None:
        """What happened under rebalancing, once all was read."""

    def finished(self, staging: Staging) -> list[PartReport]:
        """What earlier runs of the job have finished."""

    def read(self, finished: Sequence[PartReport], target: PartTarget, watched: Watched) -> list[PartReport]:
        """Read what is left."""

    def account(self, reports: Iterable[PartReport]) -> list[PartReport]:
        """Bring all reports into order, and make sure that they are of this job."""
