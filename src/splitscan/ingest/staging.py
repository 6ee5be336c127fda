"""Where a job keeps what it has finished but not published: one folder per job, nothing in it is visible to readers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from splitscan.blocks import BlockMetadata
from splitscan.errors import IngestError, SourceMissingError
from splitscan.ingest.ledger import LedgerBlock
from splitscan.storage import Storage

REPORT_VERSION = 1
_JOB_DIGITS = 16  # two jobs of a destination with the same ones would write over each other: 64 bits rule that out


@dataclass(frozen=True, slots=True)
class StagedReport:
    """What a finished block tells.

    Attributes:
        block: The line of the ledger.
        dropped: Rejects for which no row was delivered.
        examples: The first few rejects, one sentence each.
    """

    block: LedgerBlock
    dropped: int
    examples: tuple[str, ...]

    def to_json(self) -> str:
        """Render as one line of JSON."""
        raw = {
            "report": REPORT_VERSION,
            "block": self.block.to_json(),
            "dropped": self.dropped,
            "examples": list(self.examples),
        }
        return json.dumps(raw, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> StagedReport:
        """Read it back.

        Raises:
            IngestError: If it is not such a report.
        """
        try:
            raw = json.loads(text)
            if raw["report"] != REPORT_VERSION:
                raise ValueError
            examples = tuple(str(example) for example in raw["examples"])
            return cls(LedgerBlock.from_json(raw["block"]), int(raw["dropped"]), examples)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise IngestError("the report of a block cannot be read", seen=type(error).__name__) from None


def part_name(job_id: str, file_index: int, block_index: int, compression: str) -> str:
    """Name of the Parquet file of a block: it depends on the job and the block only.

    Example:
        >>> part_name("0123456789abcdef", 0, 12, "zstd")
        'part-0123456789abcdef-00000-00012.zstd.parquet'
    """
    codec = "" if compression == "none" else f".{compression}"
    return f"part-{job_id[:_JOB_DIGITS]}-{file_index:05d}-{block_index:05d}{codec}.parquet"


class Staging:
    """The folder of one job.

    Args:
        storage: The folder that holds the folders of all jobs.
        job_id: Which job.
    """

    def __init__(self, storage: Storage, job_id: str) -> None:
        self.storage = storage
        self.job_id = job_id

    def file_name(self, name: str) -> str:
        """Where a file waits that will be called *name* in the destination."""
        return f"{self.job_id}/files/{name}"

    def report_name(self, key: tuple[int, int]) -> str:
        """Where the report of a block is."""
        return f"{self.job_id}/reports/{key[0]:05d}-{key[1]:05d}.json"

    def list_reports(self) -> list[str]:
        """Names of all reports there are."""
        folder = f"{self.job_id}/reports"
        return [f"{folder}/{name}" for name in self.storage.list_names(folder) if _is_report(name)]

    def read_report(self, file_index: int, block: BlockMetadata) -> StagedReport | None:
        """Read the report of a finished block, if it is finished and belongs to this plan."""
        with suppress(SourceMissingError, IngestError):  # a report that cannot be read is work to be done again
            report = StagedReport.from_json(self.storage.read_bytes(self.report_name((file_index, block.index))))
            found = report.block
            if (found.file_index, found.index, found.start, found.stop) == (
                file_index,
                block.index,
                block.start,
                block.stop,
            ):
                return report
        return None

    def read_finished(self, file_index: int, block: BlockMetadata) -> StagedReport | None:
        """Read the report of a finished block, if every file that it names is here too."""
        report = self.read_report(file_index, block)
        if report is None:
            return None
        names = [self.file_name(written.name) for written in report.block.written()]
        return report if all(self.storage.exists(name) for name in names) else None

    def finished(self, plan: Mapping[tuple[int, int], BlockMetadata]) -> dict[tuple[int, int], StagedReport]:
        """Find the blocks that an earlier run of the same job has finished, with all files they wrote in place.

        Args:
            plan: All blocks of the job, by file index and block index.
        """
        names = self.list_reports()
        if not names:
            return {}
        waiting = self.waiting_files()
        reported = set(names)
        done: dict[tuple[int, int], StagedReport] = {}
        for key, block in plan.items():
            if self.report_name(key) not in reported:
                continue
            report = self.read_report(key[0], block)
            if report is not None and all(written.name in waiting for written in report.block.written()):
                done[key] = report
        return done

    def waiting_files(self) -> set[str]:
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


def _is_report(name: Any) -> bool:
    return str(name).endswith(".json") and not str(name).startswith(".")
