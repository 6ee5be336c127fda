"""Block after block in one process: those of a compressed file that follow each other are decompressed in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from math import inf

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.formats.framing.contract import RecordFormat
from splitscan.read.contents import open_content
from splitscan.read.opened_file import OpenedFile
from splitscan.scan.block_scan import BlockScan
from splitscan.scan.framework import OnReject
from splitscan.scan.framework.batching import join_batches
from splitscan.scan.given_up import Losses
from splitscan.scan.spec import ScanSpec


class ConsecutiveBlocks:
    """Reads blocks one after the other.

    A block of a compressed file that begins where the last one stopped goes on with the record that the last one left:
    nothing is decompressed, or looked through for a record, again. All other blocks are read on their own.

    Args:
        spec: What to deliver.

    Thread safety: none.
    """

    def __init__(self, spec: ScanSpec) -> None:
        self._spec = spec
        framing = spec.reading
        self._format = framing if isinstance(framing, RecordFormat) else None
        self._opened: OpenedFile | None = None
        self._last: BlockScan | None = None

    def scan(
        self,
        block: BlockMetadata,
        *,
        on_reject: OnReject | None = None,
        with_digest: bool = False,
        limit: int | None = None,
        losses: Losses | None = None,
    ) -> BlockScan:
        """Scan a block; read it to its end before asking for the next one. The arguments are those of `BlockScan`."""
        entered, opened = self._enter(block)
        self._last = BlockScan(
            self._spec,
            entered,
            on_reject=on_reject,
            with_digest=with_digest,
            limit=limit,
            planned=block,
            opened=opened,
            losses=losses,
        )
        return self._last

    def close(self) -> None:
        """Close what is open. Calling it again does nothing; scanning on opens it anew."""
        opened, self._opened, self._last = self._opened, None, None
        if opened is not None:
            opened.close()

    def _enter(self, block: BlockMetadata) -> tuple[BlockMetadata, OpenedFile | None]:
        last = None if self._last is None else self._last.result
        if last is None or last.missing or (last.block.file, last.block.stop) != (block.file, block.start):
            self.close()
        if self._format is None or block.file.compression is None:
            return block, None
        if self._opened is not None and last is not None:
            return replace(block, first_record_start=last.span_stop), self._opened
        reading = self._spec.options.reading
        self._opened = OpenedFile(
            block.file,
            partial(open_content, block, self._spec.options.files, self._format),
            max_record_bytes=reading.max_record_bytes,
            read_bytes=reading.read_bytes,
            fresh_seconds=inf,  # to open it again is to begin it again
        )
        return block, self._opened


def scan_blocks(
    spec: ScanSpec, blocks: Iterable[BlockMetadata], limit: int | None = None, on_reject: OnReject | None = None
) -> Iterator[pa.RecordBatch]:
    """Read blocks, one after the other; none is opened that is not needed for *limit* rows.

    Without a limit, small batches are put together. Where nobody takes the rejects, a warning says how many records
    are no rows, and which is the first: at the end, or where the caller ends.

    Args:
        spec: What to deliver.
        blocks: What to read, in order.
        limit: Most rows of all blocks together; ``None`` for all.
        on_reject: Called for every record that breaks a rule, in order.
    """
    losses = Losses(spec.options)
    try:
        if limit is None:
            yield from _scan_all(spec, list(blocks), on_reject, losses)
        else:
            yield from _scan_some(spec, blocks, limit, on_reject, losses)
    finally:
        losses.report()


def _scan_some(
    spec: ScanSpec, blocks: Iterable[BlockMetadata], limit: int, on_reject: OnReject | None, losses: Losses
) -> Iterator[pa.RecordBatch]:
    remaining = limit
    with closing(ConsecutiveBlocks(spec)) as consecutive:
        for block in () if limit == 0 else blocks:
            for batch in consecutive.scan(block, on_reject=on_reject, limit=remaining, losses=losses):
                yield batch
                remaining -= batch.num_rows
            if remaining == 0:
                return


def _scan_all(
    spec: ScanSpec, blocks: Sequence[BlockMetadata], on_reject: OnReject | None, losses: Losses
) -> Iterator[pa.RecordBatch]:
    reading = spec.options.reading
    with closing(ConsecutiveBlocks(spec)) as consecutive:
        batches = chain.from_iterable(consecutive.scan(block, on_reject=on_reject, losses=losses) for block in blocks)
        yield from join_batches(batches, reading.batch_rows, reading.batch_bytes)
