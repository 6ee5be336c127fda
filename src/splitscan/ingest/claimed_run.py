"""One run of a job whose tasks claim what they read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """What the tasks of a run have in common. Pickling: plain values only.

    Attributes:
        scan: Identity of the scan: each run of a job has another one, and so other logs.
        partitions: How many there are.
        part_bytes: A Parquet file is closed when the chunks in it reach this length.
        secrets: Credentials of the plan's paths.
    """

    scan: str
    partitions: int
    part_bytes: int
    secrets: tuple[str, ...] = field(repr=False)
