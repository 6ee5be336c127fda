"""Rows and records that break a rule: kept with nulls, dropped, or the end of the scan, as the mode says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from splitscan.blocks import Reject
from splitscan.errors import RecordError, Where, quote_bytes
from splitscan.formats.decoding.contract import BAD_VALUE, FIELD_COUNT
from splitscan.options import Mode
from splitscan.scan.framework.appended import Part
from splitscan.scan.framework.conform import BadValue, find_columns
from splitscan.scan.framework.contract import OnReject, OutputPlan
from splitscan.scan.framework.location import Location, Origin


class Rejects:
    """Takes the bad rows and records of one reader, and does with them what the mode says.

    Args:
        plan: Names the mode and the column for the text of broken rows.
        location: Where the reader is at work.
        on_reject: Told of every reject.
    """

    def __init__(self, plan: OutputPlan, location: Location, on_reject: OnReject | None) -> None:
        self._fails = plan.mode is Mode.FAILFAST
        self._drops = plan.mode is Mode.DROPMALFORMED
        self._corrupt_column = plan.corrupt_column
        self._location = location
        self._on_reject = on_reject

    def report(self, reject: Reject) -> None:
        """Report a reject in every mode."""
        if self._on_reject is not None:
            self._on_reject(reject)

    def sort_out(self, batch: pa.RecordBatch, part: Part, first_row: int, remaining: int | None) -> pa.RecordBatch:
        """Report the bad rows of an append, up to the last row that is wanted; take out those that the mode drops.

        Args:
            batch: The conformed rows.
            part: What is wrong with them.
            first_row: Number of the first one, among all rows of the reader.
            remaining: Rows that are still wanted; ``None`` for all.

        Returns:
            The rows that are delivered; there may be more than wanted.

        Raises:
            RecordError: In mode FAILFAST.
        """
        broken = sorted({*part.bad, *part.ragged})
        last = _last_wanted(batch.num_rows, broken if self._drops else [], remaining)
        texts = {}
        for row in broken:
            if row <= last:
                value = None if row in part.ragged else part.bad[row]
                texts[row] = _row_text(batch, row, value)
                self._take_row(part, row, value, texts[row], first_row)
        if self._drops:
            keep = np.ones(batch.num_rows, dtype=np.bool_)
            keep[broken] = False
            return batch.filter(pa.array(keep))
        return self._with_texts(batch, texts)

    def take_record(
        self, origin: Origin, code: str, reason: str, raw: bytes, length_bytes: int | None, *, delivered: bool
    ) -> None:
        """Take a record that the reader itself rejects.

        Raises:
            RecordError: In mode FAILFAST.
        """
        offset, line = origin.near(0)
        length = len(raw) if length_bytes is None else length_bytes
        reject = Reject(self._location.path, self._offset(offset), length, code, reason, raw, delivered)
        self._take(reject, lambda: self._location.where(offset=offset, line=line))

    def take_records(self, rejects: Sequence[Reject]) -> None:
        """Take records that the reader itself rejects, and whose offsets it knows.

        Raises:
            RecordError: In mode FAILFAST, for the first of them.
        """
        if self._fails and rejects:
            self._take(rejects[0], lambda: self._location.where(offset=rejects[0].offset))
        if self._on_reject is not None:
            for reject in rejects:
                self._on_reject(reject)

    def _take_row(self, part: Part, row: int, value: BadValue | None, text: str, first_row: int) -> None:
        if value is None:
            code, raw = FIELD_COUNT, text
            reason = f"the row has {part.ragged[row]} values where {part.width} are expected"
        else:
            code, raw = BAD_VALUE, str(value.value)
            reason = f"column {value.column!r}: {_quoted(raw)} is no {value.wanted}"
        data = raw.encode("utf-8", "replace")
        offset, line = part.origin.near(row)
        reject = Reject(self._location.path, self._offset(offset), len(data), code, reason, data, not self._drops)
        column = None if value is None else value.column
        self._take(reject, lambda: self._location.where(first_row + row, offset, line, column))

    def _take(self, reject: Reject, where: Callable[[], Where]) -> None:
        if self._fails:
            raise RecordError(
                f"{reject.reason} (mode=FAILFAST)",
                where(),
                seen=quote_bytes(reject.raw),
                fix="correct the record, or set mode=PERMISSIVE or DROPMALFORMED to go on without it",
                code=reject.code,
            )
        self.report(reject)

    def _offset(self, offset: int | None) -> int:
        """An offset for the reject table, which has to have one: that of the block where nothing better is known."""
        split = self._location.split
        return offset if offset is not None else 0 if split is None else split.start

    def _with_texts(self, batch: pa.RecordBatch, texts: Mapping[int, str]) -> pa.RecordBatch:
        index = find_columns(batch.schema.names)(self._corrupt_column) if self._corrupt_column else None
        if index is None:
            return batch
        values = batch.column(index).to_pylist()
        for row, text in texts.items():
            values[row] = text if values[row] is None else values[row]
        field = batch.schema.field(index)
        return batch.set_column(index, field, pa.array(values, field.type))


def _last_wanted(rows: int, dropped: Sequence[int], remaining: int | None) -> int:
    """The last row that counts, where a limit cuts."""
    if remaining is None or rows - len(dropped) < remaining:
        return rows
    kept = np.setdiff1d(np.arange(rows), np.array(dropped, dtype=np.int64))
    return int(kept[remaining - 1])


def _quoted(text: str) -> str:
    return quote_bytes(text.encode("utf-8", "replace"))[1:]


def _row_text(batch: pa.RecordBatch, row: int, bad: BadValue | None) -> str:
    """A row as JSON, for people, with the value that did not convert."""
    values = {name: column[row].as_py() for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    if bad is not None:
        values[bad.column] = bad.value
    return json.dumps({name: value for name, value in values.items() if value is not None}, default=str)
