"""The scan operator: one reader is opened, negotiates what it reads, is read, drained, and closed exactly once."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from splitscan.blocks import BlockMetadata, Reject
from splitscan.content.storage import ByteSource
from splitscan.errors import InvariantError, RecordError, SchemaError, SourceError, SourceMissingError, SplitscanError
from splitscan.options import ReadOptions
from splitscan.reading.framework.appended import RejectHandler
from splitscan.reading.framework.columns import Columns
from splitscan.reading.framework.contract import OutputPlan, ReaderPlan, ReaderPosition, declared_schema, name_of
from splitscan.reading.framework.loader import ResultSetLoader
from splitscan.reading.reader_context import open_stream
from splitscan.reading.rejects import OnRejects


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
            raise self._location.remember(error) from None
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

    def release(self) -> None:
        """Close what was opened, the last one first."""
        self._is_open = False
        while self._opened:
            self._opened.pop().close()

    def _require(self, call: str) -> None:
        if not self._is_open:
            raise self._misused(f"negotiator.{call}() must be called inside open()")

    def _misused(self, rule: str, seen: str | None = None) -> SplitscanError:
        return self._location.remember(self._location.misused(rule, seen))


class ScanOperator:
    """Runs a reader and delivers its rows in batches of one schema. Iterate once, or ask for its columns.

    Whatever happens - an error, an early end, an iterator that is dropped - a reader that was opened is closed exactly
    once.

    Attributes:
        rows: Rows delivered so far.
    """

    def __init__(self, plan: OutputPlan, reader_plan: ReaderPlan, on_reject: OnRejects | None = None) -> None:
        self._plan = plan
        self._reader = reader_plan.reader
        self._location = ReaderPosition(reader_plan.split, name_of(self._reader))
        self._rejects = RejectHandler(plan, self._location, on_reject)
        columns, provided = Columns(plan, reader_plan.constants), reader_plan.provided_schema
        self._loader = ResultSetLoader(
            plan, columns, self._location, self._rejects, None if provided is None else provided.names
        )
        self._negotiator = SchemaNegotiator(reader_plan, columns, self._location, self._loader)
        self._has_more = False  # next() is to be called
        self.rows = 0

    def __iter__(self) -> Generator[pa.RecordBatch, None, None]:
        if self._plan.limit == 0:
            return
        with self._opened():
            while (batch := self._next_batch()) is not None:
                yield self._checked(batch)

    def find_schema(self) -> pa.Schema:
        """The columns that the reader declares, or those of its rows, until there are enough for a batch."""
        with self._opened():
            while self._has_more and not (self._negotiator.has_schema or self._loader.full):
                self._step()
        return pa.schema([]) if self._loader.schema is None else self._loader.schema

    # --------------------------------------------------------------- inside

    @contextmanager
    def _opened(self) -> Iterator[None]:
        """Open the reader, and close it whatever happens."""
        try:
            self._open()
            yield
        except Exception as error:
            self._close_after(error)
            raise
        except BaseException:
            self._close()
            raise
        self._close()

    def _open(self) -> None:
        """Open the reader, which may have nothing to read. It has to be closed whatever happens."""

        def open_reader() -> bool:
            said = declared_schema(self._reader)
            if said is not None:
                self._negotiator.foresee(said)
            answer = self._reader.open(self._negotiator)
            self._negotiator.end()
            return answer

        try:
            self._has_more = self._answer("open", open_reader)
        except SourceMissingError as error:
            if error is not self._negotiator.missing or not self._plan.ignore_missing:
                raise
            block = self._location.split  # its bytes are one reject in every mode, so that nothing is lost silently
            self._rejects.report(
                Reject(block.file.path, block.start, block.length_bytes, error.reason_code, error.rule, b"", False)
            )

    def _next_batch(self) -> pa.RecordBatch | None:
        while (batch := self._loader.take(flush=not self._has_more)) is None and self._has_more:
            self._step()
        return batch

    def _step(self) -> None:
        """Call the reader once, unless no more rows are wanted."""

        def read_some() -> bool:
            self._loader.begin()
            answer = self._reader.next(self._loader)
            self._loader.finish()
            return answer

        self._has_more = False
        if not self._loader.is_limited:
            self._has_more = self._answer("next", read_some)

    def _answer(self, call: str, ask: Callable[[], object]) -> bool:
        """Answer of a method: a reader that forgets to give one must not be taken for one that has nothing more."""
        try:
            answer = ask()
            if self._location.failure is not None:
                raise self._location.failure
            if not isinstance(answer, bool | np.bool_):
                raise self._location.misused(f"{call}() returns True or False", repr(answer))
        except Exception as error:
            self._blame(call, error)
            raise
        return bool(answer)

    def _close(self) -> None:
        """Close the reader and all it has opened, also where the reader fails to close."""
        self._loader.close()
        try:
            try:
                self._reader.close()
            finally:
                self._negotiator.release()
        except Exception as error:
            self._blame("close", error)
            raise

    def _close_after(self, error: Exception) -> None:
        """Close a reader that failed; if that fails too, the first error says so."""
        if self._loader.is_closed:  # it failed to close
            return
        try:
            self._close()
        except Exception as second:
            error.add_note(f"closing the reader failed too: {second}")

    def _blame(self, call: str, error: Exception) -> None:
        """Complete an error of ours with the location; whatever else a method of the reader raised becomes one."""
        if isinstance(error, SplitscanError):
            error.locate(self._location.where_now())
            return
        kind = SourceError if isinstance(error, OSError) else RecordError
        raise kind(
            f"{self._location.reader}.{call}() failed",
            self._location.where_now(),
            seen=f"{type(error).__name__}: {error}",
            fix="correct the file or the reader; report a bad record with loader.reject() to read on after it",
            code="reader-failed",
        ) from error

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """No batch leaves that is not what was promised: those who take it look at the first one only."""
        if not batch.schema.equals(self._plan.schema):
            raise InvariantError(
                "every batch has the columns that were promised", seen=f"{batch.schema}; promised: {self._plan.schema}"
            )
        self.rows += batch.num_rows
        return batch
