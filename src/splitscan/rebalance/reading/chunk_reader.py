"""The reader of one partition of a rebalanced scan: claim a chunk, read it, tell what that took, claim the next."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Protocol

import pyarrow as pa

from splitscan.blocks import BlockReport
from splitscan.errors import InvariantError
from splitscan.rebalance.claiming import Chunk, ChunkStats
from splitscan.rebalance.reading.parts import Entries, parts_of
from splitscan.scan import ScanSpec, open_reader
from splitscan.scan.columns.file_columns import Grain, grain_of, metadata_name
from splitscan.scan.given_up import RejectCounter
from splitscan.scan.rejects import OnRejects


class ClaimSource(Protocol):
    """The log of one partition, as its readers see it: a ``Claims``, or a finished list of chunks."""

    def next(self, index: int, stats: ChunkStats | None = None) -> Chunk | None:
        """Entry *index*, claimed now if it is new; ``None`` is the end. The answer never changes."""


class ChunkReader:
    """Reads the chunks of one partition, in the order of its log.

    A chunk is claimed before anything of it is delivered, and the end is reached only when the log says so: all
    readers of a partition deliver the same rows in the same order.

    Args:
        spec: What to deliver.
        claims: The log of the partition.
        secrets: Credentials of the plan's paths.
        limit: Most rows of all chunks together; ``None`` for all. No chunk is claimed after it.
        on_reject: Given the records that break a rule, in order.
        with_digest: Whether reports carry the digests of the bytes.
        losses: Counts the rejects where *on_reject* does not take them, and is told of new columns.
        clock: Seconds on any clock that does not go back.

    Thread safety: none.
    """

    def __init__(
        self,
        spec: ScanSpec,
        claims: ClaimSource,
        secrets: tuple[str, ...],
        *,
        limit: int | None = None,
        on_reject: OnRejects | None = None,
        losses: RejectCounter | None = None,
        with_digest: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec = spec
        self._claims = claims
        self._secrets = secrets
        self._remaining = limit
        self._on_reject = on_reject
        self._losses = losses
        self._with_digest = with_digest
        self._clock = clock
        self._entries = Entries(spec)
        self._by_block = any(_is_of_the_block(spec, name) for name in spec.columns)

    def __iter__(self) -> Generator[ChunkScan]:
        """Chunk after chunk; each must be read to its end before the next one is asked for.

        What the caller does with the batches of a chunk, until it asks for the next one, counts as its cost.
        """
        index, stats = 0, None
        try:
            while self._remaining is None or self._remaining > 0:
                chunk = self._claims.next(index, stats)
                if chunk is None:
                    return
                claimed = self._clock()
                scan = ChunkScan(self, chunk)
                yield scan
                if not scan.is_done:
                    raise InvariantError("a chunk is read to its end before the next one", seen=f"chunk {index}")
                stats = ChunkStats(self._clock() - claimed, scan.rows, scan.bytes_read)
                index += 1
        finally:
            self._entries.close()

    def begin_anew(self) -> None:
        """Read the next chunk into the same batches as a reader that has not read the ones before it.

        Rows never depend on what was read before, but batches may: after blank lines a reader that comes from before
        them begins its first batch later than one that enters at the edge.
        """
        self._entries.forget()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of all chunks."""
        for chunk in self:
            yield from chunk

    def read(self, chunk: Chunk) -> Iterator[tuple[pa.RecordBatch | None, BlockReport | None]]:
        """Batches and reports of one chunk, part after part."""
        for part in parts_of(chunk, self._secrets, by_block=self._by_block):
            if self._remaining == 0:
                return
            block = self._entries.enter(part)
            reader = open_reader(
                self._spec,
                block,
                on_reject=self._on_reject,
                with_digest=self._with_digest,
                limit=self._remaining,
                planned=part.planned,
                opened=None if part.indivisible else self._entries.open(block.file),
                losses=self._losses,
            )
            for batch in reader:
                if self._remaining is not None:
                    self._remaining -= batch.num_rows
                yield batch, None
            if self._remaining is None:
                self._entries.leave(reader.report)
                yield None, reader.report


class ChunkScan:
    """One chunk on its way to rows. Iterate once.

    Attributes:
        chunk: What was claimed.
        rows: Rows delivered so far.
        reports: The lines of the ledger about its parts, in order; with a limit there are none.
    """

    def __init__(self, reader: ChunkReader, chunk: Chunk) -> None:
        self.chunk = chunk
        self.rows = 0
        self.reports: list[BlockReport] = []
        self.is_done = False
        self._reader = reader

    @property
    def bytes_read(self) -> int:
        """Bytes that were answered for."""
        return sum(report.span_stop - report.span_start for report in self.reports)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch, report in self._reader.read(self.chunk):
            if report is not None:
                self.reports.append(report)
            elif batch is not None:
                self.rows += batch.num_rows
                yield batch
        self.is_done = True


def _is_of_the_block(spec: ScanSpec, name: str) -> bool:
    """Return whether a column says which block a record lies in."""
    return name not in spec.fields.names and metadata_name(name) is not None and grain_of(name) is Grain.BLOCK
