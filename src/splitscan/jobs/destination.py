"""Destinations of an ingest: one protocol for a plain folder of Parquet and for tables."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from splitscan.jobs.ledger import Ledger, LedgerColumn, WrittenFile
from splitscan.jobs.partitioning import Partitioning
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import DestinationStorage

Announce = Callable[[str], None]
"""Told the name of each step before it is taken."""


@dataclass(frozen=True, slots=True)
class Published:
    """Published jobs of a destination, as its ledgers say.

    Attributes:
        jobs: The sequence of every job, by its identity.
        columns: Of the last job; empty if there was none.
        table: Format of the table that the last job went to; empty for a plain folder.
        partitioning: Of the last job.
        first: The data files that readers find first.
        removed: The data files that left with versions that were replaced.
    """

    jobs: Mapping[str, int]
    columns: tuple[LedgerColumn, ...] = ()
    table: str = ""
    partitioning: Partitioning = field(default_factory=Partitioning)
    first: tuple[str, ...] = ()
    removed: Set[str] = frozenset()

    @property
    def last(self) -> int:
        """Number of the last job, 0 if there was none."""
        return max(self.jobs.values(), default=0)


class FileState(enum.Enum):
    """State of a data file that a job wrote."""

    LIVE = "its rows are in the destination as they were written"
    REWRITTEN = "its rows were written again, into other files, by a maintenance of the table"
    REMOVED = "its rows were removed from the table by somebody else"
    REDUCED = "rows of it were removed from the table by somebody else, who left the file and listed what is deleted"
    UNCLEAR = "the table deletes rows by a list that cannot be read here, so which rows of it are left cannot be told"
    UNKNOWN = "the table does not name it any more, and no longer says why"


class Destination(Protocol):
    """A destination: workers write Parquet files, a sink says where, and makes those of a job visible in one commit.

    A commit costs what the new files cost, and is idempotent by the job's identity: whatever is killed, a rerun never
    doubles rows.

    Thread safety: none; one job after the other. Pickling: never; workers get the names of folders.
    """

    place: DestinationStorage
    table: str
    """The table format, ``"delta"`` or ``"iceberg"``, or empty for a plain folder."""

    @property
    def data_root(self) -> str:
        """The folder that workers write data files to under their final names; empty if they wait in staging."""

    def columns(self, published: Published) -> pa.Schema | None:
        """The columns that the destination has, in order; ``None`` if it has none yet."""

    def check(self, schema: pa.Schema, published: Published, settings: IngestSettings) -> Partitioning:
        """Make sure that rows of this schema can be written here. Writes nothing.

        Args:
            schema: Of the rows.
            published: What is here.
            settings: What the user wants: which partition columns, and whether columns may be added.

        Returns:
            How the rows are partitioned.

        Raises:
            UsageError: ``[partition-column]`` if rows cannot be partitioned by these columns.
            SchemaError: ``[destination-schema]`` if the columns do not fit, ``[table-type]`` if the format has no such
                type.
            IngestError: ``[not-a-destination]`` if something else is here; ``[table-unfit]`` if the table has a feature
                that registering files would break; ``[table-behind]`` if it is older than the ledgers.
        """

    def begin(self, schema: pa.Schema, partitioning: Partitioning, settings: IngestSettings) -> pa.Schema:
        """Make ready for rows of this schema, before the first file is written: a table is created here.

        Returns:
            The same schema, with the field ids that the columns have in files.
        """

    def carriers(self, published: Published, ledger: Ledger) -> list[str]:
        """Names of files without rows that a job needs beside its own, so that readers know all columns."""

    def commit(self, staging: Staging, ledger: Ledger, announce: Announce) -> Ledger:
        """Make a job visible.

        Returns:
            The ledger that counts: that of a twin, another run of the same job, where the twin's files are visible.

        Raises:
            IngestError: If the storage fails, a file is missing or changed, or another job took the ledger's number
                meanwhile. Before the atomic step nothing is visible; after it everything is, or will be after the next
                run.
        """

    def recover(self, published: Published) -> bool:
        """Finish what a killed commit has begun. Returns whether anything was done.

        Raises:
            IngestError: ``[data-file-missing]`` if a file is nowhere; ``[table-behind]``, ``[ledger-damaged]`` if table
                and ledgers contradict each other.
        """

    def unfinished(self, published: Published) -> list[int]:
        """Numbers of the jobs that :meth:`recover` would work on. Nothing is locked or written to find out.

        Raises:
            IngestError: ``[table-behind]``, ``[ledger-damaged]`` as :meth:`recover`.
        """

    def audit(self, files: Sequence[WrittenFile]) -> Mapping[str, FileState]:
        """Look up the state of data files, by name."""

    def discard(self, job_id: str) -> None:
        """Delete the data files of a job that was never committed, and that nobody can continue any more."""
