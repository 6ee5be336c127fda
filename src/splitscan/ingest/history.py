"""What a destination already holds: its committed ledgers, and which files they cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from splitscan.blocks import FileMetadata
from splitscan.content.storage import locate, open_tree, redact
from splitscan.errors import SourceChangedError, Where
from splitscan.ingest.growth import Growth
from splitscan.sinks.contract import Published
from splitscan.sinks.ledger import LEDGER_FOLDER, Ledger, LedgerColumn, identify
from splitscan.sinks.ledgers import list_ledgers, read_ledger
from splitscan.sinks.partitioning import Partitioning
from splitscan.sinks.parts import first_of
from splitscan.sinks.workplace import Workplace

_SHOWN_PATHS = 5


@dataclass(frozen=True)
class SortedFiles:
    """Files by what is to be done with them.

    Attributes:
        fresh: Never ingested.
        skipped: Ingested before.
        changed: Ingested before in another version; or part of a content of which an earlier part is not there.
    """

    fresh: list[FileMetadata] = field(default_factory=list)
    skipped: list[FileMetadata] = field(default_factory=list)
    changed: list[FileMetadata] = field(default_factory=list)


class History:
    """What the committed jobs of one destination have done.

    A file that had vanished when it was to be read was not ingested: it is read when it comes back.

    Args:
        ledgers: By sequence.
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
        self._read_to: dict[str, int] = {}  # content that grows -> first offset that was not ingested
        for ledger in ledgers:
            self.add(ledger)

    def add(self, ledger: Ledger) -> None:
        """Add the next job."""
        self._jobs[ledger.job_id] = self._last_sequence = ledger.sequence
        self._first = first_of([*self._first, *(written.name for written in ledger.data_files)])
        self._columns, self._table, self._partitioning = ledger.columns, ledger.table, ledger.partitioning
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
        """What a sink is told of it."""
        return Published(self._jobs, self._columns, self._table, self._partitioning, self._first)

    @property
    def next_sequence(self) -> int:
        """Number of the next job."""
        return self._last_sequence + 1

    @property
    def identities(self) -> Iterable[str]:
        """The identities of all files that were ingested."""
        return self._fingerprints.keys()

    @property
    def contents(self) -> Iterable[str]:
        """The contents that grow of which something was ingested."""
        return self._read_to.keys()

    def sort_files(self, files: Iterable[FileMetadata], growth: Mapping[str, Growth] | None = None) -> SortedFiles:
        """Tell new files from those that were ingested before.

        Args:
            files: The files.
            growth: What is to be read of those that grow, by path: they are known by their content and how far it was
                read. All others are known by path and fingerprint.
        """
        found = SortedFiles()
        for file in files:
            if growth and file.path in growth:
                self._sort_grown(file, growth[file.path], found)
                continue
            known = self._fingerprints.get(identify(file.path))
            if known is None:  # ledgers of format 1 know files whose path holds a secret by the masked path only
                known = self._fingerprints.get(identify(redact(file.path)))
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
        elif growth.start == read_to and (read_to or identify(file.path) not in self._whole):
            found.fresh.append(file)
        else:
            found.changed.append(file)


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

    def read(self, place: Workplace) -> History:
        """Read and check what was committed since this was called before.

        Raises:
            IngestError: ``[ledger-damaged]`` if a ledger is damaged or missing.
        """
        names = list_ledgers(place.destination)
        known = len(self._names)
        if not known or names[:known] != self._names or self._last != _fingerprint(place, self._names[-1]):
            self._history, self._names = History(), []
        for name in names[len(self._names) :]:
            self._history.add(read_ledger(place.destination, len(self._names) + 1, name))
            self._names.append(name)
        if self._names:
            self._last = _fingerprint(place, self._names[-1])
        return self._history


def _fingerprint(place: Workplace, name: str) -> str:
    path = place.destination.path_of(f"{LEDGER_FOLDER}/{name}")
    entry = open_tree(locate(path), place.storage_options).status(path)
    return "" if entry is None else entry.fingerprint


def changed_error(changed: Sequence[FileMetadata]) -> SourceChangedError:
    """The error for files that have changed since they were ingested."""
    shown = ", ".join(redact(file.path) for file in changed[1:_SHOWN_PATHS])
    more = f"; also {shown}" if shown else ""
    return SourceChangedError(
        "a file has changed since it was ingested (on_changed=fail)", Where(path=redact(changed[0].path)),
        f"{len(changed)} changed files{more}",
        "ingest the new version into another destination, or pass on_changed='skip' to leave it alone",
        "source-changed",
    )  # fmt: skip
