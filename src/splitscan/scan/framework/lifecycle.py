"""The life of one reader: made, opened, read, drained, and closed exactly once, whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pyarrow as pa

from splitscan.blocks import Reject
from splitscan.errors import InvariantError, RecordError, SourceError, SourceMissingError, SplitscanError
from splitscan.scan.framework.appended import Rejects
from splitscan.scan.framework.columns import Columns
from splitscan.scan.framework.contract import (
    Location,
    ManagedReader,
    OnReject,
    OutputPlan,
    ReaderPlan,
    declared_schema,
    name_of,
)
from splitscan.scan.framework.loader import ResultSetLoader
from splitscan.scan.framework.negotiator import SchemaNegotiator
from splitscan.scan.framework.states import READER_TABLE, Machine, ReaderEvent, ReaderState

T = TypeVar("T")


class ReaderLife:
    """One reader from ``open`` to ``close``.

    Args:
        plan: What the scan delivers.
        reader_plan: What is read, and by whom.
        columns: The columns of the scan.
        remaining_rows: Rows that are still wanted; ``None`` for all.
        on_reject: Told of every reject.
    """

    def __init__(
        self,
        plan: OutputPlan,
        reader_plan: ReaderPlan,
        columns: Columns,
        remaining_rows: int | None,
        on_reject: OnReject | None,
    ) -> None:
        self._plan = plan
        self._location = Location(reader_plan.split, reader_plan.name or None)
        self._machine = Machine(READER_TABLE, ReaderState.NEW)
        self._rejects = Rejects(plan, self._location, on_reject)
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
        self._reader: ManagedReader = self._guard("__init__", reader_plan.make)
        if reader_plan.name == "":
            self._location.reader = name_of(self._reader)

    @property
    def state(self) -> ReaderState:
        """Where the reader stands."""
        return self._machine.state

    @property
    def has_schema(self) -> bool:
        """Whether the reader has said which columns there are: in ``open``, or with its rows."""
        return self.has_declared_schema or bool(self._loader.rows_appended)

    @property
    def has_declared_schema(self) -> bool:
        """Whether the reader has declared all its columns."""
        return self._negotiator.has_schema

    def open(self) -> bool:
        """Open the reader.

        Returns:
            Whether there is something to read. If not, the reader still has to be closed.

        Raises:
            SplitscanError: If it cannot be opened; the reader still has to be closed.
        """
        try:
            opened = self._guard("open", self._call_open)
        except SourceMissingError as error:
            if not self._may_be_missing(error):
                raise
            self._report_missing(error)
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
            self._guard("close", self._reader.close)
        finally:
            self._guard("close", self._negotiator.release)

    # --------------------------------------------------------------- inside

    def _step(self) -> None:
        """Call the reader once, unless no more rows are wanted."""
        more = not self._loader.is_limited and self._guard("next", self._call_next)
        self._machine.move(ReaderEvent.MORE if more else ReaderEvent.LAST)

    def _call_open(self) -> bool:
        said = declared_schema(self._reader)
        if said is not None:
            self._negotiator.foresee(said)
        answer = self._reader.open(self._negotiator)
        self._negotiator.end()
        return self._as_bool("open", answer)

    def _call_next(self) -> bool:
        self._loader.begin()
        answer = self._reader.next(self._loader)
        self._loader.finish()
        return self._as_bool("next", answer)

    def _as_bool(self, call: str, answer: object) -> bool:
        """A reader that forgets to say so must not be taken for one that has nothing more."""
        if isinstance(answer, bool | np.bool_):
            return bool(answer)
        raise self._location.misused(f"{call}() returns True or False", repr(answer))

    def _guard(self, call: str, action: Callable[[], T]) -> T:
        """Run a method of the reader; whatever it raises comes out as an error that names the location."""
        try:
            return action()
        except SplitscanError as error:
            self._location.locate(error)
            if not self._may_be_missing(error):
                self._fail()
            raise
        except Exception as error:
            self._fail()
            raise self._failed(call, error) from error

    def _fail(self) -> None:
        if self.state in {ReaderState.NEW, ReaderState.OPEN}:
            self._machine.move(ReaderEvent.FAILURE)

    def _failed(self, call: str, error: Exception) -> SplitscanError:
        kind = SourceError if isinstance(error, OSError) else RecordError
        return kind(
            f"{self._location.reader or 'the reader'}.{call}() failed",
            self._location.where_now(),
            seen=f"{type(error).__name__}: {error}",
            fix="correct the file or the reader; report a bad record with loader.reject() to read on behind it",
            code="reader-failed",
        )

    def _may_be_missing(self, error: SplitscanError) -> bool:
        return self._plan.ignore_missing and error is self._negotiator.missing

    def _report_missing(self, error: SourceMissingError) -> None:
        """A file that may be missing in every mode: its bytes are one reject, so that nothing is lost silently."""
        block = self._negotiator.split
        if block is None:
            raise InvariantError("only a reader with a file can miss it", self._location.where())
        self._rejects.report(
            Reject(block.file.path, block.start, block.length_bytes, error.reason_code, error.rule, b"", False)
        )
