"""The work of one task: read its blocks, write their Parquet, hand back small reports. No Spark in here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, Reject
from splitscan.errors import InvariantError, Where
from splitscan.ingest.history import REJECT_FOLDER
from splitscan.ingest.ledger import LedgerBlock
from splitscan.ingest.settings import IngestSettings
from splitscan.ingest.staging import StagedReport, Staging, part_name
from splitscan.ingest.writing import REJECT_SCHEMA, ParquetSink, RejectSink, check_schema
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

    Pickling: yes; it travels to the workers inside the job's function, never through the destination.
    """

    job_id: str
    staging_root: str
    settings: IngestSettings
    schema: pa.Schema
    storage_options: Mapping[str, Any] = field(default_factory=dict)


def run_blocks(
    context: TaskContext, blocks: Iterable[tuple[int, BlockMetadata]], open_block: OpenBlock
) -> Iterator[StagedReport]:
    """Read blocks and write what they hold.

    Each block's files appear whole, and its report after them; a block whose report is there is not read again. Running
    the same block twice, one after the other or at the same time, leaves the same bytes under the same names.

    Args:
        context: The job.
        blocks: File index and block.
        open_block: Opens a block for reading.

    Returns:
        One report per block, in order.
    """
    staging = Staging(open_storage(context.staging_root, context.storage_options), context.job_id)
    for file_index, block in blocks:
        report = staging.read_finished(file_index, block)
        if report is None:
            report = _ingest_block(context, staging, file_index, block, open_block)
            staging.storage.write_bytes_atomic(
                staging.report_name((file_index, block.index)), report.to_json().encode("ascii")
            )
        yield report


def _ingest_block(
    context: TaskContext, staging: Staging, file_index: int, block: BlockMetadata, open_block: OpenBlock
) -> StagedReport:
    name = part_name(context.job_id, file_index, block.index, context.settings.compression)
    reject_name = f"{REJECT_FOLDER}/{name}"
    data = ParquetSink(staging.storage, staging.file_name(name), name, context.schema, context.settings)
    table = ParquetSink(
        staging.storage, staging.file_name(reject_name), reject_name, REJECT_SCHEMA, context.settings
    )  # fmt: skip
    with data, table:
        rejects = RejectSink(table)
        rows = open_block(block, rejects.add, context.settings.source_digests)
        for batch in rows:
            check_schema(batch, context.schema)
            data.write(batch)
        rejects.flush()
    read = rows.report
    _check_counts(read, data.rows, rejects.count)
    line = LedgerBlock(
        file_index=file_index,
        index=block.index,
        start=block.start,
        stop=block.stop,
        span_start=read.span_start,
        span_stop=read.span_stop,
        rows=read.rows,
        rejects=read.rejects,
        digest=read.digest,
        data=data.written,
        reject_table=table.written,
    )
    return StagedReport(line, rejects.dropped, tuple(rejects.examples))


def _check_counts(read: BlockReport, rows: int, rejects: int) -> None:
    """Make sure that what the reader says it delivered is what arrived."""
    if (read.rows, read.rejects) != (rows, rejects):
        raise InvariantError(
            "a block's reader delivered another number of rows or rejects than it reports",
            Where(read.block.file.path, block=(read.block.start, read.block.stop)),
            f"{rows} rows and {rejects} rejects arrived, {read.rows} and {read.rejects} were reported",
            "report it with the options",
        )
