"""The scan operator: one reader after the other, one open at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Self

import pyarrow as pa

from splitscan.errors import InvariantError, UsageError
from splitscan.scan.framework.columns import Columns
from splitscan.scan.framework.conform import rows_without_columns
from splitscan.scan.framework.contract import Machine, NamedState, OutputPlan, ReaderPlan
from splitscan.scan.framework.lifecycle import ReaderLife
from splitscan.scan.rejects import OnRejects


class ScanState(NamedState):
    """State of a scan."""

    START = "nothing was read"
    READER = "readers are read, one at a time"
    EMPTY = "one empty batch shows the schema"
    END = "everything was read"
    FAILED = "an error was raised"
    CLOSED = "all is released"


class ScanEvent(NamedState):
    """Event in the life of a scan."""

    BEGIN = "the first batch is asked for"
    BATCH = "a batch is delivered"
    NO_ROWS = "no row was found, but a schema"
    EXHAUSTED = "no reader or row is left"
    FAILURE = "a reader fails"
    CLOSE = "close()"


SCAN_TABLE: Mapping[tuple[ScanState, ScanEvent], ScanState] = {
    (ScanState.START, ScanEvent.BEGIN): ScanState.READER,
    (ScanState.READER, ScanEvent.BATCH): ScanState.READER,
    (ScanState.READER, ScanEvent.NO_ROWS): ScanState.EMPTY,
    (ScanState.READER, ScanEvent.EXHAUSTED): ScanState.END,
    (ScanState.READER, ScanEvent.FAILURE): ScanState.FAILED,
    (ScanState.EMPTY, ScanEvent.EXHAUSTED): ScanState.END,
    (ScanState.START, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.READER, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.EMPTY, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.END, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.FAILED, ScanEvent.CLOSE): ScanState.CLOSED,
    (ScanState.CLOSED, ScanEvent.CLOSE): ScanState.CLOSED,
}
"""What a scan does next."""


class ScanOperator:
    """Runs readers and delivers their rows in batches of one schema.

    A reader is made just before it is opened, and the next one only after it was closed. A scan without readers is one
    without rows: it ends at once, and shows its schema if it has one. Whatever happens - an error, an early end, an
    iterator that is dropped - every reader that was opened is closed exactly once.

    Args:
        readers: The readers, taken one at a time.
        on_reject: Told of the rows and records that break a rule, in order, as many at once as are found together.

    Thread safety: none.

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
        self._machine = Machine(SCAN_TABLE, ScanState.START)
        self._current: ReaderLife | None = None
        self._opened = 0
        self._rows = 0
        self._has_shown_schema = False

    @property
    def state(self) -> ScanState:
        """State of the scan."""
        return self._machine.state

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
        if self.state in {ScanState.FAILED, ScanState.CLOSED}:
            raise UsageError(
                "a scan that has failed or was closed gives no more batches",
                seen=f"state {self.state.name}: {self.state.value}",
                fix="make a new scan",
                code="scan-protocol",
            )
        if self.state is ScanState.EMPTY:
            self._machine.move(ScanEvent.EXHAUSTED)
        if self.state is ScanState.END:
            return None
        if self.state is ScanState.START:
            self._machine.move(ScanEvent.BEGIN)
        try:
            if self._plan.schema_first and not self._has_shown_schema:
                self._find_schema()
                if self._columns.schema is not None:
                    return self._show_schema()
            while (current := self._open_next()) is not None:
                batch = current.read()
                if batch is not None:
                    return self._checked(batch)
                self._close_current()
            return self._end()
        except BaseException as error:
            self._machine.move(ScanEvent.FAILURE)
            self._abandon(error)
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            while (batch := self.next_batch()) is not None:
                yield batch
        finally:
            self.close()

    def close(self) -> None:
        """Close the reader that is open. Calling it again does nothing.

        Raises:
            SplitscanError: If the reader fails to close.
        """
        self._machine.move(ScanEvent.CLOSE)
        self._close_current()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --------------------------------------------------------------- inside

    def _end(self) -> pa.RecordBatch | None:
        """No reader has a row any more; a scan without any may show its schema."""
        if self._rows or self._has_shown_schema or self._columns.schema is None or not self._plan.empty_result:
            self._machine.move(ScanEvent.EXHAUSTED)
            return None
        self._machine.move(ScanEvent.NO_ROWS)
        return self._empty_batch()

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

    def _show_schema(self) -> pa.RecordBatch:
        self._has_shown_schema = True
        self._machine.move(ScanEvent.BATCH)
        return self._empty_batch()

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
        self._machine.move(ScanEvent.BATCH)
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
