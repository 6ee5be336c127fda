"""What the sink of all tables asks of one table format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from splitscan.sinks.contract import FileState
from splitscan.sinks.ledger import WrittenFile
from splitscan.sinks.settings import SchemaEvolution


@dataclass(frozen=True)
class NewFile:
    """A data file that is about to be registered.

    Attributes:
        written: Its name, length and number of rows.
        footer: Its Parquet footer.
    """

    written: WrittenFile
    footer: pq.FileMetaData


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a commit of ours says of itself in the table.

    Attributes:
        number: Of the job.
        job_id: Its identity.
        ledger_sha256: Of its ledger, as it was prepared.
    """

    number: int
    job_id: str
    ledger_sha256: str


class Table(Protocol):
    """A table of one format at one destination. Every method looks at the table as it is at that moment."""

    format: str
    keeps_partition_columns: bool
    """Whether its data files have the columns that they are partitioned by."""
    failures: tuple[type[Exception], ...]
    """What its library raises where storage or catalog fail."""

    def exists(self) -> bool:
        """Whether the table is there."""

    def columns(self) -> pa.Schema:
        """The columns that it has."""

    def create(self, schema: pa.Schema, partition_by: tuple[str, ...]) -> None:
        """Create it without rows; where it is there by now, by a twin of this run, nothing happens."""

    def partition_by(self) -> tuple[str, ...]:
        """The columns that it is partitioned by, each by its values as they are.

        Raises:
            IngestError: ``[table-unfit]`` if it is partitioned by anything else.
        """

    def with_field_ids(self, schema: pa.Schema) -> pa.Schema:
        """The same schema, with the ids by which readers find columns in files, where the format has such."""

    def check(self, schema: pa.Schema, evolution: SchemaEvolution) -> None:
        """Make sure that files of this schema can be registered. Without a table: that one can be created.

        Args:
            schema: Of the rows.
            evolution: What to do with columns that the table does not have.

        Raises:
            SchemaError: ``[destination-schema]``, ``[table-type]`` if not.
            IngestError: ``[table-unfit]`` if the table has a feature that registering files would break.
        """

    def number(self) -> int:
        """Number of the job that was committed last, 0 if there was none."""

    def stamp(self, number: int) -> Stamp | None:
        """What the commit of a job says of itself; ``None`` if the table does not know any more."""

    def try_append(self, files: Sequence[NewFile], schema: pa.Schema, stamp: Stamp) -> bool:
        """Register files in one commit, if the last job is the one before this.

        Columns that the table does not have are added: in that commit, or in one of their own before it.

        Returns:
            Whether it was committed. If not, somebody else has committed meanwhile, or the catalog does not know
            whether it did: the caller looks at the table again before anything else.
        """

    def live(self) -> set[str]:
        """Names of all data files of the table, relative to it."""

    def removed(self, names: set[str]) -> dict[str, FileState]:
        """What the table says of files that are not live any more."""
