"""The scan operator: runs readers one at a time, each made, opened, read, drained, and closed exactly once."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Self

import numpy as np
import pyarrow as pa

from splitscan.blocks import Reject
from splitscan.errors import InvariantError, RecordError, SourceError, SplitscanError, UsageError
from splitscan.reading.framework.appended import RejectHandler
from splitscan.reading.framework.columns import Columns
from splitscan.reading.framework.conform import rows_without_columns
from splitscan.reading.framework.contract import (
    ManagedReader,
    OutputPlan,
    ReaderPlan,
    ReaderPosition,
    declared_schema,
    name_of,
)
from splitscan.reading.framework.loader import ResultSetLoader
from splitscan.reading.framework.negotiator import SchemaNegotiator
from splitscan.reading.rejects import OnRejects


class ReaderLife:
    """One reader from ``open`` to ``close``; *remaining_rows* are still wanted of it."""

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
        self._has_more = False  # next() is to be called
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
    def has_schema(self) -> bool:
        """True if the reader has said which columns there are: in ``open``, or with its rows."""
        return self.has_declared_schema or bool(self._loader.rows_appended)

    @property
    def has_declared_schema(self) -> bool:
        """True if the reader has declared all its columns."""
        return self._negotiator.has_schema

    def open(self) -> bool:
        """Open the reader; ``False`` if it has nothing to read. It has to be closed whatever happens."""
        try:
            said = declared_schema(self._reader)
            if said is not None:
                self._negotiator.foresee(said)
            answer = self._reader.open(self._negotiator)
            self._negotiator.end()
            self._has_more = self._as_bool("open", answer)
        except Exception as error:
            self._blame("open", error)
            if not self._plan.ignore_missing or error is not self._negotiator.missing:
                raise
            self._report_missing()
        return self._has_more

    def read_schema(self) -> None:
        """Read until the columns are known, or the reader ends; rows that come with them are kept."""
        while self._has_more and not self.has_schema:
            self._step()

    def read(self) -> Iterator[pa.RecordBatch]:
        """All batches; then, or when it fails, the reader has to be closed."""
        while True:
            while (batch := self._loader.take(flush=not self._has_more)) is not None:
                yield batch
            if not self._has_more:
                return
            self._step()

    def close(self) -> None:
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

    # --------------------------------------------------------------- inside

    def _step(self) -> None:
        """Call the reader once, unless no more rows are wanted."""
        self._has_more = False
        if self._loader.is_limited:
            return
        try:
            self._loader.begin()
            answer = self._reader.next(self._loader)
            self._loader.finish()
            self._has_more = self._as_bool("next", answer)
        except Exception as error:
            self._blame("next", error)
            raise

    def _as_bool(self, call: str, answer: object) -> bool:
        """A reader that forgets to say so must not be taken for one that has nothing more."""
        if isinstance(answer, bool | np.bool_):
            return bool(answer)
        raise self._location.misused(f"{call}() returns True or False", repr(answer))

    def _blame(self, call: str, error: Exception) -> None:
        """Complete an error of ours with the location; whatever else a method of the reader raised becomes one."""
        if isinstance(error, SplitscanError):
            self._location.locate(error)
            return
        kind = SourceError if isinstance(error, OSError) else RecordError
        raise kind(
            f"{self._location.reader or 'the reader'}.{call}() failed",
            self._location.where_now(),
            seen=f"{type(error).__name__}: {error}",
            fix="correct the file or the reader; report a bad record with loader.reject() to read on after it",
            code="reader-failed",
        ) from error

    def _report_missing(self) -> None:
        """A file that may be missing in every mode: its bytes are one reject, so that nothing is lost silently."""
        block, error = self._negotiator.split, self._negotiator.missing
        if block is None or error is None:
            raise InvariantError("only a reader with a file can miss it", self._location.where())
        self._rejects.report(
            Reject(block.file.path, block.start, block.length_bytes, error.reason_code, error.rule, b"", False)
        )


class ScanOperator:
    """Runs readers and delivers their rows in batches of one schema.

    A reader is made just before it is opened, and the next one only after it was closed. A scan without readers is one
    without rows: it ends at once, and shows its schema if it has one. Whatever happens - an error, an early end, an
    iterator that is dropped - every reader that was opened is closed exactly once.

    Example:
        >>> class Numbers:
        ...     def open(self, negotiator):
        ...         return True
        ...     def next(self, loader):
        ...         loader.append({"n": [1, 2, 3]})
        ...         return False
        ...     def close(self):
        ...         pass
        >>> plan = OutputPlan(pa.schema([("n", pa.int64())]), limit=2)
        >>> [batch.to_pydict() for batch in ScanOperator(plan, [ReaderPlan(Numbers)])]
        [{'n': [1, 2]}]
    """

    def __init__(
        self,
        plan: OutputPlan,
        readers: Iterable[ReaderPlan],
        on_reject: OnRejects | None = None,
    ) -> None:
        self._plan = plan
        self._readers = iter(readers)
        self._on_reject = on_reject
        self._columns = Columns(plan)
        self._batches = self._read()
        self._over = ""  # why no more batches can be asked for
        self._current: ReaderLife | None = None
        self._opened = 0
        self._rows = 0

    @property
    def schema(self) -> pa.Schema | None:
        """Schema of the batches; ``None`` while nothing is known of it."""
        return self._columns.schema

    @property
    def schema_version(self) -> int:
        """0 before a schema is known; raised by every change of names, order, types or nullability."""
        return self._columns.version

    @property
    def is_schema_complete(self) -> bool:
        """True if the reader that is open has declared all its columns, or no reader is open any more."""
        return self._current is None or self._current.has_declared_schema

    @property
    def rows(self) -> int:
        """Rows delivered so far."""
        return self._rows

    def next_batch(self) -> pa.RecordBatch | None:
        """The next batch; ``None`` at the end, however often it is asked.

        Raises:
            SplitscanError: If a reader fails. It is closed by then, and the scan has failed for good.
            UsageError: ``[scan-protocol]``, after a failure or ``close``.
        """
        if self._over:
            raise UsageError(
                "a scan that has failed or was closed gives no more batches",
                seen=f"state {self._over}", fix="make a new scan", code="scan-protocol",
            )  # fmt: skip
        try:
            return next(self._batches, None)
        except BaseException as error:
            self._over = "FAILED: an error was raised"
            self._abandon(error)
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while (batch := self.next_batch()) is not None:
                yield batch
        finally:
            self.close()

    def close(self) -> None:
        """Close the reader that is open. Calling it again does nothing."""
        self._over = "CLOSED: all is released"
        self._batches.close()
        self._close_current()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --------------------------------------------------------------- inside

    def _read(self) -> Generator[pa.RecordBatch, None, None]:
        """All batches; a scan without any row shows its schema in an empty one."""
        has_shown_schema = False
        if self._plan.schema_first:
            self._find_schema()
            if self._columns.schema is not None:
                has_shown_schema = True
                yield self._empty_batch()
        while (current := self._open_next()) is not None:
            yield from map(self._checked, current.read())
            self._close_current()
        if not (self._rows or has_shown_schema or self._columns.schema is None) and self._plan.empty_result:
            yield self._empty_batch()

    def _open_next(self) -> ReaderLife | None:
        """The reader that is open, or the next one; ``None`` if there is none left that could give a row."""
        while self._current is None:
            if self._remaining == 0 and (self._opened or self._columns.schema is not None):
                return None
            reader_plan = next(self._readers, None)
            if reader_plan is None:
                return None
            self._current = ReaderLife(self._plan, reader_plan, self._columns, self._remaining, self._on_reject)
            self._opened += 1
            if not self._current.open():
                self._close_current()
        return self._current

    @property
    def _remaining(self) -> int | None:
        return None if self._plan.limit is None else self._plan.limit - self._rows

    def _find_schema(self) -> None:
        """Open readers until one knows its columns; what it has read for that is delivered later.

        Rows without any column end the search too: the columns that come after them change the schema.
        """
        while self._columns.schema is None and (current := self._open_next()) is not None:
            current.read_schema()
            if current.has_schema:
                return
            self._close_current()

    def _empty_batch(self) -> pa.RecordBatch:
        schema = self._columns.schema
        if schema is None or not len(schema):
            return rows_without_columns(0)
        return pa.RecordBatch.from_pylist([], schema=schema)

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """No batch leaves that is not what was promised: those who take it look at the first one only."""
        if self._plan.schema is not None and not batch.schema.equals(self._plan.schema):
            raise InvariantError(
                "every batch has the columns that were promised", seen=f"{batch.schema}; promised: {self._plan.schema}"
            )
        self._rows += batch.num_rows
        return batch

    def _close_current(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            current.close()

    def _abandon(self, error: BaseException) -> None:
        """Close the reader that failed; if that fails too, the first error says so."""
        try:
            self._close_current()
        except Exception as second:
            error.add_note(f"closing the reader failed too: {second}")
