"""Reading one partition of a rebalanced scan in a Spark task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from splitscan.rebalance import Claims
from splitscan.rebalance.reading.chunk_reader import ChunkReader
from splitscan.scan import ScanSpec
from splitscan.spark.coordination.session import RegisteredScan, reachable


@dataclass(frozen=True, slots=True)
class ClaimedPartition:
    """All that a task must know, beside how records are read: whom to ask, and for which partition.

    Attributes:
        registered: The scan.
        number: The partition.
        secrets: Credentials of the plan's paths.

    Pickling: with all secrets, so only inside Spark's own tasks; ``repr`` does not show them.
    """

    registered: RegisteredScan
    number: int
    secrets: tuple[str, ...] = field(repr=False)


def read_claimed(spec: ScanSpec, partition: ClaimedPartition) -> Iterator[pa.RecordBatch]:
    """Claim chunk after chunk and read it, up to the limit of *spec*; every run of a partition gives the same rows.

    Raises:
        RebalanceError: If the coordinator cannot say what comes next. The task must fail then.
    """
    registered = partition.registered
    with Claims(reachable(registered.address), registered.scan, partition.number) as claims:
        yield from ChunkReader(spec, claims, partition.secrets, limit=spec.options.reading.limit).batches()
