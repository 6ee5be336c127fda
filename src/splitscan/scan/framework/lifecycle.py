"""One reader: what it agrees on when it is opened, and its life: made, opened, read, drained, closed exactly once."""

# Over 400 lines: negotiating could stand alone, and then every block would read one module more.

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from splitscan.blocks import BlockMetadata, Reject
from splitscan.content.storage import ByteSource, check_unchanged
from splitscan.errors import InvariantError, RecordError, SchemaError, SourceError, SourceMissingError, SplitscanError
from splitscan.options import OnFileChange, ReadOptions
from splitscan.read.reader_context import open_stream
from splitscan.scan.framework.appended import RejectHandler
from splitscan.scan.framework.columns import Columns
from splitscan.scan.framework.contract import (
    Machine,
    ManagedReader,
    NamedState,
    OutputPlan,
    ReaderPlan,
    ReaderPosition,
    declared_schema,
    name_of,
)
from splitscan.scan.framework.loader import ResultSetLoader
from splitscan.scan.rejects import OnRejects


class ReaderState(NamedState):
    """State of one reader."""

    NEW = "made, not opened"
    OPEN = "next() is called"
    DRAINING = "its last rows are delivered"
    DONE = "nothing is left"
    SKIPPED = "it has nothing to read"
    FAILED = "it raised an error"
    CLOSED = "closed, exactly once"


class ReaderEvent(NamedState):
    """Event in the life of a reader."""

    OPENED = "open() returns True"
    NOTHING = "open() returns False"
    MORE = "next() returns True"
    LAST = "next() returns False, or the limit is reached"
    DRAINED = "the last batch is taken"
    FAILURE = "an error is raised"
    CLOSE = "close()"


READER_TABLE: Mapping[tuple[ReaderState, ReaderEvent], ReaderState] = {
    (ReaderState.NEW, ReaderEvent.OPENED): ReaderState.OPEN,
    (ReaderState.NEW, ReaderEvent.NOTHING): ReaderState.SKIPPED,
    (ReaderState.NEW, ReaderEvent.FAILURE): ReaderState.FAILED,
    (ReaderState.OPEN, ReaderEvent.MORE): ReaderState.OPEN,
    (ReaderState.OPEN, ReaderEvent.LAST): ReaderState.DRAINING,
    (ReaderState.OPEN, ReaderEvent.FAILURE): ReaderState.FAILED,
    (ReaderState.DRAINING, ReaderEvent.DRAINED): ReaderState.DONE,
    (ReaderState.OPEN, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.DRAINING, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.DONE, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.SKIPPED, ReaderEvent.CLOSE): ReaderState.CLOSED,
    (ReaderState.FAILED, ReaderEvent.CLOSE): ReaderState.CLOSED,
}
"""What a reader does next. There is no way out of CLOSED: nothing is closed twice."""


class SchemaNegotiator:
    """Passed to ``open``; every call on it must be made before ``open`` returns.

    Thread safety: none.

    Attributes:
        split: The file and the range of it to be read: ``split.file.path``, ``split.start``, ``split.stop``.
        options: The options of the scan; ``None`` in a test that has none.
        provided_schema: The columns of the file as the user declares them, whatever is projected; ``None`` if not at
            all.
        input_schema: The columns that the reader is asked for, with their types; ``None`` for all it has.
        limit: Rows that are still wanted; ``None`` for all.
    """

    def __init__(self, reader: ReaderPlan, columns: Columns, location: ReaderPosition, loader: ResultSetLoader) -> None:
        self.split: BlockMetadata | None = reader.split
        self.options: ReadOptions | None = reader.options
        self.provided_schema: pa.Schema | None = reader.provided_schema
        self.input_schema: pa.Schema | None = columns.wanted(reader.constants)
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
        source = self.open_source()
        if self.split is None:
            raise InvariantError("a reader without a file cannot open one", self._location.where())
        stream = open_stream(source, self.split.file, self._reader.read_bytes)
        self._opened.append(stream)
        return stream

    def open_source(self) -> ByteSource:
        """The file, readable at any offset. The framework closes it after the reader.

        Raises:
            SourceError: If the file cannot be opened, or is another version than the one that was planned.
        """
        self._require("open_source")
        if self._reader.open_source is None or self.split is None:
            raise self._fail(
                self._location.misused(
                    "a reader that has no file must not open one", "a scan without split or open_source"
                )
            )
        try:
            source = self._reader.open_source()
        except SourceMissingError as error:
            self.missing = error
            raise
        self._opened.append(source)
        options = self.options
        if options is None or options.files.on_file_change is OnFileChange.FAIL:
            check_unchanged(self.split.file, source)
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
            raise self._fail(self._location.misused("table_schema() comes before build()"))
        if not isinstance(schema, pa.Schema):
            raise self._fail(
                self._location.misused("table_schema() takes an Arrow schema", f"a {type(schema).__name__}")
            )
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
            raise self._fail(self._location.misused("batch_hint() comes before build()"))
        if (rows is not None and rows < 1) or (nbytes is not None and nbytes < 1):
            raise self._fail(
                self._location.misused("batch_hint() takes sizes of 1 and more", f"rows={rows}, nbytes={nbytes}")
            )
        self._loader.bound(rows, nbytes)

    def context(self, **values: object) -> None:
        """Add what every later message about this reader should say: ``negotiator.context(sheet="Q1", table=3)``."""
        self._require("context")
        self._location.note(**values)

    def build(self) -> ResultSetLoader:
        """The loader that ``next`` gets. Needs not be called: after ``open`` it is there anyway."""
        self._require("build")
        if self._is_built:
            raise self._fail(self._location.misused("build() is called once"))
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
        """``open`` has returned.

        Raises:
            SplitscanError: That a call of the reader raised and the reader kept to itself.
        """
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
            raise self._fail(self._location.misused(f"negotiator.{call}() must be called inside open()"))

    def _fail(self, error: SplitscanError) -> SplitscanError:
        self._location.locate(error)
        self._failure = self._failure or error
        return error


class ReaderLife:
    """One reader from ``open`` to ``close``.

    Args:
        remaining_rows: Rows that are still wanted; ``None`` for all.
    """

    def __init__(
        self,
        plan: OutputPlan,
        reader_plan: ReaderPlan,
        columns: Columns,
        remaining_rows: int | None,
        on_reject: OnRejects | None,
    ) -> None:
        self._plan = plan
        self._location = ReaderPosition(reader_plan.split, reader_plan.name or None)
        self._machine = Machine(READER_TABLE, ReaderState.NEW)
        self._rejects = RejectHandler(plan, self._location, on_reject)
        provided = reader_plan.provided_schema
        self._loader = ResultSetLoader(
            plan,
            columns,
            self._location,
            self._rejects,
            reader_plan.constants,
            remaining_rows,
            None if provided is None else provided.names,
        )
        self._negotiator = SchemaNegotiator(reader_plan, columns, self._location, self._loader)
        try:
            self._reader: ManagedReader = reader_plan.make()
        except Exception as error:
            self._blame("__init__", error)
            raise
        if reader_plan.name == "":
            self._location.reader = name_of(self._reader)

    @property
    def state(self) -> ReaderState:
        """State of the reader."""
        return self._machine.state

    @property
    def has_schema(self) -> bool:
        """True if the reader has said which columns there are: in ``open``, or with its rows."""
        return self.has_declared_schema or bool(self._loader.rows_appended)

    @property
    def has_declared_schema(self) -> bool:
        """True if the reader has declared all its columns."""
        return self._negotiator.has_schema

    def open(self) -> bool:
        """Open the reader.

        Returns:
            Whether there is something to read. If not, the reader still has to be closed.

        Raises:
            SplitscanError: If it cannot be opened; the reader still has to be closed.
        """
        try:
            said = declared_schema(self._reader)
            if said is not None:
                self._negotiator.foresee(said)
            answer = self._reader.open(self._negotiator)
            self._negotiator.end()
            opened = self._as_bool("open", answer)
        except Exception as error:
            self._blame("open", error)
            if not self._may_be_missing(error):
                raise
            self._report_missing()
            opened = False
        self._machine.move(ReaderEvent.OPENED if opened else ReaderEvent.NOTHING)
        return opened

    def read_schema(self) -> None:
        """Read until the columns are known, or the reader ends; rows that come with them are kept."""
        while self.state is ReaderState.OPEN and not self.has_schema:
            self._step()

    def read(self) -> pa.RecordBatch | None:
        """The next batch, or ``None`` when there is none; then the reader has to be closed.

        Raises:
            SplitscanError: If the reader fails; the reader still has to be closed.
        """
        while self.state in {ReaderState.OPEN, ReaderState.DRAINING}:
            batch = self._loader.take(flush=self.state is ReaderState.DRAINING)
            if batch is not None:
                return batch
            if self.state is ReaderState.DRAINING:
                self._machine.move(ReaderEvent.DRAINED)
            else:
                self._step()
        return None

    def close(self) -> None:
        """Close the reader and all it has opened. It must not be called twice.

        Raises:
            SplitscanError: If the reader fails to close. What it has opened is closed all the same.
        """
        self._machine.move(ReaderEvent.CLOSE, self._location.where())
        self._loader.close()
        try:
            try:
                self._reader.close()
            finally:
                self._negotiator.release()
        except Exception as error:
            self._blame("close", error)
            raise

    # --------------------------------------------------------------- inside

    def _step(self) -> None:
        """Call the reader once, unless no more rows are wanted."""
        more = False
        try:
            if not self._loader.is_limited:
                self._loader.begin()
                answer = self._reader.next(self._loader)
                self._loader.finish()
                more = self._as_bool("next", answer)
        except Exception as error:
            self._blame("next", error)
            raise
        self._machine.move(ReaderEvent.MORE if more else ReaderEvent.LAST)

    def _as_bool(self, call: str, answer: object) -> bool:
        """A reader that forgets to say so must not be taken for one that has nothing more."""
        if isinstance(answer, bool | np.bool_):
            return bool(answer)
        raise self._location.misused(f"{call}() returns True or False", repr(answer))

    def _blame(self, call: str, error: Exception) -> None:
        """Complete an error of ours with the location; whatever else a method of the reader raised becomes one.

        Raises:
            SplitscanError: In place of an error that is none of ours.
        """
        if not self._may_be_missing(error) and self.state in {ReaderState.NEW, ReaderState.OPEN}:
            self._machine.move(ReaderEvent.FAILURE)
        if not isinstance(error, SplitscanError):
            raise self._failed(call, error) from error
        self._location.locate(error)

    def _failed(self, call: str, error: Exception) -> SplitscanError:
        kind = SourceError if isinstance(error, OSError) else RecordError
        return kind(
            f"{self._location.reader or 'the reader'}.{call}() failed",
            self._location.where_now(),
            seen=f"{type(error).__name__}: {error}",
            fix="correct the file or the reader; report a bad record with loader.reject() to read on after it",
            code="reader-failed",
        )

    def _may_be_missing(self, error: Exception) -> bool:
        return self._plan.ignore_missing and error is self._negotiator.missing

    def _report_missing(self) -> None:
        """A file that may be missing in every mode: its bytes are one reject, so that nothing is lost silently."""
        block, error = self._negotiator.split, self._negotiator.missing
        if block is None or error is None:
            raise InvariantError("only a reader with a file can miss it", self._location.where())
        self._rejects.report(
            Reject(block.file.path, block.start, block.length_bytes, error.reason_code, error.rule, b"", False)
        )
