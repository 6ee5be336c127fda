"""A scan of files: what to read, and reading it in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby
from operator import index
from typing import Any, Self

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import UsageError
from splitscan.formats.column_rules import array_schema
from splitscan.formats.framing.contract import CountingFormat
from splitscan.formats.parsing import parse_options
from splitscan.formats.registry import record_format
from splitscan.options import Mode, ReadOptions
from splitscan.plan.lengths import MOST_SHARES
from splitscan.scan.advice import advise
from splitscan.scan.block_scan import cores, scan_blocks
from splitscan.scan.columns.selection import FileTest
from splitscan.scan.counting import BlockCounter, count_blocks, count_here, count_rows, count_up_to, spec_for_counting
from splitscan.scan.cuts import Cuts
from splitscan.scan.ddl import as_schema
from splitscan.scan.file_set import FileSet, Paths, as_paths
from splitscan.scan.framework import OnReject
from splitscan.scan.given_up import report_given_up, total
from splitscan.scan.own_formats import ManagedReading, OwnFormat, Reading, as_reading, columns_of, options_for
from splitscan.scan.planning import Indexer, fill_index
from splitscan.scan.rows import Rows, as_html, as_text, facts
from splitscan.scan.schema.explanation import ColumnSource, SchemaExplanation
from splitscan.scan.schema.given import as_options
from splitscan.scan.schema.inference import discover_schema, infer_schema
from splitscan.scan.schema.resolution import ResolvedSchema, explain, resolve_schema
from splitscan.scan.spec import ScanSpec, make_spec

_DERIVED = frozenset({"spec", "counting_spec"})  # what every change makes outdated
_FOUND = _DERIVED | {"_found"}  # what is found again when it is asked for
_BLOCKS_PER_SLOT = 4  # counting in a few rounds evens out slots that are slower than others


class FileScan(Rows):
    """An immutable description of reading record files; nothing is read before it is asked for.

    Args:
        paths: A path, or several: files, directories, globs, URIs.
        format: ``"csv"``, ``"text"``, ``"fixed"``, ``"slices"``, ``"json"``, or a format of your own: a
            reader, a reader context, a record format, or what makes one.
        schema: DDL text or an Arrow schema; found in the data when not given.
        options: Options by their Spark names or snake_case twins.

    Raises:
        UsageError: If an option is unknown or has no meaning.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes; the list of files is not taken along.
    """

    def __init__(
        self,
        paths: Paths,
        format: str | OwnFormat = "csv",
        schema: str | pa.Schema | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        named = as_paths(paths)
        said = as_options(options or {})
        self._framing: Reading | None = None
        if isinstance(format, str):
            self._options = parse_options(format, said)
        else:
            self._framing = as_reading(format)
            self._options = options_for(self._framing, said)
        self._given = as_schema(schema)
        self._columns: tuple[str, ...] | None = None
        provided = self._options.schema.provided_schema
        self._set = FileSet(named, self._options.files, provided if self._given is None else self._given)
        self._warned = False
        self._fine = False
        self._even_bytes: int | None = None

    def __repr__(self) -> str:
        return as_text(type(self).__name__, self._facts())

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """What is known without a look at the files."""
        given = None if self._given is None else self._given.names
        return facts(self.paths, self._options, self._columns or self._options.reading.columns or given)

    @property
    def options(self) -> ReadOptions:
        """The options, typed."""
        return self._options

    @cached_property
    def spec(self) -> ScanSpec:
        """What every task must know. Reads the head of files when no schema was given."""
        resolved = self._resolved
        declared = self._given is not None
        spec = make_spec(self._options, resolved.schema, self._framing, self._set.partitions, declared=declared)
        spec = spec.without(resolved.unwanted)
        return spec if self._columns is None else spec.select(self._columns)

    @property
    def spec_without_files(self) -> ScanSpec:
        """The same for blocks that come from elsewhere: no file is listed, and none has a partition."""
        return make_spec(self._options, self._resolved.schema, self._framing, declared=self._given is not None)

    @property
    def _resolved(self) -> ResolvedSchema:
        """The columns of the records. Those of files do not depend on what is selected."""
        if self._given is not None:
            self._check_given()
            return ResolvedSchema.of(self._given, ColumnSource.SCHEMA)
        if self._options.format.wants_array(self._columns or self._options.reading.columns or ()):
            return ResolvedSchema.of(array_schema(), ColumnSource.FORMAT)
        if self._framing is not None:
            schema = columns_of(self._framing)
            said = self._options.schema
            if schema is not None and said.provided_schema is None and said.schema_hints is None:
                return ResolvedSchema.of(schema, ColumnSource.FORMAT)
        return self._found

    @cached_property
    def _found(self) -> ResolvedSchema:
        reading = self._framing
        infer = partial(discover_schema, reading) if isinstance(reading, ManagedReading) else infer_schema
        return resolve_schema(self._options, self._set.telling, infer)

    def _check_given(self) -> None:
        """A full schema leaves nothing to provide or to hint at."""
        said = self._options.schema
        for option, value in (("providedSchema", said.provided_schema), ("schemaHints", said.schema_hints)):
            if value is not None:
                raise UsageError(
                    f"option {option} has no meaning beside a full schema",
                    seen=f"{option}={value}",
                    fix=f"leave out {option}; or leave out the schema, so that the files show the other columns",
                    code="bad-option",
                )

    def explain_schema(self) -> SchemaExplanation:
        """The schema of the rows, with where each column comes from, and where sampled files do not agree.

        Raises:
            SchemaError: If no schema can be found.
        """
        return explain(self._resolved, self.spec)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows."""
        return self.spec.schema

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
        return self._with(_columns=columns)

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
        return self._on(self._set.narrowed(condition))

    def where(self, condition: str | FileTest) -> Self:
        """The older name of :meth:`where_files`. It chooses files and blocks, never single rows."""
        return self.where_files(condition)

    def limit(self, rows: int) -> Self:
        """A scan that stops after *rows* rows.

        Raises:
            UsageError: ``[bad-limit]`` if it is no whole number from 0 on.
        """
        try:
            limit = index(rows)
        except TypeError:
            limit = -1
        if limit < 0:
            raise UsageError("a limit is a number of rows", seen=repr(rows), fix="pass 0 or more", code="bad-limit")
        return self._with(_options=replace(self._options, reading=replace(self._options.reading, limit=limit)))

    def _with(self, **changes: Any) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        for derived in _DERIVED:
            copy.__dict__.pop(derived, None)
        copy.__dict__.update(changes)
        return copy

    def _on(self, files: FileSet) -> Self:
        copy = self._with(_set=files)
        copy.__dict__.pop("_found", None)  # files that are not read have no say in the schema
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in _FOUND}

    # ------------------------------------------------------------ planning

    @property
    def paths(self) -> list[str]:
        """What the user named, globs and all."""
        return self._set.paths

    @property
    def roots(self) -> list[str]:
        """What the paths name, without their globs: every file lies below one of them."""
        return self._set.roots

    def files(self) -> list[FileMetadata]:
        """The files, sorted by path, as they are now; listed once per scan. What ``where`` rules out is left out.

        Raises:
            SourceMissingError: If a path matches nothing.
            UsageError: ``[bad-where]`` if ``where`` has no meaning for these files.
            SchemaError: ``[conflicting-partitions]`` if it needs partition columns about which files disagree.
        """
        return list(self._set.files)

    def with_files(self, files: Sequence[FileMetadata]) -> Self:
        """This scan of only these of its files; they are not listed again, and only they have a say in the schema."""
        if self._set.is_listed and tuple(files) == self._set.files:
            return self
        return self._on(self._set.only(files))

    @property
    def chooses_blocks(self) -> bool:
        """Whether ``where`` tells the blocks of one file from each other: then they are cut by ``blockSize`` alone."""
        return self._set.chooses_blocks

    @property
    def framing(self) -> Reading:
        """How records are found."""
        return self._framing or record_format(self._options)

    @property
    def _cuts(self) -> Cuts:
        return Cuts(self._set.files, self._options.files, self.chooses_blocks, self._fine, self._even_bytes)

    def cut_for(self, min_tasks: int) -> Self:
        """This scan with blocks so small that *min_tasks* tasks find work, where there are bytes enough.

        As in Spark, ``blockSize`` is the upper bound, and no block is cut below ``openCostInBytes`` for it.
        """
        return self._with_files_read(block_bytes=self._cuts.block_bytes(min_tasks))

    def cut_to(self, most_bytes: int) -> Self:
        """This scan with blocks of at most so many bytes, where ``where`` does not tell blocks from each other."""
        if self.chooses_blocks:
            return self
        return self._with_files_read(block_bytes=min(self._options.files.block_bytes, most_bytes))

    def cut_finely(self) -> Self:
        """This scan with blocks so small that any number of tasks can be made about even, whatever the number is."""
        return self._with(_fine=True)

    def cut_into(self, block_bytes: int) -> Self:
        """This scan with blocks of that many bytes, whatever the options say."""
        return self._with_files_read(block_bytes=block_bytes, min_partitions=None)

    def _with_files_read(self, **changes: Any) -> Self:
        files = replace(self._options.files, **changes)
        return self._with(_options=replace(self._options, files=files))

    def blocks(self, most_shares: int = MOST_SHARES) -> Iterator[BlockMetadata]:
        """All blocks, lazily. ``minPartitionNum`` makes them smaller than ``blockSize``.

        Those that ``where`` rules out are left out. Of files that are longer than a block the first bytes are read:
        compressed ones are cut in another way, into at most *most_shares* where each decompresses what others read.
        """
        blocks = self._cuts.blocks(self.framing, most_shares)
        return filter(self._set.keeps, blocks) if self.chooses_blocks else blocks

    def plan(self, indexer: Indexer | None = None) -> list[BlockMetadata]:
        """The blocks, ready to be read in any order: where the format needs it, with their first record start.

        Args:
            indexer: How to run the summaries of the boundary index in parallel; all cores of this machine by default.
        """
        self._warn_once()
        return list(self.indexed_blocks(indexer))

    def indexed_blocks(self, indexer: Indexer | None = None, most_shares: int = MOST_SHARES) -> Iterator[BlockMetadata]:
        """The blocks to read, with their first record starts, for which all blocks of their files are looked at."""
        cut = self._cuts.blocks(self.framing, most_shares)
        if not self.chooses_blocks:
            return fill_index(cut, self.framing, self._options, indexer)
        files = (list(blocks) for _, blocks in groupby(cut, key=lambda block: block.file.path))
        read = (block for blocks in files if any(map(self._set.keeps, blocks)) for block in blocks)
        return filter(self._set.keeps, fill_index(read, self.framing, self._options, indexer))

    def _warn_once(self) -> None:
        """Before the first read, say what in the options is probably not meant."""
        if not self._warned:
            self._warned = True
            advise(self._options, self._set.files)

    def plan_tasks(self, slots: int, indexer: Indexer | None = None) -> Iterator[tuple[BlockMetadata, ...]]:
        """The blocks of every task, ready to be read, lazily.

        Blocks are cut so small that *slots* tasks find work, where there are bytes enough, and packed into tasks of
        about ``taskSize`` bytes: even ones, and a multiple of *slots*, more where that costs little. A plan of a format
        that needs no index takes memory for one task only.
        """
        self._warn_once()
        cuts = self._cuts
        min_tasks = cuts.tasks_worth(slots)
        even_bytes = cuts.even_bytes_of(min_tasks)
        cut = self._with(_even_bytes=even_bytes).cut_for(min_tasks)
        blocks = cut.indexed_blocks(indexer, cuts.shares_for(slots, cut.options.files.block_bytes))
        return cuts.filled(blocks, min_tasks) if even_bytes is None else cuts.filled_evenly(blocks, min_tasks)

    def tasks(self, blocks: Iterable[BlockMetadata], slots: int = 1) -> list[tuple[BlockMetadata, ...]]:
        """Pack blocks into even tasks of at most ``taskSize`` bytes."""
        self._warn_once()
        return self._cuts.balanced(blocks, slots)

    # ------------------------------------------------- reading, in process

    def to_batches(self, on_reject: OnReject | None = None) -> Iterator[pa.RecordBatch]:
        """Read everything in this process: batches in file order, then offset order."""
        self._warn_once()
        limit, portions = self._options.reading.limit, list(self._portions())
        if portions and limit != 0:  # else nothing has to be known of the columns
            yield from scan_blocks(self.spec, portions, limit, on_reject)

    def _portions(self) -> Iterator[BlockMetadata]:
        """What this process reads in one go: files, or the blocks that ``where`` chooses of them."""
        if self.chooses_blocks:
            return iter(self.plan())
        return (BlockMetadata(file, 0, file.size_bytes, 0) for file in self._set.files if file.size_bytes)

    def to_arrow(self) -> pa.Table:
        """Read everything in this process into one table."""
        return pa.Table.from_batches(self.to_batches(), schema=self.schema)

    def count(self) -> int:
        """Number of rows, by framing alone where the mode allows it: no value is decoded; on all cores.

        A warning says how many records are no rows, because they are too long or never end, and which is the first.
        """
        limit = self._options.reading.limit
        if limit is None:
            return self.count_with(cores())
        if limit == 0:
            return 0
        return report_given_up(count_up_to(self.counting_spec, self._portions(), limit), self._options)

    @property
    def counts_here(self) -> bool:
        """Whether a machine counts on all its cores without Spark: no Python code looks at records."""
        return isinstance(self.framing, CountingFormat) and self._options.reading.mode is Mode.PERMISSIVE

    def count_with(self, slots: int, indexer: Indexer | None = None, counter: BlockCounter = count_here) -> int:
        """Number of rows, whatever the limit.

        Args:
            slots: How many blocks can be counted at a time.
            indexer: How to run the summaries of the boundary index; all cores of this machine by default.
            counter: How to count blocks; all cores of this machine by default.
        """
        self._warn_once()
        if self.chooses_blocks:
            chosen = list(self.indexed_blocks(indexer))
            return report_given_up(total(counter(self.counting_spec, chosen)), self._options)
        blocks = self.cut_for(slots * _BLOCKS_PER_SLOT).blocks(most_shares=1)  # decompressing costs as much as counting
        return report_given_up(count_rows(self.counting_spec, blocks, indexer, counter), self._options)

    def count_block(self, block: BlockMetadata) -> int:
        """Number of rows of one block."""
        return count_blocks(self.counting_spec, [block]).rows

    @cached_property
    def counting_spec(self) -> ScanSpec:
        """What counting must know; no schema is looked for where none decides."""
        return spec_for_counting(self._options, self._framing, lambda: self.spec)
