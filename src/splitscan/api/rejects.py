"""The rejects of a scan, as rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from splitscan.scan.block_scan import scan_blocks
from splitscan.scan.planner import ScanPlanner
from splitscan.scan.rejects import REJECTED, LineNumbers
from splitscan.scan.rows import Rows


class Rejects(Rows):
    """The records of a scan that break a rule, as rows; see :meth:`Scan.rejects`.

    Args:
        scan: The scan.
    """

    def __init__(self, scan: ScanPlanner) -> None:
        self._scan = scan

    def __repr__(self) -> str:
        return f"<Rejects of {self._scan!r}>"

    @property
    def schema(self) -> pa.Schema:
        return REJECTED

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """All rejects, in file order, then offset order, read while they are taken."""
        found: list[pa.RecordBatch] = []
        scan = self._scan
        scan.warn()
        limit, portions = scan.options.reading.limit, list(scan.portions())
        if not portions or limit == 0:
            return
        lines = LineNumbers(scan.options, scan.files())
        batches = scan_blocks(
            scan.spec, portions, limit, lambda rejects: found.append(lines.rows(rejects)), watch=lines.watch
        )
        for _ in batches:
            yield from found
            found.clear()
        yield from found
