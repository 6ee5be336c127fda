"""Sources of an ingest: what the steps ask of one, and files as one, answered by the scan that reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.content.archives.opening import open_planned
from splitscan.content.storage import check_unchanged, redact
from splitscan.errors import SourceMissingError, UsageError, Where, bad_option
from splitscan.jobs.destination import Growth, History, SortedFiles
from splitscan.jobs.division import Division, NamedJob, Runner, compute_job_id, describe_read_options
from splitscan.jobs.ledger import LedgerFile, field_ids, identify
from splitscan.jobs.part_writing import write_files
from splitscan.jobs.schema_evolution import columns_left_out, names_columns, settle_columns, with_new_columns
from splitscan.jobs.settings import SchemaEvolution
from splitscan.jobs.staging import BlockKey, PartTarget
from splitscan.jobs.workplace import DestinationStorage
from splitscan.options import OnFileChange
from splitscan.reading.block_documents import for_tasks
from splitscan.reading.new_columns import EVERY_RECORD, SOME_RECORDS, NewColumns
from splitscan.scans import ScanPlanner
from splitscan.scans.dialects import contradiction
from splitscan.scans.index import fill_index
from splitscan.spelling import Json
from splitscan.streaming.windows import Window

_CHECK_THREADS = 8  # one look at every source after the last read; mostly waiting for the storage


class Source(ABC):
    """Source of an ingest: files, or a table of a database."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @property
    def is_guessed(self) -> bool:
        """True if types of columns were found in a sample of what is read."""
        return False

    @property
    @abstractmethod
    def own_names(self) -> bool:
        """True if two attempts at a part may read other bytes, or in another order, and so write other files."""

    @property
    @abstractmethod
    def record_format(self) -> str:
        """Name of the format, for the ledger."""

    @property
    @abstractmethod
    def described_options(self) -> Json:
        """Options of the user, for the ledger; without secrets."""

    @property
    @abstractmethod
    def roots(self) -> Sequence[str]:
        """Paths of the user, secrets masked: all that is read lies below one of them."""

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """Settings of its file system, for a destination that has none of its own."""
        return {}

    def without_own(self, place: DestinationStorage) -> Self:
        """Leave out files in the destination: they are not read, and do not change the schema."""
        return self

    @abstractmethod
    def sort(self, history: History) -> SortedFiles:
        """Sort files into new, ingested and changed ones."""

    @abstractmethod
    def settled(
        self, found: SortedFiles, there: pa.Schema | None, mode: SchemaEvolution, destination: str
    ) -> EvolvedSource:
        """Restrict the source to what is still to be read, by the columns that its rows shall have."""

    @abstractmethod
    def check(self) -> None:
        """Refuse what cannot be ingested at all."""

    def check_sample(self, files: Sequence[FileMetadata]) -> None:  # noqa: B027 -- a table has no dialect
        """Refuse what would be read wrongly, before anything is read."""

    def divide(self, files: Sequence[FileMetadata], runner: Runner) -> Division | None:
        """Divide what is to be read; ``None`` where that depends on the job's name."""
        return None

    @abstractmethod
    def name_job(
        self,
        files: Sequence[FileMetadata],
        division: Division | None,
        target: PartTarget,
        committed: Container[str],
        runner: Runner,
    ) -> NamedJob:
        """Name a job: what is to be read and how it is written say which one it is.

        *target* has no name yet; *division* is that of :meth:`divide`; *committed* are jobs of the destination.
        """

    def look_again(
        self, noticed: Sequence[tuple[str, int, bytes]], there: pa.Schema | None, mode: SchemaEvolution
    ) -> EvolvedSource:
        """Decide about columns that were noticed while blocks were read, and that nothing had shown before."""
        return EvolvedSource(self)

    def check_unchanged(self, files: Sequence[FileMetadata]) -> None:  # noqa: B027 -- tasks of a table compared
        """Make sure that nothing changed while it was read."""


@dataclass(frozen=True)
class EvolvedSource:
    """A source by the columns that its rows shall have.

    Attributes:
        added: The columns that the destination does not have yet, each with its type.
        left_out: Names of the columns that are there and are not read.
        reads_again: Whether all must be read once more, by other columns.
    """

    source: Source
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    reads_again: bool = False


@dataclass(frozen=True)
class FileSource(Source):
    """Files, by the scan that reads them.

    Attributes:
        rebalance: Whether tasks claim what they read; ``None`` for what the scan's option says.
        growth: Of files that grow: what is read of them, by path.
        window: The window of a stream whose blocks are read exactly as they were planned: nothing is listed, cut or
            indexed again. ``None`` to plan them.
        keeps_types: Whether a column that was found in files is read as the destination's type whatever was found.
    """

    scan: ScanPlanner
    rebalance: bool | None = None
    growth: Mapping[str, Growth] = field(default_factory=dict)
    keeps_types: bool = False
    window: Window | None = None

    @property
    def schema(self) -> pa.Schema:
        return self.scan.spec.schema

    @property
    def _is_told(self) -> bool:
        """True if the columns of the records are known without a look at the files."""
        return self.scan.asked.columns(self.scan.selected) is not None

    @property
    def is_guessed(self) -> bool:
        options = self.scan.options
        if self._is_told or (options.format.types_if_asked and not options.reading.infer_schema):
            return False
        return options.samples or sum(file.size_bytes for file in self.scan.files()) > options.reading.infer_bytes

    @property
    def own_names(self) -> bool:
        options = self.scan.spec.options.files
        return options.ignore_missing_files or options.on_file_change is not OnFileChange.FAIL

    @property
    def record_format(self) -> str:
        return self.scan.spec.options.record_format

    @property
    def described_options(self) -> Json:
        return describe_read_options(self.scan.spec.options)

    @property
    def roots(self) -> Sequence[str]:
        return tuple(map(redact, self.scan.roots))

    @property
    def storage_options(self) -> Mapping[str, Any]:
        return self.scan.options.files.storage_options

    @property
    def wants_claims(self) -> bool:
        """True if tasks are to claim what they read."""
        return self.scan.options.files.rebalance if self.rebalance is None else self.rebalance

    def without_own(self, place: DestinationStorage) -> Self:
        return replace(self, scan=self.scan.with_files(place.without_own(self.scan.files())))

    def sort(self, history: History) -> SortedFiles:
        return history.sort_files(self.scan.files(), self.growth)

    def settled(
        self, found: SortedFiles, there: pa.Schema | None, mode: SchemaEvolution, destination: str
    ) -> EvolvedSource:
        if there is not None and not found.fresh and not self._is_told:
            return EvolvedSource(replace(self, scan=self.scan.with_schema(there)))  # no file is read for its columns
        scan = (self.scan.with_files(found.fresh) if found.fresh else self.scan).typed()
        rescues = scan.options.schema.rescued_data_column is not None
        if mode is SchemaEvolution.RESCUE and not rescues:
            raise bad_option(
                "schema_evolution_mode=rescue keeps what has no column in a column of its own",
                "no rescuedDataColumn",
                "set option rescuedDataColumn=_rescued_data",
            )
        begun = {path for path, growth in self.growth.items() if growth.start}
        telling = [file for file in scan.files() if file.path not in begun]
        if there is not None and self.keeps_types and not names_columns(scan):
            return EvolvedSource(replace(self, scan=scan.with_schema(there)))
        if there is not None and mode.keeps_columns:
            left_out, notices = ((), 0) if rescues else columns_left_out(scan.naming_all(telling), there)
            return EvolvedSource(replace(self, scan=scan.with_schema(there).noticing(notices)), left_out=left_out)
        scan = scan.naming_all(telling)
        if not rescues and scan.finds_columns:
            scan = scan.noticing(SOME_RECORDS if mode.keeps_columns else EVERY_RECORD)
        if there is None:
            return EvolvedSource(replace(self, scan=scan))
        scan, added = settle_columns(scan, there, mode, destination, keeps_types=self.keeps_types)
        return EvolvedSource(replace(self, scan=scan), added)

    def look_again(
        self, noticed: Sequence[tuple[str, int, bytes]], there: pa.Schema | None, mode: SchemaEvolution
    ) -> EvolvedSource:
        """Read files again with columns that no sample had shown, where columns may be added."""
        if not noticed:
            return EvolvedSource(self)
        new = NewColumns.of(noticed)
        if mode.keeps_columns or not new.columns:
            return EvolvedSource(self, left_out=tuple(new.columns))
        scan, added = with_new_columns(self.scan, new, there, mode)
        return EvolvedSource(replace(self, scan=scan), () if there is None else added, reads_again=True)

    def check(self) -> None:
        """Refuse scans of parts of files, of no column, and of some records only."""
        if self.window is None and self.scan.chooses_blocks:
            raise UsageError(
                "an ingest reads files from end to end: option where must not choose among the blocks of one file",
                seen="a condition on file_block_start, file_block_length or block_id",
                fix="choose by columns of files and directories",
                code="bad-where",
            )
        spec = self.scan.spec
        if not spec.columns:
            raise bad_option("an ingest needs at least one column", "none", "select one, or count instead")
        limit = spec.options.reading.limit
        if limit is not None:
            raise bad_option(
                "an ingest reads every record: option limit has no meaning", f"limit={limit}", "leave it out"
            )

    def check_sample(self, files: Sequence[FileMetadata]) -> None:
        found = contradiction(self.scan.options, files)
        if found is not None:
            path, sign = found
            raise UsageError(
                f"{sign.harm}; nothing was read", Where(path=path), sign.seen, sign.fix, "dialect-contradicted"
            )

    def divide(self, files: Sequence[FileMetadata], runner: Runner) -> Division:
        """Let tasks claim what they read where that is wanted and possible; otherwise plan what each reads."""
        scan = self.scan.with_files(files)
        windowed = None if self.window is None else self._window_blocks(files)
        if self.wants_claims and any(file.size_bytes for file in files):
            claimed = runner.divide_claimed(scan, files, windowed)
            if claimed is not None:
                return claimed
        index = {file.path: number for number, file in enumerate(files)}
        blocks = list(scan.cut_fine().blocks()) if windowed is None else windowed
        indexed = map(scan.spec.with_values_around, fill_index(blocks, scan.framing, scan.spec.options, runner.index))
        plan: dict[BlockKey, BlockMetadata] = {(index[each.file.path], each.index): each for each in indexed}
        return Division(
            plan,
            lambda blocks: self._tasks(blocks, runner.min_tasks),
            lambda target, parts: runner.run(partial(write_files, for_tasks(scan.spec)), target, parts),
        )

    def _window_blocks(self, files: Iterable[FileMetadata]) -> list[BlockMetadata]:
        assert self.window is not None
        paths = {file.path for file in files}
        return [block for block in self.window.blocks if block.file.path in paths]

    def _tasks(self, blocks: Iterable[BlockMetadata], slots: int) -> Sequence[Sequence[BlockMetadata]]:
        """Group blocks into tasks; those of a window as it was planned, without what is not among *blocks*."""
        if self.window is None:
            return self.scan.tasks(blocks, slots)
        wanted = {(block.file.path, block.index) for block in blocks}
        shares = (
            tuple(block for block in task if (block.file.path, block.index) in wanted) for task in self.window.tasks()
        )
        return [share for share in shares if share]

    def name_job(
        self,
        files: Sequence[FileMetadata],
        division: Division | None,
        target: PartTarget,
        committed: Container[str],
        runner: Runner,
    ) -> NamedJob:
        assert division is not None
        growth = self.growth
        job_id = compute_job_id(
            division.blocks, [file for file in files if not file.size_bytes], self.scan.spec, target.settings,
            committed, claimed=division.blocks_total is None, growth=growth, ids=field_ids(target.schema),
        )  # fmt: skip
        described = tuple(_describe(index, file, growth.get(file.path)) for index, file in enumerate(files))
        return NamedJob(target.named(job_id), division, described)

    def check_unchanged(self, files: Sequence[FileMetadata]) -> None:
        if self.scan.spec.options.files.on_file_change is not OnFileChange.FAIL:
            return
        options = self.scan.spec.options.files.storage_options

        def look(files: Sequence[FileMetadata]) -> None:
            for file in files:
                with suppress(SourceMissingError), closing(open_planned(file, options)) as source:
                    check_unchanged(file, source)

        with ThreadPoolExecutor(_CHECK_THREADS) as pool:
            for _ in pool.map(look, [files[first::_CHECK_THREADS] for first in range(_CHECK_THREADS)]):
                pass


def _describe(index: int, file: FileMetadata, growth: Growth | None) -> LedgerFile:
    path = redact(file.path)
    digest = "" if path == file.path else identify(file.path)
    content, start = ("", 0) if growth is None else (growth.content, growth.start)
    return LedgerFile(index, path, file.fingerprint, file.size_bytes, file.modified_us, digest, content, start)
