"""Read the records of one block: find them, decode them, and deliver batches of exactly the schema of the scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from splitscan.arrays import flag_array, number_array, text_array
from splitscan.blocks import Oddity, Reject
from splitscan.content.storage import ByteSource
from splitscan.errors import (
    InvariantError,
    SchemaError,
    SplitscanError,
    Where,
)
from splitscan.formats.column_rules import default_of, rules_of_format
from splitscan.formats.decoding.contract import Decoded
from splitscan.formats.framing.contract import Preamble, RecordFormat
from splitscan.formats.framing.encodings import UTF_8, Encoding
from splitscan.formats.framing.frames import Offsets
from splitscan.formats.registry import format_of
from splitscan.options import Mode
from splitscan.reading.block_reader import FramedRecords
from splitscan.reading.block_request import BlockRequest, FileBlockReader, failed_to_read
from splitscan.reading.cursor import NONE_GIVEN_UP, RAW_BYTES, RecordChunk, Skipped
from splitscan.reading.decoders import check_header, encoding_of, needs_no_value, step_decoder
from splitscan.reading.envelopes import OffsetValues
from splitscan.reading.framework.batching import Batcher
from splitscan.reading.framework.columns import (
    first_row,
    forbidden_null,
    has_forbidden_null,
    is_required_somewhere,
    prune_array,
)
from splitscan.reading.framework.conform import rows_without_columns
from splitscan.reading.given_up import RowCount, counted_in, reason_of
from splitscan.reading.new_columns import Noticing
from splitscan.reading.oddities import Oddities, of_file
from splitscan.reading.own_formats import ContextReading
from splitscan.reading.reader_context import ContextReader
from splitscan.reading.rejects import RejectBatch, beside_rows, failed_fast, reason_array, reason_text, slices
from splitscan.reading.spec import Constant


class _Rows(NamedTuple):
    """The rows of a step, and where they begin in the file: found when an error has to name a place.

    Attributes:
        keep: Which of them are rows; ``None`` for all.
    """

    step: RecordChunk | Skipped
    keep: npt.NDArray[np.bool_] | None

    def offset(self, row: int) -> int:
        """Offset in the file of a row."""
        offsets = self.step.record_offsets
        return int((offsets if self.keep is None else offsets[self.keep])[row])


class RecordBlockReader(FileBlockReader):
    """Reads the records of one block that a record format or a reader context finds."""

    _records: FramedRecords | ContextReader

    def __init__(self, request: BlockRequest) -> None:
        super().__init__(request)
        mode, limit = self._spec.options.reading.mode, request.limit
        self._fails, self._drops = mode is Mode.FAILFAST, mode is Mode.DROPMALFORMED
        self._reports_faults = request.on_reject is not None or self._fails
        self._remaining = limit
        self._own = frozenset(self._spec.fields.names)
        self._required = [(i, field) for i, field in enumerate(self._spec.schema) if is_required_somewhere(field)]
        self._position = self._block.start
        self._rows = 0  # that were found, those beyond a limit included
        self._last: _Rows | None = None
        self._oddities: Oddities | None = None

    @property
    def passed_bytes(self) -> int:
        return max(0, min(self._position, self._block.stop) - self._block.start)

    # ------------------------------------------------------------- the block

    def _count(self, source: ByteSource) -> RowCount:
        records = self._records
        self._check_header(records)
        odd = self._oddities_to_count(records, source)
        if odd is None:
            return counted_in(self._block.file, records.count(), records.given_up)
        rows, given_up = 0, NONE_GIVEN_UP
        for step in records:
            if isinstance(step, Skipped):
                odd.pass_to(step.offset)
            else:
                odd.take(step, None)
                rows += step.records
            given_up = given_up.and_of(step)
        odd.pass_to(records.span.stop)
        counted = counted_in(self._block.file, rows, given_up)
        return counted._replace(odd=tuple(of_file(self._block.file.path, odd.found)))

    def _oddities_to_count(self, records: FramedRecords | ContextReader, source: ByteSource) -> Oddities | None:
        """The counter of what is odd, where anything can be that framing shows."""
        format, preamble = format_of(self._spec.options), records.preamble
        own = self._spec.options.format
        if preamble is None or not (format.looks_at_heads(own) or format.suspects(own, preamble)):
            return None
        self._encoding = encoding_of(self._spec, records)
        self._decode = step_decoder(self._spec, self._block, records, validate=False, on_notice=self._notice)
        return self._oddities_of(preamble, source)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except SplitscanError as error:
            error.locate(self._where_now())
            raise
        except (pa.ArrowException, OSError) as error:
            raise failed_to_read(error, self._where_now()) from error

    def _check_header(self, records: FramedRecords | ContextReader) -> None:
        """Compare the header with the schema, where nothing is decoded."""
        preamble, agreed = records.preamble, self._spec.agreed_headers
        if preamble is not None and preamble.header not in agreed:
            check_header(self._spec, self._block.file, preamble)
            agreed.add(preamble.header)

    def _read(self, source: ByteSource) -> Iterator[pa.RecordBatch]:
        records = self._records
        self._encoding = encoding_of(self._spec, records)
        self._decode = step_decoder(
            self._spec, self._block, records, validate=self._request.on_reject is not None, on_notice=self._notice
        )
        if self._spec.are_texts:
            self._oddities = self._oddities_of(records.preamble, source)
        delivered, reading = 0, self._spec.options.reading
        batcher = Batcher(reading.batch_rows, reading.batch_bytes)
        for step in records:
            batcher.add(self._deliver(step))
            self._position = step.stop
            while (batch := batcher.take(flush=self._remaining == 0)) is not None:
                delivered += batch.num_rows
                yield batch
            if self._remaining == 0:
                return
        while (batch := batcher.take(flush=True)) is not None:
            delivered += batch.num_rows
            yield batch
        if self._oddities is not None:
            self._oddities.pass_to(records.span.stop)
        if records.damage is not None:
            self._reject_damage(records.damage)
        if self._request.limit is None:  # a limit is no business of the ledger
            span = records.span
            self._report_end(
                span.start, span.stop, delivered, records.digest, records.content_bytes, damage=records.damage
            )

    def _oddities_of(self, preamble: Preamble | None, source: ByteSource) -> Oddities:
        """The counter of what is odd, which has looked at what is before the first record."""
        format, header, dropped = format_of(self._spec.options), None, None
        if preamble is not None:
            header = format.repeated_header(preamble)
            dropped = format.dropped(self._spec.options.format, preamble, partial(self._fits, preamble.format))
        is_looked_at = not needs_no_value(self._spec, validate=self._request.wants_faults)
        found = Oddities(
            are_utf8=self._encoding == UTF_8 and is_looked_at,
            header=header,
            dropped=dropped,
            source=source,
            block=self._block,
        )
        if preamble is not None:
            found.before(preamble)
        return found

    def _fits(self, format: RecordFormat, line: bytes) -> bool:
        """True if a line is one record whose values fit their columns."""
        frames = format.frame(line, at_end=True)
        return len(frames) == 1 and not len(self._decode(RecordChunk(memoryview(line), 0, frames)).faults)

    def _open(self, source: ByteSource) -> None:
        request, reading, framing = self._request, self._spec.options.reading, self._spec.reading
        bounds = {"max_record_bytes": reading.max_record_bytes, "read_bytes": reading.read_bytes}
        if isinstance(framing, ContextReading):
            context = framing.make()
            self._records = ContextReader(source, self._block, context, with_digest=request.with_digest, **bounds)
            return
        if (format := self._spec.record_format) is None:
            raise InvariantError("a reader of the user's own finds its records itself", self._block.where())
        preamble = None if request.opened is None else request.opened.preamble(format, self._block.start)
        self._records = FramedRecords(
            source, self._block, format, preamble=preamble, with_digest=request.with_digest, **bounds
        )
        _ = request.constants  # one that does not fit is an error, whether records need it or not

    def _odd(self) -> tuple[Oddity, ...]:
        return () if self._oddities is None else self._oddities.found

    def _notice(self, noticing: Noticing) -> None:
        self._noticing = noticing

    # --------------------------------------------------------------- records

    def _deliver(self, step: RecordChunk | Skipped) -> pa.RecordBatch:
        """The rows of a step, as many as are still wanted."""
        if isinstance(step, Skipped):
            rows = _Rows(step, None)
            if self._oddities is not None:
                self._oddities.pass_to(step.offset)
            batch = self._give_up(step)
        else:
            if self._oddities is not None:
                self._oddities.take(step, self._remaining)
            decoded = self._decode(step)
            if decoded.rows != len(step.frames):
                raise InvariantError(
                    "every record becomes one row",
                    self._block.where(step.offset),
                    seen=f"{decoded.rows} rows of {len(step.frames)} records",
                )
            keep = self._report_faults(step, decoded)
            batch = self._assemble(step, decoded)
            if keep is not None:
                batch = batch.filter(flag_array(keep))
            rows = _Rows(step, keep)
        found = batch.num_rows
        if self._remaining is not None:
            batch = batch.slice(0, self._remaining)
            self._remaining -= batch.num_rows
        for index, field in self._required:
            if has_forbidden_null(batch.column(index), field):
                raise self._null_in(batch.column(index), field, rows)
        self._rows += found
        if found:
            self._last = rows
        return batch

    def _give_up(self, step: Skipped) -> pa.RecordBatch:
        """Report a record whose end is not known; its beginning is a row where there is a column for it."""
        reason, kept = reason_of(step.code, self._spec.options.reading.max_record_bytes), self._spec.keeps_given_up
        path = self._block.file.path
        self._reject([Reject(path, step.offset, step.length_bytes, step.code, reason, step.raw, delivered=kept)])
        return self._row_of(step) if kept else self._batch([pa.nulls(0, field.type) for field in self._spec.schema], 0)

    def _row_of(self, step: Skipped) -> pa.RecordBatch:
        """No value but the defaults, the beginning of the record, its place, and what all records share."""
        spec = self._spec
        rules, own = rules_of_format(spec.options), {field.name: field for field in spec.fields}
        known = {
            spec.corrupt_column: self._encoding.text(step.raw),
            spec.reason_column: reason_text(step.code, reason_of(step.code, spec.options.reading.max_record_bytes)),
            "record_offset": step.offset,
            "record_length": step.length_bytes,
        }
        arrays = []
        for field in spec.schema:
            if field.name in self._request.constants:
                arrays.append(_repeat(self._request.constants[field.name], step.record_offsets))
                continue
            value = default_of(own[field.name], rules) if field.name in own else known.get(field.name)
            arrays.append(pa.nulls(1, field.type) if value is None else pa.array([value], field.type))
        return self._batch(arrays, 1)

    def _report_faults(self, step: RecordChunk, decoded: Decoded) -> npt.NDArray[np.bool_] | None:
        """Report faults up to the last row that is wanted; say which records are delivered (None: all)."""
        broken = decoded.faults.records
        dropped = broken[decoded.faults.structural] if self._drops else broken[:0]
        keep: npt.NDArray[np.bool_] | None = None
        if len(dropped):
            keep = np.ones(decoded.rows, dtype=bool)
            keep[dropped] = False
        if not len(broken):
            return keep
        validated = _records_of(self._remaining, decoded.rows, keep)
        count = int(np.searchsorted(broken, validated))
        if count and self._reports_faults:  # in mode FAILFAST the first one ends the scan
            self._reject(self._rejects_of(step, decoded, 1 if self._fails else count))
        elif count:
            dropped_too = decoded.faults.structural[:count] if self._drops else np.zeros(count, np.bool_)
            self._rejected += int(dropped_too.sum()) if self._request.wants_faults else 0
            for some, tally in ((dropped_too, self._count_dropped), (~dropped_too, self._count_delivered)):
                if some.any():
                    tally(int(some.sum()), partial(self._fault_of, step, decoded, int(some.argmax())))
        return keep

    def _reject(self, rejects: Sequence[Reject]) -> None:
        if self._fails:
            raise failed_fast(rejects[0], self._block.where(rejects[0].offset))
        self._hand_on(rejects)

    def _fault_of(self, step: RecordChunk, decoded: Decoded, number: int) -> Reject:
        """One of the faults of a step, as a reject."""
        return self._rejects_of(step, decoded, number + 1)[number]

    def _rejects_of(self, step: RecordChunk, decoded: Decoded, count: int) -> RejectBatch:
        """The first faults of a step, as rejects."""
        faults = decoded.faults if count == len(decoded.faults) else decoded.faults[:count]
        records = faults.records
        starts, stops = step.frames.starts[records], step.frames.stops[records]
        raw = slices(step.data, starts, np.minimum(stops, starts + RAW_BYTES))
        delivered = ~faults.structural if self._drops else np.ones(count, dtype=np.bool_)
        return RejectBatch(self._block.file.path, starts + step.offset, stops - starts, faults.words, raw, delivered)

    # --------------------------------------------------------------- columns

    def _assemble(self, step: RecordChunk, decoded: Decoded) -> pa.RecordBatch:
        data, constants = iter(decoded.columns), self._request.constants
        arrays = []
        for field in self._spec.schema:
            if field.name in constants:
                arrays.append(_repeat(constants[field.name], step.record_offsets))
            elif field.name in self._own:
                arrays.append(prune_array(next(data), field.type))
            elif field.name == self._spec.corrupt_column:
                arrays.append(self._corrupt_column(step, decoded))
            elif field.name == self._spec.reason_column:
                arrays.append(reason_array(decoded.faults, decoded.rows))
            elif field.name == self._spec.rescued_column:
                kept = decoded.rescued
                arrays.append(pa.nulls(decoded.rows, pa.string()) if kept is None else kept)
            elif field.name == "record_offset":
                arrays.append(number_array(step.record_offsets))
            else:
                arrays.append(number_array(step.frames.stops - step.frames.starts))
        return self._batch(arrays, decoded.rows)

    def _batch(self, arrays: list[pa.Array], rows: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(arrays, schema=self._spec.schema) if arrays else rows_without_columns(rows)

    def _corrupt_column(self, step: RecordChunk, decoded: Decoded) -> pa.Array:
        if not decoded.faults:
            return pa.nulls(decoded.rows, pa.string())
        broken, frames = decoded.faults.records, step.frames
        raw = slices(step.data, frames.starts[broken], frames.stops[broken])
        try:
            texts = raw.cast(pa.string()) if self._encoding == UTF_8 else _decoded(raw, self._encoding)
        except pa.ArrowInvalid:
            texts = _decoded(raw, self._encoding)
        return beside_rows(texts, broken, decoded.rows)

    # ---------------------------------------------------------------- errors

    def _where_now(self) -> Where:
        """The last row that was found."""
        return self._block.where(None if self._last is None else self._last.offset(-1))

    def _null_in(self, column: pa.Array, field: pa.Field, rows: _Rows) -> SchemaError:
        row = first_row(column, lambda some: has_forbidden_null(some, field))
        number = self._rows + row
        where = self._block.where(rows.offset(row), field.name, number)
        return forbidden_null(field, where, f"{number} of what was read")


def _records_of(rows: int | None, records: int, keep: npt.NDArray[np.bool_] | None) -> int:
    """How many of the records it takes to deliver so many rows; all of them, if they are not enough."""
    if rows is None or keep is None:
        return records if rows is None else min(rows, records)
    kept = np.flatnonzero(keep)
    return int(kept[rows - 1]) + 1 if 0 < rows <= len(kept) else records


def _repeat(value: Constant, offsets: Offsets) -> pa.Array:
    if isinstance(value, OffsetValues):
        return value.at(offsets)
    return pa.repeat(value, len(offsets)) if value.is_valid else pa.nulls(len(offsets), value.type)


def _decoded(raw: pa.Array, encoding: Encoding) -> pa.Array:
    """Text of records, with replacement characters where their bytes are none."""
    return text_array([encoding.text(record) for record in raw.to_pylist()], pa.string())
