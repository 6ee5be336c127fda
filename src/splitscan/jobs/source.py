"""Seams of an ingest: its source, who runs its tasks, and how its reading is divided into them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.jobs.accounting import check_matches_plan
from splitscan.jobs.destination import History, SortedFiles
from splitscan.jobs.ledger import LedgerFile, SourceTable
from splitscan.jobs.part_writing import WritePart, run_part
from splitscan.jobs.record_json import Json
from splitscan.jobs.settings import SchemaEvolution
from splitscan.jobs.staging import BlockKey, OutputPart, PartReport, PartTarget, Staging, plan_parts, report_folders
from splitscan.jobs.workplace import DestinationStorage
from splitscan.scans import ScanPlanner
from splitscan.scans.index import IndexTask, Summarised, index_here

if TYPE_CHECKING:
    from splitscan.rebalance.report import RebalanceReport  # an optional room


@dataclass(frozen=True)
class ReadTasks:
    """Tasks that are ready to run, and the folders of their reports: with their names, where these are known."""

    run: Callable[[], list[PartReport]]
    folders: Mapping[str, Set[str] | None]


class Division(ABC):
    """Division of the reading of a job into tasks.

    ``blocks_total`` is ``None`` where blocks come into being while they are read. ``rebalance`` reports the claims,
    where tasks claimed what they read.
    """

    blocks_total: int | None
    rebalance: RebalanceReport | None = None

    @property
    @abstractmethod
    def blocks(self) -> Sequence[BlockMetadata]:
        """Blocks to be read, in order."""

    @abstractmethod
    def finished(self, staging: Staging) -> list[PartReport]:
        """Find the parts that earlier runs of the job have finished."""

    @abstractmethod
    def tasks(self, finished: Sequence[PartReport], target: PartTarget) -> ReadTasks | None:
        """Make tasks of what is missing; ``None`` if nothing is."""

    @abstractmethod
    def account(self, reports: Iterable[PartReport]) -> list[PartReport]:
        """The reports in the order of the plan, their blocks numbered.

        Raises:
            InvariantError: ``[not-accounted]`` if they do not tell of every planned block once.
        """


class PlannedDivision(Division):
    """Parts of the plan, one task each."""

    def __init__(
        self,
        plan: Mapping[BlockKey, BlockMetadata],
        group: Callable[[Iterable[BlockMetadata]], Iterable[Sequence[BlockMetadata]]],
        run: Callable[[PartTarget, Sequence[OutputPart]], Iterable[PartReport]],
    ) -> None:
        self._plan, self._group, self._run = plan, group, run
        self.blocks_total = len(plan)

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        return list(self._plan.values())

    def finished(self, staging: Staging) -> list[PartReport]:
        return staging.finished(self._plan)

    def tasks(self, finished: Sequence[PartReport], target: PartTarget) -> ReadTasks | None:
        """Make tasks of what is missing. The whole plan is packed: a part is the same whatever is done of it."""
        done = {block.key for report in finished for block in report.blocks}
        if len(done) == len(self._plan):
            return None
        parts = plan_parts(self._plan, self._group(self._plan.values()), done)
        return ReadTasks(lambda: list(self._run(target, parts)), report_folders(parts))

    def account(self, reports: Iterable[PartReport]) -> list[PartReport]:
        ordered = sorted(reports, key=lambda report: report.number)
        planned = ((*key, block.start, block.stop) for key, block in self._plan.items())
        check_matches_plan(planned, (block for report in ordered for block in report.blocks))
        return ordered


class Runner:
    """Runs tasks: in this process, one after the other; others run them elsewhere."""

    @property
    def min_tasks(self) -> int:
        """Number of tasks that can run at a time."""
        return 1

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        """Run the tasks of the boundary index, in order."""
        return index_here(tasks)

    def run(self, write_part: WritePart, target: PartTarget, parts: Sequence[OutputPart]) -> Iterable[PartReport]:
        """Read and write parts, one task each; called in a thread of its own. *write_part* travels to the tasks."""
        return [run_part(target, part, write_part) for part in parts]

    def divide_claimed(
        self, scan: ScanPlanner, files: Sequence[FileMetadata], blocks: Sequence[BlockMetadata] | None
    ) -> Division | None:
        """Let tasks claim what they read; ``None``, with a warning, if they cannot. Blocks are planned if not given."""
        return None

    def cancel(self) -> None:
        """End running tasks soon; called from another thread."""


@dataclass(frozen=True)
class NamedJob:
    """A job with a name, and with a plan that every run of it has.

    *files* and *table* are what it reads, as the ledger has it. *give_back* is called when all was published: what was
    held for reading is not needed any more.
    """

    target: PartTarget
    division: Division
    files: tuple[LedgerFile, ...]
    table: SourceTable | None = None
    give_back: Callable[[], None] = lambda: None


_Settled_co = TypeVar("_Settled_co", covariant=True)


@dataclass(frozen=True)
class EvolvedSource(Generic[_Settled_co]):
    """A source, or a scan, by the columns that its rows shall have.

    Attributes:
        added: The columns that the destination does not have yet, each with its type.
        left_out: Names of the columns that are there and are not read.
        reads_again: Whether all must be read once more, by other columns.
    """

    source: _Settled_co
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    reads_again: bool = False


class Source(ABC):
    """Source of an ingest: files, or a table of a database."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @property
    def is_guessed(self) -> bool:
        """True if types of columns were found in a sample of what is read."""
        return False

    @property
    @abstractmethod
    def own_names(self) -> bool:
        """True if two attempts at a part may read other bytes, or in another order, and so write other files."""

    @property
    @abstractmethod
    def record_format(self) -> str:
        """Name of the format, for the ledger."""

    @property
    @abstractmethod
    def described_options(self) -> Json:
        """Options of the user, for the ledger; without secrets."""

    @property
    @abstractmethod
    def roots(self) -> Sequence[str]:
        """Paths of the user, secrets masked: all that is read lies below one of them."""

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """Settings of its file system, for a destination that has none of its own."""
        return {}

    def without_own(self, place: DestinationStorage) -> Self:
        """Leave out files in the destination: they are not read, and do not change the schema."""
        return self

    @abstractmethod
    def sort(self, history: History) -> SortedFiles:
        """Sort files into new, ingested and changed ones."""

    @abstractmethod
    def settled(
        self, found: SortedFiles, there: pa.Schema | None, mode: SchemaEvolution, destination: str
    ) -> EvolvedSource[Source]:
        """Restrict the source to what is still to be read, by the columns that its rows shall have."""

    @abstractmethod
    def check(self) -> None:
        """Refuse what cannot be ingested at all."""

    def check_sample(self, files: Sequence[FileMetadata]) -> None:  # noqa: B027 -- a table has no dialect
        """Refuse what would be read wrongly, before anything is read."""

    def divide(self, files: Sequence[FileMetadata], runner: Runner) -> Division | None:
        """Divide what is to be read; ``None`` where that depends on the job's name."""
        return None

    @abstractmethod
    def name_job(
        self,
        files: Sequence[FileMetadata],
        division: Division | None,
        target: PartTarget,
        committed: Container[str],
        runner: Runner,
    ) -> NamedJob:
        """Name a job: what is to be read and how it is written say which one it is.

        *target* has no name yet; *division* is that of :meth:`divide`; *committed* are jobs of the destination.
        """

    def look_again(
        self, noticed: Iterable[tuple[str, int, bytes]], there: pa.Schema | None, mode: SchemaEvolution
    ) -> EvolvedSource[Source]:
        """Decide about columns that were noticed while blocks were read, and that nothing had shown before."""
        return EvolvedSource(self)

    def check_unchanged(self, files: Sequence[FileMetadata]) -> None:  # noqa: B027 -- tasks of a table compared
        """Make sure that nothing changed while it was read."""
