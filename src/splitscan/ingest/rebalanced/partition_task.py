"""The work of one partition: read what its log says, write Parquet, hand back small reports. No Spark in here."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from itertools import chain

from splitscan.blocks import BlockReport, Reject
from splitscan.errors import InvariantError
from splitscan.ingest.claimed_run import ClaimedRun
from splitscan.ingest.part_task import TaskContext
from splitscan.rebalance.claiming import Chunk, ChunkStats
from splitscan.rebalance.reading.chunk_reader import ChunkReader, ChunkScan, Claims
from splitscan.scan.spec import ScanSpec
from splitscan.sinks.ledger import REJECT_FOLDER, LedgerBlock, RowRange, identify
from splitscan.sinks.parts import LogPart, parquet_name
from splitscan.sinks.staging import PartReport, Staging
from splitscan.sinks.writing import REJECT_SCHEMA, ParquetSink, RejectSink, check_schema


def run_partition(
    context: TaskContext, spec: ScanSpec, run: ClaimedRun, partition: int, log: Claims
) -> list[PartReport]:
    """Read the chunks of a partition in the order of its log; every ``part_bytes`` of them become a Parquet file.

    Where a file ends depends on the log alone, and its name on the log and its first chunk. So every attempt of the
    partition, after another one or beside it, leaves the same bytes under the same names. What an attempt before it
    has finished is not read again.

    Args:
        context: The job.
        spec: How records are read.
        run: What the tasks of this run have in common.
        partition: Which partition.
        log: What it may read.
    """
    staging = context.open_staging()
    writing = _PartitionWriting(context, staging, run, partition)
    unfinished = _UnfinishedLog(log, staging, run, partition)
    with_digest = context.settings.source_digests
    reader = ChunkReader(spec, unfinished, run.secrets, on_reject=writing.take_reject, with_digest=with_digest)
    with closing(iter(reader)) as chunks:
        for first in chunks:
            report = writing.write_part(unfinished.entry, first, chunks)
            unfinished.begin_part()
            reader.begin_anew()  # the attempt after this one may skip this part
            unfinished.reports.append(report)
    return unfinished.reports


class _UnfinishedLog:
    """The log of a partition without the parts that an earlier attempt has finished.

    Attributes:
        entry: Number of the chunk in the log that was handed out last.
        reports: Of the parts that are finished, in the order of the log.
    """

    def __init__(self, log: Claims, staging: Staging, run: ClaimedRun, partition: int) -> None:
        self._log, self._staging = log, staging
        self._scan, self._partition = run.scan, partition
        self._skipped = 0
        self._begins_part = True
        self.entry = 0
        self.reports: list[PartReport] = []

    def begin_part(self) -> None:
        """The next chunk is the first of a part."""
        self._begins_part = True

    def next(self, index: int, stats: ChunkStats | None = None) -> Chunk | None:
        """The chunk that is to be read as number *index*."""
        if self._begins_part and self._skip_finished(index):
            stats = None  # they are of another chunk than that before the entry
        self._begins_part = False
        self.entry = index + self._skipped
        return self._log.next(self.entry, stats)

    def _skip_finished(self, index: int) -> bool:
        before = self._skipped
        while report := self._staging.read_finished_log(LogPart(self._scan, self._partition, index + self._skipped)):
            self._skipped += report.chunks
            self.reports.append(report)
        return self._skipped > before


class _PartitionWriting:
    """Writes part after part of one partition."""

    def __init__(self, context: TaskContext, staging: Staging, run: ClaimedRun, partition: int) -> None:
        self._context, self._staging = context, staging
        self._run, self._partition = run, partition
        self._rejects: RejectSink | None = None

    def take_reject(self, reject: Reject) -> None:
        """Write a reject to the table of the part that is being written."""
        if self._rejects is None:
            raise InvariantError("a record is read while its part is written")
        self._rejects.add(reject)

    def write_part(self, entry: int, first: ChunkScan, rest: Iterator[ChunkScan]) -> PartReport:
        """Write chunks until they are enough for a file, or the log ends.

        Args:
            entry: Number of the first chunk in the log.
            first: The first chunk.
            rest: What follows; as many chunks as fit are taken.
        """
        context, part = self._context, LogPart(self._run.scan, self._partition, entry)
        attempt = f"-{secrets.token_hex(4)}" if context.own_names else ""
        name = parquet_name(context.job_id, part.file_part + attempt, context.settings.compression)
        data = ParquetSink(self._staging, name, context.schema, context.settings)
        table = ParquetSink(self._staging, f"{REJECT_FOLDER}/{name}", REJECT_SCHEMA, context.settings)
        files: dict[str, int] = {}
        blocks: list[LedgerBlock] = []
        chunks = 0
        with data, table:
            self._rejects = rejects = RejectSink(table)
            for chunks, chunk in enumerate(self._enough(first, rest), start=1):  # noqa: B007 -- how many it were
                blocks += self._write_chunk(chunk, data, rejects, files)
            rejects.flush()
        self._rejects = None
        written = tuple(sink.written for sink in (data, table) if sink.written is not None)
        report = PartReport(
            number=entry,
            blocks=tuple(blocks),
            written=written,
            dropped=rejects.dropped,
            examples=tuple(rejects.examples),
            partition=self._partition,
            chunks=chunks,
            files=tuple(files),
        )
        self._staging.write_report(part, report)
        return report

    def _enough(self, first: ChunkScan, rest: Iterator[ChunkScan]) -> Iterator[ChunkScan]:
        """Chunks until they are enough for a file. Only their lengths count, so it is the same for every attempt."""
        size_bytes = 0
        for scan in chain([first], rest):
            yield scan
            size_bytes += scan.chunk.stop - scan.chunk.start
            if size_bytes >= self._run.part_bytes:
                return

    def _write_chunk(
        self, scan: ChunkScan, data: ParquetSink, rejects: RejectSink, files: dict[str, int]
    ) -> list[LedgerBlock]:
        """Write one chunk. Returns a line of the ledger for each file that it reaches into."""
        row, reject = data.taken_rows, rejects.count
        for batch in scan:
            check_schema(batch, self._context.schema)
            data.write(batch)
        blocks = []
        for read in scan.reports:
            file_index = files.setdefault(identify(read.block.file.path), len(files))
            blocks.append(
                _ledger_block(
                    read,
                    file_index,
                    RowRange(data.name, row, row + read.rows),
                    RowRange(rejects.name, reject, reject + read.rejects),
                )
            )
            row, reject = row + read.rows, reject + read.rejects
        _check_counts(scan, data.taken_rows - row, rejects.count - reject)
        return blocks


def _ledger_block(read: BlockReport, file_index: int, data: RowRange, table: RowRange) -> LedgerBlock:
    return LedgerBlock(
        file_index=file_index,
        index=0,
        start=read.block.start,
        stop=read.block.stop,
        span_start=read.span_start,
        span_stop=read.span_stop,
        rows=read.rows,
        rejects=read.rejects,
        digest=read.digest,
        data=data if data.stop > data.start else None,
        reject_table=table if table.stop > table.start else None,
        missing=read.missing,
        content_bytes=read.content_bytes,
        damage=read.damage,
    )


def _check_counts(scan: ChunkScan, rows: int, rejects: int) -> None:
    """Make sure that what the reader says it delivered is what arrived."""
    if rows or rejects:
        raise InvariantError(
            "the reader of a chunk delivered another number of rows or rejects than it reports",
            seen=f"chunk [{scan.chunk.start}, {scan.chunk.stop}): {rows:+} rows and {rejects:+} rejects",
            fix="report it with the options",
        )
