"""What a destination already holds: its committed ledgers, and which files they cover."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from splitscan.blocks import FileMetadata
from splitscan.errors import IngestError, SchemaError, SourceChangedError, Where
from splitscan.ingest.growth import Growth
from splitscan.ingest.ledger import LEDGER_FOLDER, OUR_FOLDER, Ledger, LedgerColumn, identify
from splitscan.ingest.ledger_text import parse_ledger
from splitscan.storage import Storage, redact

_LEDGER_NAME = re.compile(r"(\d{8,})\.jsonl")
_SHOWN_PATHS = 5


def ledger_name(sequence: int) -> str:
    """Name of the ledger of a job in its destination: its number alone, so that only one job can take it.

    Example:
        >>> ledger_name(3)
        '_splitscan/ledger/00000003.jsonl'
    """
    return f"{LEDGER_FOLDER}/{sequence:08d}.jsonl"


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
    """The committed jobs of one destination.

    A file that had vanished when it was to be read was not ingested: it is read when it comes back.

    Args:
        ledgers: By sequence.
        root: The destination, for messages.
    """

    def __init__(self, ledgers: Sequence[Ledger], root: str) -> None:
        self.ledgers = tuple(ledgers)
        self._root = root
        self._fingerprints: dict[str, set[str]] = {}
        self._whole: set[str] = set()  # identities of files that were ingested from end to end
        self._read_to: dict[str, int] = {}  # content that grows -> first offset that was not ingested
        for ledger in ledgers:
            for file in ledger.read_files():
                self._fingerprints.setdefault(file.identity, set()).add(file.fingerprint)
                if file.content:
                    self._read_to[file.content] = file.size_bytes
                else:
                    self._whole.add(file.identity)

    @property
    def next_sequence(self) -> int:
        """Number of the next job."""
        return len(self.ledgers) + 1

    @property
    def has_data(self) -> bool:
        """Whether there is a Parquet file that tells other engines the columns."""
        return any(ledger.data_files for ledger in self.ledgers)

    @property
    def identities(self) -> Iterable[str]:
        """The identities of all files that were ingested."""
        return self._fingerprints.keys()

    @property
    def contents(self) -> Iterable[str]:
        """The contents that grow of which something was ingested."""
        return self._read_to.keys()

    @property
    def job_ids(self) -> set[str]:
        """The identities of all jobs."""
        return {ledger.job_id for ledger in self.ledgers}

    def followed_by(self, ledger: Ledger) -> History:
        """This history and one job more."""
        return History((*self.ledgers, ledger), self._root)

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
                known = self._fingerprints.get(redact(file.path))
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

    def check_columns(self, columns: tuple[LedgerColumn, ...]) -> None:
        """Make sure that new rows have the columns that are already there.

        Raises:
            SchemaError: ``[destination-schema]`` that shows both.
        """
        if not self.ledgers or self.ledgers[-1].columns == columns:
            return
        there, new = (", ".join(map(str, some)) for some in (self.ledgers[-1].columns, columns))
        raise SchemaError(
            "all jobs of one destination write the same columns, in the same order", Where(path=self._root),
            f"{new}\n         but the destination has: {there}",
            "give the destination's schema, or ingest into another destination", "destination-schema",
        )  # fmt: skip


def read_history(storage: Storage) -> History:
    """Read and check every committed ledger of a destination.

    Raises:
        IngestError: ``[ledger-damaged]`` if one is damaged or missing; ``[not-a-destination]`` if the folder holds
            something else than ingested data.
    """
    names = storage.list_names(LEDGER_FOLDER)
    ledgers: list[Ledger] = []
    for name in names:
        if not _LEDGER_NAME.fullmatch(name):
            continue  # a temporary file of a writer that was killed
        full = f"{LEDGER_FOLDER}/{name}"
        ledger = parse_ledger(storage.read_bytes(full), storage.path_of(full))
        if ledger_name(ledger.sequence) != full or ledger.sequence != len(ledgers) + 1:
            raise IngestError(
                "a ledger is missing, or stands under another's name", Where(path=storage.path_of(full)),
                f"job number {ledger.sequence} where {len(ledgers) + 1} should be",
                "restore the ledgers from a backup; without them, what was ingested cannot be told", "ledger-damaged",
            )  # fmt: skip
        ledgers.append(ledger)
    if not ledgers:
        _check_ours(storage)
    return History(ledgers, storage.root)


def _check_ours(storage: Storage) -> None:
    """Refuse a folder that holds files of someone else. Without a ledger nothing but our own folder is ours."""
    names = [name for name in storage.list_names() if name != f"{OUR_FOLDER}/"]
    if names:
        raise IngestError(
            "the destination holds files that splitscan did not write", Where(path=storage.root),
            ", ".join(names[:_SHOWN_PATHS]) + (f" and {len(names) - _SHOWN_PATHS} more" * (len(names) > _SHOWN_PATHS)),
            "name a folder that is empty or does not exist yet", "not-a-destination",
        )  # fmt: skip


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
