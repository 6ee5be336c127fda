"""Rejects: those of a scan, as rows; and those of a destination, read back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from splitscan.errors import IngestError, SourceMissingError, Where
from splitscan.jobs.destination import open_destination
from splitscan.jobs.ledger import Ledger, RowRange
from splitscan.jobs.ledger_files import nothing_ingested, read_ledgers
from splitscan.jobs.parquet import open_parquet_file
from splitscan.jobs.replacing import Contents
from splitscan.jobs.workplace import DestinationStorage, missing_error
from splitscan.reading.block_scan import scan_blocks
from splitscan.reading.rejects import REJECTED, LineNumbers
from splitscan.redaction import redact
from splitscan.scans.planner import ScanPlanner
from splitscan.scans.rows import Rows
from splitscan.sizes import KIB


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


_BUFFER_BYTES = 64 * KIB
_BATCH_ROWS = 1024  # their raw bytes are bounded one by one


@dataclass(frozen=True, slots=True)
class PublishedReject:
    """A record that broke a rule, as a reject table tells of it; secrets of the path are masked.

    Attributes:
        job: Number of the job that read it.
        offset: Its first byte in the file, or in what the file decompresses to.
        length: Its bytes.
        code: The rule, for programs; *reason* is for people.
        delivered: Whether a row with nulls was delivered for it.
        raw: Its bytes, or the first of them.
    """

    job: int
    path: str
    offset: int
    length: int
    code: str
    reason: str
    delivered: bool
    raw: bytes


def list_rejects(
    destination: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> Iterator[PublishedReject]:
    """List what was rejected, in the order of jobs, files and offsets. Writes nothing.

    Rejects of a version of a file that was replaced are left out; their reject table stays.

    Args:
        destination: Folder or table that an ingest wrote: a path or a URI.
        storage_options: Settings of its file system.

    Raises:
        IngestError: ``[not-a-destination]`` if nothing was ever ingested there; ``[ledger-damaged]``;
            ``[data-file-missing]`` if a reject table is gone.
    """
    place = open_destination(destination, storage_options=storage_options).place
    ledgers = read_ledgers(place.destination)
    if not ledgers:
        raise nothing_ingested(place.destination)
    contents = Contents(ledgers)
    return chain.from_iterable(_rejects_of(place, ledger, contents) for ledger in ledgers)


def _rejects_of(place: DestinationStorage, ledger: Ledger, contents: Contents) -> Iterator[PublishedReject]:
    """The rejects of one job, each table opened once: its blocks lie in it in their order."""
    tables = (
        block.reject_table
        for block in ledger.blocks
        if block.reject_table is not None and not contents.has_left(ledger.sequence, block.file_index)
    )
    for name, ranges in groupby(tables, key=lambda rows: rows.name):
        yield from _read_ranges(place, ledger.sequence, name, list(ranges))


def _read_ranges(place: DestinationStorage, job: int, name: str, ranges: list[RowRange]) -> Iterator[PublishedReject]:
    path = place.destination.path_of(name)
    try:
        with open_parquet_file(path, place.storage_options, _BUFFER_BYTES) as table:
            first = 0
            for batch in table.iter_batches(_BATCH_ROWS):
                for rows in ranges:
                    start, stop = max(rows.start - first, 0), min(rows.stop - first, batch.num_rows)
                    if start < stop:
                        yield from _as_values(job, batch.slice(start, stop - start))
                first += batch.num_rows
    except SourceMissingError:
        raise missing_error(name, place.destination.root) from None
    except (pa.ArrowException, OSError) as error:
        raise IngestError(
            "a reject table cannot be read", Where(path=path), f"{type(error).__name__}: {str(error)[:300]}",
            "splitscan verify says what else has changed", "destination-failed",
        ) from error  # fmt: skip


def _as_values(job: int, batch: pa.RecordBatch) -> Iterator[PublishedReject]:
    for row in batch.to_pylist():
        yield PublishedReject(job, **{**row, "path": redact(row["path"])})
