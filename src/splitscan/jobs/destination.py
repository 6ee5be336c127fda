"""Destinations: what one holds by its ledgers, one interface of folders of Parquet and of tables, how one is opened."""

from __future__ import annotations

import enum
import importlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from splitscan.blocks import FileMetadata
from splitscan.content.storage import locate, open_tree, redact
from splitscan.errors import IngestError, SourceChangedError, UsageError, Where, bad_option
from splitscan.jobs.ledger import LEDGER_FOLDER, OUR_FOLDER, Ledger, LedgerColumn, WrittenFile, identify
from splitscan.jobs.ledger_files import announced_table, check_named, list_ledgers, read_ledger, written_by_jobs
from splitscan.jobs.settings import IngestSettings, Partitioning, first_of
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import Announce, DestinationStorage, open_destination_storage
from splitscan.sizes import count_of
from splitscan.spelling import portable_path

_SHOWN_PATHS = 5
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SortedFiles:
    """Files by what is to be done with them.

    Attributes:
        changed: Ingested before in another version; or part of a content of which an earlier part is not there.
        replacing: Those of the fresh ones whose earlier version is to leave.
        by_name: Whether what was ingested before is known by a name, and so whatever it is by now.
    """

    fresh: list[FileMetadata] = field(default_factory=list)
    skipped: list[FileMetadata] = field(default_factory=list)
    changed: list[FileMetadata] = field(default_factory=list)
    replacing: list[FileMetadata] = field(default_factory=list)
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Growth:
    """Range that a job reads of a file that grows: from *start* to where the file was planned.

    *content* is the identity of what was written under the file's name, in its destination.
    """

    content: str
    start: int


class History:
    """The committed jobs of one destination, as its ledgers say.

    A file that had vanished when it was to be read was not ingested: it is read when it comes back.

    Attributes:
        jobs: The sequence of every job, by its identity; *last* is the greatest, 0 without a job.
        columns: Of the last job, as *table* and *partitioning*; all empty if there was none.
        first: The data files that readers find first.
        removed: The data files that left with versions that were replaced.
        tables: The tables that were ingested, each as database and relation, by the name of the job.
        read_to: The first offset that was not ingested of each content that grows.
    """

    def __init__(self, ledgers: Iterable[Ledger] = ()) -> None:
        self.jobs: dict[str, int] = {}
        self.last = 0
        self.first: tuple[str, ...] = ()
        self.columns: tuple[LedgerColumn, ...] = ()
        self.table = ""
        self.partitioning = Partitioning()
        self.tables: dict[str, tuple[str, str]] = {}
        self.removed: set[str] = set()
        self.read_to: dict[str, int] = {}
        self._fingerprints: dict[str, set[str]] = {}
        self._whole: set[str] = set()  # identities of files that were ingested from end to end
        for ledger in ledgers:
            self.add(ledger)

    def add(self, ledger: Ledger) -> None:
        """Add the next job."""
        self.jobs[ledger.job_id] = self.last = ledger.sequence
        self.removed.update(each.name for each in ledger.removed)
        names = [*self.first, *(written.name for written in ledger.data_files)]
        self.first = first_of(name for name in names if name not in self.removed)
        for replaced in ledger.replaced:
            self._fingerprints.pop(replaced.identity, None)
        self.columns, self.table, self.partitioning = ledger.columns, ledger.table, ledger.partitioning
        if ledger.source is not None:
            self.tables[ledger.source.job] = (ledger.source.database, ledger.source.relation)
        for file in ledger.read_files():
            self._fingerprints.setdefault(file.identity, set()).add(file.fingerprint)
            if file.content:
                self.read_to[file.content] = file.size_bytes
            else:
                self._whole.add(file.identity)

    @property
    def identities(self) -> Iterable[str]:
        """The identities of all files that were ingested."""
        return self._fingerprints.keys()

    def sort_files(self, files: Iterable[FileMetadata], growth: Mapping[str, Growth] | None = None) -> SortedFiles:
        """Tell new files from those that were ingested before."""
        found = SortedFiles()
        for file in files:
            if growth and file.path in growth:
                self._sort_grown(file, growth[file.path], found)
                continue
            known = next(filter(None, map(self._fingerprints.get, identities_of(file.path))), None)
            if known is None:
                found.fresh.append(file)
            elif file.fingerprint in known:
                found.skipped.append(file)
            else:
                found.changed.append(file)
        return found

    def _sort_grown(self, file: FileMetadata, growth: Growth, found: SortedFiles) -> None:
        read_to = self.read_to.get(growth.content, 0)
        if file.size_bytes <= read_to:
            found.skipped.append(file)
        elif growth.start == read_to and (read_to or self._whole.isdisjoint(identities_of(file.path))):
            found.fresh.append(file)
        else:
            found.changed.append(file)


def replacing(found: SortedFiles) -> SortedFiles:
    """Put the files that have changed among those to be read, in the order of their paths."""
    fresh = sorted([*found.fresh, *found.changed], key=lambda file: file.path) if found.changed else found.fresh
    return SortedFiles(fresh, found.skipped, [], found.changed, found.by_name)


def identities_of(path: str) -> Iterator[str]:
    """The identities that a file may have in a ledger, that of today first: a splitscan before saw fewer secrets."""
    yield identify(path)
    if redact(path) != path:
        yield portable_path(path)


class HistoryReader:
    """Reads the history of one destination, each ledger once: what is committed never changes.

    So what a job among many costs does not depend on how many there were. A destination that is another one by now is
    read again.

    Thread safety: none; one job after the other.
    """

    def __init__(self) -> None:
        self._history = History()
        self._names: list[str] = []
        self._last = ""  # fingerprint of the last ledger that was read

    def read(self, place: DestinationStorage, table: str) -> History:
        """Read and check what was committed since this was called before; *table* is empty for a plain folder.

        Raises:
            IngestError: ``[ledger-damaged]`` if a ledger is damaged or missing.
        """
        names, known = list_ledgers(place.destination), len(self._names)
        if known and names[:known] == self._names and self._last == _fingerprint_of(place, self._names[-1]):
            self._add(place, names[known:])
        else:
            self._history, self._names = History(), []
            written = [] if table else written_by_jobs(place.destination)  # a table counts its jobs itself
            # listed after the files: each of these is moved in after its ledger was published
            check_named(place.destination, written, self._add(place, list_ledgers(place.destination)))
        if self._names:
            self._last = _fingerprint_of(place, self._names[-1])
        return self._history

    def _add(self, place: DestinationStorage, names: Iterable[str]) -> set[str]:
        """Add the next ledgers. Returns the names of all files that they name."""
        named: set[str] = set()
        for name in names:
            ledger = read_ledger(place.destination, len(self._names) + 1, name)
            self._history.add(ledger)
            self._names.append(name)
            named.update(written.name for written in ledger.written)
        return named


def _fingerprint_of(place: DestinationStorage, name: str) -> str:
    path = place.destination.path_of(f"{LEDGER_FOLDER}/{name}")
    entry = open_tree(locate(path), place.storage_options).status(path)
    return "" if entry is None else entry.fingerprint


def changed_error(changed: Sequence[FileMetadata], *, grown: bool = False) -> SourceChangedError:
    """The error for files that have changed since they were ingested, or were read as they grew."""
    if grown:
        return SourceChangedError(
            "a file that was followed as it grew cannot be replaced: each of its ranges was ingested by another job",
            Where(path=redact(changed[0].path)), "its name is that of a file that a watch followed (fileMode=append)",
            "ingest it into another destination, or give it another name", "source-changed",
        )  # fmt: skip
    shown = ", ".join(redact(file.path) for file in changed[1:_SHOWN_PATHS])
    more = f"; also {shown}" if shown else ""
    return SourceChangedError(
        "a file has changed since it was ingested (on_changed=fail)", Where(path=redact(changed[0].path)),
        count_of(len(changed), "changed file") + more,
        "pass replace_changed=True to put the new version in the place of the old one, or on_changed='skip' to leave "
        "it alone",
        "source-changed",
    )  # fmt: skip


class FileState(enum.Enum):
    """State of a data file that a job wrote."""

    LIVE = "its rows are in the destination as they were written"
    REWRITTEN = "its rows were written again, into other files, by a maintenance of the table"
    REMOVED = "its rows were removed from the table by somebody else"
    REDUCED = "rows of it were removed from the table by somebody else, who left the file and listed what is deleted"
    UNCLEAR = "the table deletes rows by a list that cannot be read here, so which rows of it are left cannot be told"
    UNKNOWN = "the table does not name it any more, and no longer says why"


class Destination(ABC):
    """A destination: workers write Parquet files, it says where, and makes those of a job visible in one commit.

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
        opened: Destination = module.make_destination(place)
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
