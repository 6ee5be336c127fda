"""The work of one task: read its blocks, write their Parquet, hand back a small report. No Spark in here."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, Reject
from splitscan.errors import InvariantError, Where
from splitscan.sinks.ledger import REJECT_FOLDER, LedgerBlock, RowRange
from splitscan.sinks.parts import Part, parquet_name
from splitscan.sinks.settings import IngestSettings
from splitscan.sinks.staging import PartReport, Staging
from splitscan.sinks.writing import REJECT_SCHEMA, ParquetSink, RejectSink, check_schema
from splitscan.storage import open_storage


class BlockRows(Protocol):
    """The rows of one block: iterate once, then ask for the report."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    @property
    def report(self) -> BlockReport:
        """What was read; known once iteration has ended."""


OpenBlock = Callable[[BlockMetadata, Callable[[Reject], None], bool], BlockRows]
"""Opens a block: the block, who takes rejects, whether to hash the source bytes."""


@dataclass(frozen=True)
class TaskContext:
    """What all tasks of a job share.

    Attributes:
        job_id: Which job.
        staging_root: The folder that holds the folders of all jobs.
        settings: How rows are written.
        schema: Of the rows.
        storage_options: Settings of the destination's file system.
        own_names: Whether every attempt at a part writes files of its own. Where a file may vanish or change under
            the readers, two attempts can read different bytes, and must not write over each other.
        data_root: The folder of a table, which data files are written to under their final names; empty if they wait
            in staging.

    Pickling: yes; it travels to the workers inside the job's function, never through the destination.
    """

    job_id: str
    staging_root: str
    settings: IngestSettings
    schema: pa.Schema
    storage_options: Mapping[str, Any] = field(default_factory=dict)
    own_names: bool = False
    data_root: str = ""

    def open_staging(self) -> Staging:
        """Open the folder of the job."""
        data = open_storage(self.data_root, self.storage_options) if self.data_root else None
        return Staging(open_storage(self.staging_root, self.storage_options), self.job_id, data)


def run_part(context: TaskContext, part: Part, open_block: OpenBlock) -> PartReport:
    """Read the blocks of a part and write what they hold into one file, and their rejects into another.

    The files appear whole, and the report after them; a part whose report is there is not read again. Running the
    same part twice, one after the other or at the same time, leaves the same bytes under the same names.

    Args:
        context: The job.
        part: What to read.
        open_block: Opens a block for reading.
    """
    staging = context.open_staging()
    report = staging.read_finished(part)
    if report is None:
        report = _write_part(context, staging, part, open_block)
        staging.write_report(part, report)
    return report


def _write_part(context: TaskContext, staging: Staging, part: Part, open_block: OpenBlock) -> PartReport:
    attempt = f"-{secrets.token_hex(4)}" if context.own_names else ""
    name = parquet_name(context.job_id, part.name + attempt, context.settings.compression)
    data = ParquetSink(staging, name, context.schema, context.settings)
    table = ParquetSink(staging, f"{REJECT_FOLDER}/{name}", REJECT_SCHEMA, context.settings)
    with data, table:
        rejects = RejectSink(table)
        blocks = [
            _write_block(context, file_index, block, open_block, data, rejects) for file_index, block in part.blocks
        ]
        rejects.flush()
    written = tuple(sink.written for sink in (data, table) if sink.written is not None)
    return PartReport(part.number, tuple(blocks), written, rejects.dropped, tuple(rejects.examples))


def _write_block(
    context: TaskContext,
    file_index: int,
    block: BlockMetadata,
    open_block: OpenBlock,
    data: ParquetSink,
    rejects: RejectSink,
) -> LedgerBlock:
    first_row, first_reject = data.taken_rows, rejects.count
    rows = open_block(block, rejects.add, context.settings.source_digests)
    for batch in rows:
        check_schema(batch, context.schema)
        data.write(batch)
    read = rows.report
    _check_counts(read, data.taken_rows - first_row, rejects.count - first_reject)
    return LedgerBlock(
        file_index=file_index,
        index=block.index,
        start=block.start,
        stop=block.stop,
        span_start=read.span_start,
        span_stop=read.span_stop,
        rows=read.rows,
        rejects=read.rejects,
        digest=read.digest,
        data=_range(data.name, first_row, data.taken_rows),
        reject_table=_range(rejects.name, first_reject, rejects.count),
        missing=read.missing,
        content_bytes=read.content_bytes,
        damage=read.damage,
    )


def _range(name: str, start: int, stop: int) -> RowRange | None:
    return RowRange(name, start, stop) if stop > start else None


def _check_counts(read: BlockReport, rows: int, rejects: int) -> None:
    """Make sure that what the reader says it delivered is what arrived."""
    if (read.rows, read.rejects) != (rows, rejects):
        raise InvariantError(
            "a block's reader delivered another number of rows or rejects than it reports",
            Where(read.block.file.path, block=(read.block.start, read.block.stop)),
            f"{rows} rows and {rejects} rejects arrived, {read.rows} and {read.rejects} were reported",
            "report it with the options",
        )
