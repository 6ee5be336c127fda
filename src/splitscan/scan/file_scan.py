"""A scan of files as its user holds it: narrowed, looked at, and read in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import pyarrow as pa

from splitscan.blocks import BlockMetadata, FileMetadata
from splitscan.errors import UsageError
from splitscan.options import ReadOptions
from splitscan.scan.block_scan import scan_blocks
from splitscan.scan.file_set import FileTest, Paths
from splitscan.scan.own_formats import OwnFormat
from splitscan.scan.planner import ScanPlanner
from splitscan.scan.rejects import OnReject, one_by_one
from splitscan.scan.rows import Rows, as_html, as_text, checked_limit, facts
from splitscan.scan.schema.explanation import SchemaExplanation
from splitscan.scan.schema.resolution import explain


class FileScan(Rows):
    """An immutable description of reading record files; nothing is read before it is asked for.

    Args:
        planner: What is read, and how; see :meth:`of`.

    Attributes:
        planner: The same, for those who plan, cut and read the scan on other machines.

    Thread safety: immutable but for caches; share it freely.
    Pickling: yes; the list of files is not taken along.
    """

    def __init__(self, planner: ScanPlanner) -> None:
        self.planner = planner

    @classmethod
    def of(
        cls,
        paths: Paths,
        format: str | OwnFormat = "csv",
        schema: str | pa.Schema | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """From what a user says: see :meth:`ScanPlanner.of`."""
        return cls(ScanPlanner.of(paths, format, schema, options))

    def __repr__(self) -> str:
        return as_text(type(self).__name__, self._facts())

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self._facts())

    def _facts(self) -> list[tuple[str, str]]:
        """What is known without a look at the files."""
        planner = self.planner
        return facts(planner.paths, self.options, planner.names)

    @property
    def options(self) -> ReadOptions:
        """The options, typed."""
        return self.planner.options

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows."""
        return self.planner.schema

    def explain_schema(self) -> SchemaExplanation:
        """The schema of the rows, with where each column comes from, and where sampled files do not agree.

        Raises:
            SchemaError: If no schema can be found.
        """
        return explain(self.planner.resolved, self.planner.spec)

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
        return type(self)(self.planner.select(columns))

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
        return type(self)(self.planner.where(condition))

    def where(self, condition: str | FileTest) -> Self:
        """The older name of :meth:`where_files`. It chooses files and blocks, never single rows."""
        return self.where_files(condition)

    def limit(self, rows: int) -> Self:
        """A scan that stops after *rows* rows.

        Raises:
            UsageError: ``[bad-limit]`` if it is no whole number from 0 on.
        """
        return type(self)(self.planner.limit(checked_limit(rows)))

    # ------------------------------------------------------------ planning

    def files(self) -> list[FileMetadata]:
        """The files, sorted by path, as they are now; listed once per scan. What ``where`` rules out is left out.

        Raises:
            SourceMissingError: If a path matches nothing.
            UsageError: ``[bad-where]`` if ``where`` has no meaning for these files.
            SchemaError: ``[conflicting-partitions]`` if it needs partition columns about which files disagree.
        """
        return self.planner.files()

    def blocks(self) -> Iterator[BlockMetadata]:
        """All blocks, lazily: files are cut by arithmetic. What ``where`` rules out is left out."""
        return self.planner.blocks()

    def plan(self) -> list[BlockMetadata]:
        """The blocks, ready to be read in any order: where the format needs it, with their first record start."""
        return self.planner.plan()

    # ------------------------------------------------- reading, in process

    def to_batches(self, on_reject: OnReject | None = None) -> Iterator[pa.RecordBatch]:
        """Read everything in this process: batches in file order, then offset order."""
        planner = self.planner
        planner.warn()
        limit, portions = self.options.reading.limit, list(planner.portions())
        if portions and limit != 0:  # else nothing has to be known of the columns
            take = None if on_reject is None else one_by_one(on_reject)
            yield from scan_blocks(planner.spec, portions, limit, take)

    def count(self) -> int:
        """Number of rows, by framing alone where the mode allows it: no value is decoded; on all cores.

        A warning says how many records are no rows, because they are too long or never end, and which is the first.
        """
        return self.planner.count()
