"""The scan operator: one reader is opened, read, drained, and closed exactly once."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pyarrow as pa

from splitscan.blocks import Reject
from splitscan.errors import InvariantError, RecordError, SourceError, SplitscanError
from splitscan.reading.framework.appended import RejectHandler
from splitscan.reading.framework.columns import Columns
from splitscan.reading.framework.contract import OutputPlan, ReaderPlan, ReaderPosition, declared_schema, name_of
from splitscan.reading.framework.loader import ResultSetLoader
from splitscan.reading.framework.negotiator import SchemaNegotiator
from splitscan.reading.rejects import OnRejects


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
        try:
            self._open()
            while (batch := self._next_batch()) is not None:
                yield self._checked(batch)
        except Exception as error:
            self._close_after(error)
            raise
        except BaseException:
            self._close()
            raise
        self._close()

    def find_schema(self) -> pa.Schema:
        """The columns that the reader declares, or those of its rows, until there are enough for a batch."""
        try:
            self._open()
            while self._has_more and not (self._negotiator.has_schema or self._loader.full):
                self._step()
        except Exception as error:
            self._close_after(error)
            raise
        self._close()
        return pa.schema([]) if self._loader.schema is None else self._loader.schema

    # --------------------------------------------------------------- inside

    def _open(self) -> None:
        """Open the reader, which may have nothing to read. It has to be closed whatever happens."""
        try:
            said = declared_schema(self._reader)
            if said is not None:
                self._negotiator.foresee(said)
            answer = self._reader.open(self._negotiator)
            self._negotiator.end()
            self._has_more = self._as_bool("open", answer)
        except Exception as error:
            self._blame("open", error)
            missing = self._negotiator.missing
            if missing is None or error is not missing or not self._plan.ignore_missing:
                raise
            block = self._location.split  # its bytes are one reject in every mode, so that nothing is lost silently
            self._rejects.report(
                Reject(block.file.path, block.start, block.length_bytes, missing.reason_code, missing.rule, b"", False)
            )

    def _next_batch(self) -> pa.RecordBatch | None:
        while (batch := self._loader.take(flush=not self._has_more)) is None and self._has_more:
            self._step()
        return batch

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
