"""Parts: what goes into one Parquet file, neighbouring blocks of a plan or neighbouring chunks of a claim log."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from splitscan.blocks import BlockMetadata, read_blocks, write_blocks

BlockKey: TypeAlias = tuple[int, int]
"""File index and block index: a block's identity in its job."""

REPORTS_PER_FOLDER = 1000
"""Blocks whose reports may share a folder: who watches a job lists the folders in which something is still missing."""

_SCAN_DIGITS = 16  # runs of one job, as jobs of one destination, with the same digits would write over each other:
_LAST_SEQUENCE = 99_999_999  # of a job: later jobs have lower numbers in the names of carriers
_JOB_DIGITS = 16  # ... 64 bits rule that out
_JOB_FILE = re.compile(r"part-[0-9a-f]{16}(-[0-9a-f]+)+(\.\w+)?\.(parquet|rejects)")


@dataclass(frozen=True, slots=True)
class OutputPart:
    """Blocks that lie next to each other in the plan of a job, and go to one Parquet file together.

    Attributes:
        number: Number of its first block in the plan, from 0. With the number of blocks it is the part's identity.
        blocks: File index and block, in the order of the plan.
    """

    number: int
    blocks: tuple[tuple[int, BlockMetadata], ...]

    @property
    def name(self) -> str:
        """Its identity in its job, by :func:`part_name`."""
        return part_name(self.number, len(self.blocks))

    @property
    def folder(self) -> str:
        """The folder of its report, by its number."""
        return f"{self.number // REPORTS_PER_FOLDER:06d}"

    @property
    def file_part(self) -> str:
        """Its identity in its destination, given the job."""
        return self.name

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

    @property
    def keys(self) -> Iterator[BlockKey]:
        """The identities of its blocks."""
        return ((file_index, block.index) for file_index, block in self.blocks)


@dataclass(frozen=True, slots=True)
class ClaimedPart:
    """Chunks that lie next to each other in the log of a partition, and go to one Parquet file together.

    Which chunks those are follows from the log alone, so every attempt of a partition makes the same parts.

    Attributes:
        scan: Identity of the scan, which is another one in each run of the job.
        partition: Number of the log.
        entry: Number of the first chunk in the log.
    """

    scan: str
    partition: int
    entry: int

    @property
    def name(self) -> str:
        """Its identity in its scan, by :func:`log_part_name`."""
        return log_part_name(self.partition, self.entry)

    @property
    def folder(self) -> str:
        """The folder of the reports of its scan."""
        return log_folder(self.scan)

    @property
    def file_part(self) -> str:
        """Its identity in its destination.

        Example:
            >>> ClaimedPart("5ca1ab1e5ca1ab1e00", 3, 17).file_part
            '5ca1ab1e5ca1ab1e-00003-00000017'
        """
        return f"{self.scan[:_SCAN_DIGITS]}-{self.name}"


def log_part_name(partition: int, entry: int) -> str:
    """Spell the identity of a part of a log in its scan.

    Example:
        >>> log_part_name(3, 17)
        '00003-00000017'
    """
    return f"{partition:05d}-{entry:08d}"


def log_folder(scan: str) -> str:
    """The folder of the reports of a scan."""
    return f"scan-{scan}"


def part_name(number: int, block_count: int) -> str:
    """Spell the identity of a part: the number of its first block, and how many there are."""
    return f"{number:08d}-{block_count:05d}"


def parquet_name(job_id: str, part: str, compression: str, suffix: str = ".parquet") -> str:
    """Name of the Parquet file of a part: it depends on the job and the blocks only.

    Example:
        >>> parquet_name("0123456789abcdef", part_name(12, 3), "zstd")
        'part-0123456789abcdef-00000012-00003.zstd.parquet'
    """
    codec = "" if compression == "none" else f".{compression}"
    return f"{job_prefix(job_id)}{part}{codec}{suffix}"


def job_prefix(job_id: str) -> str:
    """Prefix of the names of all Parquet files of a job."""
    return f"part-{job_id[:_JOB_DIGITS]}-"


def is_job_file(name: str) -> bool:
    """Return whether a file is called as the data files and rejects of jobs are.

    Example:
        >>> is_job_file("part-0123456789abcdef-00000012-00003.zstd.parquet"), is_job_file("part-0.parquet")
        (True, False)
    """
    return _JOB_FILE.fullmatch(name) is not None


def carrier_name(folder: str, sequence: int) -> str:
    """Name of a file without rows that tells readers the columns: it sorts before all others, and the newest first.

    Example:
        >>> carrier_name("day=2024-01-02/", 3)
        'day=2024-01-02/part-0-columns-99999996.parquet'
    """
    return f"{folder}part-0-columns-{_LAST_SEQUENCE - sequence:08d}.parquet"


def first_of(names: Iterable[str]) -> tuple[str, ...]:
    """The file that readers find first: by the whole path, and by folder after folder, where that is another one.

    Example:
        >>> first_of(["k=a/part-1", "k=a-b/part-2", "k=c/part-0"])
        ('k=a-b/part-2', 'k=a/part-1')
    """
    known = list(names)
    return tuple(sorted({min(known), min(known, key=lambda name: name.split("/"))})) if known else ()


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
