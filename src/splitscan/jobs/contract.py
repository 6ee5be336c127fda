"""What the steps of an ingest ask of others: of the source, of who runs tasks, of how the work is divided."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, FileMetadata
from splitscan.jobs.history import History, SortedFiles
from splitscan.jobs.ledger import LedgerFile, LedgerTable
from splitscan.jobs.part_writing import PartTarget
from splitscan.jobs.parts import Part
from splitscan.jobs.record_json import Json
from splitscan.jobs.settings import IngestSettings, SchemaEvolution
from splitscan.jobs.staging import PartReport, Staging
from splitscan.jobs.workplace import Workplace
from splitscan.options import ReadOptions
from splitscan.rebalance.reading.planning import RebalancePlan
from splitscan.rebalance.report import RebalanceReport
from splitscan.scan.own_formats import Reading
from splitscan.scan.planning import Cutting, Indexer, IndexTask, Summarised
from splitscan.scan.rejects import OnRejects
from splitscan.scan.schema.resolution import ResolvedSchema
from splitscan.scan.spec import ScanSpec


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
    """What an ingest of files asks of their scan."""

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

    @property
    def finds_columns(self) -> bool:
        """Whether the columns of the rows are all that the files have, as far as a look at them shows."""

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


class BlockRows(Protocol):
    """The rows of one block: iterate once, then ask for the report."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    @property
    def passed_bytes(self) -> int:
        """How much of the block has been read."""

    @property
    def report(self) -> BlockReport:
        """What was read; known once iteration has ended."""


OpenBlock: TypeAlias = Callable[[BlockMetadata, OnRejects, bool], BlockRows]
"""Opens a block: the block, who takes rejects, whether to hash the source bytes."""


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
        """Read each part of files and write what it holds, one task per part; called in a thread of its own."""

    def run_with(self, open_block: OpenBlock, target: PartTarget, parts: Sequence[Part]) -> Iterable[PartReport]:
        """The same of what is no file: *open_block* travels to the tasks."""

    def register(self, plan: RebalancePlan) -> str:
        """Tell the coordinator what there is to claim. Returns the identity of the scan: it has logs of its own."""

    def run_claimed(self, spec: ScanSpec, target: PartTarget, run: ClaimedRun) -> Iterable[PartReport]:
        """Read what its log says of each partition, one task per partition; called in a thread of its own."""

    def describe_claims(self, scan: str) -> RebalanceReport | None:
        """What happened in a scan; ``None`` where the coordinator does not answer to this process."""

    def cancel(self) -> None:
        """End running tasks soon; called from another thread."""


class Division(Protocol):
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


@dataclass(frozen=True)
class Writing:
    """What is known of a job's writing before it has a name.

    Attributes:
        settings: How rows are written.
        schema: Of the rows, with the ids that their columns have in files.
        committed: Identities of the jobs that the destination has.
        open_staging: Opens the folder of a job, for a plan of it: both by their identities.
    """

    settings: IngestSettings
    schema: pa.Schema
    committed: Container[str]
    open_staging: Callable[[str, str], Staging]


@dataclass(frozen=True)
class NamedJob:
    """A job with a name, and with a plan that every run of it has.

    Attributes:
        job_id: Its identity.
        division: How its reading is divided.
        writing: What it was named by.
        files: What it reads, as the ledger has it.
        table: The table that it reads, if it reads one.
        give_back: Called when all was published: what was held for reading is not needed any more.
        plan_id: Identity of its plan, where that does not follow from its own.
    """

    job_id: str
    division: Division
    writing: Writing
    files: tuple[LedgerFile, ...]
    table: LedgerTable | None = None
    give_back: Callable[[], None] = lambda: None
    plan_id: str = ""


_Settled_co = TypeVar("_Settled_co", covariant=True)


@dataclass(frozen=True)
class Settlement(Generic[_Settled_co]):
    """A source, or a scan, by the columns that its rows shall have.

    Attributes:
        source: The source, or the scan.
        added: The columns that the destination does not have yet, each with its type.
        left_out: Names of the columns that are there and are not read.
        reads_again: Whether all must be read once more, by other columns.
    """

    source: _Settled_co
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    reads_again: bool = False


class Source(Protocol):
    """What is ingested, files or a table of a database: all that the steps ask of it."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @property
    def own_names(self) -> bool:
        """Whether two attempts at a part may read other bytes, or in another order, and so write other files."""

    @property
    def record_format(self) -> str:
        """Name of the format, for the ledger."""

    @property
    def described_options(self) -> Json:
        """What the user said, for the ledger; without secrets."""

    @property
    def roots(self) -> Sequence[str]:
        """What the user named: all that is read lies below one of them."""

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """Settings of its file system, for a destination that has none of its own."""

    def without_own(self, place: Workplace) -> Self:
        """The same, without what lies in the destination: it is not read, and has no say in the schema."""

    def sort(self, history: History) -> SortedFiles:
        """What is there, by what is to be done with it."""

    def settled(
        self, found: SortedFiles, there: pa.Schema | None, mode: SchemaEvolution, destination: str
    ) -> Settlement[Source]:
        """The same, of what is still to be read, by the columns that its rows shall have.

        Args:
            found: What is there.
            there: The columns of the destination; ``None`` if it has none yet.
            mode: What is done about columns that it does not have.
            destination: For messages.
        """

    def check(self) -> None:
        """Refuse what cannot be ingested at all.

        Raises:
            UsageError: If so.
        """

    def check_sample(self, files: Sequence[FileMetadata]) -> None:
        """Refuse what would be read wrongly, before anything is read.

        Raises:
            UsageError: If a sample says so.
        """

    def plan_job(self, files: Sequence[FileMetadata], runner: Runner, begin: Callable[[], Writing]) -> NamedJob:
        """Plan a job, and name it: what is to be read and how it is written say which one it is.

        Args:
            files: What is read.
            runner: Who runs tasks.
            begin: Makes the destination ready, once it is known what is read.
        """

    def look_again(
        self, noticed: Iterable[tuple[str, int, bytes]], there: pa.Schema | None, mode: SchemaEvolution
    ) -> Settlement[Source]:
        """What follows from columns that were noticed while blocks were read, which nothing had shown before."""

    def check_unchanged(self, files: Sequence[FileMetadata]) -> None:
        """Make sure that nothing changed while it was read.

        Raises:
            SourceError: If so.
        """
