"""Destinations of an ingest: one interface of a plain folder of Parquet and of tables, and how one is opened."""

from __future__ import annotations

import enum
import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from splitscan.errors import IngestError, UsageError, Where, bad_option
from splitscan.jobs.history import History
from splitscan.jobs.ledger import OUR_FOLDER, Ledger, WrittenFile
from splitscan.jobs.ledger_files import announced_table
from splitscan.jobs.settings import IngestSettings, Partitioning
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import DestinationStorage, open_destination_storage

Announce = Callable[[str], None]
"""Told the name of each step before it is taken."""


class FileState(enum.Enum):
    """State of a data file that a job wrote."""

    LIVE = "its rows are in the destination as they were written"
    REWRITTEN = "its rows were written again, into other files, by a maintenance of the table"
    REMOVED = "its rows were removed from the table by somebody else"
    REDUCED = "rows of it were removed from the table by somebody else, who left the file and listed what is deleted"
    UNCLEAR = "the table deletes rows by a list that cannot be read here, so which rows of it are left cannot be told"
    UNKNOWN = "the table does not name it any more, and no longer says why"


class Destination(ABC):
    """A destination: workers write Parquet files, a sink says where, and makes those of a job visible in one commit.

    A commit costs what the new files cost, and is idempotent by the job's identity: whatever is killed, a rerun never
    doubles rows.

    Thread safety: none; one job after the other. Pickling: never; workers get the names of folders.
    """

    table = ""
    """The table format, ``"delta"`` or ``"iceberg"``, or empty for a plain folder."""

    def __init__(self, place: DestinationStorage) -> None:
        self.place = place

    @property
    def data_root(self) -> str:
        """The folder that workers write data files to under their final names; empty if they wait in staging."""
        return ""

    @abstractmethod
    def columns(self, history: History) -> pa.Schema | None:
        """The columns that the destination has, in order; ``None`` if it has none yet."""

    @abstractmethod
    def check(self, schema: pa.Schema, history: History, settings: IngestSettings) -> Partitioning:
        """Make sure that rows of this schema can be written here, as the settings want it. Writes nothing.

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
        """Make ready for rows of this schema, before the first file is written: a table is announced here.

        Returns the same schema, with the field ids that the columns have in files.
        """
        return schema

    def carriers(self, history: History, ledger: Ledger) -> list[str]:
        """Names of files without rows that a job needs beside its own, so that readers know all columns."""
        return []

    @abstractmethod
    def commit(self, staging: Staging, ledger: Ledger, announce: Announce) -> Ledger:
        """Make a job visible.

        Returns the ledger that counts: that of a twin, another run of the same job, where the twin's files are visible.

        Raises:
            IngestError: If the storage fails, a file is missing or changed, or another job took the ledger's number
                meanwhile. Before the atomic step nothing is visible; after it everything is, or will be after the next
                run.
        """

    @abstractmethod
    def unfinished(self, history: History) -> list[int]:
        """Numbers of the jobs whose commit was killed, in order. Nothing is locked or written to find out.

        Raises:
            IngestError: ``[table-behind]``, ``[ledger-damaged]`` if table and ledgers contradict each other.
        """

    @abstractmethod
    def finish(self, number: int, history: History) -> None:
        """Finish the commit of one of these jobs, all before it being finished.

        Raises:
            IngestError: ``[data-file-missing]`` if a file is nowhere; ``[ledger-damaged]``.
        """

    def recover(self, history: History) -> bool:
        """Finish what killed commits have begun. Returns whether anything was done."""
        numbers = self.unfinished(history)
        for number in numbers:
            self.finish(number, history)
        return bool(numbers)

    def audit(self, files: Sequence[WrittenFile]) -> Mapping[str, FileState]:
        """Look up the state of data files, by name."""
        return dict.fromkeys((written.name for written in files), FileState.LIVE)

    def discard(self, job_id: str) -> None:  # noqa: B027 -- a folder has nothing outside of staging
        """Delete the data files of a job that was never committed, and that nobody can continue any more."""


PLAIN = "none"
CATALOG_SCHEME = "iceberg://"
"""What the address of a table in a catalog begins with."""

_ICEBERG = "iceberg"
_MODULES = {
    "delta": ("splitscan.jobs.delta", "deltalake"),
    _ICEBERG: ("splitscan.jobs.iceberg", "pyiceberg"),
    PLAIN: ("splitscan.jobs.folder", "splitscan"),
}
TABLE_FORMATS = tuple(_MODULES)
"""What a user may name; without a name a destination is what it already is, or a plain folder."""

_MARKS = {"_delta_log/": "delta", "iceberg.db": _ICEBERG}  # what stands in the folder of a table


def open_destination(
    destination: str | os.PathLike[str], table: str | None = None, storage_options: Mapping[str, Any] | None = None
) -> Destination:
    """Open a destination. Nothing is created.

    Args:
        destination: Local path or URI of a folder that need not exist; or ``iceberg://CATALOG/NAMESPACE.TABLE``, a
            table of a catalog that pyiceberg's own settings name.
        table: One of ``TABLE_FORMATS``; ``None`` for what is there; a plain folder if nothing is.
        storage_options: Settings of a remote file system.

    Raises:
        UsageError: ``[bad-option]`` if *table* has no meaning, ``[no-table-format]`` if its library is not installed.
        IngestError: ``[not-a-destination]`` if something of another format is there.
    """
    if table is not None and table not in TABLE_FORMATS:
        raise bad_option(
            "table names the format of the destination", repr(table)[:80], f"give one of {', '.join(TABLE_FORMATS)}"
        )
    if isinstance(destination, str) and destination.startswith(CATALOG_SCHEME):
        return _open_registered(destination, table, storage_options or {})
    place = open_destination_storage(destination, storage_options)
    there = _recognise(place)
    wanted = table or there or PLAIN
    if there is not None and wanted != there:
        raise IngestError(
            f"the destination is a table of format {there}", Where(path=place.destination.root), f"table={wanted}",
            f"leave table out, or say table={there}; a folder into which no ingest has ended may also be removed",
            "not-a-destination",
        )  # fmt: skip
    with _library(wanted) as module:
        opened: Destination = module.open_table(place)
    return opened


def _recognise(place: DestinationStorage) -> str | None:
    names = place.destination.list_names()
    marked = next((kind for mark, kind in _MARKS.items() if mark in names), None)
    return marked or (announced_table(place.destination) if f"{OUR_FOLDER}/" in names else None)


def _open_registered(address: str, table: str | None, storage_options: Mapping[str, Any]) -> Destination:
    if table not in {None, _ICEBERG}:
        raise bad_option(f"{CATALOG_SCHEME} names a table of a catalog of Iceberg", f"table={table}", "leave table out")
    with _library(_ICEBERG) as module:
        opened: Destination = module.open_registered(address, storage_options)
    return opened


@contextmanager
def _library(table_format: str) -> Iterator[Any]:
    """The module of a table format, which is imported when it is first needed."""
    module, library = _MODULES[table_format]
    try:
        yield importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a table of format {table_format} is written by {library}, which is not installed", seen=str(error),
            fix=f'pip install "splitscan[{table_format}]", on the driver; workers do without', code="no-table-format",
        ) from error  # fmt: skip
