"""Parts of a job and their reports: what goes into one Parquet file, and the staging folder in which it waits.

A part is made of neighbouring blocks of a plan, or of neighbouring chunks of a claim log. No reader of the destination
sees what is in staging.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import pyarrow as pa

from splitscan.blocks import BlockMetadata, read_blocks, write_blocks
from splitscan.content.storage import Storage, open_storage
from splitscan.errors import IngestError, SourceMissingError
from splitscan.jobs.ledger import REJECT_FOLDER, LedgerBlock, WrittenFile
from splitscan.jobs.settings import IngestSettings, Partitioning
from splitscan.spelling import from_plain, read_object, to_plain

REPORT_VERSION = 3

BlockKey: TypeAlias = tuple[int, int]
"""File index and block index: a block's identity in its job."""

REPORTS_PER_FOLDER = 1000
"""Blocks whose reports may share a folder: who watches a job lists the folders in which something is still missing."""

TELL_SECONDS = 0.5
REMOTE_TELL_SECONDS = 5.0  # where telling is a request to an object store
"""How often a task tells how far it is."""

_SCAN_DIGITS = 16  # runs of one job with the same digits would write over each other: 64 bits rule that out


@dataclass(frozen=True, slots=True)
class OutputPart:
    """Blocks or chunks that lie next to each other, and go to one Parquet file together.

    Which chunks of the log of a partition follows from the log alone: every attempt makes the same parts.

    Attributes:
        number: Number of its first block in the plan, or of its first chunk in the log; from 0.
        blocks: File index and block, in the order of the plan; their number is part of its identity. None of chunks.
        partition: Number of the log; ``None`` for a part that is planned.
        scan: Identity of the scan, which is another one in each run of the job; empty for a part that is planned.
    """

    number: int
    blocks: tuple[tuple[int, BlockMetadata], ...] = ()
    partition: int | None = None
    scan: str = ""

    @property
    def name(self) -> str:
        """Its identity in its job, or in its scan, by :func:`part_name`."""
        return part_name(self.number, len(self.blocks), self.partition)

    @property
    def folder(self) -> str:
        """The folder of its report: by its number, or that of its scan."""
        return log_folder(self.scan) if self.scan else f"{self.number // REPORTS_PER_FOLDER:06d}"

    @property
    def file_part(self) -> str:
        """Its identity in its destination, given the job.

        Example:
            >>> OutputPart(17, partition=3, scan="5ca1ab1e5ca1ab1e00").file_part
            '5ca1ab1e5ca1ab1e-00003-00000017'
        """
        return f"{self.scan[:_SCAN_DIGITS]}-{self.name}" if self.scan else self.name

    def to_json(self) -> bytes:
        """Write it, for the task that reads it."""
        files, blocks = [file_index for file_index, _ in self.blocks], [block for _, block in self.blocks]
        return json.dumps([self.number, files]).encode() + b"\n" + write_blocks(blocks)

    @classmethod
    def from_json(cls, written: bytes) -> OutputPart:
        """Read what :meth:`to_json` wrote."""
        head, _, blocks = written.partition(b"\n")
        number, files = json.loads(head)
        return cls(number, tuple(zip(files, read_blocks(blocks), strict=True)))

    def is_told_by(self, report: PartReport) -> bool:
        """Return whether a report tells of exactly these blocks, or of chunks of the log from that number on."""
        if self.partition is not None:
            return report.part_name == self.name and report.chunks > 0
        mine = [(file_index, block.index, block.start, block.stop) for file_index, block in self.blocks]
        return mine == [(*line.key, line.start, line.stop) for line in report.blocks]


def log_folder(scan: str) -> str:
    """The folder of the reports of a scan."""
    return f"scan-{scan}"


def part_name(number: int, block_count: int, partition: int | None = None) -> str:
    """Spell the identity of a part: the number of its first block, and how many there are; or its log, and where in it.

    Example:
        >>> part_name(17, 2), part_name(17, 2, partition=3)
        ('00000017-00002', '00003-00000017')
    """
    return f"{number:08d}-{block_count:05d}" if partition is None else f"{partition:05d}-{number:08d}"


def plan_parts(
    plan: Mapping[BlockKey, BlockMetadata], tasks: Iterable[Sequence[BlockMetadata]], done: Collection[BlockKey]
) -> list[OutputPart]:
    """Make parts of what is still to be read. A run that is packed alike gets those of the run before."""
    keys = iter(plan.items())
    parts: list[OutputPart] = []
    number = 0
    for task in tasks:
        run: list[tuple[int, BlockMetadata]] = []
        for _ in task:
            key, block = next(keys)
            if key in done:
                _close(parts, number, run)
                run = []
            else:
                run.append((key[0], block))
            number += 1
        _close(parts, number, run)
    return parts


def report_folders(parts: Iterable[OutputPart]) -> dict[str, set[str]]:
    """Folders of the reports of parts, with the names of those in each."""
    folders: dict[str, set[str]] = {}
    for part in parts:
        folders.setdefault(part.folder, set()).add(part.name)
    return folders


def _close(parts: list[OutputPart], stop: int, run: list[tuple[int, BlockMetadata]]) -> None:
    if run:
        parts.append(OutputPart(stop - len(run), tuple(run)))


class PartProgress(NamedTuple):
    """Progress of a part: bytes of its blocks that were read, blocks that ended, rows, rejects, those without a row."""

    bytes_done: int
    blocks: int
    rows: int
    rejects: int
    dropped: int


def total(parts: Iterable[PartProgress]) -> PartProgress:
    """Add up the progress of parts."""
    return PartProgress(*map(sum, zip(*parts, strict=True)))


@dataclass(frozen=True, slots=True)
class PartReport:
    """Report of a finished part.

    Attributes:
        number: Number of its first block in the plan, or of its first chunk in the log of a partition.
        blocks: The lines of the ledger. Those of a part of a log count files from 0 in the order of *files*, and have
            no index yet: what block a range of a file is, is known when all are there.
        written: The files it wrote: with rows, with rejects, or none.
        dropped: Rejects for which no row was delivered.
        examples: The first few rejects, one sentence each.
        partition: Number of the log; ``None`` for a part that was planned.
        chunks: How many chunks of the log.
        files: The identities of the files of a part of a log.
        times: When its task began and ended, in seconds since the epoch.
        noticed: Columns that the scan does not have: path of a file, start of a block, and a serialised Arrow schema.
        odd: What is odd about records: code, number of records, path of the first one's file, and its place there.
    """

    number: int
    blocks: tuple[LedgerBlock, ...]
    written: tuple[WrittenFile, ...] = ()
    dropped: int = 0
    examples: tuple[str, ...] = ()
    partition: int | None = None
    chunks: int = 0
    files: tuple[str, ...] = ()
    times: tuple[float, float] | None = None
    noticed: tuple[tuple[str, int, bytes], ...] = ()
    odd: tuple[tuple[str, int, str, int], ...] = ()

    @property
    def part_name(self) -> str:
        """The identity of its part in its job, or of its part of a log in its scan."""
        return part_name(self.number, len(self.blocks), self.partition)

    def to_json(self) -> str:
        """Render as one line of JSON."""
        return json.dumps({"report": REPORT_VERSION, **to_plain(self)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> PartReport:
        """Read it back; :class:`IngestError` if it is not such a report."""
        try:
            raw = read_object(text)
            if raw.get("report") == REPORT_VERSION:
                return from_plain(cls, raw)
            seen = "another version"
        except IngestError as error:
            seen = error.seen or ""
        raise IngestError("the report of a task cannot be read", seen=seen) from None

    @property
    def progress(self) -> PartProgress:
        """Bytes, blocks, rows and rejects of it."""
        blocks = self.blocks
        return PartProgress(
            sum(block.size_bytes for block in blocks), len(blocks), sum(block.rows for block in blocks),
            sum(block.rejects for block in blocks), self.dropped,
        )  # fmt: skip

    @property
    def is_final(self) -> bool:
        """True if reading again would change nothing: no file had vanished, so none can have come back."""
        return not any(block.missing for block in self.blocks)


class Staging:
    """The folder of one job.

    Args:
        storage: The folder that holds the folders of all jobs.
        job_id: Name of the folder.
        data: The folder of a table: data files are written there under their final names, for no reader of the table
            sees what no commit has named. ``None`` if they wait here.
        plan_id: By which plan the job is read, where that does not follow from its identity: a task of another plan
            may still run, and what it reports is not of this one.
    """

    def __init__(self, storage: Storage, job_id: str, data: Storage | None = None, plan_id: str = "") -> None:
        self.storage = storage
        self.job_id = job_id
        self._data = data
        self._reports = f"{job_id}/reports-{plan_id}" if plan_id else f"{job_id}/reports"
        self._progress = f"{job_id}/progress"

    def file_name(self, name: str) -> str:
        """Path in staging of a file that will be called *name* in the destination."""
        return f"{self.job_id}/files/{name}"

    def open_output(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Write a file that will be called *name* in the destination, as a stream."""
        storage, path = self._home_of(name)
        return storage.open_output(path)

    def has_file(self, name: str) -> bool:
        """Return whether a file was written that is called *name* in the destination."""
        storage, path = self._home_of(name)
        return storage.exists(path)

    def _home_of(self, name: str) -> tuple[Storage, str]:
        if self._data is None or name.startswith(f"{REJECT_FOLDER}/"):
            return self.storage, self.file_name(name)
        return self._data, name

    def report_name(self, part: OutputPart) -> str:
        """Path of the report of a part."""
        return f"{self._reports}/{part.folder}/{part.name}.json"

    def list_reports(self, folder: str) -> set[str]:
        """Names of the parts that have a report in the folder of one."""
        names = self.storage.list_names(f"{self._reports}/{folder}")
        return {name.removesuffix(".json") for name in names if name.endswith(".json") and not name.startswith(".")}

    def read_report(self, folder: str, part_name: str) -> PartReport:
        """Read a report."""
        return PartReport.from_json(self.storage.read_bytes(f"{self._reports}/{folder}/{part_name}.json"))

    def write_report(self, part: OutputPart, report: PartReport) -> None:
        """Leave a report: from now on the part is finished."""
        self.storage.write_bytes_atomic(self.report_name(part), report.to_json().encode("ascii"))

    def write_progress(self, part_name: str, progress: PartProgress) -> None:
        """Tell how far a part is. Nobody relies on it: where it cannot be written, the job goes on."""
        with suppress(IngestError):
            self.storage.write_bytes_atomic(f"{self._progress}/{part_name}.json", json.dumps(progress).encode())

    def read_progress(self, finished: Collection[str]) -> list[PartProgress]:
        """Read the progress of parts that are being read; *finished* names those that are not any more."""
        told: list[PartProgress] = []
        for name in self.storage.list_names(self._progress):
            if name.endswith(".json") and not name.startswith(".") and name.removesuffix(".json") not in finished:
                with suppress(SourceMissingError, IngestError, ValueError, TypeError):  # the next one will be whole
                    figures = json.loads(self.storage.read_bytes(f"{self._progress}/{name}"))
                    told.append(PartProgress(*map(int, figures)))
        return told

    def forget_progress(self) -> None:
        """Throw away what tasks of an earlier run told: their parts are read again."""
        self.storage.delete_tree(self._progress)

    def read_finished(self, part: OutputPart) -> PartReport | None:
        """Read the report of a part, if it is finished for good and every file that it names is here too."""
        with suppress(SourceMissingError, IngestError):  # a report that cannot be read is work to be done again
            report = self.read_report(part.folder, part.name)
            whole = report.is_final and part.is_told_by(report)
            if whole and all(self.has_file(written.name) for written in report.written):
                return report
        return None

    def finished(self, plan: Mapping[BlockKey, BlockMetadata]) -> list[PartReport]:
        """Find the parts that earlier runs of the same job have finished, with all files they wrote in place.

        Runs on clusters of other sizes share blocks out in another way. Where what they finished overlaps, the part
        that comes first in the plan, and of these the largest, counts.
        """
        order = list(plan.items())
        found = sorted(self.reports_there(), key=lambda report: (report.number, -len(report.blocks)))
        waiting = self.waiting_files(found)
        finished: list[PartReport] = []
        stop = 0
        for report in found:
            after = report.number + len(report.blocks)
            part = OutputPart(report.number, tuple((key[0], block) for key, block in order[report.number : after]))
            whole = part.blocks and part.is_told_by(report) and all(each.name in waiting for each in report.written)
            if report.number >= stop and report.is_final and whole:
                finished.append(report)
                stop = after
        return finished

    def reports_there(self) -> Iterator[PartReport]:
        """Every report that can be read, whichever run of the job left it."""
        for folder in self.storage.list_names(self._reports):
            for name in sorted(self.list_reports(folder.rstrip("/"))):
                with suppress(SourceMissingError, IngestError):
                    yield self.read_report(folder.rstrip("/"), name)

    def waiting_files(self, reports: Collection[PartReport]) -> set[str]:
        """Names (in the destination) of the files that were written, of those that reports name at least."""
        if not reports:
            return set()
        waiting = self.staged_files()
        if self._data is not None:  # looked up one by one: the table's folder may hold any number of files
            named = {written.name for report in reports for written in report.written if not written.is_reject_table}
            waiting |= {name for name in named if self._data.exists(name)}
        return waiting

    def staged_files(self) -> set[str]:
        """Names (in the destination) of all files that wait here."""
        folder = f"{self.job_id}/files"
        found: set[str] = set()
        pending = [""]
        while pending:
            below = pending.pop()
            for name in self.storage.list_names(f"{folder}/{below}".rstrip("/")):
                if name.endswith("/"):
                    pending.append(f"{below}{name}")
                else:
                    found.add(f"{below}{name}")
        return found

    def delete(self) -> None:
        """Throw the folder away. What a late task still writes there is no part of anything."""
        with suppress(IngestError, SourceMissingError):
            self.storage.delete_tree(self.job_id)


@dataclass(frozen=True)
class PartTarget:
    """Target of the tasks of a job: place, schema and settings. Pickling: yes.

    Attributes:
        job_id: Empty before the job has a name.
        staging_root: The folder that holds the folders of all jobs.
        own_names: Whether every attempt at a part writes files of its own. Where a file may vanish or change under
            the readers, two attempts can read different bytes, and must not write over each other.
        data_root: The folder of a table, which data files are written to under their final names; empty if they wait
            in staging.
        plan_id: By which plan the job is read, where that does not follow from its identity.
    """

    job_id: str
    staging_root: str
    settings: IngestSettings
    schema: pa.Schema
    storage_options: Mapping[str, Any] = field(default_factory=dict)
    own_names: bool = False
    data_root: str = ""
    partitioning: Partitioning = field(default_factory=Partitioning)
    plan_id: str = ""

    def named(self, job_id: str, plan_id: str = "") -> PartTarget:
        """Name the job, and the plan that it is read by."""
        return replace(self, job_id=job_id, plan_id=plan_id)

    def open_staging(self) -> Staging:
        """Open the folder of the job."""
        data = open_storage(self.data_root, self.storage_options) if self.data_root else None
        return Staging(open_storage(self.staging_root, self.storage_options), self.job_id, data, self.plan_id)
