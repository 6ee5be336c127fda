"""What a scan gives, as tests compare it."""

from __future__ import annotations

from typing import Any

import splitscan as ss
from splitscan.blocks import Reject


def rows_of(scan: ss.Scan) -> list[tuple[Any, ...]]:
    """All rows."""
    return [tuple(row.values()) for row in scan.to_arrow().to_pylist()]


def rejects_of(scan: ss.Scan) -> list[Reject]:
    """All rejects."""
    rejects: list[Reject] = []
    for _ in scan.to_batches(rejects.append):
        pass
    return rejects
