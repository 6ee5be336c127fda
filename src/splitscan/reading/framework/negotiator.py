"""Negotiation of a reader and the framework inside ``open``: what to read, what is wanted, and the reader's columns."""

from __future__ import annotations

import io

import pyarrow as pa

from splitscan.blocks import BlockMetadata
from splitscan.content.storage import ByteSource
from splitscan.errors import SchemaError, SourceMissingError, SplitscanError
from splitscan.options import ReadOptions
from splitscan.reading.framework.columns import Columns
from splitscan.reading.framework.contract import ReaderPlan, ReaderPosition
from splitscan.reading.framework.loader import ResultSetLoader
from splitscan.reading.reader_context import open_stream


class SchemaNegotiator:
    """Passed to ``open``; every call on it must be made before ``open`` returns.

    Attributes:
        split: The file and the range of it to be read: ``split.file.path``, ``split.start``, ``split.stop``.
        options: The options of the scan.
        provided_schema: The columns of the file as the user declares them, whatever is projected; ``None`` if not at
            all.
        input_schema: The columns that the reader is asked for, with their types; ``None`` for all it has.
        limit: Rows that are still wanted; ``None`` for all.
    """

    def __init__(self, reader: ReaderPlan, columns: Columns, location: ReaderPosition, loader: ResultSetLoader) -> None:
        self.split: BlockMetadata = reader.split
        self.options: ReadOptions = reader.options
        self.provided_schema: pa.Schema | None = reader.provided_schema
        self.input_schema: pa.Schema | None = columns.wanted
        self.limit: int | None = loader.remaining_rows
        self._reader = reader
        self._location = location
        self._loader = loader
        self._is_open = True
        self._is_built = False
        self._has_schema = False
        self._opened: list[ByteSource | io.BufferedReader] = []
        self._failure: SplitscanError | None = None
        self.missing: SourceMissingError | None = None

    @property
    def projection(self) -> tuple[str, ...] | None:
        """Names of the columns that the reader is asked for, in order; ``None`` for all it has."""
        return None if self.input_schema is None else tuple(self.input_schema.names)

    @property
    def is_projection_empty(self) -> bool:
        """True if only the number of rows matters: the reader may call ``loader.skip_rows(n)`` and read no value."""
        return self._loader.is_projection_empty

    def open_input(self) -> io.BufferedReader:
        """The file: a buffered, seekable stream of all its bytes, which ends where the file ended when it was planned.

        The framework closes it after the reader.

        Raises:
            SourceError: If the file cannot be opened, or is another version than the one that was planned.
        """
        self._require("open_input")
        stream = open_stream(self.open_source(), self.split.file, self._reader.read_bytes)
        self._opened.append(stream)
        return stream

    def open_source(self) -> ByteSource:
        """The file, readable at any offset. The framework closes it after the reader.

        Raises:
            SourceError: If the file cannot be opened, or is another version than the one that was planned.
        """
        self._require("open_source")
        try:
            source = self._reader.open_source()
        except SourceMissingError as error:
            self.missing = error
            raise
        self._opened.append(source)
        return source

    def table_schema(self, schema: pa.Schema, complete: bool = True) -> None:
        """Say which columns the reader has, with their types. Rows of tuples are in this order.

        Args:
            schema: The columns.
            complete: Whether there are no others. With False more may come, in any append.

        Raises:
            SchemaError: If two names are the same but for case, or a column can never become the wanted type.
        """
        self._require("table_schema")
        if self._is_built:
            raise self._misused("table_schema() comes before build()")
        if not isinstance(schema, pa.Schema):
            raise self._misused("table_schema() takes an Arrow schema", f"a {type(schema).__name__}")
        try:
            self._loader.declare(schema)
        except SchemaError as error:
            raise self._fail(error) from None
        self._has_schema = complete

    def batch_hint(self, rows: int | None = None, nbytes: int | None = None) -> None:
        """Ask for smaller batches than the scan would make; larger ones are not made.

        Args:
            rows: Most rows of a batch.
            nbytes: Most bytes of a batch of several rows.
        """
        self._require("batch_hint")
        if self._is_built:
            raise self._misused("batch_hint() comes before build()")
        if (rows is not None and rows < 1) or (nbytes is not None and nbytes < 1):
            raise self._misused("batch_hint() takes sizes of 1 and more", f"rows={rows}, nbytes={nbytes}")
        self._loader.bound(rows, nbytes)

    def context(self, **values: object) -> None:
        """Add what every later message about this reader should say: ``negotiator.context(sheet="Q1", table=3)``."""
        self._require("context")
        self._location.note(**values)

    def build(self) -> ResultSetLoader:
        """The loader that ``next`` gets. Needs not be called: after ``open`` it is there anyway."""
        self._require("build")
        if self._is_built:
            raise self._misused("build() is called once")
        self._is_built = True
        return self._loader

    # ------------------------------------------- for the framework, not for readers

    def foresee(self, schema: pa.Schema) -> None:
        """The reader says which columns it has before it is opened; what it says in ``open`` takes their place."""
        self._loader.declare(schema)
        self._has_schema = True

    @property
    def has_schema(self) -> bool:
        """True if the reader has declared all its columns."""
        return self._has_schema

    def end(self) -> None:
        """``open`` has returned."""
        self._is_open = False
        if self._failure is not None:
            raise self._failure

    def release(self) -> None:
        """Close what was opened, the last one first."""
        self._is_open = False
        while self._opened:
            self._opened.pop().close()

    def _require(self, call: str) -> None:
        if not self._is_open:
            raise self._misused(f"negotiator.{call}() must be called inside open()")

    def _misused(self, rule: str, seen: str | None = None) -> SplitscanError:
        return self._fail(self._location.misused(rule, seen))

    def _fail(self, error: SplitscanError) -> SplitscanError:
        self._location.locate(error)
        self._failure = self._failure or error
        return error
