"""The work of one task: read a part of the plan, or what a claim log says, write Parquet, hand back small reports."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain

from splitscan.blocks import Reject
from splitscan.errors import InvariantError
from splitscan.jobs.ledger import identify
from splitscan.jobs.part_writing import PartTarget, PartWriter
from splitscan.jobs.parts import ClaimedPart, OutputPart
from splitscan.jobs.runner import ClaimedRun, OpenBlock
from splitscan.jobs.staging import PartReport, Staging
from splitscan.rebalance.claiming import Chunk, ChunkStats
from splitscan.rebalance.reading.chunk_reader import ChunkReader, ChunkScan, ClaimSource
from splitscan.scan.spec import ScanSpec


def run_part(target: PartTarget, part: OutputPart, open_block: OpenBlock) -> PartReport:
    """Read the blocks of a part and write what they hold.

    The files appear whole, and the report after them; a part whose report is there is not read again. Running the
    same part twice, one after the other or at the same time, leaves the same bytes under the same names.

    Args:
        target: Where it goes.
        part: What to read.
        open_block: Opens a block for reading.
    """
    staging = target.open_staging()
    report = staging.read_finished(part)
    if report is not None:
        return report
    began = time.time()
    with target.open_part(staging, part) as writer:
        for file_index, block in part.blocks:
            rows = open_block(block, writer.take_rejects, target.settings.source_digests)
            for batch in rows:
                writer.write(batch)
                writer.tell(rows.passed_bytes)
            writer.end_block(rows.report, file_index, block.index)
    report = replace(writer.report(part.number), times=(began, time.time()))
    staging.write_report(part, report)
    return report


def run_partition(
    target: PartTarget, spec: ScanSpec, run: ClaimedRun, partition: int, log: ClaimSource
) -> list[PartReport]:
    """Read the chunks of a partition in the order of its log; every ``part_bytes`` of them become a Parquet file.

    Where a file ends depends on the log alone, and its name on the log and its first chunk. So every attempt of the
    partition, after another one or beside it, leaves the same bytes under the same names. What an attempt before it
    has finished is not read again.

    Args:
        target: Where it goes.
        spec: How records are read.
        run: What the tasks of this run have in common.
        partition: Which partition.
        log: What it may read.
    """
    staging = target.open_staging()
    writing = _PartitionWriting(target, staging, run, partition)
    unfinished = _UnfinishedLog(log, staging, run, partition)
    with_digest = target.settings.source_digests
    reader = ChunkReader(spec, unfinished, run.secrets, on_reject=writing.take_rejects, with_digest=with_digest)
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

    def __init__(self, log: ClaimSource, staging: Staging, run: ClaimedRun, partition: int) -> None:
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
        while report := self._staging.read_finished_log(
            ClaimedPart(self._scan, self._partition, index + self._skipped)
        ):
            self._skipped += report.chunks
            self.reports.append(report)
        return self._skipped > before


class _PartitionWriting:
    """Writes part after part of one partition."""

    def __init__(self, target: PartTarget, staging: Staging, run: ClaimedRun, partition: int) -> None:
        self._target, self._staging = target, staging
        self._run, self._partition = run, partition
        self._writer: PartWriter | None = None

    def take_rejects(self, rejects: Sequence[Reject]) -> None:
        """Write rejects to the table of the part that is being written."""
        if self._writer is None:
            raise InvariantError("a record is read while its part is written")
        self._writer.take_rejects(rejects)

    def write_part(self, entry: int, first: ChunkScan, rest: Iterator[ChunkScan]) -> PartReport:
        """Write chunks until they are enough for a file, or the log ends.

        Args:
            entry: Number of the first chunk in the log.
            first: The first chunk.
            rest: What follows; as many chunks as fit are taken.
        """
        part = ClaimedPart(self._run.scan, self._partition, entry)
        files: dict[str, int] = {}
        chunks = 0
        with self._target.open_part(self._staging, part) as writer:
            self._writer = writer
            for chunks, chunk in enumerate(self._enough(first, rest), start=1):  # noqa: B007 -- how many it were
                _write_chunk(writer, chunk, files)
        self._writer = None
        report = replace(writer.report(entry), partition=self._partition, chunks=chunks, files=tuple(files))
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


def _write_chunk(writer: PartWriter, chunk: ChunkScan, files: dict[str, int]) -> None:
    """Write one chunk: a block for each file that it reaches into, ended before the rows of the next arrive."""
    ended = 0
    for batch in chunk:
        ended = _end_blocks(writer, chunk, files, ended)
        writer.write(batch)
        writer.tell()
    _end_blocks(writer, chunk, files, ended)


def _end_blocks(writer: PartWriter, chunk: ChunkScan, files: dict[str, int], ended: int) -> int:
    for read in chunk.reports[ended:]:
        writer.end_block(read, files.setdefault(identify(read.block.file.path), len(files)))
    return len(chunk.reports)
