"""Staging of a job: finished parts that are not published yet. No reader of the destination sees them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from splitscan.blocks import BlockMetadata
from splitscan.content.storage import Storage
from splitscan.errors import IngestError, SourceMissingError
from splitscan.jobs.ledger import REJECT_FOLDER, LedgerBlock, WrittenFile
from splitscan.jobs.parts import BlockKey, ClaimedPart, OutputPart, log_part_name, part_name
from splitscan.jobs.record_json import from_plain, read_object, to_plain

REPORT_VERSION = 3


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
        if self.partition is None:
            return part_name(self.number, len(self.blocks))
        return log_part_name(self.partition, self.number)

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

    def fits(self, blocks: Sequence[tuple[BlockKey, BlockMetadata]]) -> bool:
        """Return whether it tells of exactly these blocks."""
        mine = [(block.key, block.start, block.stop) for block in self.blocks]
        return mine == [(key, block.start, block.stop) for key, block in blocks]

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

    def report_name(self, part: OutputPart | ClaimedPart) -> str:
        """Path of the report of a part."""
        return f"{self._reports}/{part.folder}/{part.name}.json"

    def list_reports(self, folder: str) -> set[str]:
        """Names of the parts that have a report in the folder of one."""
        names = self.storage.list_names(f"{self._reports}/{folder}")
        return {name.removesuffix(".json") for name in names if name.endswith(".json") and not name.startswith(".")}

    def read_report(self, folder: str, part_name: str) -> PartReport:
        """Read a report."""
        return PartReport.from_json(self.storage.read_bytes(f"{self._reports}/{folder}/{part_name}.json"))

    def write_report(self, part: OutputPart | ClaimedPart, report: PartReport) -> None:
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
                    told.append(
                        PartProgress(*map(int, json.loads(self.storage.read_bytes(f"{self._progress}/{name}"))))
                    )
        return told

    def forget_progress(self) -> None:
        """Throw away what tasks of an earlier run told: their parts are read again."""
        self.storage.delete_tree(self._progress)

    @property
    def _progress(self) -> str:
        return f"{self.job_id}/progress"

    def read_finished_log(self, part: ClaimedPart) -> PartReport | None:
        """Read the report of a part of a log, if it is finished for good and every file that it names is here too."""
        with suppress(SourceMissingError, IngestError):
            report = self.read_report(part.folder, part.name)
            whole = report.part_name == part.name and report.chunks > 0 and report.is_final
            if whole and all(self.has_file(written.name) for written in report.written):
                return report
        return None

    def read_finished(self, part: OutputPart) -> PartReport | None:
        """Read the report of a part, if it is finished for good and every file that it names is here too."""
        with suppress(SourceMissingError, IngestError):  # a report that cannot be read is work to be done again
            report = self.read_report(part.folder, part.name)
            keyed = list(zip(part.keys, (block for _, block in part.blocks), strict=True))
            if report.is_final and report.fits(keyed) and all(self.has_file(each.name) for each in report.written):
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
            if report.number >= stop and report.is_final and _is_whole(report, order, waiting):
                finished.append(report)
                stop = report.number + len(report.blocks)
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


def _is_whole(report: PartReport, order: Sequence[tuple[BlockKey, BlockMetadata]], waiting: Collection[str]) -> bool:
    planned = order[report.number : report.number + len(report.blocks)]
    return bool(planned) and report.fits(planned) and all(written.name in waiting for written in report.written)
