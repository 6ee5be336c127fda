"""History of a destination: committed ledgers, the files that they cover, and leftovers of interrupted jobs.

Staging is kept while a run could still continue it, and thrown away when none can.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from splitscan.blocks import FileMetadata
from splitscan.content.storage import locate, open_tree, redact
from splitscan.errors import SourceChangedError, SplitscanError, Where
from splitscan.jobs.destination import Destination, Published
from splitscan.jobs.identity import Growth
from splitscan.jobs.ledger import LEDGER_FOLDER, Ledger, LedgerColumn, identify
from splitscan.jobs.ledger_files import check_named, list_ledgers, read_ledger, written_by_jobs
from splitscan.jobs.partitioning import Partitioning
from splitscan.jobs.parts import first_of
from splitscan.jobs.record_json import from_plain, read_object, to_plain
from splitscan.jobs.staging import Staging
from splitscan.jobs.workplace import DestinationStorage
from splitscan.path_text import portable_path
from splitscan.sizes import count_of

_SHOWN_PATHS = 5
_log = logging.getLogger(__name__)

OWNER_NAME = "job.json"

KEEP_DAYS = 7
"""An interrupted job that nobody continued for so long will not be continued."""

_DAY_SECONDS = 24 * 60 * 60

_KEY_DIGITS = 16


@dataclass(frozen=True)
class SortedFiles:
    """Files by what is to be done with them.

    Attributes:
        fresh: Never ingested.
        skipped: Ingested before.
        changed: Ingested before in another version; or part of a content of which an earlier part is not there.
        replacing: Those of the fresh ones whose earlier version is to leave.
        by_name: Whether what was ingested before is known by a name, and so whatever it is by now.
    """

    fresh: list[FileMetadata] = field(default_factory=list)
    skipped: list[FileMetadata] = field(default_factory=list)
    changed: list[FileMetadata] = field(default_factory=list)
    replacing: list[FileMetadata] = field(default_factory=list)
    by_name: bool = False


class History:
    """The committed jobs of one destination.

    A file that had vanished when it was to be read was not ingested: it is read when it comes back.
    """

    def __init__(self, ledgers: Iterable[Ledger] = ()) -> None:
        self._jobs: dict[str, int] = {}
        self._last_sequence = 0
        self._first: tuple[str, ...] = ()  # of all data files, those that readers find first
        self._columns: tuple[LedgerColumn, ...] = ()  # of the last job
        self._table = ""  # of the last job
        self._partitioning = Partitioning()  # of the last job
        self._fingerprints: dict[str, set[str]] = {}
        self._whole: set[str] = set()  # identities of files that were ingested from end to end
        self._tables: dict[str, tuple[str, str]] = {}  # by the name of the job: database and relation
        self._removed: set[str] = set()  # names of data files that left with what was replaced
        self._read_to: dict[str, int] = {}  # content that grows -> first offset that was not ingested
        for ledger in ledgers:
            self.add(ledger)

    def add(self, ledger: Ledger) -> None:
        """Add the next job."""
        self._jobs[ledger.job_id] = self._last_sequence = ledger.sequence
        self._removed.update(each.name for each in ledger.removed)
        names = [*self._first, *(written.name for written in ledger.data_files)]
        self._first = first_of(name for name in names if name not in self._removed)
        for replaced in ledger.replaced:
            self._fingerprints.pop(replaced.identity, None)
        self._columns, self._table, self._partitioning = ledger.columns, ledger.table, ledger.partitioning
        if ledger.source is not None:
            self._tables[ledger.source.job] = (ledger.source.database, ledger.source.relation)
        for file in ledger.read_files():
            self._fingerprints.setdefault(file.identity, set()).add(file.fingerprint)
            if file.content:
                self._read_to[file.content] = file.size_bytes
            else:
                self._whole.add(file.identity)

    @property
    def jobs(self) -> Mapping[str, int]:
        """The sequence of every job, by its identity."""
        return self._jobs

    @property
    def published(self) -> Published:
        """The part of it that destinations need."""
        return Published(self._jobs, self._columns, self._table, self._partitioning, self._first, self._removed)

    @property
    def next_sequence(self) -> int:
        """Number of the next job."""
        return self._last_sequence + 1

    @property
    def identities(self) -> Iterable[str]:
        """The identities of all files that were ingested."""
        return self._fingerprints.keys()

    @property
    def tables(self) -> Mapping[str, tuple[str, str]]:
        """The tables that were ingested, each as database and relation, by the name of the job."""
        return self._tables

    @property
    def contents(self) -> Iterable[str]:
        """The contents that grow of which something was ingested."""
        return self._read_to.keys()

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
        read_to = self._read_to.get(growth.content, 0)
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

    def read(self, sink: Destination) -> History:
        """Read and check what was committed since this was called before.

        Raises:
            IngestError: ``[ledger-damaged]`` if a ledger is damaged or missing.
        """
        place = sink.place
        names, known = list_ledgers(place.destination), len(self._names)
        if known and names[:known] == self._names and self._last == _fingerprint(place, self._names[-1]):
            self._add(place, names[known:])
        else:
            self._read_all(sink)
        if self._names:
            self._last = _fingerprint(place, self._names[-1])
        return self._history

    def _read_all(self, sink: Destination) -> None:
        """Read every ledger, and find files of a plain folder whose ledger is gone; a table counts its jobs itself."""
        storage = sink.place.destination
        written = [] if sink.table else written_by_jobs(storage)
        self._history, self._names = History(), []
        check_named(storage, written, self._add(sink.place, list_ledgers(storage)))

    def _add(self, place: DestinationStorage, names: Iterable[str]) -> set[str]:
        """Add the next ledgers. Returns the names of all files that they name."""
        named: set[str] = set()
        for name in names:
            ledger = read_ledger(place.destination, len(self._names) + 1, name)
            self._history.add(ledger)
            self._names.append(name)
            named.update(written.name for written in ledger.written)
        return named


def _fingerprint(place: DestinationStorage, name: str) -> str:
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


@dataclass(frozen=True, slots=True)
class Owner:
    """The job that works in a staging folder.

    Attributes:
        started: When its last run began, seconds since the epoch.
        files: What it reads: a digest of the identity of each file.
    """

    started: int
    files: tuple[str, ...] = ()


def claim(staging: Staging, identities: Iterable[str]) -> None:
    """Say in a staging folder which job works there, and that it does so now."""
    owner = Owner(int(time.time()), tuple(sorted(map(_key, identities))))
    staging.storage.write_bytes_atomic(f"{staging.job_id}/{OWNER_NAME}", json.dumps(to_plain(owner)).encode("ascii"))


def clean_up(sink: Destination, staging: Staging, ingested: Iterable[str]) -> list[str]:
    """Throw away what was prepared, after everything was published. Never fails: leftovers do no harm.

    What another job left stays where a run could continue it. No run can when one of its files has been ingested by
    another job meanwhile, for the rest is another job then; and nobody will after ``KEEP_DAYS``. In an object store,
    where no lock tells that the other job is not running, nothing of it is touched.

    Returns:
        The folders of other jobs that were thrown away.
    """
    place = sink.place
    staging.delete()
    removed: list[str] = []
    if not place.is_local:
        return removed
    with suppress(SplitscanError):
        left = [name for name in place.staging.list_names() if name.endswith("/")]
        keys = frozenset(map(_key, ingested)) if left else frozenset()
        for name in left:
            if reason := _why_useless(place, name.rstrip("/"), keys):
                sink.discard(name.rstrip("/"))
                place.staging.delete_tree(name)
                removed.append(place.staging.path_of(name.rstrip("/")))
                _log.info("removed what an interrupted ingest had left in %s: %s", removed[-1], reason)
    if not place.is_beside:
        with suppress(OSError):
            place.work_folder.rmdir()
    return removed


def _why_useless(place: DestinationStorage, job_id: str, ingested: frozenset[str]) -> str | None:
    owner = _read_owner(place, job_id)
    if not ingested.isdisjoint(owner.files):
        return "another job has ingested files of it"
    if time.time() - owner.started > KEEP_DAYS * _DAY_SECONDS:
        return f"nobody continued it for {KEEP_DAYS} days"
    return None


def _read_owner(place: DestinationStorage, job_id: str) -> Owner:
    with suppress(SplitscanError):
        return from_plain(Owner, read_object(place.staging.read_bytes(f"{job_id}/{OWNER_NAME}")))
    with suppress(OSError):  # killed before it could say so
        return Owner(int((place.work_folder / job_id).stat().st_mtime))
    return Owner(int(time.time()))


def _key(identity: str) -> str:
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_DIGITS]
