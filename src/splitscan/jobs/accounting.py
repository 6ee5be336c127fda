"""The proof that blocks tile their files; and the owners of rows in data files, by which those of a file leave.

Spans of the blocks of a file tile it exactly: no gap, no overlap, no block missing.

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

from splitscan.errors import IngestError, InvariantError, SourceMissingError, Where
from splitscan.jobs.destination import Destination, FileState
from splitscan.jobs.ledger import (
    Ledger,
    LedgerBlock,
    LedgerFile,
    RemovedFile,
    ReplacedFile,
    RowRange,
    SourceTable,
    WrittenFile,
)
from splitscan.jobs.parquet import ParquetFileWriter, open_parquet_file
from splitscan.jobs.settings import is_in_job_folder, parquet_name
from splitscan.jobs.staging import PartTarget, Staging
from splitscan.jobs.workplace import DestinationStorage, missing_error
from splitscan.redaction import redact
from splitscan.sizes import MIB, count_of


def tiling_faults(file: LedgerFile, blocks: Sequence[LedgerBlock]) -> Iterator[str]:
    """Find every place where the blocks of one file do not account for each of its bytes exactly once, a sentence each.

    Checked are the planned ranges and the spans that the readers reported: both must run from 0 (of a file that grows,
    from where this job began) to the size of the file without gap or overlap, and a span begins inside its range (a
    record belongs to the range that holds its first byte). Empty spans are passed over: no record is theirs.

    Of a compressed file the spans must run to the end of its content, which the reader of its last block has reached;
    its ranges too, unless one block is the whole file.

    Example:
        >>> file = LedgerFile(0, "/data/a.csv", "10-0", 10, 0)
        >>> blocks = [LedgerBlock(0, 0, 0, 5, 0, 4, 0, 0, ""), LedgerBlock(0, 1, 5, 10, 6, 10, 0, 0, "")]
        >>> list(tiling_faults(file, blocks))
        ['bytes [4, 6) were read by no block']
    """
    range_stop = span_stop = file.start
    first = blocks[0].index if blocks and file.start else 0  # earlier jobs have read the blocks before it
    for number, block in enumerate(blocks, first):
        if block.file_index != file.index:
            yield f"block {block.index} belongs to file {block.file_index}"
        if block.index != number:
            yield f"block {block.index} stands where block {number} should be"
        if block.start != range_stop or block.stop <= block.start:
            yield f"block {block.index} has range [{block.start}, {block.stop}) where {range_stop} should be the start"
        yield from _span_faults(block, span_stop)
        range_stop, span_stop = block.stop, max(span_stop, block.span_stop)
    content_bytes = blocks[-1].content_bytes if blocks else None
    end = file.size_bytes if content_bytes is None else content_bytes
    if range_stop < end if len(blocks) > 1 and content_bytes is not None else range_stop != file.size_bytes:
        yield f"the ranges stop at {range_stop}, the file at {end}"
    if span_stop != end:
        yield f"bytes [{span_stop}, {end}) were read by no block"


def _span_faults(block: LedgerBlock, expected: int) -> Iterator[str]:
    if block.span_stop < block.span_start:
        yield f"block {block.index} has span [{block.span_start}, {block.span_stop})"
    elif block.span_stop == block.span_start:
        if block.rows or block.rejects > int(block.damage is not None):
            yield f"block {block.index} has records and an empty span"
    elif block.span_start > expected:
        yield f"bytes [{expected}, {block.span_start}) were read by no block"
    elif block.span_start < expected:
        yield f"bytes [{block.span_start}, {min(expected, block.span_stop)}) were read twice"
    if block.start > 0 and block.span_stop > block.span_start and not block.start <= block.span_start < block.stop:
        yield f"block {block.index} has range [{block.start}, {block.stop}) but a record at {block.span_start}"
    if block.missing and block.rows:
        yield f"block {block.index} has {block.rows} rows of a file that had vanished"
    table = () if block.reject_table is None else (block.reject_table,)
    for what, count, ranges in (("rows", block.rows, block.data), ("rejects", block.rejects, table)):
        written = sum(rows.stop - rows.start for rows in ranges)
        if written != count:
            yield f"block {block.index} has {count} {what}, of which {written} were written"


def row_faults(written: Iterable[WrittenFile], blocks: Iterable[LedgerBlock]) -> Iterator[tuple[str, str]]:
    """Find every place where the blocks do not account for each row of the written files exactly once, by name of file.

    Example:
        >>> one, other = (RowRange("part-0.parquet", 0, 2),), (RowRange("part-0.parquet", 3, 5),)
        >>> blocks = [LedgerBlock(0, 0, 0, 5, 0, 5, 2, 0, "", one), LedgerBlock(0, 1, 5, 9, 5, 9, 2, 0, "", other)]
        >>> list(row_faults([WrittenFile("part-0.parquet", 100, 5, "")], blocks))
        [('part-0.parquet', 'rows [2, 3) belong to no block')]
    """
    ranges: dict[str, list[RowRange]] = {}
    for block in blocks:
        for rows in block.data if block.reject_table is None else (*block.data, block.reject_table):
            ranges.setdefault(rows.name, []).append(rows)
    for file in written:
        own = sorted(ranges.pop(file.name, []), key=lambda rows: (rows.start, rows.stop))
        yield from ((file.name, fault) for fault in _file_row_faults(file, own))
    for name in ranges:
        yield name, "the ledger does not say that this file was written"


def _file_row_faults(file: WrittenFile, ranges: Iterable[RowRange]) -> Iterator[str]:
    expected = 0
    for rows in ranges:
        if rows.start > expected:
            yield f"rows [{expected}, {rows.start}) belong to no block"
        elif rows.start < expected or rows.stop <= rows.start:
            yield f"rows [{rows.start}, {rows.stop}) belong to another block too, or to none"
        expected = max(expected, rows.stop)
    if expected < file.rows:
        yield f"rows [{expected}, {file.rows}) belong to no block"
    elif expected > file.rows:
        yield f"rows [{file.rows}, {expected}) were not written"


def key_faults(table: SourceTable, blocks: Iterable[LedgerBlock]) -> Iterator[str]:
    """Find every place where the blocks of a table do not stand for each of its keys, and its nulls, exactly once.

    Example:
        >>> from splitscan.jobs.ledger import KeyRange
        >>> table = SourceTable("job", "db", "t", "id", False, "v", ((KeyRange(b"", b" "),), (KeyRange(b"0", b""),)))
        >>> blocks = [LedgerBlock(0, 0, 0, 5, 0, 5, 0, 0, ""), LedgerBlock(0, 1, 5, 10, 5, 10, 0, 0, "")]
        >>> list(key_faults(table, blocks))
        ['keys from x20 to x30 belong to no block, or to two']
    """
    if sorted(block.index for block in blocks) != list(range(len(table.ranges))):
        yield f"the ranges of keys are of {len(table.ranges)} other blocks"
    every = [keys for block in table.ranges for keys in block]
    ordered = sorted((keys for keys in every if not keys.only_nulls), key=lambda keys: keys.start)
    stop, is_open = b"", False  # whether the range before has no end: nothing may come after it
    for keys in ordered:
        if keys.start != stop or is_open:
            yield f"keys from x{stop.hex()} to x{keys.start.hex()} belong to no block, or to two"
        stop, is_open = keys.stop, not keys.stop
    if not is_open:
        yield f"keys from x{stop.hex()} on belong to no block"
    nulls = sum(keys.with_nulls or keys.only_nulls for keys in every)
    if nulls != int(table.nullable):
        yield f"rows without a key belong to {nulls} blocks"


def check_keys(table: SourceTable | None, blocks: Iterable[LedgerBlock]) -> None:
    """Make sure that every row of a table was read by exactly one block."""
    if table is None:
        return
    faults = list(key_faults(table, blocks))
    if faults:
        raise _unaccounted(redact(table.path), "; ".join(faults[:3]), "key of the table")


def check_tiling(files: Sequence[LedgerFile], blocks: Sequence[LedgerBlock], written: Iterable[WrittenFile]) -> None:
    """Make sure that every byte of every file was read by exactly one block, and every row written by exactly one."""
    by_file: dict[int, list[LedgerBlock]] = {file.index: [] for file in files}
    for block in blocks:
        if block.file_index not in by_file:
            raise _unaccounted(None, f"a block of a file {block.file_index} that is not in the plan")
        by_file[block.file_index].append(block)
    for file in files:
        ordered = sorted(by_file[file.index], key=lambda block: (block.start, block.index))
        faults = list(tiling_faults(file, ordered))
        if faults:
            raise _unaccounted(file.path, "; ".join(faults[:3]))
    for name, fault in row_faults(written, blocks):
        raise _unaccounted(name, fault)


def check_vanished(files: Sequence[LedgerFile], blocks: Iterable[LedgerBlock]) -> None:
    """Make sure that each file was read as a whole or, where it may vanish, not at all: ``[vanished-midway]``.

    Rows of one that vanished between two of its blocks could be neither kept nor read again when it comes back.
    """
    states: dict[int, set[bool]] = {}
    for block in blocks:
        states.setdefault(block.file_index, set()).add(block.missing)
    for file in files:
        if len(states.get(file.index, ())) > 1:
            raise SourceMissingError(
                "a file vanished while it was read, so nothing was published", Where(path=file.path),
                "some of its blocks were read, and others not; ignoreMissingFiles leaves out whole files only",
                "run again: a file that is not there any more is not planned", "vanished-midway",
            )  # fmt: skip


def check_matches_plan(planned: Iterable[tuple[int, int, int, int]], blocks: Iterable[LedgerBlock]) -> None:
    """Make sure that exactly the planned blocks reported, each once: ``[not-accounted]``."""
    missing = set(planned)
    for block in blocks:
        key = (*block.key, block.start, block.stop)
        if key not in missing:
            raise _unaccounted(None, f"block {block.index} of file {block.file_index} was not planned, or came twice")
        missing.remove(key)
    if missing:
        file_index, index, start, stop = min(missing)
        raise _unaccounted(
            None, f"{count_of(len(missing), 'block')} did not report, the first is block {index} of file {file_index}: "
            f"[{start}, {stop})",
        )  # fmt: skip


def _unaccounted(path: str | None, seen: str, what: str = "byte") -> InvariantError:
    return InvariantError(
        f"the blocks do not account for every {what} exactly once, so nothing was published", Where(path=path), seen,
        "run again; if it stays, report it with this message and the options", "not-accounted",
    )  # fmt: skip


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
