"""Replacing versions of source files: the owners of the rows in data files, and the rest of those that leave.

A data file holds rows of several source files. Where the rows of some of them leave, the rest is written again: the
same rows in the same order, in a file of the job that replaces. The ledger of that job says which versions left, which
data files went with them, and into which file the rest of each went. So where every row is follows from the ledgers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from splitscan.errors import IngestError, SourceMissingError, Where
from splitscan.jobs.destination import Destination, FileState
from splitscan.jobs.ledger import Ledger, LedgerFile, RemovedFile, ReplacedFile, RowRange, WrittenFile
from splitscan.jobs.parquet import ParquetFileWriter, open_parquet_file
from splitscan.jobs.settings import is_in_job_folder, parquet_name
from splitscan.jobs.staging import PartTarget, Staging
from splitscan.jobs.workplace import DestinationStorage, missing_error
from splitscan.sizes import MIB, count_of

_BUFFER_BYTES = MIB
_BATCH_ROWS = 65_536
_NAME_DIGITS = 16
_SHOWN_NAMES = 3


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring rows of a data file that are of one source file: its job and index, and how many."""

    owner: tuple[int, int]
    rows: int


class Contents:
    """Contents of a destination by its ledgers: source files in their last versions, data files, owners of their rows.

    Args:
        ledgers: By sequence.
    """

    def __init__(self, ledgers: Iterable[Ledger] = ()) -> None:
        self._runs: dict[str, list[_Run]] = {}
        self._owners: dict[str, tuple[int, int]] = {}  # by the identity of the source file
        self.replaced: set[tuple[int, int]] = set()
        self.removed: dict[str, int] = {}
        for ledger in ledgers:
            self.add(ledger)

    def add(self, ledger: Ledger) -> list[tuple[str, str]]:
        """Add the next job. Returns what contradicts the ledgers before it: a name and a sentence for each."""
        faults = []
        left = {(each.sequence, each.file_index) for each in ledger.replaced}
        faults += [(each.identity, "a job replaced a version that was not there") for each in ledger.replaced
                   if self._owners.get(each.identity) != (each.sequence, each.file_index)]  # fmt: skip
        rows = {each.name: each.rows for each in ledger.written}
        for removed in ledger.removed:
            kept = [run for run in self._runs.pop(removed.name, []) if run.owner not in left]
            count = sum(run.rows for run in kept)
            if count != (rows.get(removed.into, -1) if removed.into else 0):
                faults.append((removed.name, f"{count} rows of it stay, and its ledger says otherwise"))
            if removed.into:
                self._runs[removed.into] = kept
            self.removed[removed.name] = ledger.sequence
        faults += [
            (name, "rows of a version that was replaced are left in it")
            for name, runs in self._runs.items()
            if left and any(run.owner in left for run in runs)
        ]
        self.replaced |= left
        self._own(ledger)
        return faults

    def _own(self, ledger: Ledger) -> None:
        own: dict[str, list[tuple[RowRange, int]]] = {}
        for block in ledger.blocks:
            for rows in block.data:
                own.setdefault(rows.name, []).append((rows, block.file_index))
        for name, ranges in own.items():
            ranges.sort(key=lambda each: each[0].start)
            self._runs[name] = [_Run((ledger.sequence, index), rows.stop - rows.start) for rows, index in ranges]
        for file in ledger.read_files():
            if not file.content:
                self._owners[file.identity] = (ledger.sequence, file.index)

    def has_left(self, sequence: int, file_index: int) -> bool:
        """Return whether the rows of a file that a job read were replaced by those of a later version."""
        return (sequence, file_index) in self.replaced

    def versions_of(self, identities: Iterable[str]) -> list[ReplacedFile]:
        """The versions of source files that are in the destination, of those that are."""
        found = ((identity, self._owners[identity]) for identity in identities if identity in self._owners)
        return [ReplacedFile(sequence, index, identity) for identity, (sequence, index) in found]

    def held(self, versions: Iterable[ReplacedFile]) -> Mapping[str, list[tuple[int, int]]]:
        """The data files that hold rows of these versions, and which of their rows ``[start, stop)`` are of others."""
        left = {(each.sequence, each.file_index) for each in versions}
        return {
            name: list(_others(runs, left))
            for name, runs in sorted(self._runs.items())
            if any(run.owner in left for run in runs)
        }


def _others(runs: Iterable[_Run], left: Set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start = 0
    for run in runs:
        if run.owner not in left:
            yield start, start + run.rows
        start += run.rows


def write_rest(
    destination: Destination, target: PartTarget, staging: Staging, held: Mapping[str, Sequence[tuple[int, int]]]
) -> tuple[list[RemovedFile], list[WrittenFile]]:
    """Write again, as files of the job that replaces, what stays of data files whose other rows leave."""
    check_live(destination, held)
    removed, written = [], []
    for name, ranges in held.items():
        rest = _copy(destination.place, target, staging, name, ranges) if ranges else None
        removed.append(RemovedFile(name, "" if rest is None else rest.name))
        written += [] if rest is None else [rest]
    return removed, written


def check_live(destination: Destination, names: Iterable[str]) -> None:
    """Make sure that data files are as they were written, so that rows can leave with them: ``[rows-elsewhere]``."""
    states = destination.audit([WrittenFile(name, 0, 0, "") for name in names])
    elsewhere = sorted(name for name, state in states.items() if state is not FileState.LIVE)
    if elsewhere:
        shown = "; ".join(f"{name}: {states[name].value}" for name in elsewhere[:_SHOWN_NAMES])
        raise rows_elsewhere(destination.place.destination.root, f"{count_of(len(elsewhere), 'data file')}; {shown}")


def rows_elsewhere(where: str, seen: str) -> IngestError:
    """The error for rows that are to leave, and are not where the ledgers say."""
    return IngestError(
        "a file cannot be replaced: somebody else has rewritten or removed rows of the table, so nobody can tell which "
        "are of its first version", Where(path=where), seen,
        "delete the old rows and insert the new ones with the table's own means, or ingest all files into a new "
        "destination; without replace_changed, on_changed='skip' leaves the changed file alone", "rows-elsewhere",
    )  # fmt: skip


def _copy(
    place: DestinationStorage, target: PartTarget, staging: Staging, name: str, ranges: Sequence[tuple[int, int]]
) -> WrittenFile:
    """Write rows of a data file into a file of the job; the same rows make the same file."""
    digest = hashlib.sha256(repr((name, list(ranges))).encode("utf-8", "surrogatepass")).hexdigest()[:_NAME_DIGITS]
    folders = name.split("/")[:-1]
    folder = "".join(f"{each}/" for each in (folders[1:] if is_in_job_folder(name) else folders))
    bare = parquet_name(target.job_id, digest, target.settings.compression)
    schema = target.partitioning.file_schema(target.schema)
    path, data = place.destination.path_of(name), ParquetFileWriter(staging, f"{folder}{bare}", schema, target.settings)
    try:
        with open_parquet_file(path, place.storage_options, _BUFFER_BYTES) as parquet, data:
            for batch in _chosen(parquet, ranges):
                data.write(_conform(batch, schema))
    except SourceMissingError:
        raise missing_error(name, place.destination.root) from None
    if data.written is None or data.written.rows != sum(stop - start for start, stop in ranges):
        raise rows_elsewhere(place.destination.root, f"{name} does not have the rows that its ledger says")
    return data.written


def _chosen(parquet: pq.ParquetFile, ranges: Sequence[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
    first = at = 0
    for batch in parquet.iter_batches(_BATCH_ROWS):
        stop = first + batch.num_rows
        while at < len(ranges) and ranges[at][0] < stop:
            begin, end = max(ranges[at][0], first), min(ranges[at][1], stop)
            yield batch.slice(begin - first, end - begin)
            if ranges[at][1] > stop:
                break
            at += 1
        first = stop


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Give rows the columns of today: one that was added since is null."""
    columns = [
        batch.column(column.name).cast(column.type)
        if column.name in batch.schema.names
        else pa.nulls(batch.num_rows, column.type)
        for column in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def source_files(ledger: Ledger, contents: Contents) -> Iterator[LedgerFile]:
    """The files that a job read and whose rows are still those in the destination."""
    return (file for file in ledger.read_files() if not contents.has_left(ledger.sequence, file.index))
