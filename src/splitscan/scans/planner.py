"""Planner of a scan of files: its files, its columns, its blocks and tasks."""

# Over 400 lines: everything that can be asked of a scan, in a few lines each.

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, Self

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import Advice, SchemaError, UsageError, Where
from splitscan.formats.framing.contract import has
from splitscan.formats.registry import format_of
from splitscan.options import Mode, ReadOptions, SchemaMode
from splitscan.reading.block_scan import cores
from splitscan.reading.given_up import RowCount, report_given_up, total
from splitscan.reading.new_columns import SOME_RECORDS
from splitscan.reading.own_formats import OwnFormat, Reading
from splitscan.reading.spec import ScanSpec
from splitscan.redaction import redact
from splitscan.scans.counting import (
    BlockCounter,
    count_here,
    count_rows,
    count_up_to,
)
from splitscan.scans.cutting import MOST_SHARES, BlockLengths
from splitscan.scans.dialects import advise
from splitscan.scans.files import FileSet, FileTest, Paths, as_paths
from splitscan.scans.index import Indexer, OnBytes, fill_index, index_here
from splitscan.scans.inference import WORKERS_HERE, Workers
from splitscan.scans.request import ReadRequest
from splitscan.scans.rows import checked_limit
from splitscan.scans.schema import ColumnSource, ResolvedSchema
from splitscan.scans.tasks import TaskPlanner
from splitscan.sizes import count_of

_LOG = logging.getLogger("splitscan")
_BLOCKS_PER_SLOT = 4  # counting in a few rounds evens out slots that are slower than others


@dataclass(frozen=True, eq=False)
class _Sample:
    """Findings of a look at the files, once for all scans of them, whatever these select.

    Pickling: yes; neither what was found nor who looks for it is taken along.
    """

    asked: ReadRequest
    file_set: FileSet
    names_all: bool = False
    workers: Workers = WORKERS_HERE
    is_advised: bool = False
    by_name: frozenset[str] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.asked, self.file_set, self.names_all, WORKERS_HERE, self.is_advised, self.by_name)

    @cached_property
    def schema(self) -> ResolvedSchema:
        """The columns that the files show; what is probably not meant is said before."""
        _ = self.advice if self.file_set.listed else None
        try:
            found = self.asked.found_in(self.file_set.telling, names_all=self.names_all, workers=self.workers)
        except SchemaError:
            _ = self.file_set.files  # without any, that is the error
            raise
        for note in found.notes:
            _LOG.warning("%s: %s", redact(self.file_set.telling[0].path), Advice(note))
        return found

    @cached_property
    def advice(self) -> str | None:
        """Warning about options that are probably not meant; asking logs it once, if it was not logged before."""
        if self.is_advised:
            return None
        has_schema = self.asked.given is not None
        return advise(self.asked.options, self.file_set.files, has_schema=has_schema, by_name=self.by_name)

    @cached_property
    def advice_on_files(self) -> str | None:
        """Which files are there and not read; asking logs it once."""
        if (advice := self.file_set.advice) is not None:
            _LOG.warning("%s", Advice(advice))
        return advice


@dataclass(frozen=True, eq=False)
class ScanPlanner:
    """An immutable description of reading record files; files are listed when they are asked for.

    Attributes:
        notices: In how many records of a block columns are noticed that the scan does not have; ``None`` for some, if
            the columns are those that files show.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes; the list of files is not taken along.
    """

    asked: ReadRequest
    file_set: FileSet
    sample: _Sample
    selected: tuple[str, ...] | None = None
    lengths: BlockLengths | None = None
    notices: int | None = None

    @classmethod
    def of(
        cls,
        paths: Paths,
        format: str | OwnFormat = "csv",
        schema: str | pa.Schema | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """From what a user says; see :meth:`splitscan.scans.request.ReadRequest.of`."""
        named = as_paths(paths)
        asked = ReadRequest.of(format, schema, options)
        files = FileSet.of(named, asked.options.files, asked.partition_types)
        return cls(asked, files, _Sample(asked, files))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.asked, self.file_set, self.sample, self.selected, self.lengths, self.notices)

    @property
    def options(self) -> ReadOptions:
        """The options, typed."""
        return self.asked.options

    # ------------------------------------------------------------- columns

    @cached_property
    def spec(self) -> ScanSpec:
        """Specification for every task. Reads the beginning of files when no schema was given."""
        resolved = self.resolved
        spec = self.asked.spec(resolved.schema, self.file_set.partitions).without(resolved.unwanted)
        spec = spec if self.selected is None else spec.select(self.selected)
        if self.options.format.says_columns:
            return spec
        looks = self.notices is None and spec.rescued_column is None and self._wants_all
        notices = SOME_RECORDS if looks else self.notices
        return replace(spec, notices=notices) if notices else spec

    @property
    def _wants_all(self) -> bool:
        """True if nobody chose among the columns that files have."""
        strict = self.options.schema.schema_mode is SchemaMode.STRICT
        chosen = self.selected if self.selected is not None else self.options.reading.columns
        named = any(column.source is ColumnSource.SCHEMA for column in self.resolved.columns)
        return not strict and not named and (chosen is None or "*" in chosen)

    @property
    def finds_columns(self) -> bool:
        """True if the columns of the rows are all that the files have, as far as a look at them shows."""
        try:
            return self._wants_all and self.spec.columns == self.spec.wildcard
        except SchemaError:
            return False  # whoever needs them is told

    @cached_property
    def counting_spec(self) -> ScanSpec:
        """Specification for counting, so that it gives the number of rows that reading delivers, or its error.

        A schema decides only in modes that drop or refuse records, and where the headers of CSV are compared with it;
        else none is looked for. Where no file has a record to find one in, there is nothing to count.
        """
        compares_headers = self.asked.own is None and self.options.format.compares_headers
        decides = compares_headers or self.options.reading.mode is not Mode.PERMISSIVE
        spec = self._found_spec() if decides else None
        return ScanSpec(self.options, pa.schema([]), (), self.asked.own) if spec is None else spec.select(())

    def _found_spec(self) -> ScanSpec | None:
        """The specification; ``None`` where no file has a record to find a schema in."""
        try:
            return self.spec
        except SchemaError as error:
            if error.reason_code != "no-schema":
                raise
            return None

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows."""
        return self.spec.schema

    @property
    def resolved(self) -> ResolvedSchema:
        """The columns of the records. Those of files do not depend on what is selected."""
        return self.asked.columns(self.selected) or self.sample.schema

    @property
    def names(self) -> Sequence[str] | None:
        """The names of the columns, as far as they are known without a look at the files."""
        given = self.asked.given
        return self.selected or self.options.reading.columns or (None if given is None else given.names)

    # ----------------------------------------------------------- narrowing

    def select(self, *columns: str) -> Self:
        """A scan of these columns only, in this order. The number of rows does not change.

        Args:
            columns: Names, members ``m.x``, elements ``columns[3]``, columns of files (``filename``, ``dir0``), ``*``;
                see ``docs/columns.md``. None at all is rows without columns.

        Raises:
            UsageError: ``[bad-column-path]`` if one is no text; when the scan is used, if it is no path to a column.
            SchemaError: When the scan is used, if there is no such column, or it has not the shape that a path takes it
                for.
        """
        for column in columns:
            if not isinstance(column, str):
                raise UsageError(
                    "a column is a text, and several columns are several arguments",
                    seen=repr(column),
                    fix='write select("a", "b"), or select(*names)',
                    code="bad-column-path",
                )
        return replace(self, selected=columns)

    def where_files(self, condition: str | FileTest) -> Self:
        """A scan of the files and blocks for which a condition holds; the others are not opened.

        Where none is left and no schema was given, the others show the columns of the rows that there are not.

        Args:
            condition: SQL text over partition columns and columns of files and blocks, as
                ``"year = 2024 and filename like '%.csv'"``; see ``docs/columns.md``. Or a function that is given a
                :class:`~splitscan.blocks.FileMetadata` and says whether to read it. Beside earlier ones, all must hold.

        Raises:
            UsageError: ``[bad-where]`` if a text is no condition; when the scan is used, if it names a column of the
                records or compares values of different kinds.
        """
        return self._on(self.file_set.narrowed(condition))

    def limit(self, rows: int) -> Self:
        """A scan that stops after *rows* rows.

        Raises:
            UsageError: ``[bad-limit]`` if it is no whole number from 0 on.
        """
        return replace(self, asked=self.asked.limit(checked_limit(rows)))

    def with_options(self, options: ReadOptions) -> Self:
        """A copy that reads the same files with other options."""
        return replace(self, asked=replace(self.asked, options=options))

    def in_zone(self, zone: str) -> Self:
        return replace(self, asked=self.asked.in_zone(zone))

    def typed(self) -> Self:
        """A copy with types that are found in the data, unless a schema or ``inferSchema`` says what they are."""
        asked = self.asked.typed()
        return replace(self, asked=asked, sample=replace(self.sample, asked=asked))

    def with_files(self, files: Sequence[FileMetadata]) -> Self:
        """A copy of only these of its files; they are not listed again, and only they have a say in the schema."""
        known = self.file_set
        is_same = known.is_listed and bool(known.listed) and tuple(files) == known.files
        return self if is_same else self._on(self.file_set.only(files))

    def with_schema(self, schema: pa.Schema) -> Self:
        """A copy by a full schema: what else the files have is not read, or rescued where that is asked for."""
        return replace(self, asked=self.asked.with_schema(schema))

    def naming_all(self, files: Sequence[FileMetadata]) -> Self:
        """A copy by the columns of these of its files: every header is looked at, and not only a sample."""
        return replace(self, sample=replace(self.sample, file_set=self.file_set.only(files), names_all=True))

    def found_by(self, workers: Workers) -> Self:
        """A copy whose columns others look for, unless they are known."""
        return self if "schema" in vars(self.sample) else replace(self, sample=replace(self.sample, workers=workers))

    def noticing(self, records: int) -> Self:
        """A copy whose blocks report columns that it does not have, as seen in so many of their records."""
        return replace(self, notices=records)

    def cut(self, lengths: BlockLengths) -> Self:
        """A copy with blocks of these lengths."""
        return replace(self, lengths=lengths)

    def cut_at_most(self, block_bytes: int) -> Self:
        """A copy with blocks of at most so many bytes, unless ``where`` tells blocks from each other."""
        return self.cut(self.task_planner.at_most(block_bytes))

    def cut_fine(self) -> Self:
        """A copy with blocks so short that any number of tasks can be made about even."""
        return self.cut(self.task_planner.fine())

    def _on(self, files: FileSet) -> Self:
        """Files that are not read have no say in the schema."""
        return replace(self, file_set=files, sample=replace(self.sample, file_set=files, names_all=False))

    # --------------------------------------------------------------- files

    @property
    def paths(self) -> list[str]:
        """Paths as the user named them, globs and all."""
        return list(self.file_set.paths)

    @property
    def roots(self) -> list[str]:
        """Roots of the paths, without their globs: every file lies below one of them."""
        return self.file_set.roots

    def files(self) -> list[FileMetadata]:
        """The files, sorted by path, as they are now; listed once. What ``where`` rules out is left out.

        Raises:
            SourceMissingError: If a path matches nothing.
            UsageError: ``[bad-where]`` if ``where`` has no meaning for these files.
            SchemaError: ``[conflicting-partitions]`` if it needs partition columns about which files disagree.
        """
        return list(self.file_set.files)

    @property
    def framing(self) -> Reading:
        """How records are found."""
        return self.asked.framing

    @property
    def chooses_blocks(self) -> bool:
        """True if ``where`` tells the blocks of one file from each other: then they are cut by ``blockSize`` alone."""
        return self.file_set.chooses_blocks

    # -------------------------------------------------------------- blocks

    @property
    def task_planner(self) -> TaskPlanner:
        """Blocks and tasks of the files, before ``where`` chooses among the blocks of one file."""
        return TaskPlanner(self.file_set.files, self.options.files, self.chooses_blocks, self.lengths)

    def blocks(self, most_shares: int = MOST_SHARES) -> Iterator[BlockMetadata]:
        """All blocks, lazily. ``minPartitionNum`` makes them smaller than ``blockSize``.

        Those that ``where`` rules out are left out. Of files that are longer than a block the first bytes are read:
        compressed ones are cut in another way, into at most *most_shares* where each decompresses what others read.
        """
        blocks = self.task_planner.blocks(self.framing, most_shares)
        return filter(self.file_set.keeps, blocks) if self.chooses_blocks else blocks

    def indexed_blocks(self, indexer: Indexer | None = None, most_shares: int = MOST_SHARES) -> Iterator[BlockMetadata]:
        """The blocks to read, with their first record starts, for which all blocks of their files are looked at."""
        cut = self.task_planner.blocks(self.framing, most_shares)
        if not self.chooses_blocks:
            return fill_index(cut, self.framing, self.options, indexer)
        files = (list(blocks) for _, blocks in groupby(cut, key=lambda block: block.file.path))
        read = (block for blocks in files if any(map(self.file_set.keeps, blocks)) for block in blocks)
        return filter(self.file_set.keeps, fill_index(read, self.framing, self.options, indexer))

    def plan(self, indexer: Indexer | None = None) -> list[BlockMetadata]:
        """Plan blocks, as a list: blocks that can be read in any order."""
        self.warn()
        return list(self._with_values(self.indexed_blocks(indexer)))

    def _with_values(self, blocks: Iterator[BlockMetadata]) -> Iterator[BlockMetadata]:
        named = self.asked.own is None and len(format_of(self.options).envelope_columns(self.options.format))
        return map(self.spec.with_values_around, blocks) if named else blocks

    def portions(self) -> Iterator[BlockMetadata]:
        """Portions for one process, each read in one go: files, or the blocks that ``where`` chooses of them."""
        if self.chooses_blocks:
            return iter(self.plan())
        return (BlockMetadata(file, 0, file.size_bytes, 0) for file in self.file_set.files if file.size_bytes)

    @property
    def is_advised(self) -> bool:
        """True if it was looked at what in the options is probably not meant."""
        return self.sample.is_advised or "advice" in vars(self.sample)

    def by_name(self, format: object, options: Iterable[str]) -> Self:
        """A copy that says so if files are not what their names say: the options, and the format if none was given."""
        return self if format is not None else replace(self, sample=replace(self.sample, by_name=frozenset(options)))

    def without_advice(self) -> Self:
        """A copy that does not look again at what is probably not meant."""
        return replace(self, sample=replace(self.sample, is_advised=True))

    def warn(self) -> None:
        """Before the first read, say what in the options is probably not meant, and which files are not read; once."""
        _ = self.sample.advice, self.sample.advice_on_files

    # --------------------------------------------------------------- tasks

    def plan_tasks(self, slots: int, indexer: Indexer | None = None) -> Iterator[tuple[BlockMetadata, ...]]:
        """The blocks of every task, ready to be read, lazily.

        See :meth:`TaskPlanner.even_tasks`. A plan of a format that needs no index takes memory for one task only.
        """
        self.warn()
        planner, lengths = self.task_planner, self.task_planner.for_tasks(slots)
        shares = planner.shares_for(slots, lengths.block_bytes)
        return planner.even_tasks(self._with_values(self.cut(lengths).indexed_blocks(indexer, shares)), slots)

    def tasks(self, blocks: Iterable[BlockMetadata], slots: int = 1) -> list[tuple[BlockMetadata, ...]]:
        """Pack blocks into even tasks of at most ``taskSize`` bytes."""
        self.warn()
        return self.task_planner.balanced(blocks, slots)

    # ------------------------------------------------------------ counting

    @property
    def counts_here(self) -> bool:
        """True if a machine counts on all its cores without Spark: no Python code looks at records."""
        return has(self.framing, "count") and self.options.reading.mode is Mode.PERMISSIVE

    def count_rows(self, on_bytes: OnBytes | None = None) -> int:
        """Number of rows, by framing alone where the mode allows it, on all cores; up to the limit, if there is one."""
        limit = self.options.reading.limit
        if limit is None:
            indexer, counter = partial(index_here, on_bytes=on_bytes), partial(count_here, on_bytes=on_bytes)
            return self.count_with(cores(), indexer, counter)
        if limit == 0:
            return 0
        self.warn()
        return min(limit, self._rows(count_up_to(self.counting_spec, self.portions(), limit)))

    def count_with(self, slots: int, indexer: Indexer | None = None, counter: BlockCounter = count_here) -> int:
        """Number of rows, whatever the limit."""
        return self._rows(self.counted(slots, indexer, counter))

    def counted(self, slots: int, indexer: Indexer | None = None, counter: BlockCounter = count_here) -> RowCount:
        """Number of rows, and of records that are given up; the arguments are those of :meth:`count_with`."""
        self.warn()
        if self.chooses_blocks:
            return total(counter(self.counting_spec, list(self.indexed_blocks(indexer))))
        small = BlockLengths(self.task_planner.block_bytes(slots * _BLOCKS_PER_SLOT))
        blocks = self.cut(small).blocks(most_shares=1)  # decompressing costs as much as counting
        return count_rows(self.counting_spec, blocks, indexer, counter)

    def check_layout(self) -> None:
        """Count records in the layout that samples decided on, and in the other one that the format knows.

        Raises:
            UsageError: ``[dialect-contradicted]`` with both counts.
        """
        other = format_of(self.options).other_layout(self.options.format)
        if other is None:
            return
        lenient = replace(self.options, reading=replace(self.options.reading, mode=Mode.PERMISSIVE))
        layouts = lenient, replace(lenient, format=other.own)
        counted = (self.with_options(each).counted(cores()) for each in layouts)
        here, there = (each.rows + each.given_up for each in counted)
        if here != there:
            raise UsageError(
                "a look at the files decided how their records are written, and the rest of them contradicts it",
                Where(redact(self.paths[0])) if len(self.paths) == 1 else None,
                seen=f"{count_of(here, 'record')} with {other.this_option}, {there:,} with {other.other_option}",
                fix=f"say which it is: {other.this_option} or {other.other_option}; where each gives up some, take out "
                "what stands around or between the values, or read lines with recordFormat=text",
                code="dialect-contradicted",
            )

    def delivered(self, counted: RowCount) -> RowCount:
        """The rows that reading delivers: with records that are given up, where a column keeps their text."""
        spec = self._found_spec() if counted.given_up else None
        if spec is None or not spec.keeps_given_up:
            return counted
        return RowCount(counted.rows + counted.given_up, odd=counted.odd)

    def _rows(self, counted: RowCount) -> int:
        """Number of rows; a warning says which records are none."""
        return report_given_up(self.delivered(counted), self.options)
