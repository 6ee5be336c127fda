"""History of a destination: committed ledgers, the files that they cover, and leftovers of interrupted jobs.

Staging is kept while a run could still continue it, and thrown away when none can.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from splitscan.blocks import FileMetadata
from splitscan.content.storage import locate, open_tree, redact
from splitscan.errors import SourceChangedError, SplitscanError, Where
from splitscan.jobs.ledger import LEDGER_FOLDER, Ledger, LedgerColumn, identify
from splitscan.jobs.ledger_files import check_named, list_ledgers, read_ledger, written_by_jobs
from splitscan.jobs.record_json import from_plain, read_object, to_plain
from splitscan.jobs.settings import Partitioning, first_of
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
        if known and names[:known] == self._names and self._last == _fingerprint(place, self._names[-1]):
            self._add(place, names[known:])
        else:
            self._history, self._names = History(), []
            written = [] if table else written_by_jobs(place.destination)  # a table counts its jobs itself
            # listed after the files: each of these is moved in after its ledger was published
            check_named(place.destination, written, self._add(place, list_ledgers(place.destination)))
        if self._names:
            self._last = _fingerprint(place, self._names[-1])
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
    """The job that works in a staging folder: when its last run began, in seconds since the epoch; its files' keys."""

    started: int
    files: tuple[str, ...] = ()


def claim(staging: Staging, identities: Iterable[str]) -> None:
    """Say in a staging folder which job works there, and that it does so now."""
    owner = Owner(int(time.time()), tuple(sorted(map(_key, identities))))
    staging.storage.write_bytes_atomic(f"{staging.job_id}/{OWNER_NAME}", json.dumps(to_plain(owner)).encode("ascii"))


def clean_up(
    place: DestinationStorage, staging: Staging, ingested: Iterable[str], discard: Callable[[str], None]
) -> list[str]:
    """Throw away what was prepared, after everything was published. Never fails: leftovers do no harm.

    What another job left stays where a run could continue it. No run can when one of its files has been ingested by
    another job meanwhile, for the rest is another job then; and nobody will after ``KEEP_DAYS``. In an object store,
    where no lock tells that the other job is not running, nothing of it is touched.

    Returns:
        The folders of other jobs that were thrown away; *discard* has deleted what these wrote elsewhere.
    """
    staging.delete()
    removed: list[str] = []
    if not place.is_local:
        return removed
    with suppress(SplitscanError):
        left = [name for name in place.staging.list_names() if name.endswith("/")]
        keys = frozenset(map(_key, ingested)) if left else frozenset()
        for name in left:
            if reason := _why_useless(place, name.rstrip("/"), keys):
                discard(name.rstrip("/"))
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
