"""The loader: takes rows from a reader in any shape, and gives batches that are exactly what the scan promises."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from splitscan.errors import RecordError, SchemaError, SplitscanError
from splitscan.reading.framework.appended import Appendable, Appended, AppendedRows, RejectHandler, from_data, from_rows
from splitscan.reading.framework.batching import Batcher
from splitscan.reading.framework.columns import Columns, by_name, first_row, forbidden_null, has_forbidden_null
from splitscan.reading.framework.conform import duplicate_column
from splitscan.reading.framework.contract import Origin, OutputPlan, ReaderPosition, as_origin


class LoaderState(enum.Enum):
    """State of a loader."""

    IDLE = "between two calls of next()"
    LOADING = "inside next(): rows are taken"
    LIMITED = "the limit is reached: rows are dropped"
    CLOSED = "all is released"


class ResultSetLoader:
    """Takes the rows of one reader.

    Columns are matched by name without regard to case, and put in order; those that are not wanted are dropped before
    anything is done with them; values are cast to the wanted types, never rounded or cut; what is missing is null, or
    its default. A row with a value that does not convert is dealt with as ``mode`` says.

    ``append``, ``append_rows``, ``skip_rows`` and ``reject`` may be called inside ``next`` only; ``add_column`` before
    the first ``next`` too. What is appended after the scan's limit is dropped.

    Memory: what was appended and not yet delivered. A reader that returns from ``next`` when the loader is ``full``
    never makes it hold more than one batch and one append.
    """

    def __init__(
        self,
        plan: OutputPlan,
        columns: Columns,
        location: ReaderPosition,
        rejects: RejectHandler,
        provided: Sequence[str] | None = None,
    ) -> None:
        self._plan = plan
        self._columns = columns
        self._location = location
        self._rejects = rejects
        self._remaining = plan.limit
        self._state = LoaderState.LIMITED if plan.limit == 0 else LoaderState.IDLE
        self._batcher = Batcher(plan.batch_rows, plan.batch_bytes)
        self._declared: dict[str, pa.Field] = {}
        self._provided = provided or ([] if columns.wanted is None else columns.wanted.names)
        self._appended = 0
        self._seen_bytes = 0  # of rows that are not kept, because their columns are looked for

    # --------------------------------------------------------- what is wanted

    @property
    def wanted(self) -> frozenset[str] | None:
        """Names of the columns that the reader is asked for; ``None`` for all it has."""
        return None if self._columns.wanted is None else frozenset(self._columns.wanted.names)

    @property
    def is_projection_empty(self) -> bool:
        """True if no column of the reader is asked for: only the number of rows matters."""
        return self.wanted == frozenset()

    @property
    def full(self) -> bool:
        """True if a batch is complete, or the limit is reached: time to return from ``next``."""
        is_full = self._batcher.is_full or self._seen_bytes >= self._plan.batch_bytes
        return is_full or self._state is LoaderState.LIMITED

    @property
    def remaining_rows(self) -> int | None:
        """Rows that are still wanted; ``None`` for all."""
        return self._remaining

    @property
    def schema(self) -> pa.Schema | None:
        """Schema of the batches; where columns are looked for, of the rows so far, ``None`` before any."""
        return self._columns.schema

    @property
    def rows_appended(self) -> int:
        """Rows the reader has given, those that were dropped among them."""
        return self._appended

    def is_projected(self, path: str) -> bool:
        """True if a column is wanted; with dots, a member of one: ``"address.city"``."""
        return self._columns.is_projected(path)

    # --------------------------------------------------------- taking rows

    def add_column(self, field: pa.Field) -> int:
        """Declare a column that was not known before: earlier rows have nulls in it, or its default.

        Returns:
            Its number among the columns that the reader has declared.

        Raises:
            SchemaError: ``[duplicate-column]``, if there is one of that name.
        """
        self._require("add_column", LoaderState.IDLE, LoaderState.LOADING, LoaderState.LIMITED)
        with self._remembering():
            if field.name.lower() in self._declared:
                raise duplicate_column(field.name, [known.name for known in self._declared.values()])
            self._declared[field.name.lower()] = field
            self._columns.bring(pa.schema([field]))
        return len(self._declared) - 1

    def append(self, data: Appendable, *, origin: Origin | int | None = None) -> None:
        """Append rows.

        Args:
            data: A record batch, a table, or columns by name: Arrow arrays, numpy arrays, lists, or single values that
                hold for all rows.
            origin: Where the rows begin in the file: a byte offset, or an :class:`Origin`. Messages name it.

        Raises:
            SchemaError: If columns cannot be made of it, or a value is missing that must be there.
            RecordError: In mode FAILFAST, for a value that does not convert.
        """
        self._require("append", LoaderState.LOADING, LoaderState.LIMITED)
        with self._remembering():
            try:
                appended = from_data(data, as_origin(origin), self._kind_of)
            except TypeError as error:
                rule = "append() takes a record batch, a table, or columns by name"
                raise self._location.misused(rule, str(error)) from error
            self._take_in(appended)

    def append_rows(self, rows: Iterable[Any], *, origin: Origin | int | None = None) -> None:
        """Append rows of Python values: slow, and simple.

        Args:
            rows: Mappings by name; or tuples or lists, in the order of the columns that the reader declares, or else of
                the user's schema; or, for one column, plain values.
            origin: As for ``append``.

        Raises:
            SchemaError: If columns cannot be made of them.
            RecordError: In mode FAILFAST, for a row that breaks a rule.
        """
        self._require("append_rows", LoaderState.LOADING, LoaderState.LIMITED)
        names = [field.name for field in self._declared.values()] or self._provided
        defaults = {name.lower(): value.as_py() for name, value in self._plan.defaults.items()}
        with self._remembering():
            try:
                appended = from_rows(rows, as_origin(origin), names, defaults, self._kind_of)
            except TypeError as error:
                raise self._location.misused("append_rows() takes rows that are alike", str(error)) from error
            self._take_in(appended)

    def skip_rows(self, rows: int) -> None:
        """Append rows without a value: for a scan that only counts, or rows that are known to be null.

        Args:
            rows: How many; any number.
        """
        self._require("skip_rows", LoaderState.LOADING, LoaderState.LIMITED)
        with self._remembering():
            if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 0:
                raise self._location.misused("skip_rows() takes a number of rows, 0 or more", repr(rows))
            if self._columns.is_open:
                self._appended += int(rows)
                return
            left = int(rows) if self._remaining is None else min(int(rows), self._remaining)
            filled = self._columns.conformer.fill(min(left, self._plan.batch_rows))  # one batch, over and over
            while left:
                some = filled.slice(0, left)
                self._deliver(some, Origin())
                left -= some.num_rows

    def reject(
        self,
        raw: bytes | str,
        reason: str,
        *,
        origin: Origin | int | None = None,
        code: str = "rejected-record",
        length_bytes: int | None = None,
        delivered: bool = False,
    ) -> None:
        """Report a record that breaks a rule.

        Args:
            raw: Its first bytes, for people to look at.
            reason: What is wrong, in one sentence.
            origin: Where it begins.
            code: A short stable name of the rule.
            length_bytes: Its length; that of *raw* when not given.
            delivered: Whether a row is appended for it all the same.

        Raises:
            RecordError: In mode FAILFAST.
        """
        self._require("reject", LoaderState.LOADING, LoaderState.LIMITED)
        if self._state is LoaderState.LOADING:
            data = raw.encode("utf-8", "replace") if isinstance(raw, str) else bytes(raw)
            with self._remembering():
                self._rejects.take_record(as_origin(origin), code, reason, data, length_bytes, delivered=delivered)

    # ------------------------------------------- for the framework, not for readers

    def declare(self, schema: pa.Schema) -> None:
        """Take the columns that the reader says it has; find out whether they can become the wanted ones."""
        self._declared = by_name(schema)
        self._columns.bring(schema)
        if not self._columns.is_open:
            self._columns.conformer.prepare(schema)

    def bound(self, rows: int | None, nbytes: int | None) -> None:
        """Make batches smaller than the plan says."""
        plan = self._plan
        self._batcher = Batcher(
            min(rows or plan.batch_rows, plan.batch_rows), min(nbytes or plan.batch_bytes, plan.batch_bytes)
        )

    def begin(self) -> None:
        """``next`` is called."""
        self._state = LoaderState.LOADING

    def finish(self) -> None:
        """``next`` has returned."""
        if self._state is LoaderState.LOADING:
            self._state = LoaderState.IDLE

    @property
    def is_limited(self) -> bool:
        """True if no more rows are wanted."""
        return self._state is LoaderState.LIMITED

    @property
    def is_closed(self) -> bool:
        """True if nothing is held any more."""
        return self._state is LoaderState.CLOSED

    def take(self, *, flush: bool) -> pa.RecordBatch | None:
        """The next batch, or ``None``."""
        return self._batcher.take(flush=flush)

    def close(self) -> None:
        """Release what is held; every later call is an error."""
        self._batcher.clear()
        self._state = LoaderState.CLOSED

    # --------------------------------------------------------------- inside

    def _require(self, call: str, *states: LoaderState) -> None:
        if (state := self._state) not in states:
            with self._remembering():
                seen = f"state {state.name}: {state.value}"
                raise self._location.misused(f"loader.{call}() must not be called now", seen)

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        try:
            yield
        except SplitscanError as error:
            self._location.remember(error)
            raise

    def _kind_of(self, name: str) -> pa.DataType | None:
        """The type that values of a column should get; ``null``, so that they are not looked at, if nobody wants it."""
        kind, declared = self._columns.kind_of(name), self._declared.get(name.lower())
        return declared.type if kind is None and declared is not None else kind

    def _take_in(self, appended: Appended) -> None:
        if self._columns.is_open:
            for batch in appended.batches:
                self._columns.bring(batch.schema)
                self._seen_bytes += batch.nbytes
                self._appended += batch.num_rows
            return
        for part in appended.parts(self._plan.largest_batch_bytes, self._too_large):
            if self._state is LoaderState.LIMITED:
                return
            batch, bad = self._columns.conformer.conform(part.batch)
            if not (bad or part.bad or part.ragged):
                self._deliver(batch, part.origin, part)
                continue
            faulty = replace(part, bad={value.row: value for value in bad} | dict(part.bad))
            batch = self._rejects.sort_out(batch, faulty, self._appended, self._remaining)
            self._deliver(batch, part.origin, faulty)

    def _deliver(self, batch: pa.RecordBatch, origin: Origin, part: AppendedRows | None = None) -> None:
        rows = batch.num_rows if part is None else part.batch.num_rows
        if self._remaining is not None and batch.num_rows > self._remaining:
            batch = batch.slice(0, self._remaining)
        batch = self._columns.deliver(batch)
        for index, field in self._columns.required:
            if has_forbidden_null(batch.column(index), field):
                raise self._null_in(batch.column(index), field, origin, part)
        self._location.pass_by(origin, rows)
        self._batcher.add(batch)
        self._appended += rows
        if self._remaining is not None:
            self._remaining -= batch.num_rows
            if not self._remaining:
                self._state = LoaderState.LIMITED

    def _null_in(self, column: pa.Array, field: pa.Field, origin: Origin, part: AppendedRows | None) -> SchemaError:
        row = first_row(column, lambda some: has_forbidden_null(some, field))
        is_whole = part is None or len(column) == part.batch.num_rows  # rows that were dropped move the others up
        offset, line = origin.near(row if is_whole else 0)
        bad = part.bad.get(row) if part is not None and is_whole else None
        because = f": {bad.value!r} is no {bad.wanted}" if bad is not None and bad.column == field.name else ""
        where = self._location.where(self._appended + row if is_whole else None, offset, line, field.name)
        return forbidden_null(field, where, f"{self._appended + row} of what was read{because}")

    def _too_large(self, row: pa.RecordBatch, origin: Origin) -> RecordError:
        sizes = [column.nbytes for column in row.columns]
        largest = int(np.argmax(sizes))
        offset, line = origin.near(0)
        return RecordError(
            "a row is larger than a batch can be",
            self._location.where(self._appended, offset, line, row.schema.names[largest]),
            seen=f"{row.nbytes} bytes, {sizes[largest]} of them in this column; "
            f"the most is {self._plan.largest_batch_bytes}",
            fix="leave the column out, or take the record apart in the reader",
            code="row-too-large",
        )
