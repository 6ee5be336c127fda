"""The work of one task: read its blocks, write their Parquet, hand back a small report. No Spark in here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from splitscan.blocks import BlockMetadata, BlockReport, Reject
from splitscan.sinks.part_writing import PartTarget
from splitscan.sinks.parts import Part
from splitscan.sinks.staging import PartReport


class BlockRows(Protocol):
    """The rows of one block: iterate once, then ask for the report."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    @property
    def passed_bytes(self) -> int:
        """How much of the block has been read."""

    @property
    def report(self) -> BlockReport:
        """What was read; known once iteration has ended."""


OpenBlock = Callable[[BlockMetadata, Callable[[Reject], None], bool], BlockRows]
"""Opens a block: the block, who takes rejects, whether to hash the source bytes."""


def run_part(target: PartTarget, part: Part, open_block: OpenBlock) -> PartReport:
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
            rows = open_block(block, writer.take_reject, target.settings.source_digests)
            for batch in rows:
                writer.write(batch)
                writer.tell(rows.passed_bytes)
            writer.end_block(rows.report, file_index, block.index)
    report = replace(writer.report(part.number), times=(began, time.time()))
    staging.write_report(part, report)
    return report
