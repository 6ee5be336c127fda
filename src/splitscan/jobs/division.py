"""Division of a job into tasks, who runs them, and the proof that they have read everything exactly once.

The same files, cut into the same blocks, read with the same options, are the same job. Spans of the blocks of a file
tile it: no gap, no overlap, no block missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import InvariantError, SourceMissingError, Where
from splitscan.jobs.destination import Growth
from splitscan.jobs.ledger import (
    LedgerBlock,
    LedgerFile,
    RowRange,
    SourceTable,
    WrittenFile,
    describe_columns,
    identify,
)
from splitscan.jobs.part_writing import WritePart, run_part
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.staging import BlockKey, OutputPart, PartReport, PartTarget, Staging, plan_parts, report_folders
from splitscan.options import ReadOptions
from splitscan.reading.spec import ScanSpec
from splitscan.redaction import redact
from splitscan.scans import ScanPlanner
from splitscan.scans.index import IndexTask, Summarised, index_here
from splitscan.sizes import count_of
from splitscan.spelling import describe_value, portable_path

if TYPE_CHECKING:
    from splitscan.rebalance.report import RebalanceReport  # an optional room

_LAYOUT = 2  # what is left in staging by a splitscan with another one belongs to another job

# Options that choose files or shape tasks: what is read is in the plan, and how it is divided changes nothing.
_WITHOUT_EFFECT = frozenset({
    "storage_options", "task_bytes", "open_cost_bytes", "min_partitions", "path_glob_filter", "recursive_file_lookup",
    "modified_before_us", "modified_after_us", "ignore_missing_files", "ignored_path_segment_regex",
    "where", "sampling_bytes", "infer_schema", "sample_files", "provided_schema", "schema_mode", "schema_hints",
    "schema_conflicts", "column_options", "rebalance", "dialect", "found_options",
})  # fmt: skip


@dataclass(frozen=True)
class ReadTasks:
    """Tasks that are ready to run, and the folders of their reports: with their names, where these are known."""

    run: Callable[[], list[PartReport]]
    folders: Mapping[str, Set[str] | None]


class Division:
    """Division of the reading of a job into tasks: here parts of a plan, one task each.

    ``blocks_total`` is ``None`` where blocks come into being while they are read. ``rebalance`` reports the claims,
    where tasks claimed what they read.
    """

    blocks_total: int | None
    rebalance: RebalanceReport | None = None

    def __init__(
        self,
        plan: Mapping[BlockKey, BlockMetadata],
        group: Callable[[Iterable[BlockMetadata]], Iterable[Sequence[BlockMetadata]]],
        run: Callable[[PartTarget, Sequence[OutputPart]], Iterable[PartReport]],
    ) -> None:
        self._plan, self._group, self._run = plan, group, run
        self.blocks_total = len(plan)

    @property
    def blocks(self) -> Sequence[BlockMetadata]:
        """Blocks to be read, in order."""
        return list(self._plan.values())

    def finished(self, staging: Staging) -> list[PartReport]:
        """Find the parts that earlier runs of the job have finished."""
        return staging.finished(self._plan)

    def tasks(self, finished: Sequence[PartReport], target: PartTarget) -> ReadTasks | None:
        """Make tasks of what is missing; ``None`` if nothing is.

        The whole plan is packed: a part is the same whatever is done of it.
        """
        done = {block.key for report in finished for block in report.blocks}
        if len(done) == len(self._plan):
            return None
        parts = plan_parts(self._plan, self._group(self._plan.values()), done)
        return ReadTasks(lambda: list(self._run(target, parts)), report_folders(parts))

    def account(self, reports: Iterable[PartReport]) -> list[PartReport]:
        """The reports in the order of the plan, their blocks numbered.

        Raises:
            InvariantError: ``[not-accounted]`` if they do not tell of every planned block once.
        """
        ordered = sorted(reports, key=lambda report: report.number)
        planned = ((*key, block.start, block.stop) for key, block in self._plan.items())
        check_matches_plan(planned, (block for report in ordered for block in report.blocks))
        return ordered


class Runner:
    """Runs tasks: in this process, one after the other; others run them elsewhere."""

    @property
    def min_tasks(self) -> int:
        """Number of tasks that can run at a time."""
        return 1

    def index(self, tasks: Sequence[IndexTask]) -> Iterable[Summarised]:
        """Run the tasks of the boundary index, in order."""
        return index_here(tasks)

    def run(self, write_part: WritePart, target: PartTarget, parts: Sequence[OutputPart]) -> Iterable[PartReport]:
        """Read and write parts, one task each; called in a thread of its own. *write_part* travels to the tasks."""
        return [run_part(target, part, write_part) for part in parts]

    def divide_claimed(
        self, scan: ScanPlanner, files: Sequence[FileMetadata], blocks: Sequence[BlockMetadata] | None
    ) -> Division | None:
        """Let tasks claim what they read; ``None``, with a warning, if they cannot. Blocks are planned if not given."""
        return None

    def cancel(self) -> None:
        """End running tasks soon; called from another thread."""


@dataclass(frozen=True)
class NamedJob:
    """A job with a name, and with a plan that every run of it has.

    *files* and *table* are what it reads, as the ledger has it. *give_back* is called when all was published: what was
    held for reading is not needed any more.
    """

    target: PartTarget
    division: Division
    files: tuple[LedgerFile, ...]
    table: SourceTable | None = None
    give_back: Callable[[], None] = lambda: None


def describe_read_options(options: ReadOptions) -> dict[str, Any]:
    """Spell all options as JSON values; settings of the file system appear by name only.

    Example:
        >>> from splitscan.formats.registry import parse_options
        >>> described = describe_read_options(parse_options("text", {"storageOptions": {"key": "k"}}))
        >>> described["files"]["storage_options"], described["reading"]["mode"]
        ({'key': '***'}, 'PERMISSIVE')
    """
    described: dict[str, Any] = describe_value(options)
    del described["given"]  # what was left to its default is the same job
    described["files"]["storage_options"] = dict.fromkeys(options.files.storage_options, "***")
    return described


def compute_job_id(
    blocks: Iterable[BlockMetadata],
    empty_files: Iterable[FileMetadata],
    spec: ScanSpec,
    settings: IngestSettings,
    taken: Container[str] = (),
    *,
    claimed: bool = False,
    growth: Mapping[str, Growth] | None = None,
    ids: Sequence[str] = (),
) -> str:
    """Compute the identity of a job: 32 hexadecimal digits."""
    described = describe_read_options(spec.options)
    for section in described.values():
        if isinstance(section, dict):
            for name in _WITHOUT_EFFECT:
                section.pop(name, None)
    writing = (
        settings.compression, settings.row_group_bytes, settings.row_group_rows, settings.source_digests,
        *(settings.partition_by or ()),
    )  # fmt: skip
    digest = hashlib.sha256()
    columns = [[str(column) for column in describe_columns(schema)] for schema in (spec.fields, spec.schema)]
    rules = [sorted((str(k), str(v)) for k, v in (column.metadata or {}).items()) for column in spec.fields]
    head = [_LAYOUT, described, columns, rules, repr(spec.framing), writing, pa.__version__, *filter(None, ids)]
    head += filter(None, [spec.notices])  # what a block has noticed is part of its report
    digest.update(json.dumps(head, sort_keys=True).encode("ascii"))
    previous = None
    for block in blocks:
        if block.file is not previous:
            previous = block.file
            _add(digest, "file", *_identity(previous))
            if growth and previous.path in growth:
                _add(digest, "content", growth[previous.path].content)
        _add(digest, block.start, block.stop)
    if claimed:
        _add(digest, "claimed")
    for file in empty_files:
        _add(digest, "empty", *_identity(file))
    while (job_id := digest.hexdigest()[:32]) in taken:
        _add(digest, "again")
    return job_id


def _identity(file: FileMetadata) -> tuple[str, str, str]:
    return identify(file.path), file.fingerprint, portable_path(file.relative_path, file.path)


def _add(digest: Any, *parts: object) -> None:
    digest.update(json.dumps(parts).encode("ascii") + b"\n")


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
