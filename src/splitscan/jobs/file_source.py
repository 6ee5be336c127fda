"""Files as the source of an ingest: what the steps ask of it, answered by a scan; and the identity of such a job.

The same files, cut into the same blocks, read with the same options, are the same job.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import json
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
from splitscan.jobs.ledger import LedgerFile, describe_columns, field_ids, identify
from splitscan.jobs.part_writing import write_files
from splitscan.jobs.record_json import Json
from splitscan.jobs.schema_evolution import settle_columns, with_new_columns
from splitscan.jobs.settings import IngestSettings, SchemaEvolution
from splitscan.jobs.source import Division, EvolvedSource, NamedJob, PlannedDivision, Runner, Source
from splitscan.jobs.staging import BlockKey, PartTarget
from splitscan.jobs.workplace import DestinationStorage
from splitscan.options import OnFileChange, ReadOptions
from splitscan.path_text import portable_path
from splitscan.reading.block_documents import for_tasks
from splitscan.reading.new_columns import NewColumns
from splitscan.reading.spec import ScanSpec
from splitscan.scans import ScanPlanner
from splitscan.scans.dialects import contradiction
from splitscan.scans.index import fill_index
from splitscan.streaming.windows import Window

_LAYOUT = 2  # what is left in staging by a splitscan with another one belongs to another job

# Options that choose files or shape tasks: what is read is in the plan, and how it is divided changes nothing.
_WITHOUT_EFFECT = frozenset({
    "storage_options", "task_bytes", "open_cost_bytes", "min_partitions", "path_glob_filter", "recursive_file_lookup",
    "modified_before_us", "modified_after_us", "ignore_missing_files", "ignored_path_segment_regex",
    "where", "sampling_bytes", "infer_schema", "sample_files", "provided_schema", "schema_mode", "schema_hints",
    "schema_conflicts", "column_options", "rebalance", "dialect", "found_options",
})  # fmt: skip

_CHECK_THREADS = 8  # one look at every source after the last read; mostly waiting for the storage


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
    ) -> EvolvedSource[Source]:
        if there is not None and not found.fresh and not self._is_told:
            return EvolvedSource(replace(self, scan=self.scan.with_schema(there)))  # no file is read for its columns
        scan = self.scan.with_files(found.fresh) if found.fresh else self.scan
        begun = {path for path, growth in self.growth.items() if growth.start}
        done = settle_columns(scan, begun, there, mode, destination, keeps_types=self.keeps_types)
        return EvolvedSource(replace(self, scan=done.source), done.added, done.left_out)

    def look_again(
        self, noticed: Iterable[tuple[str, int, bytes]], there: pa.Schema | None, mode: SchemaEvolution
    ) -> EvolvedSource[Source]:
        """Read files again with columns that no sample had shown, where columns may be added."""
        new = NewColumns.of(noticed)
        if mode.keeps_columns or not new.columns:
            return EvolvedSource(self, left_out=tuple(new.columns))
        again = with_new_columns(self.scan, new, there, mode)
        added = again.added if there is not None else ()
        return EvolvedSource(replace(self, scan=again.source), added, reads_again=True)

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
        return PlannedDivision(
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


def describe_read_options(options: ReadOptions) -> dict[str, Any]:
    """Spell all options as JSON values; settings of the file system appear by name only.

    Example:
        >>> from splitscan.formats.registry import parse_options
        >>> described = describe_read_options(parse_options("text", {"storageOptions": {"key": "k"}}))
        >>> described["files"]["storage_options"], described["reading"]["mode"]
        ({'key': '***'}, 'PERMISSIVE')
    """
    described: dict[str, Any] = _plain(options)
    del described["given"]  # what was left to its default is the same job
    described["files"]["storage_options"] = dict.fromkeys(options.files.storage_options, "***")
    return described


def compute_job_id(
    blocks: Iterable[BlockMetadata],
    empty_files: Iterable[FileMetadata],
    spec: ScanSpec,
    settings: IngestSettings,
    taken: Container[str] = (),
    *,
    claimed: bool = False,
    growth: Mapping[str, Growth] | None = None,
    ids: Sequence[str] = (),
) -> str:
    """Compute the identity of a job: 32 hexadecimal digits."""
    described = describe_read_options(spec.options)
    for section in described.values():
        if isinstance(section, dict):
            for name in _WITHOUT_EFFECT:
                section.pop(name, None)
    writing = (
        settings.compression, settings.row_group_bytes, settings.row_group_rows, settings.source_digests,
        *(settings.partition_by or ()),
    )  # fmt: skip
    digest = hashlib.sha256()
    columns = [[str(column) for column in describe_columns(schema)] for schema in (spec.fields, spec.schema)]
    rules = [sorted((str(k), str(v)) for k, v in (column.metadata or {}).items()) for column in spec.fields]
    head = [_LAYOUT, described, columns, rules, repr(spec.framing), writing, pa.__version__, *filter(None, ids)]
    head += filter(None, [spec.notices])  # what a block has noticed is part of its report
    digest.update(json.dumps(head, sort_keys=True).encode("ascii"))
    previous = None
    for block in blocks:
        if block.file is not previous:
            previous = block.file
            _add(digest, "file", *_identity(previous))
            if growth and previous.path in growth:
                _add(digest, "content", growth[previous.path].content)
        _add(digest, block.start, block.stop)
    if claimed:
        _add(digest, "claimed")
    for file in empty_files:
        _add(digest, "empty", *_identity(file))
    while (job_id := digest.hexdigest()[:32]) in taken:
        _add(digest, "again")
    return job_id


def _identity(file: FileMetadata) -> tuple[str, str, str]:
    return identify(file.path), file.fingerprint, portable_path(file.relative_path, file.path)


def _add(digest: Any, *parts: object) -> None:
    digest.update(json.dumps(parts).encode("ascii") + b"\n")


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return redact(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [_plain(item) for item in value]
        return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
    return repr(value)  # bytes, zones, patterns: their texts tell them apart
